//! Fuzz targets' oracles: one module a target, one function `check` that panics when a promise is broken.
//!
//! For whom: `targets/*.rs`, which hand libFuzzer's input to them. An input is text or bytes as they would come from
//! outside, so that a seed can be read, written and diffed. Never in here: IO.

pub mod chain;
pub mod envelope;
pub mod hooks;
pub mod manifest;
pub mod rpc;
pub mod sanitiser;

mod memory;
mod pieces;
mod strict;
