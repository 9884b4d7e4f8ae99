//! What a launch reads: the variables of its environment, the executable of the program, and descriptions of its
//! hosts.

use rankweave::allocation::filling::{Filling, host_of_rank};
use rankweave::allocation::{batch_system, host_file, host_list};
use rankweave::launch::PlacedRanks;
use rankweave::options::{SettingFile, Settings, TABLE};
use rankweave::store::{build_id, identity};
use std::io::Cursor;
use std::path::Path;

/// Any values of the variables give settings, with an error for each that was ignored.
pub fn settings(bytes: &[u8]) {
    let Some(values) = super::decoded::<Vec<String>>(bytes) else { return };
    let (_, errors) = Settings::from_env(|name| {
        let k = TABLE.iter().position(|option| option.env == name)?;
        values.get(k).cloned()
    });
    assert!(errors.iter().all(|error| error.place().is_some()));
}

/// A setting file of any content gives settings, each of which is understood, or an error with its place and advice.
pub fn setting_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let variable =
        |name: &str| name.len().is_multiple_of(2).then(|| "/value/of/a/variable".to_string());
    match SettingFile::of_text(Path::new("rankweave.toml"), &text, variable) {
        Ok(file) => {
            let mut settings = Settings::default();
            for (option, value) in &file.values {
                assert!(settings.set(option.name, value).is_ok(), "{} {value}", option.name);
            }
        }
        Err(error) => assert!(error.place().is_some() && error.advice().is_some(), "{error}"),
    }
}

/// An executable of any content and any command line give an identity or an error.
pub fn identities(bytes: &[u8]) {
    let Some((bytes, args)) = super::decoded::<(Vec<u8>, Vec<String>)>(bytes) else { return };
    let _ = build_id(&mut Cursor::new(&bytes));
    for exe in ["/bin/python3", "/bin/java", "/bin/bash"] {
        let _ = identity(Path::new(exe), &args);
    }
}

/// Any text is a list of hosts or an error, and no host gets more ranks than it takes. The first byte chooses the form.
pub fn hosts(bytes: &[u8]) {
    let Some((form, content)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(content);
    // Millions of hosts are right, and only take time.
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u64>().ok());
    if numbers.fold(1, |product: u64, n| product.saturating_mul(n.max(1))) > 1 << 16 {
        return;
    }
    let read = match form % 6 {
        0 => host_file::open_mpi(&text, "hosts"),
        1 => host_file::hydra(&text, "hosts"),
        2 => host_file::node_file(&text, "hosts"),
        3 => host_list::with_counts(&text, "--host"),
        4 => {
            let (list, tasks) = text.split_once('\n').unwrap_or((&text, "1"));
            batch_system::slurm(list, Some(tasks))
        }
        _ => {
            if let Ok(placed) = PlacedRanks::parse(text.trim_start_matches('@')) {
                assert_eq!(PlacedRanks::parse(&placed.text()).ok(), Some(placed));
            }
            return;
        }
    };
    let Ok(allocation) = read else { return };
    let hosts = allocation.hosts();
    let Ok(hosts) = hosts else { return };
    let Some(totals) = hosts.totals() else { return };
    let all: usize = totals.iter().map(|&n| n as usize).sum();
    for filling in [Filling::Slots, Filling::Rounds, Filling::Exact] {
        let Some(order) = host_of_rank(&hosts, all, filling) else { continue };
        for (host, &most) in totals.iter().enumerate().take(16) {
            let on = order.iter().filter(|&&h| h as usize == host).count();
            assert_eq!(on, most as usize, "{filling:?}");
        }
    }
}
