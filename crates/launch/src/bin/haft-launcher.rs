//! The launcher as a program of its own, for whoever embeds haft and does not want to offer the launcher from their
//! own binary: `haft-launcher --host PID -- PROGRAM ARGS…`.

use std::process::ExitCode;

fn main() -> ExitCode {
    haft_launch::launcher_main(std::env::args_os().skip(1))
}
