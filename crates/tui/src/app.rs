//! The interactive mode without a terminal: its state, its reactions to events, and its drawing.
//!
//! [`update`] applies one [`UiEvent`] to the [`AppState`] and returns [`Effect`]s. [`draw`] draws the state and changes
//! only its caches. The interface is an RPC client like any other: it sends commands and receives responses and events
//! (`docs/rpc-protocol.md`). For files, API keys and settings, the interface sends a [`BackendRequest`] to the program
//! around it.

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
