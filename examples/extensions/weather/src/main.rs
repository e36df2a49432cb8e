//! Runs the `weather` extension on stdin and stdout.

use std::process::ExitCode;

fn main() -> ExitCode {
    haft_example_weather::extension().run()
}
