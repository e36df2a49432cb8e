//! `sandbox-probe FACTS`: runs every probe and prints one line for each: the probe's name and `ok`, an error number, or
//! `skip` and a reason.
//!
//! `sandbox-probe --without CALL… -- PROGRAM ARGS…`: becomes the program, on a simulated kernel without these calls
//! (`landlock`, `namespaces`).

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the output is the purpose of the program")]

#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod net;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
mod without;

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::path::{Path, PathBuf};
    use std::process::ExitCode;

    use haft_test_support::sandbox::PROBES;
    use serde_json::Value;

    use super::{files, kernel, net, processes, without};

    /// The facts of the scene, by name.
    pub(crate) struct SceneFacts(Value);

    impl SceneFacts {
        pub(crate) fn path(&self, name: &str) -> PathBuf {
            Path::new(self.text(name)).to_owned()
        }

        pub(crate) fn text(&self, name: &str) -> &str {
            self.0[name].as_str().unwrap_or_default()
        }

        pub(crate) fn number(&self, name: &str) -> i32 {
            self.0[name].as_i64().and_then(|number| i32::try_from(number).ok()).unwrap_or(0)
        }
    }

    pub(super) fn main() -> ExitCode {
        let args: Vec<String> = std::env::args().skip(1).collect();
        match args.split_first() {
            Some((flag, rest)) if flag == "--without" => {
                eprintln!("{}", without::run(rest));
                ExitCode::FAILURE
            }
            Some((facts, [])) => match serde_json::from_str(facts) {
                Ok(facts) => {
                    run_probes(&SceneFacts(facts));
                    ExitCode::SUCCESS
                }
                Err(error) => usage(&error.to_string()),
            },
            _ => usage("expected one argument: the facts of a scene"),
        }
    }

    fn usage(text: &str) -> ExitCode {
        eprintln!("sandbox-probe: {text}");
        ExitCode::from(2)
    }

    fn run_probes(facts: &SceneFacts) {
        for probe in PROBES {
            let groups = [files::attempt, processes::attempt, net::attempt, kernel::attempt];
            let result = groups.iter().find_map(|group| group(probe.name, facts));
            let said = match result {
                None => "skip no probe has this name".to_owned(),
                Some(Ok(())) => "ok".to_owned(),
                Some(Err(error)) => describe_error(&error),
            };
            println!("{} {said}", probe.name);
        }
    }

    fn describe_error(error: &io::Error) -> String {
        match error.raw_os_error() {
            Some(number) => number.to_string(),
            None => format!("skip {error}"),
        }
    }
}

#[cfg(target_os = "linux")]
use linux::SceneFacts;
