//! Library for haft extensions.
//!
//! ```no_run
//! use haft_sdk::{Extension, Response, ToolResult};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct City { city: String }
//!
//! fn main() -> std::process::ExitCode {
//!     Extension::new("weather", "1.0.0")
//!         .command("hello", "say hi", |_args, _host| async { Response::prompt("Greet me in one short sentence.") })
//!         .tool("weather", "Current weather for a city.", |args: City, _host| async move {
//!             ToolResult::text(format!("{}: sunny", args.city))
//!         })
//!         .run()
//! }
//! ```
//!
//! **stdout is the wire.** One `println!`, in your code or in a crate you use, is a line the host
//! cannot read. Use [`log!`]: it goes to stderr, and `haft ext logs <name>` shows it. Put
//! `#![deny(clippy::print_stdout)]` at the top of your crate.
//!
//! A test runs the extension in memory:
//!
//! ```
//! use haft_sdk::testing::Harness;
//! use haft_sdk::{Extension, ToolResult};
//!
//! # #[derive(serde::Deserialize, schemars::JsonSchema)]
//! # struct City { city: String }
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let extension = Extension::new("weather", "1.0.0")
//!     .tool("weather", "Current weather for a city.", |args: City, _host| async move {
//!         ToolResult::text(format!("{}: sunny", args.city))
//!     });
//! let harness = Harness::start(extension).await;
//! let result = harness.tool("weather", serde_json::json!({"city": "Berlin"})).await;
//! assert_eq!(result.joined_text(), "Berlin: sunny");
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! * [`Extension`]: the registrations: commands, tools, hooks, events, keys;
//! * [`Host`]: requests to haft, for handlers; [`UserInterface`], [`SessionHandle`], [`FileLock`]: groups of them;
//! * [`SessionMirror`]: the state of the session; [`HostInfo`]: the facts at the start;
//! * [`Response`], [`ToolResult`], [`ToolCallDecision`] and the other decisions: the answers of handlers;
//! * [`Panel`], [`PanelEvent`], [`StyledSpan`]: panels and texts on the screen;
//! * [`testing`]: the harness, and snapshots of frames; [`protocol`]: all types of the wire.
//!
//! If a handler panics or fails, the SDK sends one error response and the extension continues. Handlers of hooks run
//! next to the connection and must not block their thread; all other handlers have their own threads.

#![warn(clippy::exhaustive_structs)]

mod completion;
mod config;
mod dispatch;
mod error;
mod extension;
mod handler;
mod host;
mod logging;
mod mirror;
mod open_requests;
mod outbox;
mod panel;
mod pending_calls;
mod platform;
mod run;
mod running_handlers;
mod serve;
mod service;
mod timeouts;
mod tool;
mod tool_builder;

#[doc(hidden)]
pub mod peer;
pub mod testing;

pub use completion::Completion;
pub use config::ConfigError;
pub use error::ServeError;
pub use extension::{Extension, GateDecision, ToolSelection};
pub use handler::{HandlerFn, IntoAnswer};
pub use host::Host;
pub use logging::log;
pub use mirror::{MirroredEntry, SessionMirror};
pub use panel::PanelEvent;
pub use service::{CommandOutput, FileLock, FilePage, HostError, SessionHandle, UserInterface};
pub use tool::{NoArgs, ToolResult};
pub use tool_builder::ToolBuilder;

/// The types of the protocol that are not re-exported by name.
pub use haft_protocol as protocol;
pub use haft_protocol::RawJson;
pub use haft_protocol::content::ResolvedPath;
pub use haft_protocol::event::NoteLevel;
pub use haft_protocol::ext::{
    ApproveDecision, AskAnswer, AskCall, AskEnd, AssistantMessageDecision, BeforeAgentStartDecision,
    BeforeCompactDecision, BeforeForkDecision, BeforeProviderRequestDecision, BeforeSettleDecision,
    BeforeSwitchDecision, BeforeTreeDecision, BusMessage, CommandAction as Response, CompleteCall,
    CompletionData, CompletionMessage, CompletionOptions, ContextChange, ContextDecision, ExtensionConfig,
    HelloAck as HostInfo, InputDecision, InterceptAgentEnd, InterceptAgentStart, InterceptApprove,
    InterceptAssistantMessage, InterceptBeforeAgentStart, InterceptBeforeCompact, InterceptBeforeFork,
    InterceptBeforeProviderRequest, InterceptBeforeSettle, InterceptBeforeSwitch, InterceptBeforeTree,
    InterceptContext, InterceptInput, InterceptMessageEnd, InterceptMessageStart, InterceptProjectTrust,
    InterceptResources, InterceptSessionShutdown, InterceptSessionStart, InterceptToolCall, InterceptToolEnd,
    InterceptToolResult, InterceptTurnEnd, InterceptTurnStart, InterceptUserBash, LifecycleEvent,
    MessageEndDecision, MessageRole, MirrorPart, Panel, PanelKey, PressShortcut, ProjectTrustDecision,
    RegisterRejected, RegistrationKind, RequestOptions, RequestTool, ResourcesDecision, ResourcesReason,
    SessionEvent, SessionShutdownReason, SessionStartReason, SetWorkingCall, SpanColor, StartMessage,
    StateFrame, StopScope, StyledSpan, Subscribe, Subscription, SwitchReason, ToolCallAnswer,
    ToolCallDecision, ToolChoice, ToolResultChange, ToolResultDecision, TurnStartDecision, TurnStop,
    UiAnswer, UserBashDecision, UserBashResult,
};
