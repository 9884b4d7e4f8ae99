//! Whether a container that the launcher starts gets the library: the options that bind its folder, and those that pass variables
//! on.
//!
//! The image is not read. So what its program calls is not known, and neither is what the settings of the site add to the
//! options.

use super::facts::{Diagnosed, Diagnosis};
use super::finding::{Finding, problem, warning};
use std::path::Path;

/// Programs that pass all variables on, unless an option says otherwise.
const PASSING_ALL: [&str; 3] = ["apptainer", "singularity", "ch-run"];

/// Options with which these programs pass no variables on.
const PASSING_NONE: [&str; 4] = ["--cleanenv", "-e", "--containall", "-C"];

/// The finding about a launch whose ranks are in containers; `name` is the program that starts them.
pub(super) fn finding(name: &str, program: &Diagnosed, diagnosis: &Diagnosis) -> Finding {
    let library = diagnosis.library.as_ref().map(|library| library.0.display().to_string());
    let library = library.unwrap_or_else(|| "librankweave.so".into());
    let directory = Path::new(&library).parent().unwrap_or(Path::new("/")).display().to_string();
    let words = &program.started.words;
    if binds(words, Path::new(&directory)) && passes_preload(name, words) {
        let text = format!(
            "{name} runs the program in a container: its options give the library and LD_PRELOAD to the program; the \
             image is not read"
        );
        let advice = "give the container also the store, and the host's network, process ids, /dev/shm and /tmp";
        return warning("container-given", text).advise(advice);
    }
    let advice = match name {
        "apptainer" | "singularity" => format!(
            "use {name} exec --bind {directory} --env LD_PRELOAD={library} …, without --cleanenv, so that \
             the other variables are passed on"
        ),
        "docker" | "podman" | "podman-hpc" => format!(
            "use {name} run --env-host (podman) or --env for each RANKWEAVE_ variable, --env \
             LD_PRELOAD={library}, --volume {directory}:{directory}"
        ),
        "enroot" => format!("use enroot start --mount {directory}:{directory} --env LD_PRELOAD …"),
        _ => format!("make {directory} visible inside and pass LD_PRELOAD={library} on"),
    };
    let text = format!(
        "{name} runs the program in a container: the library has to be visible inside under \
         the same path, and LD_PRELOAD has to be passed on"
    );
    problem("container", text).advise(advice)
}

/// Whether one of the words binds a folder with `directory` to the same path: `FROM`, `FROM:TO` or `FROM:TO:OPTIONS`, also
/// several with commas between, also behind `=`.
fn binds(words: &[String], directory: &Path) -> bool {
    let mut places = words.iter().flat_map(|word| {
        let value = word
            .split_once('=')
            .filter(|_| word.starts_with('-'))
            .map_or(word.as_str(), |(_, value)| value);
        value.split(',')
    });
    places.any(|place| {
        let mut parts = place.split(':');
        let from = parts.next().unwrap_or_default();
        from.starts_with('/')
            && directory.starts_with(from)
            && parts.next().is_none_or(|to| Path::new(to) == Path::new(from))
    })
}

/// Whether the program that starts containers passes LD_PRELOAD on.
fn passes_preload(name: &str, words: &[String]) -> bool {
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let is_named =
        words.iter().any(|word| word.contains("LD_PRELOAD") && !word.ends_with("LD_PRELOAD="));
    is_named
        || has(&["--env-host", "--env-host=true"])
        || PASSING_ALL.contains(&name) && !has(&PASSING_NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_string).collect()
    }

    #[test]
    fn bound_folders() {
        let directory = Path::new("/opt/rankweave/lib/rankweave");
        for given in [
            "podman run -v /opt/rankweave:/opt/rankweave:ro image ./a",
            "podman run --volume=/opt:/opt image ./a",
            "apptainer exec --bind /scratch,/opt/rankweave image ./a",
            "ch-run --bind=/opt/rankweave:/opt/rankweave image -- ./a",
        ] {
            assert!(binds(&words(given), directory), "{given}");
        }
        for lost in [
            "podman run image ./a",
            "podman run -v /opt/rankweave:/mnt image ./a",
            "podman run -v /opt/rank:/opt/rank image ./a",
            "podman run -v opt:/opt image ./a",
        ] {
            assert!(!binds(&words(lost), directory), "{lost}");
        }
    }

    #[test]
    fn variables_that_are_passed_on() {
        for (name, line, passed) in [
            ("podman", "podman run --env-host image", true),
            ("podman", "podman run image", false),
            ("docker", "docker run -e LD_PRELOAD image", true),
            ("docker", "docker run --env=LD_PRELOAD=/a.so image", true),
            ("docker", "docker run -e LD_PRELOAD= image", false),
            ("apptainer", "apptainer exec image", true),
            ("apptainer", "apptainer exec --cleanenv image", false),
            ("apptainer", "apptainer exec -e --env LD_PRELOAD=/a.so image", true),
            ("ch-run", "ch-run image -- ./a", true),
        ] {
            assert_eq!(passes_preload(name, &words(line)), passed, "{line}");
        }
    }
}
