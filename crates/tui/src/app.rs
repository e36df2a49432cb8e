//! The interactive mode without a terminal: what there is, what follows from what happens, how it looks.
//!
//! One [`Event`] at a time goes into the [`State`], and what is to be done comes out as [`Effect`]s ([`update`]); the
//! state is drawn by a pure view ([`draw`]). The interface is a client like any other: what it has done goes out as
//! commands of the protocol of programs (`docs/rpc-protocol.md`) and comes back as its lines. What only the program knows
//! (files, keys, settings) it is [asked](Ask).

pub mod commands;
pub mod settings;

mod areas;
mod ask;
mod component;
mod composer;
mod conversation;
mod dialogs;
mod effect;
mod event;
mod held;
mod inline;
mod intent;
mod interface;
mod known;
mod late;
mod lines;
mod menu;
mod notes;
mod outbox;
mod page;
mod panel;
mod pastes;
mod pending;
mod search;
mod sending;
mod session;
mod stack;
mod state;
mod status;
mod themes;
mod update;
mod view;
mod waiting;
mod work;

pub use ask::{BackendReply, BackendRequest, LoginProvider, SettingRow, TrustReview};
pub use effect::Effect;
pub use event::UiEvent;
pub use inline::InlineOutput;
pub use interface::{LinearInterface, UserInterface};
pub use lines::LinearOutput;
pub use state::{AppOptions, AppState};
pub use update::{start, update};
pub use view::draw;

pub use crate::mouse::{MouseAction, MouseKind};
