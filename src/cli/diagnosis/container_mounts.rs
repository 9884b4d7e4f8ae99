//! Which folders of the host the program in a container sees, and where.

use super::container_options::{ContainerLine, Runtime, Surroundings};
use crate::base::raw_words::decoded;
use crate::cli::inspect::listed;
use std::path::{Path, PathBuf};

/// Whether the program in a container gets the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Given,
    /// It does not, in words.
    Lost(String),
    /// Why it is not known, in words.
    Unknown(String),
}

/// Options of Docker and Podman that take folders from elsewhere.
const FROM_ELSEWHERE: &str = "volumes-from pod pod-id-file";

/// Types of `--mount` that are understood.
const TYPES: &str = "bind volume tmpfs image devpts";

/// A place in the container that does not belong to the image.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    /// The folder or file of the host; `None` if something else is there: a volume, or an empty folder.
    from: Option<PathBuf>,
    to: PathBuf,
}

/// The places in a container that do not belong to the image.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    /// In the order in which they are made: a later one hides an earlier one at the same place or below.
    list: Vec<Mount>,
    /// Folders of the host that the program gets under the same path, unless the site has switched this off.
    usual: Vec<PathBuf>,
    /// What may give the program a folder that no option gives, in words.
    elsewhere: Option<String>,
    /// Why there may be other places, in words.
    doubt: Option<String>,
}

impl Mounts {
    /// The places that the options in front of the image ask for.
    pub(super) fn of(
        runtime: Runtime,
        name: &str,
        line: &ContainerLine,
        around: &Surroundings,
    ) -> Mounts {
        let mut mounts = Mounts::default();
        match runtime {
            Runtime::Docker | Runtime::Podman => mounts.oci(runtime, line, around),
            Runtime::Apptainer => mounts.apptainer(name, line, around),
            Runtime::Charliecloud => mounts.charliecloud(line, around),
            Runtime::Enroot => {
                mounts.running(line);
                let places = line.values("mount").map(|value| pair(value, around));
                mounts.list.extend(places.flatten());
            }
        }
        if runtime.is_oci() {
            // The runtime makes the outer places first.
            mounts.list.sort_by_key(|mount| mount.to.components().count());
        }
        mounts
    }

    /// The folders of a container that runs already are not known.
    fn running(&mut self, line: &ContainerLine) {
        if line.command == "exec" {
            self.doubt = Some("the folders of a container that runs already are not known".into());
        }
    }

    fn oci(&mut self, runtime: Runtime, line: &ContainerLine, around: &Surroundings) {
        self.running(line);
        for option in &line.options {
            let value = option.value.as_deref().unwrap_or_default();
            match option.name.as_str() {
                "volume" => self.list.push(volume(value, around)),
                "tmpfs" => self.list.push(empty(value)),
                "mount" => self.mount(value, runtime, around),
                name if listed(FROM_ELSEWHERE, name) => {
                    self.doubt = Some(format!("--{name} may give it other folders"));
                }
                _ => {}
            }
        }
        // These runtimes refuse the root as a place.
        self.list.retain(|mount| mount.to.is_absolute() && mount.to != Path::new("/"));
    }

    fn apptainer(&mut self, name: &str, line: &ContainerLine, around: &Surroundings) {
        let contains = ["contain", "containall", "compat"];
        let keys = ["BIND", "BINDPATH"];
        let variables = around.of_apptainer(name, &keys);
        if variables != around.of_apptainer("apptainer", &keys) {
            let why = format!("{name} is Apptainer, whose variables bind it");
            self.elsewhere = Some(why);
        }
        // With --contain, the settings of the site bind nothing.
        if !contains.iter().any(|name| line.is_on(name)) {
            let home = around.variable("HOME").map(PathBuf::from);
            self.usual.extend(home.filter(|home| home.is_absolute() && !line.is_on("no-home")));
            self.usual.extend(["/tmp".into(), "/var/tmp".into(), around.directory.clone()]);
            self.elsewhere = Some("the site's settings bind it".into());
        }
        if line.image.starts_with("instance://") {
            self.doubt = Some("the folders of an instance that runs already are not known".into());
        }
        if line.is_on("oci") {
            self.doubt = Some("its mode --oci is not known here".into());
        }
        let values = variables.iter().map(String::as_str).chain(line.values("bind"));
        for value in values.flat_map(|value| value.split(',')) {
            if value.contains('\\') {
                self.doubt = Some(format!("'{value}' is not understood"));
            }
            if value.starts_with("image-src=") {
                // The place before this option shows a part of an image.
                self.list.last_mut().into_iter().for_each(|mount| mount.from = None);
            }
            let is_option = value.starts_with("id=") || matches!(value, "ro" | "rw" | "");
            if !is_option && !value.starts_with("image-src=") {
                let image = value.contains(":image-src=");
                self.list.extend(
                    pair(value, around)
                        .map(|mount| Mount { from: mount.from.filter(|_| !image), ..mount }),
                );
            }
        }
        for value in line.values("mount") {
            self.mount(value, Runtime::Apptainer, around);
        }
    }

    fn charliecloud(&mut self, line: &ContainerLine, around: &Surroundings) {
        let temporary = around.variable("TMPDIR").map_or("/tmp".into(), PathBuf::from);
        let from = Some(temporary).filter(|_| !line.is_on("private-tmp"));
        self.list.push(Mount { from, to: "/tmp".into() });
        if line.is_on("home") {
            self.list.push(Mount { from: None, to: "/home".into() });
            if let (Some(home), Some(user)) = (around.variable("HOME"), around.variable("USER")) {
                let to = Path::new("/home").join(user);
                self.list.push(Mount { from: Some(home.into()), to });
            }
        }
        // With --join, the first of equal command lines makes the container.
        if line.values("join-pid").next().is_some() {
            self.doubt = Some("the folders of another process are not known".into());
        }
        let places = line.values("bind").filter_map(|value| pair(value, around));
        self.list.extend(places);
    }

    /// Reads a value of `--mount`: `type=bind,source=FROM,target=TO`, with its other names.
    fn mount(&mut self, value: &str, runtime: Runtime, around: &Surroundings) {
        let fields = || value.split(',').map(|field| field.split_once('=').unwrap_or((field, "")));
        let field = |names: &[&str]| fields().find(|f| names.contains(&f.0)).map(|f| f.1);
        let kind = field(&["type"]).unwrap_or("volume");
        if value.contains(['"', '\\']) || !listed(TYPES, kind) {
            self.doubt = Some(format!("'{value}' is not understood"));
            return;
        }
        let Some(to) = field(&["destination", "dst", "target"]) else { return };
        let is_bind = kind == "bind" && field(&["image-src"]).is_none();
        // Podman takes the same path of the host, and Docker refuses a bind without a source.
        let same = Some(to).filter(|_| runtime == Runtime::Podman);
        let from = field(&["source", "src"]).or(same).filter(|from| is_bind && !from.is_empty());
        let from = from.map(|from| around.directory.join(decoded(from)));
        self.list.push(Mount { from, to: decoded(to).into() });
    }

    /// Whether the program finds `library`, a file of the host, under `path`.
    pub(super) fn show(&self, path: &Path, library: &Path) -> Verdict {
        let found = self.without_doubt(path, library);
        match (&self.doubt, found) {
            (Some(doubt), _) => Verdict::Unknown(doubt.clone()),
            (None, found) => found,
        }
    }

    fn without_doubt(&self, path: &Path, library: &Path) -> Verdict {
        let lost = || Verdict::Lost(format!("no option makes {} visible inside", path.display()));
        let Some((from, host)) = self.host(path) else {
            return self.perhaps(path, library).map_or_else(lost, Verdict::Unknown);
        };
        let real = canonical(&host);
        if host != library && real != canonical(library) {
            return lost();
        }
        // A link is followed inside.
        match real.starts_with(canonical(from)) || self.host(&real).is_some_and(|h| h.1 == real) {
            true => Verdict::Given,
            false => Verdict::Unknown(format!("{} is a link to another folder", path.display())),
        }
    }

    /// Why the program may find the library under a path that no option gives, in words.
    fn perhaps(&self, path: &Path, library: &Path) -> Option<String> {
        if self.list.iter().any(|mount| path.starts_with(&mount.to)) {
            return None;
        }
        let usual = self.usual.iter().find(|usual| path == library && path.starts_with(usual));
        if let Some(usual) = usual {
            let usual = usual.display();
            return Some(format!("it usually gets {usual}, unless the site has switched this off"));
        }
        // It may be bound under another path.
        let is_alike = path.file_name() == library.file_name();
        let why = self.elsewhere.as_ref().filter(|_| is_alike)?;
        Some(format!("no option makes {} visible inside, unless {why}", path.display()))
    }

    /// What of the host is under a path of the container, and the mount that it belongs to.
    fn host(&self, path: &Path) -> Option<(&Path, PathBuf)> {
        let mount = self.list.iter().rev().find(|mount| path.starts_with(&mount.to))?;
        let from = mount.from.as_deref()?;
        let rest = path.strip_prefix(&mount.to).ok()?;
        let is_whole = rest.as_os_str().is_empty();
        Some((from, if is_whole { from.into() } else { from.join(rest) }))
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.into())
}

/// `FROM`, `FROM:TO` or `FROM:TO:OPTIONS`; without `TO`, the path is the same.
fn pair(value: &str, around: &Surroundings) -> Option<Mount> {
    let mut parts = value.split(':');
    let from = parts.next().filter(|from| !from.is_empty())?;
    let from = around.directory.join(decoded(from));
    let to = parts.next().filter(|to| !to.is_empty()).map(|to| decoded(to).into());
    Some(Mount { to: to.unwrap_or_else(|| from.clone()), from: Some(from) })
}

/// A value of `--volume` of Docker or Podman: `FROM:TO`. A name instead of a path is a volume, and so is a path alone.
fn volume(value: &str, around: &Surroundings) -> Mount {
    let mut parts = value.split(':');
    let first = parts.next().unwrap_or_default();
    let Some(to) = parts.next() else { return empty(first) };
    let is_path = first.starts_with(['/', '.']);
    let from = is_path.then(|| around.directory.join(decoded(first)));
    Mount { from, to: decoded(to).into() }
}

/// An empty folder at `TO` or `TO:OPTIONS`.
fn empty(value: &str) -> Mount {
    let to = value.split(':').next().unwrap_or_default();
    Mount { from: None, to: decoded(to).into() }
}
