//! Takes the command line of a program that starts containers apart: its command, its options, and the image behind them.
//! What is behind the image belongs to the program in the container.
//!
//! Sources: the help of Docker 28, Podman 4.3 and ch-run 0.31, and the sources of Apptainer and SingularityCE.

use crate::cli::inspect::listed;
use std::path::PathBuf;

/// A kind of program that starts containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runtime {
    Docker,
    Podman,
    Apptainer,
    Charliecloud,
    Enroot,
}

impl Runtime {
    /// `None` if the options of this program are not known here.
    pub(super) fn of(name: &str) -> Option<Runtime> {
        Some(match name {
            "docker" => Runtime::Docker,
            "podman" | "podman-hpc" => Runtime::Podman,
            "apptainer" | "singularity" => Runtime::Apptainer,
            "ch-run" => Runtime::Charliecloud,
            "enroot" => Runtime::Enroot,
            _ => return None,
        })
    }

    /// Docker or Podman, which have most options in common.
    pub(super) fn is_oci(self) -> bool {
        matches!(self, Runtime::Docker | Runtime::Podman)
    }

    /// The options of this command; `None` if it starts no program in a container, or is not known here.
    fn grammar(self, command: &str) -> Option<&'static Grammar> {
        match (self, command) {
            (Runtime::Docker | Runtime::Podman, "run") => Some(&OCI_RUN),
            (Runtime::Docker | Runtime::Podman, "exec") => Some(&OCI_EXEC),
            (Runtime::Apptainer, "exec" | "run" | "test") => Some(&APPTAINER),
            (Runtime::Enroot, "start" | "exec") => Some(&ENROOT),
            (Runtime::Charliecloud, "") => Some(&CHARLIECLOUD),
            _ => None,
        }
    }

    /// The options in front of the command; `None` if the program has no commands.
    fn of_itself(self) -> Option<&'static Grammar> {
        match self {
            Runtime::Docker => Some(&DOCKER),
            Runtime::Podman => Some(&PODMAN),
            Runtime::Apptainer => Some(&APPTAINER_ITSELF),
            Runtime::Enroot => Some(&NONE),
            Runtime::Charliecloud => None,
        }
    }
}

/// The options of a command. `name|n` has the short name `n`.
struct Grammar {
    /// Options with a value: the next word, or the text behind `=`.
    values: &'static str,
    /// Options without a value. `=true` and `=false` may be behind them.
    bare: &'static str,
    /// Options whose value can only be behind `=`.
    rest: &'static str,
    /// A name may be cut, and `=` is no sign behind a short name (GNU's library). Else as Go's library has it.
    is_gnu: bool,
}

const NONE: Grammar = Grammar { values: "", bare: "", rest: "", is_gnu: false };

const DOCKER: Grammar = Grammar {
    values: "config context|c host|H log-level|l tlscacert tlscert tlskey",
    bare: "debug|D tls tlsverify",
    ..NONE
};

const PODMAN: Grammar = Grammar {
    values: "cgroup-manager config conmon connection|c events-backend hooks-dir identity imagestore log-level module \
        namespace network-cmd-path network-config-dir out root runroot runtime runtime-flag ssh storage-driver \
        storage-opt tmpdir url volumepath",
    bare: "noout remote|r syslog transient-store",
    ..NONE
};

const OCI_RUN: Grammar = Grammar {
    values: "add-host annotation arch attach|a authfile blkio-weight blkio-weight-device cap-add cap-drop cert-dir \
        cgroup-conf cgroup-parent cgroupns cgroups chrootdirs cidfile conmon-pidfile cpu-count cpu-percent cpu-period \
        cpu-quota cpu-rt-period cpu-rt-runtime cpu-shares|c cpus cpuset-cpus cpuset-mems creds decryption-key \
        detach-keys device device-cgroup-rule device-read-bps device-read-iops device-write-bps device-write-iops dns \
        dns-opt dns-option dns-search domainname entrypoint env|e env-file env-merge expose gidmap gpus group-add \
        group-entry health-cmd health-interval health-log-destination health-max-log-count health-max-log-size \
        health-on-failure health-retries health-start-interval health-start-period health-startup-cmd \
        health-startup-interval health-startup-retries health-startup-success health-startup-timeout health-timeout \
        hostname|h hosts-file hostuser image-volume init-path intel-rdt-closid io-maxbandwidth io-maxiops ip ip6 ipc \
        isolation kernel-memory label|l label-file link link-local-ip log-driver log-opt mac-address memory|m \
        memory-reservation memory-swap memory-swappiness mount name net network network-alias oom-score-adj os \
        passwd-entry personality pid pidfile pids-limit platform pod pod-id-file preserve-fd preserve-fds publish|p pull \
        rdt-class requires restart retry retry-delay runtime sdnotify seccomp-policy secret security-opt shm-size \
        shm-size-systemd stop-signal stop-timeout storage-opt subgidname subuidname sysctl systemd timeout tmpfs tz \
        uidmap ulimit umask unsetenv user|u userns uts variant volume|v volume-driver volumes-from workdir|w",
    bare: "detach|d disable-content-trust env-host help http-proxy init interactive|i no-healthcheck no-hostname \
        no-hosts oom-kill-disable passwd privileged publish-all|P quiet|q read-only read-only-tmpfs replace rm rmi \
        rootfs sig-proxy tls-verify tty|t unsetenv-all use-api-socket",
    ..NONE
};

const OCI_EXEC: Grammar = Grammar {
    values: "cidfile detach-keys env|e env-file preserve-fd preserve-fds user|u workdir|w",
    bare: "detach|d interactive|i latest|l no-session privileged tty|t",
    ..NONE
};

const APPTAINER_ITSELF: Grammar = Grammar {
    values: "config|c docker-host",
    bare: "build-config debug|d nocolor quiet|q silent|s verbose|v",
    ..NONE
};

const APPTAINER: Grammar = Grammar {
    values: "add-caps app apply-cgroups authfile bind|B blkio-weight blkio-weight-device cdi-dirs containlibs cpu-shares \
        cpus cpuset-cpus cpuset-mems cwd device dmtcp-launch dmtcp-restart dns docker-host docker-password \
        docker-username drop-caps env env-file fusemount home|H hostname memory memory-reservation memory-swap mount \
        netns-path network network-args no-mount overlay|o pem-path pids-limit proot pwd scratch|S security tmpdir \
        vm-cpu vm-ip vm-ram workdir|W",
    bare: "allow-setuid boot cleanenv|e compat contain|c containall|C disable-cache docker-login fakeroot|f \
        ignore-fakeroot-command ignore-subuid ignore-userns ipc|i keep-privs net|n no-compat no-eval no-home no-https \
        no-init no-nv no-oci no-pid no-privs no-rocm no-setgroups no-tmp-sandbox no-umask nohttps nv nvccli oci \
        oom-kill-disable passphrase pid|p rocm sharens tmp-sandbox underlay unsquash userns|u uts vm vm-err \
        writable|w writable-tmpfs",
    ..NONE
};

const CHARLIECLOUD: Grammar = Grammar {
    values: "bind|b cd|c feature gid|g join-ct join-pid join-tag mount|m storage|s test uid|u unset-env warnings",
    bare: "ch-ssh env-no-expand help home join|j no-home no-passwd private-tmp|t quiet|q seccomp unsafe usage verbose|v \
        version|V write|w",
    rest: "color set-env write-fake|W",
    is_gnu: true,
};

const ENROOT: Grammar = Grammar { values: "conf|c env|e mount|m rc", bare: "root|r rw|w", ..NONE };

/// What is behind the name of an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Value,
    Bare,
    Rest,
}

impl Grammar {
    fn names(&self) -> impl Iterator<Item = (&'static str, Option<&'static str>, Kind)> {
        let lists = [(self.values, Kind::Value), (self.bare, Kind::Bare), (self.rest, Kind::Rest)];
        lists.into_iter().flat_map(|(list, kind)| {
            list.split_whitespace().map(move |entry| match entry.split_once('|') {
                Some((name, short)) => (name, Some(short), kind),
                None => (entry, None, kind),
            })
        })
    }

    /// The whole name of a long option, and what is behind it.
    fn long(&self, name: &str) -> Option<(&'static str, Kind)> {
        if let Some((name, _, kind)) = self.names().find(|known| known.0 == name) {
            return Some((name, kind));
        }
        let mut alike = self.names().filter(|known| self.is_gnu && known.0.starts_with(name));
        let only = alike.next().filter(|_| alike.next().is_none());
        only.map(|(name, _, kind)| (name, kind))
    }

    fn short(&self, letter: &str) -> Option<(&'static str, Kind)> {
        let found = self.names().find(|known| known.1 == Some(letter));
        found.map(|(name, _, kind)| (name, kind))
    }
}

/// What surrounds a command line.
pub(super) struct Surroundings<'a> {
    /// The folder in which the program starts.
    pub directory: PathBuf,
    /// The value of a variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Whether Apptainer starts containers with setuid. `None` if this is not known.
    pub has_setuid: Option<bool>,
}

impl Surroundings<'_> {
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    /// The values of the variables from which Apptainer or Singularity (`name`) takes options. Singularity may be Apptainer.
    pub(super) fn of_apptainer(&self, name: &str, keys: &[&str]) -> Vec<String> {
        let prefixes = ["SINGULARITY_", "APPTAINER_"];
        let prefixes = &prefixes[..if name == "apptainer" { 2 } else { 1 }];
        let names =
            prefixes.iter().flat_map(|prefix| keys.iter().map(move |k| format!("{prefix}{k}")));
        names.filter_map(|name| self.variable(&name)).collect()
    }
}

/// An option with its long name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    pub name: String,
    pub value: Option<String>,
}

/// The command line of a program that starts containers.
#[derive(Debug)]
pub(super) struct ContainerLine {
    /// `run`, `exec`, …; empty if the program has no commands.
    pub command: String,
    /// The options in front of the image.
    pub options: Vec<Given>,
    /// The image, or the container that is there already.
    pub image: String,
}

impl ContainerLine {
    /// Takes `words` apart. Errors: why the command line is not understood, in words.
    pub(super) fn of(runtime: Runtime, words: &[String]) -> Result<ContainerLine, String> {
        let mut at = 1;
        let mut command = String::new();
        if let Some(grammar) = runtime.of_itself() {
            at = read(grammar, words, at, &mut Vec::new())?;
            // `podman container run` is `podman run`.
            at += usize::from(runtime.is_oci() && words.get(at).is_some_and(|w| w == "container"));
            command = words.get(at).cloned().unwrap_or_default();
            at += 1;
        }
        let grammar = runtime
            .grammar(&command)
            .ok_or_else(|| format!("its command '{command}' is not known here"))?;
        let mut options = Vec::new();
        let at = read(grammar, words, at, &mut options)?;
        if runtime == Runtime::Docker && options.iter().any(|option| option.name == "env-host") {
            return Err("Docker has no --env-host".into());
        }
        let image = words.get(at).cloned().ok_or("it names no image")?;
        Ok(ContainerLine { command, options, image })
    }

    /// The values of the options with one of these names, in their order.
    pub(super) fn values<'a>(&'a self, names: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.options.iter().filter(|option| listed(names, &option.name));
        named.filter_map(|option| option.value.as_deref())
    }

    /// Whether an option without a value is switched on.
    pub(super) fn is_on(&self, name: &str) -> bool {
        let last = self.options.iter().rev().find(|option| option.name == name);
        last.is_some_and(|option| option.value.as_deref().is_none_or(is_true))
    }
}

/// Whether the value of a switch means that it is on.
pub(super) fn is_true(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "false" | "f" | "0" | "")
}

/// Reads the options that begin at `at`. Returns the index of the first word behind them.
fn read(
    grammar: &Grammar,
    words: &[String],
    mut at: usize,
    options: &mut Vec<Given>,
) -> Result<usize, String> {
    while let Some(word) = words.get(at) {
        let next = words.get(at + 1).map(String::as_str);
        let takes_next = match word.strip_prefix('-') {
            Some("-") => return Ok(at + 1),
            None | Some("") => break,
            Some(letters) => match letters.strip_prefix('-') {
                Some(text) => long(grammar, text, next, options)?,
                None => short(grammar, letters, next, options)?,
            },
        };
        at += 1 + usize::from(takes_next);
    }
    Ok(at)
}

/// Reads a long option without its dashes. Returns whether its value is the next word.
fn long(
    grammar: &Grammar,
    text: &str,
    next: Option<&str>,
    options: &mut Vec<Given>,
) -> Result<bool, String> {
    let (name, inline) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let (name, kind) = match (grammar.long(name), inline) {
        (Some(known), _) => known,
        // Its value is in the word, so that the words behind it are clear.
        (None, Some(_)) if !grammar.is_gnu => (name, Kind::Rest),
        (None, _) => return Err(format!("its option --{name} is not known here")),
    };
    let takes_next = kind == Kind::Value && inline.is_none();
    let value = if takes_next { next } else { inline };
    if takes_next && value.is_none() {
        return Err(format!("its option --{name} has no value"));
    }
    options.push(Given { name: name.into(), value: value.map(str::to_string) });
    Ok(takes_next)
}

/// Reads short options that share a word. Returns whether the value of the last one is the next word.
fn short(
    grammar: &Grammar,
    letters: &str,
    next: Option<&str>,
    options: &mut Vec<Given>,
) -> Result<bool, String> {
    let mut left = letters;
    while let Some(letter) = left.chars().next() {
        let (text, behind) = left.split_at(letter.len_utf8());
        let known = grammar.short(text);
        let (name, kind) = known.ok_or_else(|| format!("its option -{text} is not known here"))?;
        let inline = match behind.strip_prefix('=') {
            Some(value) if !grammar.is_gnu => Some(value),
            _ => Some(behind).filter(|behind| !behind.is_empty() && kind != Kind::Bare),
        };
        let takes_next = kind == Kind::Value && inline.is_none();
        let value = if takes_next { next } else { inline };
        if takes_next && value.is_none() {
            return Err(format!("its option -{text} has no value"));
        }
        options.push(Given { name: name.into(), value: value.map(str::to_string) });
        if kind != Kind::Bare || inline.is_some() {
            return Ok(takes_next);
        }
        left = behind;
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<ContainerLine, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_string).collect();
        ContainerLine::of(Runtime::of(&words[0]).unwrap(), &words)
    }

    #[test]
    fn the_image_is_behind_the_options() {
        for line in [
            "podman run --env-host -w / --rm -it IMAGE ./t /",
            "podman --root /x --runtime=crun container run -itv /a:/a IMAGE -v /b:/b",
            "podman run --new=x -e=A=1 -eB=2 -- IMAGE --rm",
            "docker -H tcp://x run -v/a:/a --name n IMAGE",
            "podman exec -l=false -e A IMAGE ./t",
            "apptainer -d exec -B /a -e --pwd /x IMAGE ./t -e 3",
            "singularity run --nv --bind=/a IMAGE --cleanenv",
            "ch-run --unset=A -b/a:/a --set-env -jw IMAGE -- ./t",
            "enroot start -rw -m /a:/a IMAGE ./t",
        ] {
            assert_eq!(of(line).unwrap().image, "IMAGE", "{line}");
        }
    }

    #[test]
    fn options_by_their_long_names() {
        let line =
            of("podman run -itv /a:/a --volume=/b:/b -e=A=1 --rm=false image -v /c:/c").unwrap();
        assert_eq!(line.values("volume").collect::<Vec<_>>(), ["/a:/a", "/b:/b"]);
        assert_eq!(line.values("env").collect::<Vec<_>>(), ["A=1"]);
        assert!(line.is_on("tty") && !line.is_on("rm") && !line.is_on("init"));
        assert_eq!(of("ch-run --bin /a --unset A image").unwrap().options.len(), 2);
    }

    #[test]
    fn command_lines_that_are_not_understood() {
        for (line, why) in [
            ("podman run --new image ./t", "--new is not known"),
            ("podman run -X image ./t", "-X is not known"),
            ("podman start image", "'start' is not known"),
            ("podman", "'' is not known"),
            ("podman run -v", "has no value"),
            ("podman run --rm", "names no image"),
            ("docker run --env-host image", "Docker has no --env-host"),
            ("ch-run --s image", "--s is not known"),
            ("ch-run --new=1 image", "--new is not known"),
            ("apptainer instance start image", "'instance' is not known"),
        ] {
            let said = of(line).unwrap_err();
            assert!(said.contains(why), "{line}: {said}");
        }
    }
}
