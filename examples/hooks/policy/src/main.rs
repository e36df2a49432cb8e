//! Runs the `policy` hook on stdin and stdout.

use std::process::ExitCode;

fn main() -> ExitCode {
    haft_example_policy::hook().run()
}
