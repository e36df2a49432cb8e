//! The misbehaving extension.

fn main() {}
