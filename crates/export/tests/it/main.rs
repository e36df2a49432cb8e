//! Tests of export and import with whole files, through the public functions.

#![expect(clippy::unwrap_used, reason = "a failing helper must fail its test")]

mod foreign;
mod pages;
mod portable;
