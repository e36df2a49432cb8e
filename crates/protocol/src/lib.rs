//! Every frame that crosses a process border in haft, as plain types.
//!
//! For whom: implementers of the protocol in Rust, and every other haft crate. The promise: a line is read
//! as one value by everybody or refused by name, and a frame that this crate once wrote can be read for ever.
//! Never in here: IO, a clock, tokio.
//!
//! * [`ext`]: the native dialect, [`HostFrame`](ext::HostFrame) and [`ExtensionFrame`](ext::ExtensionFrame);
//! * [`hook`]: the dialect of PicoClaw's hooks, JSON-RPC;
//! * [`rpc`]: the dialect of programs that drive haft, commands in and events out;
//! * [`event`], [`message`], [`content`]: the vocabulary that frames, transcripts and front ends share;
//! * [`project`], [`thinking`], [`names`], [`text`], [`limits`], [`digest`], [`difference`]: words that several crates share and
//!   that stand in no frame of their own;
//! * [`codec`]: lines to frames and back.
//!
//! # Snapshot tests of frames
//! With this crate and `insta` alone:
//! ```
//! use haft_protocol::ext::{ExtensionFrame, Notify};
//! use haft_protocol::{codec, event::NoteLevel};
//!
//! let frame = ExtensionFrame::Notify(Notify { level: NoteLevel::Info, message: "refreshed".into() });
//! insta::assert_snapshot!(codec::encode(&frame)?.trim_end(),
//!     @r#"{"type":"notify","level":"info","message":"refreshed"}"#);
//! # Ok::<(), serde_json::Error>(())
//! ```

pub mod codec;
pub mod content;
#[doc(hidden)]
pub mod defence;
pub mod difference;
pub mod digest;
pub mod error;
pub mod event;
pub mod ext;
pub mod hook;
pub mod ids;
pub mod limits;
pub mod message;
pub mod names;
pub mod project;
pub mod rpc;
pub mod text;
pub mod thinking;

mod compact;
mod json;
mod named_enum;
mod object;
mod read;
mod reader;
mod scan;
mod shared;
mod surrogate;

pub use json::RawJson;
