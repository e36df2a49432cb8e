//! The repository as files and programs, for `cargo xtask` and for `haft-codegen`.

pub mod repo;
