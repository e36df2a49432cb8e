//! The interactive mode without a terminal: what there is, what follows from what happens, how it looks.
//!
//! One [`Event`] at a time goes into the state, and what is to be done comes out as [`Effect`]s; the state is drawn by a
//! pure view. The interface is a client like any other: what it has done goes out as commands of the protocol of programs
//! (`docs/rpc-protocol.md`) and comes back as its lines. What only the program knows (files, keys, settings) it is
//! [asked](Ask).

mod ask;
mod effect;
mod event;

pub use ask::{Answer, Ask, Provider, SettingRow, Trusted};
pub use effect::Effect;
pub use event::{Event, Mouse, MouseKind};
