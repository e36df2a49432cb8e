//! Tests of the dialect of PicoClaw's hooks.

mod compat;
mod decide;
mod edits;
mod events;
mod lines;
mod merges;
mod replies;
mod samples;

use haft_protocol::RawJson;

fn json(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}
