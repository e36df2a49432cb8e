//! Runs the `weather` extension on stdin and stdout.

fn main() {}
