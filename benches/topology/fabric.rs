//! A file as `ibnetdiscover` writes it, of a fabric with hosts that have several rails.

use std::fmt::Write as _;

/// The hosts of a rack.
const RACK: usize = 32;
/// Switches above the leaves of each rail of 32 racks, and switches above these.
const SPINES: usize = 8;
const CORES: u32 = 4;

/// The blocks of all switches and of all adapters. Rail r of a host is on leaf switch r of its rack.
pub fn text(hosts: usize, rails: usize) -> String {
    let mut text = String::new();
    let leaves = hosts.div_ceil(RACK) * rails;
    let adapter = |host: usize, rail: usize| 0xb000_0000 + host * rails + rail;
    let spine_of = |leaf: usize, k: usize| 0xa000_0000 + leaf / RACK * SPINES + k;
    for leaf in 0..leaves {
        let _ = writeln!(
            text,
            "\nvendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x{leaf:x}\nswitchguid=0x{leaf:x}({leaf:x})\n\
             Switch\t65 \"S-{leaf:016x}\"\t\t# \"leaf{leaf}\" enhanced port 0 lid 1 lmc 0"
        );
        for port in 0..RACK {
            let (host, rail) = (leaf / rails * RACK + port, leaf % rails);
            let guid = adapter(host, rail);
            let _ = writeln!(
                text,
                "[{}]\t\"H-{guid:016x}\"[1]({guid:x}) \t\t# \"node{host:05} mlx5_{rail}\" lid 9 4xNDR",
                port + 1
            );
        }
        for k in 0..SPINES {
            let _ = writeln!(
                text,
                "[{}]\t\"S-{:016x}\"[{}]\t\t# \"spine\" lid 9 4xNDR",
                RACK + 1 + k,
                spine_of(leaf, k),
                leaf % RACK + 1
            );
        }
    }
    for spine in 0..leaves.div_ceil(RACK) * SPINES {
        let _ = writeln!(
            text,
            "\nSwitch\t65 \"S-{:016x}\"\t\t# \"spine\" enhanced port 0 lid 1 lmc 0",
            0xa000_0000 + spine
        );
        for core in 0..CORES {
            let _ = writeln!(
                text,
                "[{}]\t\"S-{:016x}\"[{}]\t\t# \"core\" lid 9 4xNDR",
                40 + core,
                0xc000_0000u32 + core,
                spine + 1
            );
        }
    }
    for leaf in 0..leaves {
        for port in 0..RACK {
            let (host, rail) = (leaf / rails * RACK + port, leaf % rails);
            let guid = adapter(host, rail);
            let _ = writeln!(
                text,
                "\nvendid=0x2c9\ndevid=0x1021\nsysimgguid=0x{guid:x}\ncaguid=0x{guid:x}\n\
                 Ca\t1 \"H-{guid:016x}\"\t\t# \"node{host:05} mlx5_{rail}\"\n\
                 [1]({guid:x}) \t\"S-{leaf:016x}\"[{}]\t\t# lid 9 lmc 0 \"leaf{leaf}\" lid 1 4xNDR",
                port + 1
            );
        }
    }
    text
}
