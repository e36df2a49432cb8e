//! Tests of the dialect of programs that drive haft.

mod compat;
mod lines;
mod random;
mod requests;
mod samples;
