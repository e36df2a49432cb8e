//! Runs the `guard` extension on stdin and stdout.

use std::process::ExitCode;

fn main() -> ExitCode {
    haft_example_guard::extension().run()
}
