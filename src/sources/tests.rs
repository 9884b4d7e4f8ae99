//! All sources: properties that hold for each of them, and the choice among them.

use super::*;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// A system of its own: a root folder, variables and nodes.
struct System {
    root: tempfile::TempDir,
    variables: Vec<(&'static str, String)>,
    hosts: Vec<Host>,
    site: Option<PathBuf>,
}

impl System {
    fn new(hosts: &[&str]) -> System {
        System {
            root: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
            hosts: hosts.iter().map(|name| Host::named(name)).collect(),
            site: None,
        }
    }

    fn file(self, path: &str, text: &str) -> System {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn site(mut self, text: &str) -> System {
        let path = self.root.path().join("site.toml");
        fs::write(&path, text).unwrap();
        self.site = Some(path);
        self
    }

    fn addresses(mut self, addresses: &[&str]) -> System {
        for (host, address) in self.hosts.iter_mut().zip(addresses) {
            host.address = address.to_string();
        }
        self
    }

    fn with<T>(&self, see: impl FnOnce(&Surroundings) -> T) -> T {
        let variable = |name: &str| {
            self.variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.clone())
        };
        see(&Surroundings {
            hosts: &self.hosts,
            variable: &variable,
            root: self.root.path(),
            site: &SiteFiles::at(self.site.iter().cloned().collect()),
            store: None,
        })
    }

    fn choose(&self) -> Choice {
        self.with(|surroundings| choose(surroundings, &NetworkChoice::Auto))
    }
}

/// The source that is used, and the distances of node 0 to the others.
fn used(choice: &Choice) -> (&'static str, Vec<u64>) {
    let source = choice.reports.iter().find(|report| report.used).map_or("flat", |r| r.source);
    let distances = choice.network.as_ref().map_or(Vec::new(), |network| {
        let hosts: Vec<usize> = network.host_of_node.iter().flatten().copied().collect();
        hosts[1..].iter().map(|&b| network.topology.distance(hosts[0], b)).collect()
    });
    (source, distances)
}

const CONF: &str =
    "SwitchName=a Nodes=n0,n2\nSwitchName=b Nodes=n1,n3\nSwitchName=r Switches=a,b\n";
const PBS: &str = "n0\n  Mom = n0.org\n  resources_available.switch = a\n\
                   n1\n  resources_available.switch = b\n\
                   n2\n  resources_available.switch = a\n\
                   n3\n  resources_available.switch = b\n";
const FLUX: &str = "{\"version\": 1, \"execution\": {\"R_lite\": [{\"rank\": \"0-3\"}], \
                    \"nodelist\": [\"n[0-3]\"], \"properties\": {\"rack1\": \"0,2\", \"rack2\": \"1,3\"}}}";
const NODES: [&str; 4] = ["n0", "n1", "n2", "n3"];

#[test]
fn names_are_those_of_the_option_and_all_say_what_they_need() {
    let names: Vec<&str> = ALL.iter().map(|source| source.name()).collect();
    assert_eq!(names[..names.len() - 1], NetworkChoice::NAMES[2..]);
    assert_eq!(names.last(), Some(&"flat"));
    for source in ALL {
        assert!(source.needs().len() > 20, "{}", source.name());
    }
}

#[test]
fn a_bare_system_gives_nothing_and_reasons() {
    let choice = System::new(&NODES).choose();
    assert!(choice.network.is_none());
    assert_eq!(choice.reports.len(), ALL.len());
    for report in &choice.reports {
        assert!(!report.used && !report.finding.is_empty(), "{report:?}");
    }
    assert_eq!(choice.problems().count(), 0);
    assert!(choice.sentence().contains("not known"));
}

#[test]
fn each_source_finds_its_network() {
    let tree = vec![4, 2, 4];
    for (system, source, distances) in [
        (
            System::new(&NODES).addresses(&["r.a.n0", "r.b.n1", "r.a.n2", "r.b.n3"]),
            "slurm-address",
            tree.clone(),
        ),
        (System::new(&NODES).file("etc/slurm/topology.conf", CONF), "slurm-files", tree.clone()),
        (System::new(&NODES).file("etc/rankweave/pbsnodes.txt", PBS), "pbs-nodes", tree.clone()),
        (System::new(&NODES).file("etc/flux/system/R", FLUX), "flux-resources", vec![4, 2, 4]),
        (
            System::new(&["x1000c0s0b0n0", "x1000c1s0b0n0", "x1000c0s0b0n1", "x1001c0s0b0n0"]),
            "names",
            vec![6, 2, 8],
        ),
        (
            System::new(&["c0-0c0s1n0", "c1-0c0s1n0", "c0-0c0s1n3", "c2-0c0s1n0"]),
            "names",
            vec![6, 2, 8],
        ),
        (
            System::new(&["r1n1", "r2n1", "r1n2", "r2n2"]).site("[[cluster]]\nnames = \"r{}n{}\""),
            "site",
            tree.clone(),
        ),
        (
            System::new(&["x0y0", "x0y3", "x2y2", "x1y0"])
                .site("[[cluster]]\nnames = \"x{}y{}\"\ntorus = \"4x4\""),
            "site",
            vec![1, 4, 1],
        ),
        (
            System::new(&NODES)
                .file("here.conf", CONF)
                .site("[[cluster]]\nnodes = \"n[0-9]\"\ntopology = \"slurm:FILE\""),
            "site",
            tree,
        ),
    ] {
        let mut system = system;
        if let Some(site) = &system.site {
            let text = fs::read_to_string(site).unwrap();
            let file = system.root.path().join("here.conf");
            fs::write(site, text.replace("FILE", &file.display().to_string())).unwrap();
        }
        let choice = system.choose();
        assert_eq!(used(&choice), (source, distances), "{:?}", choice.reports);
        // Sources of less trust are not asked.
        let used_at = choice.reports.iter().position(|report| report.used).unwrap();
        let later = &choice.reports[used_at + 1..];
        assert!(later.iter().all(|report| report.finding.starts_with("not asked, because a more")));
        assert!(later.iter().all(|report| report.source != "flat"));
        system.hosts.push(Host::named("elsewhere"));
        let partial = system.choose();
        let network = partial.network.unwrap();
        assert_eq!((network.known(), network.host_of_node.len()), (4, 5), "{source}");
        assert!(network.shape().contains("1 of the 5 nodes"), "{}", network.shape());
    }
}

#[test]
fn batch_systems_say_what_a_job_is_told() {
    let said = |variable: &'static str, source: &str| {
        let mut system = System::new(&NODES);
        system.variables.push((variable, "x".into()));
        let choice = system.choose();
        choice.reports.into_iter().find(|report| report.source == source).unwrap().finding
    };
    assert!(said("PBS_NODEFILE", "pbs-nodes").contains("PBS tells a job the names of its nodes"));
    assert!(said("FLUX_JOB_ID", "flux-resources").contains("Flux tells a job the numbers"));
    assert!(said("HOME", "pbs-nodes").contains("no job of PBS"));
    assert!(said("HOME", "flux-resources").contains("no job of Flux"));
}

/// A Slurm file with so many hosts that its answers are kept.
fn large_conf() -> String {
    let leaf =
        |k: usize| format!("SwitchName=s{k} Nodes=n[{}-{}],{}\n", 4 * k, 4 * k + 3, "x".repeat(30));
    let leaf = |k: usize| {
        leaf(k).replace("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", &format!("other-host-of-the-cluster-{k}"))
    };
    let leaves: String = (0..800).map(leaf).collect();
    format!("{leaves}SwitchName=r Switches=s[0-799]\n")
}

#[test]
fn answers_of_large_files_are_kept_until_the_file_changes() {
    let store = tempfile::tempdir().unwrap();
    let store = crate::store::Store::open(store.path());
    let system = System::new(&["n0", "n4", "n1", "n2", "elsewhere"])
        .file("etc/slurm/topology.conf", &large_conf());
    let file = system.root.path().join("etc/slurm/topology.conf");
    let hour = std::time::Duration::from_secs(3600);
    let age = |times: u32| {
        let then = std::time::SystemTime::now() - times * hour;
        fs::File::options().append(true).open(&file).unwrap().set_modified(then).unwrap();
    };
    let ask = || {
        system.with(|surroundings| {
            let surroundings = Surroundings {
                store: Some(&store),
                site: &SiteFiles::default(),
                root: surroundings.root,
                ..*surroundings
            };
            let choice = choose(&surroundings, &NetworkChoice::Auto);
            (used(&choice), choice.sentence())
        })
    };
    let kept = || store.kept_network_questions().unwrap().len();
    let first = ask();
    assert_eq!(first.0, ("slurm-files", vec![4, 2, 2]));
    assert_eq!(kept(), 0, "a file that was written just now may still change");
    age(2);
    assert_eq!((ask(), kept()), (first.clone(), 1));
    // The kept answer is used: the file is not read again.
    let length = fs::metadata(&file).unwrap().len() as usize;
    let damaged = "?".repeat(length);
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, damaged).unwrap();
    fs::File::options().append(true).open(&file).unwrap().set_modified(time).unwrap();
    assert_eq!(ask(), first);
    fs::write(&file, text.replace("n[4-7]", "n[5-7],n4")).unwrap();
    age(3);
    assert_eq!((ask(), kept()), (first, 2), "another file");
    fs::write(&file, large_conf().replace("n[4-7],", "")).unwrap();
    age(1);
    let changed = ask();
    assert!(changed.1.contains("2 of the 5 nodes"), "{}", changed.1);
    assert_eq!(ask(), changed);
}

#[test]
fn a_source_that_knows_all_nodes_wins_over_one_that_knows_some() {
    let system = System::new(&NODES)
        .addresses(&["r.a.n0", "r.b.n1", "r.a.n2", ""])
        .file("etc/slurm/topology.conf", CONF);
    assert_eq!(used(&system.choose()).0, "slurm-files");
    let system = System::new(&NODES).addresses(&["r.a.n0", "", "", ""]);
    let choice = system.choose();
    assert!(choice.network.is_none(), "fewer than half of the nodes");
    assert!(choice.reports[1].finding.contains("3 of the 4 nodes"), "{:?}", choice.reports);
}

#[test]
fn only_the_wanted_source_is_asked() {
    let system = System::new(&NODES)
        .addresses(&["r.a.n0", "r.a.n1", "r.a.n2", "r.b.n3"])
        .file("etc/slurm/topology.conf", CONF);
    let only = |name| system.with(|s| choose(s, &NetworkChoice::Only(name)));
    assert_eq!(used(&only("slurm-files")), ("slurm-files", vec![4, 2, 4]));
    assert!(only("names").network.is_none());
    let not_asked = |choice: &Choice| {
        choice.reports.iter().filter(|r| r.finding.starts_with("not asked, because --net")).count()
    };
    assert_eq!(not_asked(&only("names")), ALL.len() - 2);
    let off = system.with(|s| choose(s, &NetworkChoice::Off));
    assert_eq!((not_asked(&off), off.reports.len()), (ALL.len() - 1, ALL.len() - 1));
    assert!(off.is_off && off.sentence().contains("no source is asked (--network off)"));
}

#[test]
fn descriptions_that_cannot_be_used_are_reported_and_the_next_source_is_asked() {
    let system = System::new(&NODES)
        .site("[[cluster]]\nunknown = 1")
        .file("etc/slurm/topology.conf", "SwitchName=a Nodes=n[0-")
        .addresses(&["r.a.n0", "r.b.n1", "r.a.n2", "r.b.n3"]);
    let choice = system.choose();
    assert_eq!(used(&choice).0, "slurm-address");
    let problem = choice.problems().next().unwrap();
    assert!(problem.problem().contains("site.toml") && problem.advice().is_some(), "{problem:?}");
    let broken = system.with(|s| choose(s, &NetworkChoice::Only("slurm-files")));
    assert!(broken.problems().next().unwrap().problem().contains("topology.conf"));
}

#[test]
fn odd_files_in_place_of_descriptions_do_no_harm() {
    let system = System::new(&NODES).file("etc/slurm/topology.conf", CONF);
    let path = system.root.path().join("etc/slurm/topology.yaml");
    fs::create_dir(&path).unwrap();
    assert_eq!(used(&system.choose()).0, "slurm-files", "a directory is no file");
    let mut system = System::new(&NODES);
    system.site = Some(Path::new("/dev/zero").into());
    let choice = system.choose();
    assert!(
        choice.problems().next().unwrap().problem().contains("/dev/zero"),
        "{:?}",
        choice.reports
    );
}

#[test]
fn a_site_topology_without_names_of_hosts_says_what_is_missing() {
    let system = System::new(&NODES).site("[[cluster]]\ntopology = \"torus:2x2\"");
    let choice = system.choose();
    let said = &choice.reports[0].finding;
    assert!(said.contains("names no hosts") && said.contains("torus = \"2x2\""), "{said}");
    assert!(said.contains("names = "), "{said}");
}

#[test]
fn a_job_over_two_clusters_of_the_site_file_has_both() {
    let system = System::new(&["r1n1", "r2n1", "s1n1", "r1n2", "s1n2"])
        .site("[[cluster]]\nnames = \"r{}n{}\"\n[[cluster]]\nnames = \"s{}n{}\"\n");
    let choice = system.choose();
    assert_eq!(used(&choice), ("site", vec![4, 6, 2, 6]), "{:?}", choice.reports);
    assert!(choice.sentence().contains("are joined"), "{}", choice.sentence());
    // A node of no cluster is named, with the reason.
    let system = System::new(&["r1n1", "r2n1", "s1n1", "r1n2", "x7"]).site(
        "[[cluster]]\nnames = \"r{}n{}\"\n[[cluster]]\nnodes = \"s1n1\"\ntopology = \"slurm:/nonexistent/topology.conf\"\n",
    );
    let sentence = system.choose().sentence();
    assert!(sentence.contains("no [[cluster]] describes s1n1, x7"), "{sentence}");
    assert!(sentence.contains("[[cluster]] 2 cannot be used"), "{sentence}");
}

const IB: &str = "Switch 8 \"S-1\" # \"leaf1\"\n[1] \"H-0\"[1] # \"n0 HCA-1\"\n[2] \"H-2\"[1] # \"n2 HCA-1\"\n[8] \"S-2\"[8]\n\
                  Switch 8 \"S-2\" # \"leaf2\"\n[1] \"H-1\"[1] # \"n1 HCA-1\"\n[2] \"H-3\"[1] # \"n3 HCA-1\"\n";

#[test]
fn a_part_of_the_fabric_that_cannot_be_reached_makes_the_source_partial() {
    let lonely = "Switch 8 \"S-9\" # \"lonely\"\n[1] \"H-9\"[1] # \"n9 HCA-1\"\n";
    let all: Vec<&str> = NODES.into_iter().chain(["n9"]).collect();
    for site in [false, true] {
        let system = System::new(&all).file("etc/rankweave/fabric.txt", &format!("{IB}{lonely}"));
        let file = system.root.path().join("etc/rankweave/fabric.txt").display().to_string();
        let system = match site {
            true => system.site(&format!("[[cluster]]\ntopology = \"ib:{file}\"")),
            false => system,
        };
        let choice = system.choose();
        let source = if site { "site" } else { "fabric-files" };
        assert_eq!(used(&choice), (source, vec![3, 2, 3]), "{:?}", choice.reports);
        let sentence = choice.sentence();
        assert!(sentence.contains("1 of the 5 nodes") && sentence.contains("n9"), "{sentence}");
    }
    let other = System::new(&["n9"]).file("etc/rankweave/fabric.txt", &format!("{IB}{lonely}"));
    assert_eq!(other.choose().network.unwrap().known(), 1);
}

#[test]
fn a_large_fabric_in_parts_says_so_from_the_kept_answer_too() {
    let filler = "# filler\n".repeat(5000);
    let lonely = "Switch 8 \"S-9\"\n[1] \"H-9\"[1] # \"n9 HCA-1\"\n";
    let system = System::new(&["n0", "n1", "n2", "n3", "n9"])
        .file("etc/rankweave/fabric.txt", &format!("{IB}{lonely}{filler}"));
    let file = system.root.path().join("etc/rankweave/fabric.txt");
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs::File::options().append(true).open(&file).unwrap().set_modified(then).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = crate::store::Store::open(folder.path());
    let ask = || {
        system.with(|surroundings| {
            choose(&Surroundings { store: Some(&store), ..*surroundings }, &NetworkChoice::Auto)
                .sentence()
        })
    };
    let first = ask();
    assert_eq!(store.kept_network_questions().unwrap().len(), 1);
    assert_eq!(ask(), first);
    assert!(first.contains("separate networks"), "{first}");
}

#[test]
fn a_fabric_without_names_of_hosts_says_what_to_do() {
    let text = ["n0", "n1", "n2", "n3"].iter().fold(IB.to_string(), |text, name| {
        text.replace(&format!("{name} HCA-1"), "MT25408 ConnectX Mellanox Technologies")
    });
    let choice = System::new(&NODES).file("etc/rankweave/fabric.txt", &text).choose();
    let problem = choice.problems().next().unwrap().to_string();
    assert!(problem.contains("no host is named"), "{problem}");
    assert!(problem.contains("--node-name-map") && !problem.contains("at this place"), "{problem}");
}
