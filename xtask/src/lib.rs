//! The repository as files and programs, for `cargo xtask`, `haft-codegen` and the tests of `haft-fuzz`.

pub mod repo;
pub mod seeds;
pub mod words;
