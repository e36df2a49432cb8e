//! Behavior of the binary, observed from outside: real processes, a clean home.

#![expect(clippy::unwrap_used, reason = "a failing helper must fail its test")]

mod config;
mod doctor;
mod e2e;
mod exit_codes;
mod ext;
mod help;
mod trust;
mod world;
