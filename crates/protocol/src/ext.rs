//! The native dialect: zot's protocol version 1, frame for frame, plus haft's additions, which are
//! capabilities.
//!
//! Both sides send one JSON object per line. The extension starts with `hello`, sends its
//! registrations and `ready`, and then answers the requests of the host. A side sends a frame of a
//! capability only if the peer announced the capability.

mod answer_error;
mod ask;
mod bus;
mod cancel;
mod command;
mod completion;
mod constructors;
mod event;
mod ext_call;
mod file_lock;
mod frames;
mod handshake;
mod host_call;
mod intercept;
mod limits;
mod mirror;
mod model_call;
mod notes;
mod panel;
mod ping;
mod registration;
mod request;
mod service;
mod session_event;
mod show;
mod status;
mod subscription;
mod tool;
mod zot_call;

pub use crate::agent_state::{ContextData, QueueData, ToolInfo};
pub use crate::dialog::UiAnswer;
pub use crate::event::HostCallError;
pub use answer_error::AnswerError;
pub use ask::{AskAnswer, AskCall, AskEnd, ConfirmCall, EditorCall, InputCall, SelectCall};
pub use bus::{BusMessage, EmitCall};
pub use cancel::CancelRequest;
pub use command::{CommandAction, CommandInvoked, CommandResponse};
pub use completion::{CommandCompletions, CommandCompletionsResponse, CompletionItem};
pub use event::{EventGap, LifecycleEvent};
pub use ext_call::{
    ExtensionCall, ExtensionCallKind, ExtensionCallResult, RegisterFrame, RegistrationKind, ShortcutCall,
    UnregisterFrame,
};
pub use file_lock::{FileLease, FileLockCall, LockFileCall, UnlockFileCall};
pub use frames::{ExtensionFrame, HostFrame};
pub use handshake::{
    ExtensionConfig, Hello, HelloAck, HostMode, PROTOCOL_VERSION, Ready, Shutdown, ShutdownAck, capability,
};
pub use host_call::{HostCall, HostCallCancel, HostCallKind, HostCallTarget, HostResult};
pub use intercept::{
    ApproveDecision, AssistantMessageDecision, BeforeAgentStartDecision, BeforeCompactDecision,
    BeforeForkDecision, BeforeProviderRequestDecision, BeforeSettleDecision, BeforeSwitchDecision,
    BeforeTreeDecision, CompactEntry, ContextChange, ContextDecision, EventIntercept, EventInterceptResponse,
    InputDecision, Intercept, InterceptAgentEnd, InterceptAgentStart, InterceptApprove,
    InterceptAssistantMessage, InterceptBeforeAgentStart, InterceptBeforeCompact, InterceptBeforeFork,
    InterceptBeforeProviderRequest, InterceptBeforeSettle, InterceptBeforeSwitch, InterceptBeforeTree,
    InterceptContext, InterceptHook, InterceptInput, InterceptKind, InterceptMessageEnd,
    InterceptMessageStart, InterceptProjectTrust, InterceptResources, InterceptSessionShutdown,
    InterceptSessionStart, InterceptToolCall, InterceptToolEnd, InterceptToolResult, InterceptTurnEnd,
    InterceptTurnStart, InterceptUserBash, MAX_RESOURCE_PATH, MAX_RESOURCE_PATHS, MAX_START_MESSAGES,
    MessageEndDecision, MessageRole, ProjectTrustDecision, RequestOptions, RequestTool, ResourcesDecision,
    ResourcesReason, SessionShutdownReason, SessionStartReason, StartMessage, StopScope, SwitchReason,
    ToolCallAnswer, ToolCallDecision, ToolChoice, ToolResultChange, ToolResultDecision, TrustOpinion,
    TurnStartDecision, TurnStop, UserBashDecision, UserBashResult,
};
pub use limits::Limits;
pub use mirror::{EntriesFrame, MirrorPart, StateFrame};
pub use model_call::{
    AgentCall, CallToolArgs, CompleteCall, CompletionData, CompletionMessage, CompletionOptions,
    CompletionPiece, HostCallProgress,
};
pub use notes::{ClearNotes, Notify};
pub use panel::{Panel, PanelClose, PanelKey, PanelRender, PanelResize};
pub use ping::{Ping, Pong};
pub use registration::{RegisterCommand, RegisterRejected, RegisterTool, Subscribe};
pub use request::{CallTool, HostQuery, InvokeCommand, PressShortcut, QueryCompletions, QueryResponse};
pub use service::HostService;
pub use session_event::{EventFrame, SessionEvent, event_names};
pub use show::{InsertCall, SetEditorCall, SetTitleCall, SetWorkingCall, ShowCall};
pub use status::{SetStatus, SpanColor, StatusText, StyledSpan};
pub use subscription::{InterceptRole, Subscription};
pub use tool::{ResultBlock, ToolCallFrame, ToolCallProgress, ToolResultFrame, joined_result_text};
pub use zot_call::{
    OpenPanel, SubmitSlash, SubmitText, ToolCancel, ToolRequest, ToolRequestCancel, ToolRequestResult,
};
