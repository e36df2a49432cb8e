//! Runs the `guard` extension on stdin and stdout.

fn main() {}
