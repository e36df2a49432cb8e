//! The dialect of programs that drive haft: one JSON object per line, commands in, replies and
//! events out.
//!
//! The names and shapes are those of zot's RPC mode, so clients written for it work unchanged. haft
//! adds commands, events and fields and changes none.
//!
//! * [`RpcRequest`], [`Command`], [`read_request`]: the lines of a client; [`UnreadableRequest`]: a
//!   line that cannot be read, with its reply;
//! * [`RpcResponse`], [`CommandFailure`], and [`CommandParams::Data`]: the one reply to each
//!   command;
//! * [`EventLine`], [`ClientEvent`], [`RpcEvent`]: events, each line with its session;
//! * [`UiRequest`], [`UiResponse`]: questions for the person at the client.
//!
//! ```
//! use haft_protocol::rpc::{self, Command, PingCommand, PongData, RpcResponse};
//!
//! let request = rpc::read_request(br#"{"id":"1","type":"ping"}"#, rpc::BOUNDS)?;
//! assert_eq!(request.command, Command::Ping(PingCommand {}));
//! let reply = RpcResponse::success::<PingCommand>(request.id, &PongData { pong: true })?;
//! assert_eq!(
//!     reply.encode()?,
//!     "{\"type\":\"response\",\"id\":\"1\",\"command\":\"ping\",\"success\":true,\"data\":{\"pong\":true}}\n",
//! );
//!
//! let unread = rpc::read_request(br#"{"id":"2","type":"dance"}"#, rpc::BOUNDS).unwrap_err();
//! assert!(unread.into_response().encode()?.contains("unknown command \\\"dance\\\""));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod capability;
mod command;
mod data;
mod dialog;
mod event;
mod line;
mod payload;
mod request;
mod response;
mod server_line;
mod session_call;

pub use crate::dialog::UiAnswer;
#[cfg(feature = "schema")]
pub use command::ReplyData;
pub use command::{
    AbortCommand, AppendEntry, AuthToken, ClearCommand, ClientInfo, CloseSession, Command, CommandKind,
    CommandParams, CompactCommand, CompleteCommand, DeliveryTime, FindSessions, FollowUp, ForkCommand,
    GetMessages, GetModels, GetState, GetTools, HelloCommand, InterruptCommand, ListCommands, ListExtensions,
    ListJobs, ListSessions, MoveTo, NewSession, PanelCloseCommand, PanelKeyCommand, PanelResizeCommand,
    PingCommand, PromptCommand, ReloadExt, RunCommand, RunShortcut, SendMessage, SetLabel, SetModel, SetName,
    SetTags, SetThinking, SetTools, ShutdownCommand, SteerCommand, StopJob, SwitchSession, TakeQueued,
    TreeCommand, WaitIdle,
};
pub use data::{
    AppendedData, CommandActionKind, CommandInfo, CommandResult, CommandsData, CompletionsData, ContextData,
    EntryInfo, ExtensionInfo, ExtensionsData, HelloData, InterruptData, JobInfo, JobsData, MessagesData,
    ModelData, ModelInfo, ModelPrices, ModelsData, MovedData, NoData, PongData, QueueData, QueuedData,
    ReloadData, SentData, SessionData, SessionInfo, SessionsData, ShortcutInfo, ShownBlock, ShownMessage,
    StartedData, StateData, StatusItem, ThinkingData, ToolInfo, ToolsData, ToolsSet, TreeData,
};
pub use dialog::{UiEnd, UiKind, UiRequest, UiResponse};
pub use event::{ClientEvent, EventLine, PanelContent, RpcEvent, SessionEnd};
pub use line::{escape_control_chars, line};
pub use payload::ReplyPayload;
pub use request::{BOUNDS, MAX_LINE, RpcRequest, UnreadableRequest, read_request};
pub use response::{CommandFailure, ErrorCode, RpcResponse};
pub use server_line::ServerLine;

/// The version of the protocol: zot's. It changes only with an incompatible change; all additions
/// are [capabilities](capability) or fields.
pub const PROTOCOL_VERSION: u32 = 1;
