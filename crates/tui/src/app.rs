//! The interactive mode without a terminal: its state, its reactions to events, and its drawing.
//!
//! [`update`] applies one [`UiEvent`] to the [`AppState`] and returns [`Effect`]s. [`draw`] draws the state and changes
//! only its caches. The interface is an RPC client like any other: it sends commands and receives responses and events
//! (`docs/rpc-protocol.md`). For files, API keys and settings, the interface sends a [`BackendRequest`] to the program
//! around it.

pub mod commands;
pub mod settings;

mod activity;
mod areas;
mod backend;
mod completion_catalog;
mod component;
mod composer;
mod conversation;
mod deferred_input;
mod dialogs;
mod effect;
mod event;
mod extension_screen;
mod image_prompts;
mod inline;
mod intent;
mod interface;
mod linear;
mod menu;
mod notes;
mod outbox;
mod page;
mod panel;
mod pastes;
mod pending_request;
mod search;
mod session;
mod shortcuts;
mod stack;
mod state;
mod status;
mod status_item;
mod stray_keys;
mod themes;
mod update;
mod view;
mod waiting_messages;

pub use backend::{
    BackendReply, BackendRequest, ContextUse, FileList, LoginProvider, NO_MODEL, SavedKey, SettingRow,
    ShellRequest, TrustReview, WorkingTreeDiff,
};
pub use effect::{Effect, TerminalCommand};
pub use event::UiEvent;
pub use inline::InlineOutput;
pub use interface::{LinearInterface, UserInterface};
pub use linear::LinearOutput;
pub use state::{AppOptions, AppState};
pub use update::{start, update};
pub use view::draw;

pub use crate::mouse::{MouseAction, MouseKind};
