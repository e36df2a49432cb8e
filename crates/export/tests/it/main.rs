//! Sessions out and in again: whole files through the public functions.

#![expect(clippy::unwrap_used, reason = "a helper that fails shall fail its test")]

mod foreign;
mod pages;
mod portable;
