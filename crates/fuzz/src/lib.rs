//! The oracles of the fuzz targets. An oracle checks one input. Each target is one module with a function `check` that
//! panics if the input breaks a promise.
//!
//! Two programs call the oracles. The tests of this crate replay every committed input. The binaries in `fuzz/targets/`
//! pass on the inputs of libFuzzer. An input is text or bytes as another program would send them, so that people can
//! read and write seeds. The oracles do no IO.

pub mod answer;
pub mod chain;
pub mod envelope;
pub mod hooks;
pub mod manifest;
pub mod rpc;
pub mod sanitizer;

mod memory;
mod pieces;
mod strict;
