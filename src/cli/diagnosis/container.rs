//! Whether a container that the launcher starts gets the library: the options in front of its image that bind folders, and
//! those that pass variables on.
//!
//! The image is not read. So what its program calls is not known, and neither is what the settings of the site add to the
//! options. A command line that is not understood leads to no claim.

use super::apptainer_setuid::has_setuid;
use super::container_mounts::{Mounts, Verdict};
use super::container_options::{ContainerLine, Runtime, Surroundings};
use super::container_variables::{Value, preload};
use super::facts::{Diagnosed, Diagnosis};
use super::finding::{Finding, problem, warning};
use crate::cli::launcher::in_path;
use std::path::{Path, PathBuf};

/// The finding about a launch whose ranks are in containers; `name` is the program that starts them.
pub(super) fn finding(name: &str, program: &Diagnosed, diagnosis: &Diagnosis) -> Finding {
    let library = diagnosis.library.as_ref().map(|library| library.0.clone());
    let library = library.unwrap_or_else(|| "librankweave.so".into());
    let here = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let directory = program.part.directory.as_ref().map_or(here.clone(), |d| here.join(d));
    let words = &program.started.words;
    let is_apptainer = Runtime::of(name) == Some(Runtime::Apptainer);
    let command = words.first().filter(|_| is_apptainer).and_then(|word| in_path(word));
    let has_setuid = command.and_then(|command| has_setuid(&command));
    let variable = |name: &str| program.part.variable(name);
    let around = Surroundings { directory, variable: &variable, has_setuid };
    let verdict = verdict(name, words, &library, &around);
    let what = format!("{name} runs the program in a container");
    match verdict {
        Verdict::Given => {
            let text = format!(
                "{what}: its options give the library and LD_PRELOAD to the program; the image is not read"
            );
            let advice = match name {
                "docker" => {
                    "start the launcher inside the container: Docker passes on only what --env names, and without \
                     the variables of the launcher each process is a launch of its own"
                }
                "apptainer" | "singularity" => {
                    "if the store is neither in the home nor in /tmp, bind its folder, too"
                }
                _ => {
                    "give the container also the store, and the host's network, process ids, /dev/shm and /tmp"
                }
            };
            warning("container-given", text).advise(advice)
        }
        Verdict::Unknown(why) => {
            let text = format!("{what}, and it is not known whether it gets the library: {why}");
            warning("container-unknown", text).advise(advice(name, &library))
        }
        Verdict::Lost(why) => {
            let text = format!("{what}, and it does not get the library: {why}");
            problem("container", text).advise(advice(name, &library))
        }
    }
}

/// What gives a container the library.
fn advice(name: &str, library: &Path) -> String {
    let directory = library.parent().unwrap_or(Path::new("/")).display();
    let library = library.display();
    match name {
        "apptainer" | "singularity" => format!(
            "use {name} exec --bind {directory} --env LD_PRELOAD={library} …, without --cleanenv, so that \
             the other variables are passed on"
        ),
        "docker" => format!(
            "start the launcher inside the container: Docker has no --env-host, so that each variable of the launcher \
             (those of PMIx and Open MPI) and of rankweave would need an --env of its own, besides \
             --env LD_PRELOAD={library} --volume {directory}:{directory}"
        ),
        "podman" | "podman-hpc" => {
            format!("use {name} run --env-host --volume {directory}:{directory}")
        }
        "enroot" => format!("use enroot start --mount {directory}:{directory} --env LD_PRELOAD …"),
        "ch-run" => format!("use ch-run --bind {directory}:{directory}, without --unset-env"),
        _ => format!("make {directory} visible inside and pass LD_PRELOAD={library} on"),
    }
}

/// Whether the program that `words` start in a container gets `library`.
fn verdict(name: &str, words: &[String], library: &Path, around: &Surroundings) -> Verdict {
    let Some(runtime) = Runtime::of(name) else {
        return Verdict::Unknown(format!("the options of {name} are not known here"));
    };
    let line = match ContainerLine::of(runtime, words) {
        Ok(line) => line,
        Err(why) => return Verdict::Unknown(why),
    };
    let mounts = Mounts::of(runtime, name, &line, around);
    let preload = preload(runtime, name, &line, around);
    let list = match &preload.value {
        Value::Nothing(why) => return Verdict::Lost(why.clone()),
        Value::Unclear(why) => return Verdict::Unknown(why.clone()),
        Value::OfHost => vec![library.to_path_buf()],
        Value::Set(text) => {
            text.split([':', ' ']).filter(|e| !e.is_empty()).map(PathBuf::from).collect()
        }
    };
    let mut shown: Vec<Verdict> = list.iter().map(|path| mounts.show(path, library)).collect();
    // The best of them counts.
    shown.sort_by_key(|verdict| match verdict {
        Verdict::Given => 0,
        Verdict::Unknown(_) => 1,
        Verdict::Lost(_) => 2,
    });
    let best = shown.into_iter().next();
    match (best.unwrap_or_else(|| Verdict::Lost("LD_PRELOAD is empty".into())), preload.doubt) {
        (Verdict::Given, Some(doubt)) => Verdict::Unknown(doubt),
        (Verdict::Lost(_), _)
            if matches!(preload.value, Value::Set(_)) && !has_library(&list, library) =>
        {
            Verdict::Lost("LD_PRELOAD does not name the library".into())
        }
        (best, _) => best,
    }
}

/// Whether one of the paths has the name of the library.
fn has_library(list: &[PathBuf], library: &Path) -> bool {
    list.iter().any(|path| path.file_name() == library.file_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = "/opt/rankweave/lib/rankweave/librankweave.so";

    /// The verdict in an environment of these variables, in the folder /work/here.
    fn with(line: &str, variables: &[(&str, &str)]) -> Verdict {
        let words: Vec<String> = line.split_whitespace().map(str::to_string).collect();
        let variable = |name: &str| {
            variables.iter().find(|known| known.0 == name).map(|known| known.1.to_string())
        };
        let directory = "/work/here".into();
        let around = Surroundings { directory, variable: &variable, has_setuid: None };
        verdict(&words[0], &words, Path::new(LIBRARY), &around)
    }

    fn is_unknown_with(line: &str, variables: &[(&str, &str)]) {
        let found = with(line, variables);
        assert!(matches!(found, Verdict::Unknown(_)), "{line}: {found:?}");
    }

    fn of(line: &str) -> Verdict {
        with(line, &[("HOME", "/home/ann"), ("USER", "ann")])
    }

    fn is_lost(line: &str) {
        assert!(matches!(of(line), Verdict::Lost(_)), "{line}: {:?}", of(line));
    }

    fn is_given(line: &str) {
        assert_eq!(of(line), Verdict::Given, "{line}");
    }

    fn is_unknown(line: &str) {
        assert!(matches!(of(line), Verdict::Unknown(_)), "{line}: {:?}", of(line));
    }

    #[test]
    fn bound_folders() {
        for given in [
            "podman run --env-host -v /opt/rankweave:/opt/rankweave:ro image ./a",
            "podman run --env-host --volume=/opt:/opt image ./a",
            "podman run --env-host -itv/opt:/opt image ./a",
            "podman run --env-host -v /opt:/opt -v /opt/rankweave:/opt/rankweave image ./a",
            "docker run -e LD_PRELOAD -v /opt:/opt image ./a",
            "ch-run --bind=/opt/rankweave:/opt/rankweave image -- ./a",
            "ch-run --join --home --bind /opt/rankweave --cd /work image -- ./a",
            "apptainer exec -u --bind /scratch,/opt/rankweave image ./a",
            "enroot start --mount /opt:/opt -e LD_PRELOAD image ./a",
        ] {
            is_given(given);
        }
        for lost in [
            "podman run --env-host image ./a",
            "podman run --env-host -v /opt/rankweave:/mnt image ./a",
            "podman run --env-host -v /opt/rank:/opt/rank image ./a",
            "podman run --env-host -v opt:/opt image ./a",
            "podman run --env-host -v /:/ image ./a",
            "podman run --env-host -v /opt:/opt --tmpfs /opt/rankweave image ./a",
            "ch-run --bind /opt:/opt --bind /mnt:/opt image -- ./a",
            "apptainer exec -u -c --bind /opt:/mnt image ./a",
            "apptainer exec -u --bind /mnt:/opt image ./a",
        ] {
            is_lost(lost);
        }
    }

    #[test]
    fn a_working_folder_is_no_bind() {
        for option in ["-w /", "--workdir=/", "--entrypoint /opt", "--name /opt:/opt"] {
            is_lost(&format!("podman run --env-host {option} image ./t"));
        }
        is_lost("ch-run --cd / image -- ./t");
        is_lost("apptainer exec --pwd /opt --env LD_PRELOAD=/x.so image ./t");
    }

    #[test]
    fn arguments_of_the_program_are_no_options() {
        is_lost("podman run --env-host image ./t /");
        is_lost("podman run --env-host image ./t -v /opt:/opt");
        is_lost("podman run -v /opt:/opt image ./t --env-host");
        is_lost("ch-run image -- ./t --bind /opt");
        is_given("ch-run --bind /opt image -- ./t --unset-env=LD_PRELOAD");
    }

    #[test]
    fn a_volume_without_a_colon_is_empty() {
        for program in ["podman run --env-host", "docker run -e LD_PRELOAD"] {
            is_lost(&format!("{program} -v /opt/rankweave/lib/rankweave image ./t"));
            is_lost(&format!("{program} -v /opt:/opt -v /opt/rankweave image ./t"));
        }
    }

    #[test]
    fn a_removed_variable_is_not_named() {
        for name in ["LD_PRELOAD", "LD_*", "*", "[L]D_PRELOAD"] {
            is_lost(&format!("ch-run --unset-env={name} --bind /opt:/opt img -- ./t"));
            is_lost(&format!("ch-run --unset-env {name} --bind /opt:/opt img -- ./t"));
        }
        is_given("ch-run --unset-env=LD_LIBRARY_PATH --bind /opt:/opt img -- ./t");
        is_given(&format!(
            "ch-run --unset-env=* --set-env=LD_PRELOAD={LIBRARY} -b /opt img -- ./t"
        ));
        is_unknown("podman run --env-host --unsetenv LD_PRELOAD -v /opt:/opt image ./t");
    }

    #[test]
    fn files_of_variables_are_no_binds() {
        is_lost("docker run --env-file=/tmp image LD_PRELOAD");
        is_lost("docker run --env-file=/tmp -v /opt:/opt image LD_PRELOAD");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "LD_PRELOAD=/x.so\n").unwrap();
        let name = file.path().display();
        is_unknown(&format!("podman run --env-host --env-file {name} -v /opt:/opt image ./t"));
        is_unknown(&format!("ch-run --set-env={name} --bind /opt image -- ./t"));
        // Podman passes on what begins so.
        for (text, may_pass) in
            [("A=1\n LD_*\n", true), ("*", true), ("# LD_*\nMPI_*\nA=*\n", false)]
        {
            std::fs::write(&file, text).unwrap();
            let line = |program| format!("{program} run --env-file {name} -v /opt:/opt image ./t");
            match may_pass {
                true => is_unknown(&line("podman")),
                false => is_lost(&line("podman")),
            }
            is_lost(&line("docker"));
        }
    }

    #[test]
    fn an_option_of_the_program_does_not_clean_the_environment() {
        let given = format!("--env A=1,LD_PRELOAD={LIBRARY} --bind /opt");
        is_given(&format!("apptainer exec {given} img ./t -e 3"));
        is_given(&format!("apptainer exec -e {given} img ./t"));
        is_lost("apptainer exec -e --bind /opt img ./t");
        is_lost("apptainer exec --compat --bind /opt img ./t");
        is_given("apptainer exec -u --bind /opt img ./t --cleanenv");
    }

    #[test]
    fn mounts_by_type_source_and_target() {
        let run = "podman run --env-host --mount";
        for (from, to) in [("src", "dst"), ("source", "target"), ("source", "destination")] {
            is_given(&format!("{run} type=bind,{from}=/opt,{to}=/opt,ro image ./t"));
            is_given(&format!("{run}={to}=/opt,{from}=/opt,type=bind image ./t"));
            is_lost(&format!("{run} type=bind,{from}=/opt,{to}=/mnt image ./t"));
            is_lost(&format!("{run} type=volume,{from}=opt,{to}=/opt image ./t"));
            is_given(&format!(
                "apptainer exec -u --mount type=bind,{from}=/opt,{to}=/opt image ./t"
            ));
        }
        is_lost(&format!("{run} type=tmpfs,dst=/opt image ./t"));
        is_lost(&format!("{run} type=bind,src=/opt image ./t"));
        is_unknown(&format!("{run} type=bind,\"src=/opt\",dst=/opt image ./t"));
    }

    #[test]
    fn a_mount_without_a_source_or_of_another_type() {
        let given = "-e LD_PRELOAD --mount type=bind,dst=/opt image ./t";
        is_given(&format!("podman run {given}"));
        is_lost(&format!("docker run {given}"));
        is_lost("podman run -e LD_PRELOAD --mount type=bind,dst=/mnt image ./t");
        for mount in ["type=glob,src=/opt/*", "type=glob,src=/opt/*,dst=/opt", "type=new,dst=/mnt"]
        {
            is_unknown(&format!("podman run --env-host --mount {mount} image ./t"));
        }
        for kind in ["", "type=volume,", "type=tmpfs,", "type=image,src=i,", "type=devpts,"] {
            is_lost(&format!("podman run --env-host --mount {kind}dst=/opt image ./t"));
        }
    }

    /// It keeps what `run` gave to it.
    #[test]
    fn a_container_that_runs_already() {
        for exec in ["docker exec", "podman exec", "podman-hpc exec", "enroot exec"] {
            is_unknown(&format!("{exec} container ./t"));
            is_unknown(&format!("{exec} -e A=1 container ./t"));
            is_lost(&format!("{exec} -e LD_PRELOAD= container ./t"));
        }
        is_lost("docker run image ./t");
        is_lost("apptainer exec -e image ./t");
    }

    #[test]
    fn settings_of_the_site_may_bind_the_library() {
        for name in ["apptainer", "singularity"] {
            let line =
                |options| format!("{name} exec {options} --env LD_PRELOAD={LIBRARY} img ./t");
            for open in ["", "--bind /mnt", "--contain=false"] {
                let Verdict::Unknown(why) = of(&line(open)) else { panic!("{open}") };
                assert!(
                    why.ends_with("visible inside, unless the site's settings bind it"),
                    "{why}"
                );
            }
            for contained in
                ["-c", "--contain", "-C", "--containall", "--compat", "--bind /mnt:/opt"]
            {
                is_lost(&line(contained));
            }
        }
    }

    #[test]
    fn singularity_may_be_apptainer() {
        let line = |name: &str, more: &str| format!("{name} exec -u -c {more} img ./t");
        for key in ["CLEANENV", "CONTAINALL", "COMPAT"] {
            let [own, other] =
                ["SINGULARITY_", "APPTAINER_"].map(|prefix| format!("{prefix}{key}"));
            let singularity = line("singularity", "--bind /opt");
            assert!(matches!(with(&singularity, &[(&own, "1")]), Verdict::Lost(_)));
            is_unknown_with(&singularity, &[(&other, "1")]);
            assert_eq!(with(&singularity, &[(&other, "0")]), Verdict::Given);
            let apptainer = line("apptainer", "--bind /opt");
            assert!(matches!(with(&apptainer, &[(&own, "1")]), Verdict::Lost(_)));
            assert!(matches!(with(&apptainer, &[(&other, "1")]), Verdict::Lost(_)));
        }
        is_unknown_with(&line("singularity", ""), &[("APPTAINER_BIND", "/opt")]);
        is_unknown_with(
            &line("singularity", "-e --bind /opt"),
            &[("APPTAINERENV_LD_PRELOAD", LIBRARY)],
        );
    }

    #[test]
    fn apptainer_with_setuid_needs_the_variable_named() {
        for name in ["apptainer", "singularity"] {
            is_unknown(&format!("{name} exec --bind /opt img ./t"));
            is_given(&format!("{name} exec --bind /opt --env LD_PRELOAD={LIBRARY} img ./t"));
            is_lost(&format!("{name} exec --bind /opt --env LD_PRELOAD=/x.so img ./t"));
            is_lost(&format!("{name} exec -c --bind /mnt img ./t"));
            let line = format!("{name} exec --bind /opt -e img ./t");
            assert_eq!(with(&line, &[("SINGULARITYENV_LD_PRELOAD", LIBRARY)]), Verdict::Given);
            let line = format!("{name} exec --env LD_PRELOAD={LIBRARY} img ./t");
            assert_eq!(with(&line, &[("SINGULARITY_BIND", "/mnt,/opt")]), Verdict::Given);
        }
        let line = "apptainer exec --bind /opt -u img ./t";
        assert!(matches!(with(line, &[("APPTAINER_CLEANENV", "1")]), Verdict::Lost(_)));
        // What the site usually gives to every container.
        let usual = |home| with("apptainer exec -u img ./t", &[("HOME", home)]);
        let says = |home, text| matches!(usual(home), Verdict::Unknown(why) if why.contains(text));
        assert!(says("/opt/rankweave", "it usually gets /opt/rankweave"));
        assert!(says("/home/ann", "unless the site's settings bind it"));
    }

    #[test]
    fn an_installation_of_apptainer_tells_what_it_removes() {
        let with = |has_setuid, options: &str| {
            let line = format!("apptainer exec {options} img ./t");
            let words: Vec<String> = line.split_whitespace().map(str::to_string).collect();
            let directory = "/work/here".into();
            let around = Surroundings { directory, variable: &|_| None, has_setuid };
            verdict("apptainer", &words, Path::new(LIBRARY), &around)
        };
        assert_eq!(with(Some(false), "--bind /opt"), Verdict::Given);
        assert!(matches!(with(Some(false), "-c"), Verdict::Lost(_)));
        let says = |found, text| matches!(found, Verdict::Unknown(why) if why.contains(text));
        assert!(says(with(None, "--bind /opt"), "apptainer may start containers with setuid"));
        // A site can switch setuid off in its settings.
        assert!(says(
            with(Some(true), "--bind /opt"),
            "this installation of apptainer starts containers with setuid"
        ));
        let named = format!("--bind /opt --env LD_PRELOAD={LIBRARY}");
        assert_eq!(with(Some(true), &named), Verdict::Given);
        assert_eq!(with(Some(true), "--bind /opt --userns"), Verdict::Given);
    }

    #[test]
    fn another_path_inside_has_to_be_named() {
        let line = "podman run -v /opt/rankweave:/mnt/rw -e LD_PRELOAD";
        is_lost(&format!("{line} image ./t"));
        is_lost(&format!("{line}={LIBRARY} image ./t"));
        is_given(&format!("{line}=/x.so:/mnt/rw/lib/rankweave/librankweave.so image ./t"));
        is_lost(&format!("{line}=/mnt/rw/lib/librankweave.so image ./t"));
    }

    #[test]
    fn variables_that_are_passed_on() {
        for (options, is_passed) in [
            ("podman run --env-host", true),
            ("podman run --env-host=false", false),
            ("podman run", false),
            ("podman run -e LD_*", true),
            ("docker run -e LD_PRELOAD", true),
            ("docker run -e LD_*", false),
            ("docker run --env=LD_PRELOAD=/opt/rankweave/lib/rankweave/librankweave.so", true),
            ("docker run --env=LD_PRELOAD=/a.so", false),
            ("docker run -e LD_PRELOAD=", false),
            ("docker run -e A=LD_PRELOAD --label LD_PRELOAD", false),
        ] {
            match is_passed {
                true => is_given(&format!("{options} -v /opt:/opt image ./t")),
                false => is_lost(&format!("{options} -v /opt:/opt image ./t")),
            }
        }
    }

    #[test]
    fn no_claim_about_what_is_not_understood() {
        for line in [
            "podman run --env-host --new -v /opt:/opt image ./t",
            "podman run --env-host -v /opt:/opt --volumes-from other image ./t",
            "podman exec -e LD_PRELOAD container ./t",
            "podman start container",
            "docker run --env-host -v /opt:/opt image ./t",
            "shifter --image=image --volume=/opt:/opt ./t",
            "apptainer exec -u instance://one ./t",
            "apptainer exec -u --bind /a\\,b:/opt,/opt image ./t",
            "apptainer exec --bind /opt --env LD_PRELOAD=$LD_PRELOAD img ./t",
            "podman run --env-host --env-merge LD_PRELOAD=/a -v /opt:/opt image ./t",
        ] {
            is_unknown(line);
        }
        is_given("podman run --env-host --new=1 -v /opt:/opt image ./t");
    }

    /// A folder may be bound by another name, and a link may lead out of it.
    #[test]
    fn links_in_bound_folders() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("real/lib")).unwrap();
        std::fs::create_dir(top.join("links")).unwrap();
        std::fs::write(top.join("real/lib/librankweave.so"), "").unwrap();
        std::os::unix::fs::symlink(top.join("real"), top.join("links/rw")).unwrap();
        let library = top.join("links/rw/lib/librankweave.so");
        let around = Surroundings { directory: top.clone(), variable: &|_| None, has_setuid: None };
        let of = |options: &str| {
            let line = options.replace("TOP", &top.display().to_string());
            let words: Vec<String> =
                format!("podman run --env-host {line} i").split(' ').map(str::to_string).collect();
            verdict("podman", &words, &library, &around)
        };
        assert!(matches!(of("-v TOP/links:TOP/links"), Verdict::Unknown(_)));
        assert_eq!(of("-v TOP/links:TOP/links -v TOP/real:TOP/real"), Verdict::Given);
        assert_eq!(of("-v TOP/real:TOP/links/rw"), Verdict::Given);
        assert_eq!(of("-v ./real:TOP/links/rw"), Verdict::Given);
        let file = "TOP/real/lib/librankweave.so:TOP/links/rw/lib/librankweave.so";
        assert_eq!(of(&format!("-v {file}")), Verdict::Given);
    }
}
