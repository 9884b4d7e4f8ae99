//! The machines in tests/machines: what is expected of each, and what hwloc says about them.
//!
//! `tests/machines/index` has the levels, the numbers of devices and the nearest rail of each GPU. For the XML that
//! the installed hwloc can read, the levels also have to agree with hwloc itself: a program asks it for the lowest
//! common object of every pair of PUs, and for the place of every PCI function. Without hwloc's headers, or a C
//! compiler, this comparison is skipped with a message.

use crate::support::repository;
use rankweave::topology::{CpuSet, Machine};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    repository("tests/machines")
}

fn read(file: &str) -> Machine {
    let text = std::fs::read_to_string(folder().join(file)).expect("a file of the repository");
    let machine = match file.ends_with(".sys") {
        true => Machine::from_sys_listing(&text),
        false => Machine::from_hwloc_xml(&text),
    };
    machine.unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The lines of the index: a file, and what is expected of it.
fn index() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(folder().join("index")).expect("the index");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let split = |line: &str| {
        let (file, expected) = line.split_once(' ').expect("a file and what is expected of it");
        (file.to_string(), expected.trim().to_string())
    };
    lines.map(split).collect()
}

/// What a machine is, in the words of the index.
fn described(machine: &Machine) -> String {
    let mut text = machine.describe();
    if machine.devices().is_empty() {
        return text;
    }
    let (gpus, rails) = (machine.gpus(), machine.rails());
    text += &format!(" | {} {} {}", gpus.len(), machine.devices().len() - gpus.len(), rails.len());
    let near: Vec<String> = gpus
        .iter()
        .zip(machine.rails_of_gpus())
        .map(|(gpu, near)| {
            let (rail, nearness) = near.expect("a rail");
            format!("{} {} {nearness}", gpu.name, rails[rail].name)
        })
        .collect();
    if !near.is_empty() {
        text += &format!(" | {}", near.join(", "));
    }
    text
}

#[test]
fn every_machine_has_its_expected_structure() {
    let index = index();
    let mut wrong = Vec::new();
    for (file, expected) in &index {
        let found = described(&read(file));
        if found != *expected {
            wrong.push(format!("{file}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(index.len() >= 60, "{} machines", index.len());
}

#[test]
fn the_index_lists_every_machine() {
    let entries = std::fs::read_dir(folder()).expect("the folder").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let machines: BTreeSet<String> =
        names.filter(|name| name.ends_with(".xml") || name.ends_with(".sys")).collect();
    let listed: BTreeSet<String> = index().into_iter().map(|(file, _)| file).collect();
    assert_eq!(machines, listed);
}

/// Every process has the rail of its domain or package, and rails that are equally near have equally many.
#[test]
fn the_places_of_a_node_share_its_rails() {
    for (file, _) in index() {
        let machine = read(&file);
        let places: Vec<CpuSet> =
            machine.pus().iter().map(|&pu| [pu].into_iter().collect()).collect();
        let attached = machine.attachments(&places);
        let rails = machine.rails();
        let mut of_rail: BTreeMap<usize, usize> = BTreeMap::new();
        for (place, attachment) in places.iter().zip(&attached) {
            assert_eq!(attachment.rail.is_some(), !rails.is_empty(), "{file}");
            assert_eq!(attachment.gpu.is_some(), !machine.gpus().is_empty(), "{file}");
            let Some(rail) = attachment.rail else { continue };
            *of_rail.entry(rail).or_default() += 1;
            let is_local = |rail: usize| rails[rail].pus.contains(place.iter().next().unwrap());
            let some_local = (0..rails.len()).any(is_local);
            assert!(!some_local || is_local(rail), "{file}: {place} has a remote rail");
            let alone = machine.rail_of(place).expect("a rail");
            assert!(!some_local || is_local(alone), "{file}: {place} alone has a remote rail");
        }
        if ["mi250x-4nic.xml", "sys-mi250x-4nic.sys", "mi300a-4apu.xml", "grace-hopper-4.xml"]
            .contains(&file.as_str())
        {
            let counts: BTreeSet<usize> = of_rail.values().copied().collect();
            assert_eq!((of_rail.len(), counts.len()), (rails.len(), 1), "{file}: {of_rail:?}");
        }
    }
}

/// The program that asks hwloc; `None` if it cannot be compiled here.
fn program(directory: &Path) -> Option<PathBuf> {
    let program = directory.join("ask_hwloc");
    let source = folder().join("ask_hwloc.c");
    let compiled = Command::new("cc").arg("-o").arg(&program).arg(source).arg("-lhwloc").output();
    compiled.ok()?.status.success().then_some(program)
}

/// The PUs of the innermost group that has both PUs.
fn common(machine: &Machine, a: usize, b: usize) -> CpuSet {
    let at = |pu: usize| machine.pus().iter().position(|&known| known == pu).expect("a PU");
    let (a, b) = (at(a), at(b));
    let shared = (0..machine.level_names().len())
        .take_while(|&level| machine.groups(level)[a] == machine.groups(level)[b])
        .last();
    let inside = |k: &usize| {
        shared.is_none_or(|level| machine.groups(level)[*k] == machine.groups(level)[a])
    };
    (0..machine.pus().len()).filter(inside).map(|k| machine.pus()[k]).collect()
}

#[test]
fn hwloc_agrees_about_every_pair_of_pus_and_every_device() {
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = program(directory.path()) else {
        eprintln!("skipped: there is no C compiler, or no hwloc with its headers (libhwloc-dev)");
        return;
    };
    let (mut compared, mut pairs, mut functions) = (0, 0, 0);
    for (file, _) in index().into_iter().filter(|(file, _)| file.ends_with(".xml")) {
        let path = folder().join(&file);
        let answer = Command::new(&program).arg(path).output().expect("the program runs");
        if !answer.status.success() {
            let is_newer = file.starts_with("hwloc3");
            assert!(
                is_newer,
                "hwloc does not read {file}: {}",
                String::from_utf8_lossy(&answer.stderr)
            );
            eprintln!("skipped: the installed hwloc does not read {file}");
            continue;
        }
        let machine = read(&file);
        let count = machine.pus().len();
        let mut seen = 0;
        for line in String::from_utf8(answer.stdout).expect("text").lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let set = CpuSet::from_list(words[words.len() - 1]).expect("a list");
            if words[0] == "pair" {
                let [a, b] = [1, 2].map(|k| words[k].parse().expect("a number"));
                assert_eq!(
                    common(&machine, a, b).to_string(),
                    set.to_string(),
                    "{file}: {a} and {b}"
                );
                seen += 1;
            } else if let Some(device) = machine.devices().iter().find(|d| d.bus_id == words[1]) {
                assert_eq!(device.pus.to_string(), set.to_string(), "{file}: {}", device.name);
                functions += 1;
            }
        }
        assert_eq!(seen, count * (count - 1) / 2, "{file}: hwloc has other PUs");
        compared += 1;
        pairs += seen;
    }
    eprintln!("{compared} machines, {pairs} pairs of PUs and {functions} devices agree with hwloc");
    assert!(compared > 40);
}
