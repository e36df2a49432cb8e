//! Runs the `todo` extension on stdin and stdout.

fn main() {}
