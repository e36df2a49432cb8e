//! All frames that haft exchanges with other processes, as plain types.
//!
//! ```
//! use haft_protocol::codec::{self, DecodedFrame};
//! use haft_protocol::ext::{CommandAction, ExtensionFrame, HostFrame};
//!
//! // An extension without the SDK: reads a line of the host, and answers with a line.
//! let line = r#"{"type":"command_invoked","id":"7","name":"greet","args":"Ada"}"#;
//! let DecodedFrame::Known(HostFrame::CommandInvoked(command)) = codec::decode(line.as_bytes())? else { panic!() };
//! let answer = CommandAction::Display(format!("Hello, {}!", command.args)).into_response(command.id);
//! assert_eq!(
//!     codec::encode(&ExtensionFrame::CommandResponse(answer))?.trim_end(),
//!     r#"{"type":"command_response","id":"7","action":"display","display":"Hello, Ada!"}"#
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! For implementations of the protocol in Rust, and for all other haft crates. Every reader decodes
//! a line to the same value or rejects it with a named error. A frame that this crate once wrote
//! stays readable in all later versions. This crate contains no IO, no clock and no tokio.
//!
//! * [`ext`]: the native dialect, [`HostFrame`](ext::HostFrame) and [`ExtensionFrame`](ext::ExtensionFrame);
//! * [`rpc`]: the dialect of programs that drive haft, with commands in and events out;
//! * [`event`], [`message`], [`content`]: the types that frames, transcripts and front ends share;
//! * [`project`], [`thinking`], [`names`], [`text`], [`limits`], [`digest`], [`change_set`]: types
//!   that several crates share and that occur in no frame of their own;
//! * [`codec`]: conversion between lines and frames.
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

pub mod change_set;
pub mod codec;
pub mod content;
#[doc(hidden)]
pub mod defense;
pub mod digest;
pub mod error;
pub mod event;
pub mod ext;
#[doc(hidden)]
pub mod foreign;
pub mod ids;
pub mod limits;
pub mod message;
pub mod names;
pub mod project;
pub mod rpc;
pub mod text;
pub mod thinking;

mod agent_state;
mod bounded;
mod compact;
mod dialog;
mod json;
mod named_enum;
mod object_line;
mod read;
mod reader;
mod scan;
mod shared_line;
mod surrogate;
mod tagged;

pub use json::RawJson;
#[cfg(feature = "schema")]
#[doc(hidden)]
pub use json::inlined_schema;
