//! The dialect of programs that drive haft: one JSON object a line, commands in, replies and events out.
//!
//! The names and shapes are those of zot's RPC mode, so that clients written for it work as they are; haft adds commands,
//! events and fields and changes none.
//!
//! * [`Request`], [`Command`], [`read_request`]: what a client says, and [`Unread`] what is answered when that cannot be read;
//! * [`Response`], [`CommandFailure`], and [`CommandParams::Data`]: the one reply to each command;
//! * [`EventLine`], [`Event`], [`RpcEvent`]: what happens, each line with its session;
//! * [`UiRequest`], [`UiResponse`]: questions for the person in front of the client.
//!
//! ```
//! use haft_protocol::rpc::{self, Command, Ping, Pong, Response};
//!
//! let request = rpc::read_request(br#"{"id":"1","type":"ping"}"#, rpc::BOUNDS)?;
//! assert_eq!(request.command, Command::Ping(Ping {}));
//! let reply = Response::success::<Ping>(request.id, &Pong { pong: true })?;
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
mod received;
mod request;
mod response;

pub use command::ReplyData;
pub use command::{
    AbortCommand, AuthToken, ClearCommand, ClientInfo, CloseSession, Command, CommandKind, CommandParams,
    CompactCommand, CompleteCommand, FollowUp, ForkCommand, GetMessages, GetModels, GetState, GetTools,
    HelloCommand, InterruptCommand, ListCommands, ListExtensions, ListSessions, MoveTo, NewSession,
    PanelCloseCommand, PanelKeyCommand, PanelResizeCommand, PingCommand, PromptCommand, ReloadExt,
    RunCommand, SetModel, SetName, SetThinking, SetTools, ShutdownCommand, SteerCommand, SwitchSession,
    TakeQueued, TreeCommand,
};
pub use data::{
    CommandActionKind, CommandInfo, CommandResult, CommandsData, CompletionsData, ContextData, EntryInfo,
    ExtensionInfo, ExtensionsData, HelloData, InterruptData, MessagesData, ModelData, ModelInfo, ModelsData,
    MovedData, NoData, PongData, QueueData, QueuedData, ReloadData, SessionData, SessionInfo, SessionsData,
    ShownBlock, ShownMessage, StartedData, StateData, StatusItem, ThinkingData, ToolInfo, ToolsData,
    ToolsSet, TreeData,
};
pub use dialog::{UiAnswer, UiEnd, UiKind, UiRequest, UiResponse};
pub use event::{ClientEvent, EventLine, PanelContent, RpcEvent, SessionEnd};
pub use line::{escape_control_chars, line};
pub use payload::ReplyPayload;
pub use received::ServerLine;
pub use request::{BOUNDS, MAX_LINE, RpcRequest, UnreadableRequest, read_request};
pub use response::{CommandFailure, ErrorCode, RpcResponse};

/// The version of the protocol: zot's. It changes only when something old stops working; everything else is a
/// [capability] or an additional field.
pub const PROTOCOL_VERSION: u32 = 1;
