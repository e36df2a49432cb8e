//! Runs the `todo` extension on stdin and stdout.

use std::process::ExitCode;

fn main() -> ExitCode {
    haft_example_todo::extension().run()
}
