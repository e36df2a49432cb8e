//! Sessions out and in.
