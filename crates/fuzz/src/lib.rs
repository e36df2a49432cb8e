//! Oracles of the fuzz targets: one module for each target, with a function `check` that panics if haft breaks a rule.
//!
//! Two programs call them: the tests of this crate, which replay every committed input, and the binaries in
//! `fuzz/targets/`, which pass on the inputs of libFuzzer. An input is text or bytes in external form, so that seeds
//! can be read, written and compared. The oracles do no IO.

pub mod chain;
pub mod envelope;
pub mod hooks;
pub mod manifest;
pub mod rpc;
pub mod sanitiser;

mod memory;
mod pieces;
mod strict;
