//! Tests of sessions and their files.

mod contexts;
mod faulty;
mod file;
mod given_ids;
mod lines;
mod recovery;
mod resuming;
mod round_trip;
mod stores;
mod tags;
mod whole;
