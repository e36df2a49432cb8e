//! Extensions as files: reading, finding, installing, changing and removing them without running any code.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails it by a panic")]

mod changes;
mod discovery;
mod install;
mod manifest;
mod preserved_files;
