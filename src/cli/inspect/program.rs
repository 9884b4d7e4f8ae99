//! Finds the file that calls MPI, from the words with which a program is started.
//!
//! Programs are started through others: `env`, `numactl`, debuggers, scripts, containers. Programs that
//! pass the rest of their command line on are looked through. What a script or a container starts cannot
//! be known without running it, so the search ends there.

use super::image::{Image, NotElf};
use super::launch_line::Part;
use super::option_names::listed;
use crate::base::file;
use crate::base::raw_words::{decoded, encoded};
use crate::cli::launcher::{HANDING_ON, base_name, in_path};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A program that another one was started through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Through {
    /// Its name.
    pub name: String,
    /// The command that removes LD_PRELOAD for the program which it starts. `None` if the command passes LD_PRELOAD on.
    pub clears: Option<String>,
    /// The value that it sets for LD_PRELOAD.
    pub preload: Option<String>,
}

/// The program at which the search ends.
#[derive(Debug, Clone, Default)]
pub enum Program {
    /// A program.
    Binary(Box<Image>),
    /// A shell script, or the text of `sh -c`.
    Script {
        /// Its text, at most 1 MiB of it.
        text: String,
    },
    /// A container: the name of the program that runs it.
    Container(String),
    /// A file of some other kind.
    Strange(PathBuf),
    /// It is there and cannot be read.
    Unreadable(PathBuf, String),
    /// There is no such program.
    Missing(String),
    /// The command line names no program.
    #[default]
    Nothing,
}

/// The program that a part of a launch starts.
#[derive(Debug, Clone, Default)]
pub struct Started {
    /// Programs that it is started through.
    pub through: Vec<Through>,
    /// The program that is started in the end.
    pub program: Program,
    /// The file of that program.
    pub path: Option<PathBuf>,
    /// The words of that program.
    pub words: Vec<String>,
}

/// Programs that run containers.
const CONTAINERS: &str = "apptainer singularity docker podman podman-hpc enroot shifter sarus ch-run \
    udocker";

/// Programs of [`HANDING_ON`] whose first argument is one of their own commands.
const WITH_COMMAND: &str = "perf nsys vtune amplxe-cl advisor";

const SHELLS: &str = "sh bash dash zsh ksh ash";

const LONGEST_WAY: usize = 16;
const LONGEST_SCRIPT: u64 = 1 << 20;

/// Finds the program that a part of a launch starts.
pub fn start(part: &Part) -> Started {
    let mut started = Started { words: part.words.clone(), ..Started::default() };
    started.program = started.follow(part.directory.as_deref());
    started
}

/// The file that a word with a slash names, even if the file is not executable.
fn existing(word: &str) -> Option<PathBuf> {
    Some(PathBuf::from(decoded(word))).filter(|path| word.contains('/') && path.is_file())
}

impl Started {
    /// The program, if it is a binary.
    pub fn binary(&self) -> Option<&Image> {
        match &self.program {
            Program::Binary(image) => Some(image),
            _ => None,
        }
    }

    /// Steps from program to program, up to a program that starts no other or an unknown one.
    fn follow(&mut self, directory: Option<&Path>) -> Program {
        for _ in 0..LONGEST_WAY {
            let Some(word) = self.words.first().cloned() else { return Program::Nothing };
            let name = base_name(Path::new(&word));
            let here = match (directory, word.contains('/') && !word.starts_with('/')) {
                (Some(directory), true) => encoded(directory.join(decoded(&word)).as_os_str()),
                _ => word.clone(),
            };
            if listed(CONTAINERS, &name) {
                return Program::Container(name);
            }
            let Some(path) = in_path(&here).or_else(|| existing(&here)) else {
                return Program::Missing(word);
            };
            self.path = Some(path.clone());
            if listed(SHELLS, &name) {
                return self.shell();
            }
            if listed(HANDING_ON, &name) && self.hand_on(&name) {
                continue;
            }
            match Image::read(&path) {
                Ok(image) => return Program::Binary(Box::new(image)),
                Err(NotElf::Other) => return Program::Strange(path),
                Err(NotElf::Unreadable(why)) => return Program::Unreadable(path, why),
                Err(NotElf::Script(line)) => {
                    // The interpreter takes the place of the script's own name.
                    let mut words: Vec<String> = line.split_whitespace().map(Into::into).collect();
                    words.push(encoded(path.as_os_str()));
                    words.extend(self.words.drain(..).skip(1));
                    self.words = words;
                    self.through.push(Through { name, clears: None, preload: None });
                }
            }
        }
        Program::Missing(self.words.first().cloned().unwrap_or_default())
    }

    /// Steps over a program of [`HANDING_ON`]. `false` if no word after this program is a program.
    fn hand_on(&mut self, name: &str) -> bool {
        let mut through = Through { name: name.into(), clears: None, preload: None };
        let mut at = 1 + usize::from(listed(WITH_COMMAND, name));
        if name == "env" {
            while let Some(word) = self.words.get(at) {
                let cleared = match word.as_str() {
                    "-i" | "-" | "--ignore-environment" => true,
                    "-u" | "--unset" => {
                        at += 1;
                        self.words.get(at).is_some_and(|w| w == "LD_PRELOAD")
                    }
                    "-uLD_PRELOAD" | "--unset=LD_PRELOAD" => true,
                    "-C" | "--chdir" | "-S" | "--split-string" => {
                        at += usize::from(word.starts_with("-C") || word == "--chdir");
                        false
                    }
                    other => {
                        if let Some(value) = other.strip_prefix("LD_PRELOAD=") {
                            through.preload = Some(value.to_string());
                        } else if !other.starts_with('-') && !other.contains('=') {
                            break;
                        }
                        false
                    }
                };
                if cleared {
                    through.clears = Some(format!("env {}", self.words[1..=at].join(" ")));
                    through.preload = None;
                }
                at += 1;
            }
        }
        let runs = |word: &String| {
            !word.starts_with('-') && (in_path(word).is_some() || existing(word).is_some())
        };
        let next = match name {
            "env" => (at < self.words.len()).then_some(at),
            _ => (at..self.words.len()).find(|&k| runs(&self.words[k])),
        };
        let Some(next) = next else { return false };
        self.words.drain(..next);
        self.through.push(through);
        true
    }

    /// The script that a shell runs, or the text behind `-c`.
    fn shell(&mut self) -> Program {
        let mut at = 1;
        while let Some(word) = self.words.get(at).filter(|w| w.starts_with(['-', '+'])) {
            if !word.starts_with("--") && word.contains('c') {
                let text = self.words.get(at + 1).cloned().unwrap_or_default();
                return Program::Script { text };
            }
            at += 1 + usize::from(matches!(word.as_str(), "-o" | "+o" | "-O" | "+O"));
        }
        let Some(word) = self.words.get(at) else { return Program::Script { text: String::new() } };
        let path = PathBuf::from(decoded(word));
        self.path = Some(path.clone());
        self.words.drain(..at);
        let mut bytes = Vec::new();
        let read = file::open(&path)
            .and_then(|(file, _)| file.take(LONGEST_SCRIPT).read_to_end(&mut bytes));
        match read {
            Ok(_) => Program::Script { text: String::from_utf8_lossy(&bytes).into_owned() },
            Err(error) => Program::Unreadable(path, error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn of(line: &str) -> Started {
        let words = line.split(' ').map(str::to_string).collect();
        start(&Part { words, ..Part::default() })
    }

    #[test]
    fn looks_through_what_hands_on() {
        for line in ["/bin/true x", "timeout 10 /bin/true x", "env A=1 nice -n 3 /bin/true x"] {
            let started = of(line);
            assert!(matches!(started.program, Program::Binary(_)), "{line}");
            assert_eq!(started.words, ["/bin/true", "x"], "{line}");
        }
        let cleared = |line: &str| of(line).through[0].clears.is_some();
        assert!(cleared("env -i /bin/true") && cleared("env -u LD_PRELOAD /bin/true"));
        assert!(cleared("env --unset=LD_PRELOAD A=1 /bin/true"));
        assert!(!cleared("env -u HOME A=1 /bin/true"));
        assert_eq!(
            of("env LD_PRELOAD=/x.so /bin/true").through[0].preload.as_deref(),
            Some("/x.so")
        );
    }

    #[test]
    fn ends_where_the_way_is_unknown() {
        assert!(
            matches!(of("apptainer exec a.sif ./a").program, Program::Container(n) if n == "apptainer")
        );
        let words = ["bash", "-lc", "unset LD_PRELOAD; ./a"].map(str::to_string).to_vec();
        let started = start(&Part { words, ..Part::default() });
        assert!(matches!(started.program, Program::Script { text } if text.contains("unset")));
        assert!(matches!(of("/no/such/program").program, Program::Missing(_)));
        assert!(matches!(start(&Part::default()).program, Program::Nothing));
        assert!(matches!(of("/etc/passwd").program, Program::Strange(_)));
    }

    #[test]
    fn scripts_lead_to_their_interpreter() {
        let dir = tempfile::tempdir().unwrap();
        let script = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path.display().to_string()
        };
        let started = of(&format!("{} -v", script("s", "#!/bin/sh\nexport -n LD_PRELOAD\n./a\n")));
        assert!(matches!(started.program, Program::Script { text } if text.contains("export -n")));
        let path = script("t", "#!/usr/bin/env true\n");
        let started = of(&format!("{path} -v"));
        assert!(matches!(started.program, Program::Binary(_)));
        assert_eq!(started.words, ["true", path.as_str(), "-v"]);
        // A script that is its own interpreter does not hang the search.
        let path = script("u", "");
        std::fs::write(&path, format!("#!{path}\n")).unwrap();
        assert!(matches!(of(&path).program, Program::Missing(_)));
    }
}
