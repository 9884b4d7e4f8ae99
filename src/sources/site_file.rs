//! The file in which a site describes its clusters, once for all users: `/etc/rankweave.toml`, the same below the
//! prefix of the installation, or the file of `--site`.
//!
//! [`SITE_FILE_EXAMPLE`] shows its form.
//!
//! The clusters are looked at in the order of the file, until all nodes of the launch are known. If the nodes are in
//! several clusters, these are joined ([`super::joined`]).

use super::name_pattern::NamePattern;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file;
use crate::base::nouns::counted;
use crate::topology::expand_hostlist;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A site file with one cluster of each form.
pub const SITE_FILE_EXAMPLE: &str = r#"measure = "off"                      # for all clusters: may launches measure the network?

[settings]                           # options of 'rankweave run', for all users
store = "/project/$GROUP/rankweave"  # ~ and variables are replaced

[[cluster]]
nodes = "cn[0001-1024]"              # whose description it is; without it, of all nodes
topology = "slurm:/etc/slurm/topology.conf"   # any form of --topology, or a file of the fabric

[[cluster]]
nodes = "r[1-8]c[1-4]n[1-32]"
names = "r{}c{}n{}"                  # levels in the names; the last one is the node

[[cluster]]
names = "x{}y{}z{}"                  # coordinates in the names ...
torus = "8x8x16"                     # ... of a torus of this size
"#;

/// The largest site file that is read.
const LARGEST: u64 = 16 << 20;

/// The values of `measure`.
pub(super) const MEASURE: [&str; 3] = ["auto", "on", "off"];

/// The example that errors show.
pub(super) const EXAMPLE: &str = "write [[cluster]] and below it, for example, nodes = \"cn[01-64]\" and topology \
                                  = \"slurm:/etc/slurm/topology.conf\"";

/// What the file says about one cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cluster {
    /// A list of host names; `None` = all.
    pub nodes: Option<String>,
    /// A description as `--topology` takes it, or the name of a file of the fabric.
    pub topology: Option<String>,
    /// The pattern of the names of its nodes.
    pub names: Option<String>,
    /// The size of the torus whose coordinates the names have.
    pub torus: Option<String>,
}

/// The content of a site file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SiteFile {
    /// Whether launches may measure the network.
    pub measure: Option<String>,
    /// The clusters, in the order of the file.
    #[serde(default)]
    pub cluster: Vec<Cluster>,
    /// Options of launches, which `crate::options` reads.
    #[serde(default)]
    settings: serde::de::IgnoredAny,
}

/// What was read: the first file that exists, if there is one.
type Found = Option<(SiteFile, PathBuf)>;

/// The site files that a launch may use. The first one that exists is read when it is needed, and only once.
#[derive(Debug, Default)]
pub struct SiteFiles {
    paths: Vec<PathBuf>,
    found: OnceLock<Result<Found>>,
}

impl SiteFiles {
    /// The files with these names, the first one first.
    pub fn at(paths: Vec<PathBuf>) -> SiteFiles {
        SiteFiles { paths, found: OnceLock::new() }
    }

    /// The file that is used; `None` if there is none.
    ///
    /// Errors: a file that cannot be read or is not of this form.
    pub(super) fn first(&self) -> Result<Option<(&SiteFile, &Path)>> {
        match self.found.get_or_init(|| SiteFile::first_of(&self.paths)) {
            Ok(found) => Ok(found.as_ref().map(|(file, path)| (file, path.as_path()))),
            Err(error) => Err(error.clone()),
        }
    }

    /// Whether the site allows launches to measure the network; `None` if the site file says nothing.
    ///
    /// Errors: a site file that cannot be used.
    pub fn measure(&self) -> Result<Option<&str>> {
        Ok(self.first()?.and_then(|(file, _)| file.measure.as_deref()))
    }
}

impl SiteFile {
    /// Reads the first of the files that exists; `None` if there is none.
    ///
    /// Errors: a file that cannot be read or is not of this form.
    fn first_of(paths: &[PathBuf]) -> Result<Found> {
        let Some(path) = paths.iter().find(|path| path.exists()) else { return Ok(None) };
        let bytes = file::read(path, LARGEST)
            .map_err(|error| Error::io("cannot read the site file", path, &error))?;
        let parsed = String::from_utf8(bytes)
            .map_err(|_| wrong("it is not text".into()))
            .and_then(|text| SiteFile::parse(&text));
        Ok(Some((parsed.map_err(|error| placed(error, path))?, path.clone())))
    }

    /// Reads the text of a site file.
    pub(super) fn parse(text: &str) -> Result<SiteFile> {
        let file: SiteFile = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(1, |span| {
                1 + text.get(..span.start).unwrap_or_default().matches('\n').count()
            });
            wrong(format!("line {at}: {}", error.message()))
        })?;
        if let Some(measure) = &file.measure
            && !MEASURE.contains(&measure.as_str())
        {
            return Err(wrong(format!("measure = \"{measure}\" is not auto, on or off")));
        }
        for cluster in &file.cluster {
            cluster.check()?;
        }
        Ok(file)
    }
}

impl Cluster {
    fn check(&self) -> Result<()> {
        self.mistakes().into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// What is wrong, each with the key that it is about. An unknown key is not among these.
    pub(super) fn mistakes(&self) -> Vec<(&'static str, Error)> {
        let mut found = Vec::new();
        if self.topology.is_some() == self.names.is_some() {
            found.push((
                "topology",
                wrong("each [[cluster]] needs either topology or names".into()),
            ));
        }
        if let Some(Err(error)) = self.nodes.as_deref().map(expand_hostlist) {
            found.push(("nodes", error.advise(EXAMPLE)));
        }
        let numbers = match self.names.as_deref().map(NamePattern::parse) {
            Some(Ok(pattern)) => pattern.numbers(),
            Some(Err(error)) => {
                found.push(("names", error));
                return found;
            }
            None => 0,
        };
        match (&self.torus, self.dims()) {
            (Some(torus), None) => found.push((
                "torus",
                wrong(format!("torus = \"{torus}\" is not a size such as 8x8x16")),
            )),
            (Some(_), Some(dims)) if dims.len() != numbers => {
                let (has, of) = (counted(numbers, "number"), counted(dims.len(), "dimension"));
                found.push(("torus", wrong(format!("names has {has} for a torus of {of}"))));
            }
            (None, _) if self.names.is_some() && numbers < 2 => {
                let what = "names needs at least two numbers: that of the node is the last one";
                found.push(("names", wrong(what.into())));
            }
            _ => {}
        }
        found
    }

    /// The size of the torus.
    pub(super) fn dims(&self) -> Option<Vec<usize>> {
        let sides = self.torus.as_ref()?.split('x').map(|side| side.trim().parse().ok());
        sides.collect::<Option<Vec<usize>>>().filter(|dims| dims.iter().all(|&side| side > 0))
    }
}

pub(super) fn wrong(what: String) -> Error {
    Error::new(ErrorKind::Format, what).advise(EXAMPLE)
}

fn placed(error: Error, path: &Path) -> Error {
    let inner = error.place().map_or(String::new(), |place| format!(", {place}"));
    error.at(format!("{}{inner}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_right() {
        let file = SiteFile::parse(SITE_FILE_EXAMPLE).unwrap();
        // Help texts break longer lines, and a broken comment is a mistake.
        assert!(SITE_FILE_EXAMPLE.lines().all(|line| line.len() < 100));
        assert_eq!((file.cluster.len(), file.measure.as_deref()), (3, Some("off")));
        assert_eq!(file.cluster[2].dims(), Some(vec![8, 8, 16]));
    }

    #[test]
    fn wrong_files_are_named() {
        for (text, what) in [
            ("x", "line 1"),
            ("measure = \"maybe\"", "maybe"),
            ("[[cluster]]\nnodes = \"a\"", "either topology or names"),
            ("[[cluster]]\nnodes = \"a[\"\ntopology = \"x\"", "host list"),
            ("[[cluster]]\nnames = \"n\"", "pattern"),
            ("[[cluster]]\nnames = \"n{}\"", "at least two"),
            ("[[cluster]]\nnames = \"x{}y{}\"\ntorus = \"4x4x4\"", "3 dimensions"),
            ("[[cluster]]\nnames = \"x{}y{}\"\ntorus = \"4x0\"", "not a size"),
            ("[[cluster]]\n\ntopologie = \"x\"", "line 3"),
        ] {
            let error = SiteFile::parse(text).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("try:"), "{text}: {error}");
        }
    }

    #[test]
    fn settings_are_left_to_the_options() {
        let file = SiteFile::parse("[settings]\nmode = \"record\"\n").unwrap();
        assert_eq!(file, SiteFile::default());
    }

    #[test]
    fn the_first_file_that_exists_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        assert_eq!(SiteFile::first_of(&[path("a")]).unwrap(), None);
        std::fs::write(path("b"), "measure = \"off\"").unwrap();
        let (file, found) = SiteFile::first_of(&[path("a"), path("b")]).unwrap().unwrap();
        assert_eq!((file.measure.as_deref(), found), (Some("off"), path("b")));
        std::fs::write(path("a"), "no").unwrap();
        let files = SiteFiles::at(vec![path("a"), path("b")]);
        let error = files.measure().unwrap_err().to_string();
        assert!(error.contains("/a"), "{error}");
        // Read once: the launch does not see what changes meanwhile.
        std::fs::remove_file(path("a")).unwrap();
        assert_eq!(files.measure().unwrap_err().to_string(), error);
        let files = SiteFiles::at(vec![path("a"), path("b")]);
        assert_eq!(files.measure().unwrap(), Some("off"));
        std::fs::remove_file(path("b")).unwrap();
        assert_eq!(files.measure().unwrap(), Some("off"));
    }
}
