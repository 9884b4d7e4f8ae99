//! `mpirun --app FILE`: a file names the programs, each with its own options.
//!
//! Open MPI 4 passes the variables of `-x` on to programs of its command line only. It also has a parameter
//! with variables for all processes, but it ends the job if both are used for the same program. So the
//! parameter is set if the file can be read and has no `-x`. Otherwise the parameter stays as it is, and the
//! programs of the file run without the library. Open MPI 5 obeys both.

use crate::base::file;
use crate::cli::launcher::in_path;
use std::path::Path;

/// The parameter of Open MPI as a variable: `NAME=VALUE;NAME=VALUE`.
const LIST: &str = "OMPI_MCA_mca_base_env_list";

/// The variable that makes Open MPI 4 pass `variables` on to the programs of a file. `None` if the options of
/// the launcher, which begin at `start`, name no file, or if the file has variables of its own.
pub(super) fn variable(
    command: &[String],
    start: usize,
    variables: &[(String, String)],
    environment: impl Fn(&str) -> Option<String>,
) -> Option<(String, String)> {
    let file = named(command, start)?;
    let text = String::from_utf8(file::read(Path::new(&file), 1 << 20).ok()?).ok()?;
    let sets = |word: &str| word == "-x" || word.contains("base_env_list");
    let options = command[start..].iter().map(String::as_str);
    let is_taken = environment(LIST).is_some()
        || options.into_iter().any(|word| word.contains("base_env_list"))
        || text.split_whitespace().any(sets)
        || variables.iter().any(|(_, value)| value.contains([';', '\n']));
    if is_taken {
        return None;
    }
    let list: Vec<String> =
        variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Some((LIST.to_string(), list.join(";")))
}

/// FILE of `--app FILE`, if that is an option of the launcher and not of a program.
fn named(command: &[String], start: usize) -> Option<&str> {
    let options = command.get(start..)?;
    let place = options.iter().position(|word| word == "--app" || word == "-app")?;
    let has_program =
        options[..place].iter().any(|word| !word.starts_with('-') && in_path(word).is_some());
    (!has_program).then(|| options.get(place + 1).map(String::as_str)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, env: &[(&str, &str)], value: &str) -> Option<(String, String)> {
        let command: Vec<String> = line.split(' ').map(str::to_string).collect();
        let variables = [("A".to_string(), "1".to_string()), ("B".to_string(), value.to_string())];
        variable(&command, 1, &variables, |name| {
            env.iter().find(|e| e.0 == name).map(|e| e.1.to_string())
        })
    }

    #[test]
    fn only_files_without_variables_of_their_own() {
        let place = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = place.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_string_lossy().into_owned()
        };
        let plain = file("plain", "-n 2 ./a input\n-n 1 ./b\n");
        let own = file("own", "-n 2 -x C=1 ./a\n");
        let wanted = Some((LIST.to_string(), "A=1;B=x=y".to_string()));
        assert_eq!(of(&format!("mpirun --app {plain}"), &[], "x=y"), wanted);
        assert_eq!(of(&format!("mpirun -n 4 --oversubscribe -app {plain}"), &[], "x=y"), wanted);
        for line in [
            format!("mpirun --app {own}"),
            format!("mpirun --app {plain}.missing"),
            "mpirun --app".to_string(),
            format!("mpirun --mca mca_base_env_list C=1 --app {plain}"),
            // Options of programs, where the variables would stop the job.
            format!("mpirun -n 2 sh --app {plain}"),
            format!("mpirun --oversubscribe sh --app {plain}"),
        ] {
            assert_eq!(of(&line, &[], "x=y"), None, "{line}");
        }
        assert_eq!(of(&format!("mpirun --app {plain}"), &[(LIST, "C=1")], "x=y"), None);
        assert_eq!(of(&format!("mpirun --app {plain}"), &[], "x;y"), None);
    }
}
