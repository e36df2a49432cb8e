//! Runs the `notes` extension on stdin and stdout.

use std::process::ExitCode;

fn main() -> ExitCode {
    haft_example_notes::extension().run()
}
