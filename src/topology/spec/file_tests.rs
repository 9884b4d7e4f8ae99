//! Files of every kind: right ones are read, and damaged ones give an error or a topology.

use super::*;
use std::path::Path;

/// A small right file of every format.
const FILES: [(&str, &str, &str); 22] = [
    (
        "hwloc",
        "xml",
        "<topology version=\"2.0\"><object type=\"Machine\" cpuset=\"0x3\"><object type=\"NUMANode\" cpuset=\"0x3\"/><object type=\"PU\" os_index=\"0\" cpuset=\"0x1\"/><object type=\"PU\" os_index=\"1\" cpuset=\"0x2\"/></object></topology>",
    ),
    ("scotch", "tgt", "sub 3 0 5 3 tleaf 2 2 10 4 1\n"),
    ("scotch", "tgt", "deco 0\n3 5\n0 1 4\n1 1 5\n2 1 3\n1\n2 1\n"),
    (
        "slurm",
        "conf",
        "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[04-05]\nSwitchName=c Switches=a,b\n",
    ),
    ("slurm", "conf", "BlockName=a Nodes=n[1-2]\nBlockName=b Nodes=n[3-4]\nBlockSizes=2,4\n"),
    ("slurm", "conf", "RingName=a Nodes=n[1-4]\nRingName=b Nodes=n[5-6]\n"),
    (
        "slurm",
        "yaml",
        "- topology: t\n  tree:\n    switches:\n      - switch: a\n        nodes: n[1-2]\n      - switch: b\n        children: a\n",
    ),
    (
        "slurm",
        "yaml",
        "- topology: t\n  torus3d:\n    toruses:\n      - name: a\n        dims: {x: 2, y: 2, z: 1}\n        regions:\n          - {dims: {x: 2, y: 1, z: 1}, nodes: \"n[1-2]\"}\n",
    ),
    (
        "topograph",
        "json",
        "{\"instances\": [{\"id\": \"a\", \"network_layers\": [\"l\", \"s\"], \"attributes\": {\"nvlink\": \"d\"}}, {\"id\": \"b\", \"network_layers\": [\"m\", \"s\"]}]}",
    ),
    (
        "topograph",
        "yaml",
        "switches:\n  s: {switches: [l]}\n  l: {nodes: [\"n[1-2]\"], capacity_blocks: [b]}\ncapacity_blocks:\n- {name: b, nodes: [n3, n4]}\n",
    ),
    (
        "pbs",
        "txt",
        "n1\n  Mom = n1.org\n  resources_available.switch = a\nn2\n  resources_available.switch = a\nn3\n  resources_available.switch = b\n",
    ),
    (
        "flux",
        "json",
        "{\"version\": 1, \"execution\": {\"R_lite\": [{\"rank\": \"0-2\"}], \"nodelist\": [\"n[0-2]\"], \"properties\": {\"rack1\": \"0-1\", \"rack2\": \"2\"}}}",
    ),
    (
        "ib",
        "txt",
        "Switch\t8 \"S-a1\"\t# \"leaf\"\n[1]\t\"H-1\"[1](1)\t# \"n1 HCA-1\" lid 4 4xHDR\n[2]\t\"H-2\"[1](2)\t# \"n2 HCA-1\" lid 5 4xHDR\n",
    ),
    (
        "ib",
        "txt",
        "SW     2 14 0xa1 4x HDR - CA    21  1 0x1 ( 'leaf' - 'n1 HCA-1' )\nSW     2 15 0xa1 4x HDR - CA    22  1 0x2 ( 'leaf' - 'n2 mlx5_0' )\n",
    ),
    (
        "ibsim",
        "net",
        "Switch 8 \"s\"\n[1] \"a\"[1] w=4\n[2] \"b\"\nHca 2 \"a\"\n[1] \"s\"[1]\nHca 1 \"b\"\n[1] \"s\"[2]\n",
    ),
    (
        "cabling",
        "txt",
        "hosts: n[1-2]\nl1:1 n1 100G\nl2,2,n2\nl1:3 <-> l2:3 4xHDR\nhost m router l1\n",
    ),
    (
        "cabling",
        "csv",
        "cable_id,src_conn_a,src_conn_b,dst_conn_a,dst_conn_b,link_type\n1,x1c0r1j1,none,x1c0r3j1,none,local\n2,x1.c0.r1.j3,none,x1.c0.s0.b0.n0.h0,x1c0s0b0n1h0,edge\nhost nid1 at x1c0s1b0n0\n",
    ),
    (
        "cabling",
        "txt",
        "c0-0c0s0a0l00(0:0:0) green -> c0-0c0s1a0l10(0:0:1)\nc0-0c0s0a0l01(0:0:0) ptile -> processor\nhosts c0-0c0s[0-1]n0\n",
    ),
    (
        "simgrid",
        "xml",
        "<platform version='4.1'><zone id='w' routing='Full'><cluster id='a' prefix='a' radical='0-3' suffix='' bw='1Gbps' bb_bw='2Gbps'/><cluster id='b' prefix='b' radical='0-3' suffix='' bw='1Gbps' topology='FAT_TREE' topo_parameters='2;2,2;1,2;1,1'/><link id='l' bandwidth='1Gbps'/><zoneRoute src='a' dst='b' gw_src='aa_router' gw_dst='b0'><link_ctn id='l'/></zoneRoute></zone></platform>",
    ),
    (
        "simgrid",
        "xml",
        "<platform><AS routing='Floyd'><host id='a'/><host id='b'/><router id='r'/><link id='l' bandwidth='1e9'/><route src='a' dst='r'><link_ctn id='l'/></route><route src='r' dst='b'><link_ctn id='l'/></route></AS></platform>",
    ),
    ("graph", "graph", "3 2 011\n1 2 4\n0 1 4 3 8\n1 2 8\n"),
    ("dist", "txt", "0 1 5\n1 0 5\n5 5 0\n"),
];

/// Reads a text as the kind at `index`, or with its kind recognised.
fn parse_text(folder: &Path, index: usize, text: &[u8], detect: bool) -> Result<Box<dyn Topology>> {
    let (kind, end, _) = FILES[index];
    let path = folder.join(format!("{index}.{end}"));
    std::fs::write(&path, text).unwrap();
    parse(&format!("{}:{}", if detect { "fabric" } else { kind }, path.display()))
}

#[test]
fn right_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    for (index, (kind, _, text)) in FILES.iter().enumerate() {
        let topology = parse_text(folder.path(), index, text.as_bytes(), false).unwrap();
        assert!(topology.slots() > 1, "{text}");
        if !["hwloc", "scotch"].contains(kind) {
            let detected = parse_text(folder.path(), index, text.as_bytes(), true).unwrap();
            assert_eq!(detected.slots(), topology.slots(), "{text}");
        }
    }
}

#[test]
fn every_kind_has_a_file() {
    let files = FILES.map(|file| file.0);
    let of_one_line =
        ["tree", "torus", "mesh", "hypercube", "dragonfly", "fattree", "hwloc-synthetic"];
    for (kind, ..) in KINDS {
        let elsewhere =
            of_one_line.contains(&kind) || ["hwloc-cores", "nodes", "fabric"].contains(&kind);
        assert!(elsewhere || files.contains(&kind), "{kind}");
    }
}

proptest::proptest! {
    /// Damaged files give an error or a topology, never a panic.
    #[test]
    fn damaged_files_are_survived(
        index in 0usize..FILES.len(),
        at in 0usize..700,
        cut in 0usize..6,
        detect in proptest::bool::ANY,
        put in proptest::collection::vec(proptest::sample::select(b"0129-,=:[]()#x.\"<>/ \n\tA{}&*'".to_vec()), 0..5),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut text = FILES[index].2.as_bytes().to_vec();
        let at = at % text.len();
        let end = (at + cut).min(text.len());
        text.splice(at..end, put);
        match parse_text(folder.path(), index, &text, detect) {
            Ok(topology) => {
                let n = topology.slots();
                proptest::prop_assert!(n > 0);
                proptest::prop_assert_eq!(topology.distance(n - 1, 0), topology.distance(0, n - 1));
            }
            Err(error) => proptest::prop_assert!(error.to_string().contains("try:")),
        }
    }
}
