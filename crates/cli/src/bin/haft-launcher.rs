//! The launcher as a small program beside `haft`: it starts commands and extensions faster than `haft` itself.
//!
//! haft finds it with `Launcher::beside_this_program`, and starts itself instead if it is missing or of another build.

use std::process::ExitCode;

fn main() -> ExitCode {
    haft_launch::launcher_main(std::env::args_os().skip(1))
}
