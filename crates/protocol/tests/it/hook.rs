//! Tests of the dialect of PicoClaw's hooks.

mod compat;
mod decide;
mod edits;
mod events;
mod lines;
mod merges;
mod replies;
mod samples;
