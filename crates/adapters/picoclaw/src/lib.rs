//! PicoClaw's process hooks, on haft and on PicoClaw.
//!
//! * [`wire`]: the lines of both sides as types;
//! * [`translate`]: conversions between haft's types and these;
//! * [`peer`]: the host's port for process hooks;
//! * [`author`]: hooks in Rust (feature `author`).

#[cfg(feature = "author")]
pub mod author;
pub mod peer;
pub mod translate;
pub mod wire;
