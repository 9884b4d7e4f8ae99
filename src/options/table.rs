//! The table of options.
//!
//! A new option needs a field in [`Settings`] and a row here. The command line, `rankweave env`, the man
//! page, the completions and the documentation are made from this table, and tests fail if one of them is
//! not up to date.

use super::choices::{Aim, Collectives, Measure, Mode, NetworkChoice, Place, Slots, Spill, Times};
use super::settings::Settings;
use super::store_bound::StoreBound;
use super::{Names, parse};
use crate::base::error::{Error, ErrorKind, Result};

/// One option: its names, its meaning, and the parser of its value.
#[derive(Debug)]
pub struct Opt {
    /// Name on the command line, without the dashes.
    pub name: &'static str,
    /// Name of the environment variable.
    pub env: &'static str,
    /// A word for the value, as help texts show it.
    pub value: &'static str,
    /// The default, in words if it is not a single value.
    pub default: &'static str,
    /// The values it can have, if they are few.
    pub choices: &'static [&'static str],
    /// Help of one line.
    pub help: &'static str,
    /// Help of a few sentences, without the first line.
    pub long: &'static str,
    /// Parses a value and sets it in the settings. On an error, the settings stay as they are.
    pub apply: fn(&mut Settings, &str) -> Result<()>,
}

impl Opt {
    /// An option without a list of values. The four words are its name, its variable, the word for its
    /// value, and its default.
    const fn new(
        [name, env, value, default]: [&'static str; 4],
        help: &'static str,
        long: &'static str,
        apply: fn(&mut Settings, &str) -> Result<()>,
    ) -> Opt {
        Opt { name, env, value, default, choices: &[], help, long, apply }
    }

    /// The option with a list of the values that it can have.
    const fn one_of(self, choices: &'static [&'static str]) -> Opt {
        Opt { choices, ..self }
    }
}

/// The option with this name.
pub fn find(name: &str) -> Option<&'static Opt> {
    TABLE.iter().find(|option| option.name == name)
}

/// The largest number of bytes in a key. The key has to fit into a file name, together with a suffix.
const LONGEST_KEY: usize = 200;

/// Sets a field to a value that needs no check.
fn set<T>(field: &mut T, value: T) -> Result<()> {
    *field = value;
    Ok(())
}

fn key(settings: &mut Settings, value: &str) -> Result<()> {
    let wrong = |what: &str| {
        Error::new(ErrorKind::Usage, what)
            .advise("use a short name of printable characters, such as weather-64")
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
    Opt::new(
        ["mode", "RANKWEAVE_MODE", "MODE", "auto"],
        "What to do: auto, record, reorder, shuffle or off",
        "All modes except off record the traffic. auto: the ranks are reordered if a matrix is stored \
               under the key and no reason speaks against it (--deny, a difference that 'rankweave \
               check' found, slower earlier launches, a gain below --min-gain). record: the launcher's \
               order is kept. reorder: for launches that must use a stored matrix; without one, a \
               message says so and the launch is only recorded. shuffle: the program gets a random \
               permutation of its ranks, as a safety test; see 'rankweave check'. off: nothing is \
               recorded and nothing is changed.",
        |s, v| Mode::parse(v).map(|m| s.mode = m),
    )
    .one_of(&Mode::NAMES),
    Opt::new(
        ["store", "RANKWEAVE_STORE", "DIR", "$XDG_DATA_HOME/rankweave, else ~/.local/share/rankweave"],
        "Directory where matrices are kept between launches",
        "Rank 0 reads and writes this directory, so usually only the node of rank 0 needs access to \
               it. All nodes of the job need access with --flush, with --flush-signal, and for \
               'rankweave recover'; with --place launcher also on Cray systems and in very large \
               jobs. The directory is created if it does not exist. Each key has a file KEY.rkw there, and a folder \
               KEY.runs for further records, such as those of other arguments.",
        |s, v| set(&mut s.store, Some(v.into())),
    ),
    Opt::new(
        ["also-read", "RANKWEAVE_ALSO_READ", "DIRS", "none"],
        "Further stores, read only where the own store has nothing",
        "Directories separated by colons, such as the store of a group and then that of the site. If the own store has no \
               record for this launch, the first of these stores that has one gives the matrix. What 'rankweave check' \
               found counts in all of them. Nothing is written there: the record of the launch goes into the own \
               store. Rank 0 reads these stores.",
        |s, v| set(&mut s.also_read, parse::directories(v)),
    ),
    Opt::new(
        ["key", "RANKWEAVE_KEY", "KEY", "name and identity of the executable, and the number of ranks"],
        "Name under which the matrix of this program is kept",
        "Launches with other arguments have records of their own under the same key ('rankweave \
               list --all'). Give a key of your own if the same arguments stand for different input, \
               or if several executables shall share a matrix because they communicate alike. A \
               launch uses a matrix only if it has as many ranks as the recorded launch.",
        key,
    ),
    Opt::new(
        ["seed", "RANKWEAVE_SEED", "N", "1"],
        "Seed of shuffle and of randomized algorithms",
        "The same seed, matrix and topology give the same permutation in every launch.",
        |s, v| parse::whole(v).map(|n| s.seed = n),
    ),
    Opt::new(
        ["topology", "RANKWEAVE_TOPOLOGY", "T", "discovered"],
        "Use this topology instead of discovering it",
        "A description that 'rankweave topo --topology' accepts, such as tree:2:16:32@1:10:100, \
               torus:16x16x16, hwloc:FILE.xml or slurm:topology.conf. The process with launcher \
               rank k is on slot k, unless --slots gives other slots. If the topology names its hosts, \
               each process is on a slot of its own host.",
        |s, v| set(&mut s.topology, Some(v.into())),
    ),
    Opt::new(
        ["slots", "RANKWEAVE_SLOTS", "LIST", "0,1,2,…"],
        "With --topology: the slot of each process, in launcher rank order",
        "A list such as 0,1,8-11, or the name of a file with one slot a line.",
        |s, v| Slots::parse(v).map(|slots| s.slots = Some(slots)),
    ),
    Opt::new(
        ["network", "RANKWEAVE_NETWORK", "SOURCE", "auto"],
        "Where the network between the nodes may be learned from",
        "auto: all sources are asked in the order of trust: the site file (site), the scheduler \
               (slurm-address, slurm-files, pbs-nodes, flux-resources), the names of the nodes (names), files of the \
               fabric (fabric-files), earlier measurements (measured). The first one that knows all \
               nodes is used; if none does, the one that knows the most nodes, if these are at least \
               half of them. A name: only this source is asked. off: no source is asked, and all \
               nodes count as equally far from each other. 'rankweave topo -- LAUNCHER' shows what \
               each source knows. --topology has priority.",
        |s, v| NetworkChoice::parse(v).map(|network| s.network = network),
    )
    .one_of(&NetworkChoice::NAMES),
    Opt::new(
        ["site", "RANKWEAVE_SITE", "FILE", "/etc/rankweave.toml, or etc/rankweave.toml of the installation"],
        "File in which the site describes its clusters",
        "The node of rank 0 reads this file. 'rankweave env --help' shows its form, and 'rankweave env \
               --check' looks for mistakes in it. A file that does not exist is an error. none: no such file is read.",
        |s, v| {
            let none = v.eq_ignore_ascii_case("none");
            set(&mut s.site, Some(if none { Default::default() } else { v.into() }))
        },
    ),
    Opt::new(
        ["measure", "RANKWEAVE_MEASURE", "WHEN", "auto"],
        "Whether to measure the network between the nodes: auto, on or off",
        "The measurement finds the switches between the nodes: one process of each node takes part, \
               for a few seconds at most. The result is kept in the store. auto: the network is \
               measured once for a set of at least 4 nodes, if nothing else describes it, a stored \
               matrix is used, and a rank order that knows the switches could save more than \
               --min-gain. on: it is measured again in every launch on at least 4 nodes. off: it is \
               never measured.",
        |s, v| Measure::parse(v).map(|m| s.measure = m),
    )
    .one_of(&Measure::NAMES),
    Opt::new(
        ["place", "RANKWEAVE_PLACE", "WHERE", "library"],
        "Where ranks are placed: library, launcher, launcher-only or file:PATH",
        "library: the ranks are exchanged inside MPI_Init. launcher: the rank order is computed before \
               the launch, from the stored matrix and the hosts of the launch, and the launcher starts \
               each rank on its host (rank file or host file; see 'rankweave run --dry-run'). No \
               process then changes its rank, so this is safe also for programs whose results depend \
               on a change of ranks. The library records the traffic, and checks that each rank is \
               where it was meant to be. launcher-only: the same without the library, so nothing is \
               recorded or checked. file:PATH: nothing is launched; the command writes the file that \
               the launcher in a batch script needs, and prints its command line. Only 'rankweave \
               run' places ranks; 'rankweave doctor' says whether it could.",
        |s, v| Place::parse(v).map(|place| s.place = place),
    ),
    Opt::new(
        ["fix", "RANKWEAVE_FIX", "LIST", "0"],
        "Tasks that keep their process, such as 0,8-11; none: all may move",
        "By default rank 0 stays on its process, because this process has the standard input. \
               none: every task may get another process.",
        |s, v| {
            s.fix = if v.eq_ignore_ascii_case("none") { vec![] } else { parse::number_list(v)? };
            Ok(())
        },
    ),
    Opt::new(
        ["objective", "RANKWEAVE_OBJECTIVE", "WHAT", "auto"],
        "What the rank order is to minimise: auto, hop-bytes or time",
        "hop-bytes: the sum of bytes times distance over all pairs of ranks. time: the predicted time if \
               all traffic flows at once over the links of the network, which have to be known; if they \
               are not, hop-bytes are minimised. auto: time, if the links are known and the network is a \
               torus, a dragonfly, another graph, or a tree with uplinks that are narrower than the nodes \
               below them together; else hop-bytes. With --verbose 2, a line says which one it is, and why.",
        |s, v| Aim::parse(v).map(|aim| s.objective = aim),
    )
    .one_of(&Aim::NAMES),
    Opt::new(
        ["min-gain", "RANKWEAVE_MIN_GAIN", "PCT", "3"],
        "Predicted gain in percent below which the launcher's order is kept",
        "The gain is the part of the cost that the new rank order saves. The cost is the hop-bytes: \
               the sum of bytes times distance over all pairs of ranks. If processes of a node have \
               different network adapters (rails), the cost of uneven rails is added. If --objective is \
               time, the cost is the predicted time; an order with the same time counts by its hop-bytes.",
        |s, v| parse::percent(v).map(|p| s.min_gain = p),
    ),
    Opt::new(
        ["time-limit", "RANKWEAVE_TIME_LIMIT", "SECONDS", "10"],
        "Wall time that the search for a rank order may take",
        "At the limit, the search ends and the best rank order found so far is used. If the search \
               does not end soon after the limit, it is abandoned, and the launch keeps the \
               launcher's order. Values such as 500ms and 2m are accepted, too.",
        |s, v| parse::seconds(v).map(|t| s.time_limit = t),
    ),
    Opt::new(
        ["searchers", "RANKWEAVE_SEARCHERS", "N", "auto"],
        "How many processes search for a rank order when the job starts",
        "1: only rank 0 searches. N: the search has two steps. First, one process on \
               each of N nodes assigns the tasks to nodes, each with another seed, and the best of \
               these assignments is taken. Then one process on every node places the tasks of its \
               node. auto: 1 for fewer than 1024 tasks, and 4 otherwise. Several processes \
               search only if the topology is a tree with several nodes; otherwise rank 0 searches.",
        |s, v| {
            s.searchers = match v.eq_ignore_ascii_case("auto") {
                true => None,
                false => Some(parse::whole(v)?.clamp(1, 1 << 16) as usize),
            };
            Ok(())
        },
    ),
    Opt::new(
        ["collectives", "RANKWEAVE_COLLECTIVES", "HOW", "model"],
        "How collective calls become traffic between pairs: logical or model",
        "model: the bytes of a collective call are assigned to the pairs of ranks that exchange them in \
               the usual algorithms of MPI libraries (binomial trees, rings, recursive doubling). \
               logical: they are assigned by the definition of the call: in a broadcast, the root \
               sends to each other task.",
        |s, v| Collectives::parse(v).map(|c| s.collectives = c),
    )
    .one_of(&Collectives::NAMES),
    Opt::new(
        ["times", "RANKWEAVE_TIMES", "HOW", "sampled"],
        "Whether the time in MPI calls is measured: sampled, all or off",
        "sampled: every call of a seldom-used function is timed. The time in all other functions is \
               estimated: a thread of the library looks, at random moments, which threads are in a \
               call of them. In programs that seldom call MPI there is no such thread. all: every \
               call that moves data or waits is timed, for which the clock is read twice. off: \
               nothing is timed, and no thread is started.",
        |s, v| Times::parse(v).map(|t| s.times = t),
    )
    .one_of(&Times::NAMES),
    Opt::new(
        ["spill", "RANKWEAVE_SPILL", "DIR", "auto"],
        "Directory of the node for counters that outlive a killed program",
        "Every process counts in a small file there. The file is removed when the program \
               reaches MPI_Finalize. If a program ends otherwise (exit, abort, a signal, a time \
               limit), 'rankweave recover' makes a record of its files. auto: /dev/shm; if that \
               cannot be used, $TMPDIR, and then /tmp. Directories of network file systems are not \
               used. off: no files, so nothing can be recovered.",
        |s, v| Spill::parse(v).map(|p| s.spill = p),
    ),
    Opt::new(
        ["flush", "RANKWEAVE_FLUSH", "SECONDS", "off"],
        "Interval at which the matrix recorded so far is stored",
        "This is for jobs whose nodes may fail, or whose files on the nodes are removed when the \
               job ends. At this interval, one process of each node starts 'rankweave recover \
               --running'. Values such as 10m and 1h are accepted, too. off: the matrix is stored at the end only.",
        |s, v| {
            s.flush = if v.eq_ignore_ascii_case("off") { None } else { Some(parse::seconds(v)?) };
            Ok(())
        },
    ),
    Opt::new(
        ["shortest", "RANKWEAVE_SHORTEST", "SECONDS", "off"],
        "Shortest launch of a new program that is stored",
        "A launch that ran for a shorter time leaves no record, unless the store has one of its key already. So the store \
               of a site stays small where many short programs are started once. Values such as 500ms and 2m are \
               accepted, too. 'rankweave recover' stores launches of any length. off: every launch is stored.",
        |s, v| {
            s.shortest = if v.eq_ignore_ascii_case("off") { None } else { Some(parse::seconds(v)?) };
            Ok(())
        },
    ),
    Opt::new(
        ["store-bound", "RANKWEAVE_STORE_BOUND", "BOUND", "none"],
        "Which records are removed once a day, such as older-than=180d,most-bytes=2G",
        "'rankweave run' starts 'rankweave gc' with older-than=AGE, most-records=NUMBER, most-bytes=SIZE, or several of them \
               with commas, if this was not done today. The launch does not wait for it, and its errors are not shown. \
               A store that belongs to another user, or that a group may write, stays as it is. none: nothing is removed.",
        |s, v| StoreBound::parse(v).map(|bound| s.store_bound = bound),
    ),
    Opt::new(
        ["flush-signal", "RANKWEAVE_FLUSH_SIGNAL", "SIGNAL", "off"],
        "Signal on which the matrix recorded so far is stored",
        "A process that gets this signal stores the rows of all tasks on its node. A job on several \
               nodes needs one signal on each node. If the program handles the signal itself, its \
               handler is kept and nothing is stored. off: a signal has its usual effect; USR1 \
               ends a program that has no handler.",
        |s, v| {
            let signals = [Some(libc::SIGUSR1), Some(libc::SIGUSR2), None];
            parse::choice(v, &["USR1", "USR2", "off"]).map(|i| s.flush_signal = signals[i])
        },
    )
    .one_of(&["USR1", "USR2", "off"]),
    Opt::new(
        ["allow", "RANKWEAVE_ALLOW", "NAMES", "none"],
        "Programs to which --deny, checks and slower launches are no objection",
        "Names or patterns, such as lmp*,/opt/site/bin/*,train.py. A pattern with a slash is \
               compared with the full path, others with the name of the executable or script. These \
               programs are reordered even if --deny names them, if 'rankweave check' found that \
               their results change, or if reordered launches were slower.",
        |s, v| set(&mut s.allow, Names::parse(v)),
    ),
    Opt::new(
        ["deny", "RANKWEAVE_DENY", "NAMES", "none"],
        "Programs that are never reordered, but recorded",
        "Names or patterns as with --allow. --allow has priority: with --deny '*' --allow \
               'lmp*,pw.x', only programs that match lmp* or pw.x are reordered. The option has no \
               effect in mode shuffle.",
        |s, v| set(&mut s.deny, Names::parse(v)),
    ),
    Opt::new(
        ["skip", "RANKWEAVE_SKIP", "NAMES", "none"],
        "Programs that are left alone: neither recorded nor reordered",
        "Names or patterns as with --allow. This is for sites that preload the library into all programs. If one program \
               of a job is left alone, the whole job is.",
        |s, v| set(&mut s.skip, Names::parse(v)),
    ),
    Opt::new(
        ["only", "RANKWEAVE_ONLY", "NAMES", "none"],
        "The only programs that are recorded and reordered",
        "Names or patterns as with --allow. All other programs are left alone, as with --skip. none: there is no such \
               list. --skip has priority.",
        |s, v| set(&mut s.only, Names::parse(v)),
    ),
    Opt::new(
        ["constructors", "RANKWEAVE_CONSTRUCTORS", "WHEN", "auto"],
        "Whether constructors of topologies may give new ranks (reorder=1)",
        "auto: in the modes auto and reorder, a constructor such as MPI_Cart_create gives new ranks if \
               the program passes reorder=1, unless --deny or a verdict of an earlier run objects; in \
               the mode shuffle, it gives random ones. off: only the ranks of MPI_COMM_WORLD may \
               change. This is for programs that pass reorder=1 but expect unchanged ranks, because they use a rank of one communicator \
               in another one.",
        |s, v| parse::choice(v, &["auto", "off"]).map(|i| s.constructors = i == 0),
    )
    .one_of(&["auto", "off"]),
    Opt::new(
        ["verbose", "RANKWEAVE_VERBOSE", "LEVEL", "0"],
        "0: problems only, 1: also a summary line at the end, 2: also decisions",
        "Messages go to standard error of rank 0. Nothing is ever written to standard output. Level \
               2 also shows how long the steps at the start of a job take. --verbose without LEVEL \
               means level 1.",
        |s, v| parse::choice(v, &["0", "1", "2"]).map(|i| s.verbose = i as u8),
    )
    .one_of(&["0", "1", "2"]),
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
            "network",
            "measure",
            "place",
            "fix",
            "objective",
            "min-gain",
            "time-limit",
            "searchers",
            "collectives",
            "times",
            "spill",
            "flush",
            "shortest",
            "store-bound",
            "flush-signal",
            "allow",
            "deny",
            "skip",
            "only",
            "also-read",
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
