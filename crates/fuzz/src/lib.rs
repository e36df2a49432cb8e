//! Oracles of the fuzz targets: one module for each target, with a function `check` that panics when a promise is broken.
//!
//! Two programs call them: the tests of this crate, which replay every committed input, and the binaries in
//! `fuzz/targets/`, which pass on what libFuzzer invents. An input is text or bytes as they arrive from outside, so that
//! a seed can be read, written and compared. The oracles do no IO.

pub mod chain;
pub mod envelope;
pub mod hooks;
pub mod manifest;
pub mod rpc;
pub mod sanitizer;

mod memory;
mod pieces;
mod strict;
