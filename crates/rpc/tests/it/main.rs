//! Behaviour seen from outside.

mod lines;
mod writer;
