//! The dialect of PicoClaw's hooks, seen from outside.

mod compat;
mod decide;
mod edits;
mod events;
mod lines;
mod merges;
mod replies;
mod samples;
