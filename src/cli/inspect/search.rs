//! Finds the libraries that a program needs, in the order of the dynamic linker (ld.so(8)): RPATH of the
//! object and of the objects that need it, `LD_LIBRARY_PATH`, RUNPATH, the cache, the usual places.
//!
//! Nothing is executed. (The script `ldd` would run the program's own dynamic linker.) Limits: libraries in
//! subdirectories for processor features (`glibc-hwcaps`) are found only if they are in the cache.

use super::cache::Cache;
use super::image::Image;
use std::path::{Path, PathBuf};

/// The folders of this processor, where a distribution has folders for several.
#[cfg(target_arch = "aarch64")]
const OWN: [&str; 2] = ["/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];
#[cfg(not(target_arch = "aarch64"))]
const OWN: [&str; 2] = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"];

const USUAL: [&str; 6] = [OWN[0], OWN[1], "/lib64", "/usr/lib64", "/lib", "/usr/lib"];

/// The largest number of objects that are read for one program.
const MOST: usize = 2000;

/// The places in which libraries are searched.
#[derive(Debug, Default)]
pub struct Search {
    cache: Cache,
    /// Entries of `LD_LIBRARY_PATH`.
    given: Vec<PathBuf>,
}

/// A program with all libraries it needs.
#[derive(Debug, Default)]
pub struct Closure {
    /// The program first, then its libraries in the order of loading.
    pub images: Vec<Image>,
    /// Needed names that were not found.
    pub missing: Vec<String>,
}

impl Search {
    /// A search with the value of `LD_LIBRARY_PATH` that the program will have.
    pub fn new(library_path: Option<&str>) -> Search {
        let entries = library_path.unwrap_or_default().split([':', ';']);
        let given = entries.filter(|entry| !entry.is_empty()).map(PathBuf::from).collect();
        Search { cache: Cache::of_system(), given }
    }

    /// The program with all its libraries.
    pub fn closure(&self, program: Image) -> Closure {
        let mut closure = Closure::default();
        // For each object the index of the object that first needed it. RPATH is inherited along these.
        let mut parents = vec![usize::MAX];
        let mut names: Vec<String> = Vec::new();
        closure.images.push(program);
        let mut next = 0;
        while next < closure.images.len() && closure.images.len() < MOST {
            for name in closure.images[next].needed.clone() {
                let known = names.contains(&name)
                    || closure.images.iter().any(|i| i.soname.as_deref() == Some(name.as_str()));
                if known || name.starts_with("ld-linux") {
                    continue;
                }
                names.push(name.clone());
                let mut chain = Vec::new();
                let mut at = next;
                while at != usize::MAX && chain.len() < MOST {
                    chain.push(&closure.images[at]);
                    at = parents[at];
                }
                match self.find(&name, &chain) {
                    Some(image) => {
                        closure.images.push(image);
                        parents.push(next);
                    }
                    None => closure.missing.push(name),
                }
            }
            next += 1;
        }
        closure
    }

    /// The library `name`, which the first object of `chain` needs. Each object of `chain` is needed by the next.
    fn find(&self, name: &str, chain: &[&Image]) -> Option<Image> {
        let object = chain.first()?;
        let usable = |path: PathBuf| Image::read(&path).ok().filter(|image| image.fits(object));
        if name.contains('/') {
            return usable(PathBuf::from(name));
        }
        let mut places: Vec<PathBuf> = Vec::new();
        if object.runpath.is_empty() {
            for image in chain.iter().filter(|image| image.runpath.is_empty()) {
                places.extend(expanded(&image.rpath, image));
            }
        }
        places.extend(self.given.iter().cloned());
        places.extend(expanded(&object.runpath, object));
        places
            .into_iter()
            .map(|place| place.join(name))
            .chain(self.cache.find(name).cloned())
            .chain(USUAL.iter().map(|place| Path::new(place).join(name)))
            .find_map(usable)
    }

    /// The library `name` as `dlopen` finds it in a program of the same architecture as `like`.
    pub fn open(&self, name: &str, like: &Image) -> Option<Image> {
        self.find(name, &[&Image { rpath: vec![], runpath: vec![], ..like.clone() }])
    }
}

/// Entries of a path with `$ORIGIN` and `$LIB` replaced.
fn expanded(path: &[String], image: &Image) -> Vec<PathBuf> {
    let real = image.path.canonicalize().unwrap_or_else(|_| image.path.clone());
    let origin = real.parent().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
    let expand = |entry: &String| {
        let entry = entry.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
        PathBuf::from(entry.replace("${LIB}", "lib64").replace("$LIB", "lib64"))
    };
    path.iter().filter(|entry| !entry.is_empty()).map(expand).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn this() -> Image {
        Image::read(&std::env::current_exe().unwrap()).unwrap()
    }

    #[test]
    fn finds_what_this_program_needs() {
        let closure = Search::new(None).closure(this());
        assert!(closure.missing.is_empty(), "{:?}", closure.missing);
        let defines = |name: &str| closure.images.iter().any(|image| image.offers(name));
        assert!(defines("malloc") && !defines("PMPI_Init"));
        let mut program = this();
        program.needed.push("libnothing.so.77".into());
        assert_eq!(Search::new(None).closure(program).missing, ["libnothing.so.77"]);
    }

    #[test]
    fn paths_of_the_object_and_the_environment_come_first() {
        let dir = tempfile::tempdir().unwrap();
        let libc = Search::new(None).open("libc.so.6", &this()).unwrap();
        for name in ["own", "given"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
            std::fs::copy(&libc.path, dir.path().join(name).join("libx.so.1")).unwrap();
        }
        let at = |name: &str| dir.path().join(name).join("libx.so.1");
        let given = dir.path().join("given").display().to_string();
        let search = Search::new(Some(&given));
        let mut program = this();
        program.path = dir.path().join("program");
        std::fs::write(&program.path, "").unwrap();
        let found = |p: &Image| search.find("libx.so.1", &[p]).map(|i| i.path);
        assert_eq!(found(&program), Some(at("given")));
        program.runpath = vec!["$ORIGIN/own".into()];
        assert_eq!(found(&program), Some(at("given")), "RUNPATH comes after LD_LIBRARY_PATH");
        program.rpath = std::mem::take(&mut program.runpath);
        assert_eq!(
            found(&program).unwrap().canonicalize().unwrap(),
            at("own").canonicalize().unwrap()
        );
        // A file of another kind under the same name is passed over.
        std::fs::write(at("own"), "not a library").unwrap();
        assert_eq!(found(&program), Some(at("given")));
    }
}
