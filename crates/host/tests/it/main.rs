//! Behaviour seen from outside.

mod discovery;
mod install;
mod manifest;
