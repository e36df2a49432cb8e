//! Tests of sessions and their files.

mod contexts;
mod faulty;
mod file;
mod lines;
mod recovery;
mod resuming;
mod stores;
mod tags;
mod whole;
