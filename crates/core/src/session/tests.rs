//! A session and its file.

mod file;
mod lines;
