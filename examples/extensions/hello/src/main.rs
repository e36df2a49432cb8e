//! Runs the `hello` extension on stdin and stdout.

use std::process::ExitCode;

fn main() -> ExitCode {
    haft_example_hello::extension().run()
}
