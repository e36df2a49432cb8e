//! Runs the `hello` extension on stdin and stdout.

fn main() {}
