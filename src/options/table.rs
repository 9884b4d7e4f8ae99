//! The table of options.
//!
//! To add one: a field in [`Settings`], a row here. Command line, `rankweave env`, man page,
//! completions and documentation follow, and tests fail if one of them does not.

use super::choices::{Collectives, Mode, Slots, Spill, Times};
use super::settings::Settings;
use super::{Names, parse};
use crate::base::error::{Error, ErrorKind, Result};

/// One option: how it is spelled, what it means, how it is read.
#[derive(Debug)]
pub struct Opt {
    /// Name on the command line, without the dashes.
    pub name: &'static str,
    /// Name of the environment variable.
    pub env: &'static str,
    /// What the value stands for, as shown in help texts.
    pub value: &'static str,
    /// The default, in words where it is not a value.
    pub default: &'static str,
    /// The values it can have, if they are few.
    pub choices: &'static [&'static str],
    /// Help of one line.
    pub help: &'static str,
    /// Help of a few sentences, without the first line.
    pub long: &'static str,
    /// Parses a value into the settings; leaves them alone on an error.
    pub apply: fn(&mut Settings, &str) -> Result<()>,
}

/// The option with this name.
pub fn find(name: &str) -> Option<&'static Opt> {
    TABLE.iter().find(|option| option.name == name)
}

/// Most characters of a key: with its suffix it has to fit into a file name.
const LONGEST_KEY: usize = 200;

/// Sets a field to a value that needs no check.
fn set<T>(field: &mut T, value: T) -> Result<()> {
    *field = value;
    Ok(())
}

fn key(settings: &mut Settings, value: &str) -> Result<()> {
    let wrong = |what: &str| {
        Error::new(ErrorKind::Usage, what)
            .advise("a short name of printable characters, such as weather-64")
    };
    if value.is_empty() || value.chars().any(char::is_control) {
        return Err(wrong("a key must not be empty or hold control characters"));
    }
    if value.len() > LONGEST_KEY {
        return Err(wrong("a key must not be longer than 200 bytes"));
    }
    settings.key = Some(value.to_string());
    Ok(())
}

/// Every option of a launch, in the order of the documentation.
pub static TABLE: &[Opt] = &[
    Opt {
        name: "mode",
        env: "RANKWEAVE_MODE",
        value: "MODE",
        default: "auto",
        choices: &Mode::NAMES,
        help: "What to do: auto, record, reorder, shuffle or off",
        long: "auto records when nothing is stored under the key, and reorders otherwise. record \
               records in the launcher's order. reorder asks for a stored matrix; without one it \
               says so and records. shuffle gives the program a random permutation of its ranks, \
               as a safety test: see 'rankweave check'. off records nothing and changes nothing.",
        apply: |s, v| Mode::parse(v).map(|m| s.mode = m),
    },
    Opt {
        name: "store",
        env: "RANKWEAVE_STORE",
        value: "DIR",
        default: "$XDG_DATA_HOME/rankweave, else ~/.local/share/rankweave",
        choices: &[],
        help: "Directory where matrices are kept between launches",
        long: "Rank 0 reads and writes it, so only the node of rank 0 has to see it. It is created \
               when needed. Each key has the file KEY.rkw there, and a folder KEY.runs for records \
               of other arguments.",
        apply: |s, v| set(&mut s.store, Some(v.into())),
    },
    Opt {
        name: "key",
        env: "RANKWEAVE_KEY",
        value: "KEY",
        default: "name and identity of the executable, and the number of ranks",
        choices: &[],
        help: "Name under which the matrix of this program is kept",
        long: "Launches with other arguments are told apart under the same key ('rankweave list \
               --all'). Another key is needed if the same arguments mean different input, or if \
               different executables communicate alike. A matrix is only used for a launch with as \
               many ranks as it was recorded with.",
        apply: key,
    },
    Opt {
        name: "seed",
        env: "RANKWEAVE_SEED",
        value: "N",
        default: "1",
        choices: &[],
        help: "Seed of shuffle and of randomized algorithms",
        long: "The same seed, matrix and topology give the same permutation in every launch.",
        apply: |s, v| parse::whole(v).map(|n| s.seed = n),
    },
    Opt {
        name: "topology",
        env: "RANKWEAVE_TOPOLOGY",
        value: "T",
        default: "discovered",
        choices: &[],
        help: "Use this topology instead of discovering it",
        long: "Any specification that 'rankweave topo' shows, such as tree:2:16:32@1:10:100, \
               torus:16x16x16, hwloc:FILE.xml or slurm:topology.conf. The process with launcher \
               rank k sits on slot k unless --slots says otherwise.",
        apply: |s, v| set(&mut s.topology, Some(v.into())),
    },
    Opt {
        name: "slots",
        env: "RANKWEAVE_SLOTS",
        value: "LIST",
        default: "0,1,2,…",
        choices: &[],
        help: "With --topology: the slot of each process, in launcher rank order",
        long: "A list such as 0,1,8-11, or the name of a file with one slot a line.",
        apply: |s, v| {
            let looks_like_list = v
                .chars()
                .all(|c| c.is_ascii_digit() || c.is_whitespace() || matches!(c, ',' | '-'));
            s.slots = Some(if looks_like_list {
                Slots::List(parse::number_list(v)?)
            } else {
                Slots::File(v.into())
            });
            Ok(())
        },
    },
    Opt {
        name: "fix",
        env: "RANKWEAVE_FIX",
        value: "LIST",
        default: "0",
        choices: &[],
        help: "Tasks that keep their process, such as 0,8-11; none frees all",
        long: "Rank 0 stays where it is by default because standard input goes to its process. \
               'none' lets every task move.",
        apply: |s, v| {
            s.fix = if v.eq_ignore_ascii_case("none") { vec![] } else { parse::number_list(v)? };
            Ok(())
        },
    },
    Opt {
        name: "min-gain",
        env: "RANKWEAVE_MIN_GAIN",
        value: "PCT",
        default: "3",
        choices: &[],
        help: "Predicted gain in percent below which nothing is changed",
        long: "The gain is the part of the hop-bytes that the new order saves.",
        apply: |s, v| parse::percent(v).map(|p| s.min_gain = p),
    },
    Opt {
        name: "time-limit",
        env: "RANKWEAVE_TIME_LIMIT",
        value: "SECONDS",
        default: "10",
        choices: &[],
        help: "Wall time that computing the mapping may take",
        long: "The best mapping found until then is used. A search that does not end soon after \
               the limit is given up, and the launch keeps the launcher's order. Also accepts \
               500ms, 2m.",
        apply: |s, v| parse::seconds(v).map(|t| s.time_limit = t),
    },
    Opt {
        name: "searchers",
        env: "RANKWEAVE_SEARCHERS",
        value: "N",
        default: "auto",
        choices: &[],
        help: "How many processes search for an order when the job starts",
        long: "With 1, rank 0 searches alone. With N, the first process of each of N nodes looks \
               for the node of every task, each with another seed, and the best answer is taken. \
               Then the first process of every node places the tasks of its node. auto is 1 below \
               1024 tasks, and 4 from there on. Only trees with several nodes are searched \
               together.",
        apply: |s, v| {
            s.searchers = match v.eq_ignore_ascii_case("auto") {
                true => None,
                false => Some(parse::whole(v)?.clamp(1, 1 << 16) as usize),
            };
            Ok(())
        },
    },
    Opt {
        name: "collectives",
        env: "RANKWEAVE_COLLECTIVES",
        value: "HOW",
        default: "model",
        choices: &Collectives::NAMES,
        help: "How collective calls become traffic between pairs: logical or model",
        long: "model assigns the bytes of a collective call to the pairs that the usual algorithms \
               use (binomial trees, rings, recursive doubling). logical assigns them as the call \
               is defined: in a broadcast the root sends to each other task.",
        apply: |s, v| Collectives::parse(v).map(|c| s.collectives = c),
    },
    Opt {
        name: "times",
        env: "RANKWEAVE_TIMES",
        value: "HOW",
        default: "sampled",
        choices: &Times::NAMES,
        help: "Whether the time in MPI calls is measured: sampled, all or off",
        long: "sampled times the calls in random windows of time, which a thread of the library \
               opens and closes. A program that seldom calls MPI has one window that is always \
               open. all times every call that moves data or waits, and reads the clock twice for \
               each. off measures nothing and has no thread.",
        apply: |s, v| Times::parse(v).map(|t| s.times = t),
    },
    Opt {
        name: "spill",
        env: "RANKWEAVE_SPILL",
        value: "DIR",
        default: "auto",
        choices: &[],
        help: "Directory of the node where counters outlive a program that is killed",
        long: "Every process counts in a small file there. The file is removed when the program \
               reaches MPI_Finalize. If a program ends otherwise (exit, abort, a signal, a time \
               limit), 'rankweave recover' makes a record of its files. auto is /dev/shm, else \
               $TMPDIR, else /tmp. Directories of network file systems are not used. off keeps no \
               files.",
        apply: |s, v| Spill::parse(v).map(|p| s.spill = p),
    },
    Opt {
        name: "flush",
        env: "RANKWEAVE_FLUSH",
        value: "SECONDS",
        default: "off",
        choices: &[],
        help: "How often the matrix so far goes into the store",
        long: "For jobs whose nodes may fail, or are cleaned when the job ends. At this interval, \
               one process of each node starts 'rankweave recover --running'. Also accepts 10m, \
               1h, off.",
        apply: |s, v| {
            s.flush = if v.eq_ignore_ascii_case("off") { None } else { Some(parse::seconds(v)?) };
            Ok(())
        },
    },
    Opt {
        name: "flush-signal",
        env: "RANKWEAVE_FLUSH_SIGNAL",
        value: "SIGNAL",
        default: "off",
        choices: &["USR1", "USR2", "off"],
        help: "Signal to any rank that puts the matrix so far into the store",
        long: "It stores the rows of the tasks on the node of that rank. A job on several nodes \
               needs one signal on each. If the program handles the signal itself, its handler is \
               kept. With off, a signal does what it does without rankweave: USR1 ends a program \
               that has no handler.",
        apply: |s, v| {
            let signals = [Some(libc::SIGUSR1), Some(libc::SIGUSR2), None];
            parse::choice(v, &["USR1", "USR2", "off"]).map(|i| s.flush_signal = signals[i])
        },
    },
    Opt {
        name: "allow",
        env: "RANKWEAVE_ALLOW",
        value: "NAMES",
        default: "none",
        choices: &[],
        help: "Programs that may always be reordered",
        long: "Names or patterns such as lmp*,/opt/site/bin/*,train.py; one with a slash is \
               compared with the full path. These programs are reordered even if --deny names \
               them, if 'rankweave check' found that their results change, or if reordered \
               launches were slower.",
        apply: |s, v| set(&mut s.allow, Names::parse(v)),
    },
    Opt {
        name: "deny",
        env: "RANKWEAVE_DENY",
        value: "NAMES",
        default: "none",
        choices: &[],
        help: "Programs that are never reordered, but recorded",
        long: "Names or patterns as with --allow, which has priority: with --deny '*' --allow \
               'lmp*,pw.x' only those two are reordered. The option has no effect in mode shuffle.",
        apply: |s, v| set(&mut s.deny, Names::parse(v)),
    },
    Opt {
        name: "constructors",
        env: "RANKWEAVE_CONSTRUCTORS",
        value: "WHEN",
        default: "auto",
        choices: &["auto", "off"],
        help: "Whether constructors of topologies may give new ranks (reorder=1)",
        long: "With off, only the ranks of MPI_COMM_WORLD may change. This is for programs that \
               pass reorder=1 but expect unchanged ranks: they use a rank of one communicator in \
               another.",
        apply: |s, v| parse::choice(v, &["auto", "off"]).map(|i| s.constructors = i == 0),
    },
    Opt {
        name: "verbose",
        env: "RANKWEAVE_VERBOSE",
        value: "LEVEL",
        default: "0",
        choices: &["0", "1", "2"],
        help: "1 = one summary line at the end, 2 = decisions and times as well",
        long: "Lines go to standard error of rank 0; nothing is ever written to standard output. \
               Without a LEVEL, 1.",
        apply: |s, v| parse::choice(v, &["0", "1", "2"]).map(|i| s.verbose = i as u8),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_variables_agree() {
        for option in TABLE {
            let upper = option.name.to_uppercase().replace('-', "_");
            assert_eq!(option.env, format!("RANKWEAVE_{upper}"));
            assert!(option.help.len() <= 76, "{}: help of one line", option.name);
            assert!(!option.help.ends_with('.') && option.long.ends_with('.'), "{}", option.name);
        }
    }

    #[test]
    fn literal_defaults_are_the_defaults() {
        let mut settings = Settings::default();
        for name in [
            "mode",
            "seed",
            "fix",
            "min-gain",
            "time-limit",
            "searchers",
            "collectives",
            "times",
            "spill",
            "flush",
            "flush-signal",
            "allow",
            "deny",
            "constructors",
            "verbose",
        ] {
            settings.set(name, find(name).unwrap().default).unwrap();
        }
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn every_choice_is_accepted() {
        for option in TABLE {
            for choice in option.choices {
                Settings::default().set(option.name, choice).unwrap();
            }
        }
    }

    #[test]
    fn hostile_keys_are_refused() {
        for bad in ["", "a\nb", "\0", &"k".repeat(201)] {
            assert!(key(&mut Settings::default(), bad).is_err());
        }
    }
}
