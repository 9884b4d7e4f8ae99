//! Reads the options of a launch from variables, by the table of options.

use super::settings::Settings;
use super::table::{TABLE, find};
use crate::base::error::{Error, ErrorKind, Result};

impl Settings {
    /// Reads every option of the table with `variable`, a function from a variable's name to its
    /// value (`std::env::var` in a program, a map in a test).
    ///
    /// A value that cannot be read leaves the default and adds an error that names the variable.
    /// An empty value counts as not set.
    pub fn from_env(variable: impl Fn(&str) -> Option<String>) -> (Settings, Vec<Error>) {
        let mut settings = Settings::default();
        let mut errors = Vec::new();
        for option in TABLE {
            let Some(value) = variable(option.env) else { continue };
            if value.trim().is_empty() {
                continue;
            }
            if let Err(error) = settings.set(option.name, &value) {
                errors.push(error.at(option.env));
            }
        }
        (settings, errors)
    }

    /// The settings in the environment of this process, as [`Settings::from_env`] reads them.
    pub fn from_process_env() -> (Settings, Vec<Error>) {
        Settings::from_env(|name| {
            std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
        })
    }

    /// Sets one option by its name. On an error, the settings stay as they are.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match find(name) {
            Some(option) => (option.apply)(self, value.trim()),
            None => Err(Error::new(ErrorKind::Usage, format!("there is no option '{name}'"))
                .advise("look at the list of 'rankweave env'")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::choices::{Collectives, Mode, Slots, Times};
    use super::super::names::Names;
    use super::*;
    use proptest::prelude::*;
    use std::path::PathBuf;
    use std::time::Duration;

    fn from(pairs: &[(&str, &str)]) -> (Settings, Vec<Error>) {
        Settings::from_env(|name| {
            pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_string())
        })
    }

    #[test]
    fn nothing_set_gives_the_defaults() {
        assert_eq!(from(&[]), (Settings::default(), vec![]));
        assert_eq!(from(&[("RANKWEAVE_KEY", " "), ("RANKWEAVE_FIX", "")]).0, Settings::default());
    }

    #[test]
    fn reads_every_option() {
        let (s, errors) = from(&[
            ("RANKWEAVE_MODE", "Shuffle"),
            ("RANKWEAVE_STORE", "/tmp/x"),
            ("RANKWEAVE_KEY", "mine"),
            ("RANKWEAVE_SEED", "7"),
            ("RANKWEAVE_TOPOLOGY", "tree:2:4"),
            ("RANKWEAVE_SLOTS", "3,2-0x"),
            ("RANKWEAVE_FIX", "none"),
            ("RANKWEAVE_MIN_GAIN", "12.5%"),
            ("RANKWEAVE_VERBOSE", "2"),
            ("RANKWEAVE_TIME_LIMIT", "250ms"),
            ("RANKWEAVE_SEARCHERS", "3"),
            ("RANKWEAVE_COLLECTIVES", "logical"),
            ("RANKWEAVE_TIMES", "All"),
            ("RANKWEAVE_SPILL", "/scratch/node"),
            ("RANKWEAVE_FLUSH", "10m"),
            ("RANKWEAVE_FLUSH_SIGNAL", "usr2"),
            ("RANKWEAVE_ALLOW", "lmp*"),
            ("RANKWEAVE_DENY", "*"),
        ]);
        assert_eq!(errors, vec![]);
        assert_eq!(s.mode, Mode::Shuffle);
        assert_eq!(s.store, Some(PathBuf::from("/tmp/x")));
        assert_eq!(s.key.as_deref(), Some("mine"));
        assert_eq!((s.seed, s.verbose, s.min_gain), (7, 2, 12.5));
        assert_eq!(s.topology.as_deref(), Some("tree:2:4"));
        assert_eq!(s.slots, Some(Slots::File("3,2-0x".into())));
        assert_eq!(s.fix, Vec::<u32>::new());
        assert_eq!(s.time_limit, Duration::from_millis(250));
        assert_eq!(s.searchers, Some(3));
        assert_eq!((s.collectives, s.times), (Collectives::Logical, Times::All));
        assert_eq!(s.flush, Some(Duration::from_secs(600)));
        assert_eq!(s.flush_signal, Some(libc::SIGUSR2));
        assert_eq!((s.allow, s.deny), (Names::parse("lmp*"), Names::parse("*")));
        assert_eq!(s.spill.directory(), Some(std::path::Path::new("/scratch/node")));
    }

    #[test]
    fn a_bad_value_is_reported_and_ignored() {
        let (s, errors) = from(&[("RANKWEAVE_MODE", "recrod"), ("RANKWEAVE_SEED", "5")]);
        assert_eq!((s.mode, s.seed), (Mode::Auto, 5));
        assert_eq!(errors.len(), 1);
        let text = errors[0].to_string();
        assert!(text.contains("RANKWEAVE_MODE") && text.contains("reorder"), "{text}");
    }

    #[test]
    fn slots_come_from_a_file_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("slots");
        std::fs::write(&path, "# of partition b\n4\n2-3 # two\n").unwrap();
        assert_eq!(Slots::File(path.clone()).read().unwrap(), [4, 2, 3]);
        std::fs::write(&path, "4\nfour\n").unwrap();
        let error = Slots::File(path.clone()).read().unwrap_err().to_string();
        assert!(error.contains("four") && error.contains("slots"), "{error}");
        assert!(Slots::File(dir.path().join("absent")).read().is_err());
    }

    proptest! {
        #[test]
        fn never_fails(values in prop::collection::vec(".{0,20}", TABLE.len())) {
            let pairs: Vec<(&str, &str)> =
                TABLE.iter().zip(&values).map(|(o, v)| (o.env, v.as_str())).collect();
            let (_, errors) = from(&pairs);
            prop_assert!(errors.iter().all(|e| e.place().is_some()));
        }
    }
}
