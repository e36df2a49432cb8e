//! The dialect of programs that drive haft, seen from outside.

mod compat;
mod lines;
mod random;
mod requests;
mod samples;
