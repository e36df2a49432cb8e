//! `host_call`, `host_call_cancel` and `host_result`: an extension asks something of the host.
//!
//! Each kind of call is one line of [`HostCallKind`]. The calls of tools pass the same gates, the
//! same file queue and the same limits as the calls of the model, and require the capability
//! `host_services`. [`AskCall`](super::AskCall) asks the person, and
//! [`FileLockCall`](super::FileLockCall) locks a file. The calls to the session are
//! commands of the RPC protocol and require the capability `session`.
//!
//! ```json
//! {"type":"host_call","id":"c1","call":"write","args":{"path":"notes.txt","content":"rain\n"}}
//! {"type":"host_result","id":"c1","content":[{"type":"text","text":"created notes.txt (1 line, 5 bytes)"}]}
//! ```

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::HostService;
use super::tool::ResultBlock;
use crate::event::HostCallError;
use crate::ids::RequestId;
use crate::json::RawJson;
use crate::named_enum::named_enum;
use crate::read::null_is_default;

/// Runs a tool of the host for the extension, or asks the person. The host always answers with
/// `host_result`. A call before `ready` fails with `unavailable`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostCall {
    /// The id for the result. It must be unique among the open calls. `unlock_file`, `emit` and
    /// calls that change the screen or the session may omit it, since haft; they then have no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RequestId>,
    /// The operation: `read`, `write`, `edit` or `exec`; since haft, with `files`: `lock_file` or
    /// `unlock_file`; with `models`: `call_tool` or `complete`; with `asks`: `confirm`,
    /// `select`, `input` or `editor`; with `shows`: `set_title`, `set_working`, `set_editor`,
    /// `insert` or `open_panel`; with `bus`: `emit`; with `session`: a command of the RPC protocol.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub call: String,
    /// The arguments: those of the tool `read`, `write`, `edit` or `bash`, those of the question, or
    /// the fields of the command.
    #[serde(deserialize_with = "crate::json::object")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub args: RawJson,
    /// The `id` of the host's open request that the call serves; absent: the only open one, if there
    /// is one. While a question to the person is open, the time limit of that request does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<RequestId>,
    /// For a command: the session that it applies to; absent: the session of the extension.
    /// `switch_session` requires it. Since haft, with `session`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// Cancels a `host_call`. A call that has not started does not run; a command ends with all its
/// processes. The result still arrives and contains the output so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostCallCancel {
    /// The `id` of the `host_call`.
    pub id: RequestId,
}

/// The result of a `host_call`: for a tool, the content that the model would get; for a question,
/// its value; or the kind of a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostResult {
    /// The `id` of the `host_call`.
    pub id: RequestId,
    /// The result. For `read`, the first text is the content of the file; further texts are
    /// remarks.
    #[serde(default, deserialize_with = "null_is_default")]
    pub content: Vec<ResultBlock>,
    /// True if the call failed.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// The kind of failure, for programs; present if `is_error` is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<HostCallError>,
    /// With `blocked`: the extension or hook that blocked the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// With `permission_denied`: the permission that is not granted, such as `fs.read` or
    /// `session.control`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<String>,
    /// Data about the result, for programs, such as the diff of a change. For `read`, `next_offset`
    /// is the next line if the file has more.
    #[serde(default, deserialize_with = "object_or_null", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Map<String, serde_json::Value>>"))]
    pub details: Option<RawJson>,
    /// The value of a call that has one: for a question, the answer and `why` it ended; for a
    /// command, the `data` of its reply; for `lock_file`, the lease; for `complete`, the answer.
    /// Since haft, with `asks`, `session`, `files` or `models`.
    #[serde(default, deserialize_with = "object_or_null", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Map<String, serde_json::Value>>"))]
    pub value: Option<RawJson>,
}

impl HostResult {
    /// Returns the result of a successful call with this content.
    pub fn with_content(id: RequestId, content: Vec<ResultBlock>) -> Self {
        Self {
            id,
            content,
            is_error: false,
            code: None,
            by: None,
            permission: None,
            details: None,
            value: None,
        }
    }

    /// Returns the result of a failed call. The text says why.
    pub fn from_failure(id: RequestId, code: HostCallError, text: impl Into<String>) -> Self {
        let content = vec![ResultBlock::Text { text: text.into() }];
        Self { is_error: true, code: Some(code), ..Self::with_content(id, content) }
    }
}

fn object_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    match Option::<RawJson>::deserialize(deserializer)? {
        Some(value) if !value.is_object() => Err(D::Error::custom("expected a JSON object")),
        value => Ok(value),
    }
}

/// Defines the calls, one line each: name, service, and the part of the host that runs it.
macro_rules! host_calls {
    ($($(#[$doc:meta])* $call:ident = $name:literal, $service:ident, $target:expr;)*) => {
        named_enum! {
            /// The kinds of host calls.
            pub enum HostCallKind { $($(#[$doc])* $call = $name,)* }
        }

        impl HostCallKind {
            /// Returns the part of the host that runs the call.
            pub const fn target(self) -> HostCallTarget {
                match self { $(Self::$call => $target,)* }
            }

            /// Returns the service of the call, which determines the required permission.
            pub const fn service(self) -> HostService {
                match self { $(Self::$call => HostService::$service,)* }
            }
        }
    };
}

/// The part of the host that runs a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostCallTarget {
    /// The built-in tool of this name. The call has its arguments, and gates see its name.
    Tool(&'static str),
    /// The queue of changes of files.
    FileLock,
    /// The person.
    Person,
    /// The screen. The call has no value.
    Screen,
    /// The tools and models of the agent.
    Agent,
    /// The other extensions. The call has no value.
    Bus,
    /// The session, by the command of the RPC protocol with the same name, fields, data and errors.
    Session,
}

host_calls! {
    /// Read a file.
    Read = "read", FsRead, HostCallTarget::Tool("read");
    /// Write a whole file.
    Write = "write", FsWrite, HostCallTarget::Tool("write");
    /// Change parts of a file.
    Edit = "edit", FsWrite, HostCallTarget::Tool("edit");
    /// Run a shell command.
    Exec = "exec", Exec, HostCallTarget::Tool("bash");
    /// Run a tool that the model gets.
    CallTool = "call_tool", SessionControl, HostCallTarget::Agent;
    /// Ask a model, outside of the conversation.
    Complete = "complete", ModelCall, HostCallTarget::Agent;
    /// Lock a file.
    LockFile = "lock_file", FilesLock, HostCallTarget::FileLock;
    /// Release the lock of a file.
    UnlockFile = "unlock_file", FilesLock, HostCallTarget::FileLock;
    /// Ask the person for yes or no.
    Confirm = "confirm", Ui, HostCallTarget::Person;
    /// Ask the person to choose a text.
    Select = "select", Ui, HostCallTarget::Person;
    /// Ask the person for a text of one line.
    Input = "input", Ui, HostCallTarget::Person;
    /// Ask the person to change a text of any number of lines.
    Editor = "editor", Ui, HostCallTarget::Person;
    /// Set the title of the terminal window.
    SetTitle = "set_title", Ui, HostCallTarget::Screen;
    /// Change the line that shows that the agent works.
    SetWorking = "set_working", Ui, HostCallTarget::Screen;
    /// Replace the text in the input field.
    SetEditor = "set_editor", Ui, HostCallTarget::Screen;
    /// Insert text into the input field.
    Insert = "insert", Ui, HostCallTarget::Screen;
    /// Open a panel.
    OpenPanel = "open_panel", Ui, HostCallTarget::Screen;
    /// Send a message to other extensions.
    Emit = "emit", Bus, HostCallTarget::Bus;
    /// Return the state of the session.
    GetState = "get_state", SessionRead, HostCallTarget::Session;
    /// Return the conversation.
    GetMessages = "get_messages", SessionRead, HostCallTarget::Session;
    /// Return the entries of the session, with all branches.
    Tree = "tree", SessionRead, HostCallTarget::Session;
    /// Return the known models.
    GetModels = "get_models", SessionRead, HostCallTarget::Session;
    /// Return all tools, and whether the model gets them.
    GetTools = "get_tools", SessionRead, HostCallTarget::Session;
    /// Return the open and the stored sessions.
    ListSessions = "list_sessions", SessionRead, HostCallTarget::Session;
    /// Return the commands, templates and skills.
    ListCommands = "list_commands", SessionRead, HostCallTarget::Session;
    /// Return the extensions and their states.
    ListExtensions = "list_extensions", SessionRead, HostCallTarget::Session;
    /// Return the background commands of the model.
    ListJobs = "list_jobs", SessionRead, HostCallTarget::Session;
    /// Stop a background command.
    StopJob = "stop_job", SessionControl, HostCallTarget::Session;
    /// Set the name of the session.
    SetName = "set_name", SessionWrite, HostCallTarget::Session;
    /// Record data in the session.
    AppendEntry = "append_entry", SessionWrite, HostCallTarget::Session;
    /// Add a message to the conversation.
    SendMessage = "send_message", SessionWrite, HostCallTarget::Session;
    /// Label an entry.
    SetLabel = "set_label", SessionWrite, HostCallTarget::Session;
    /// Change tags of the session.
    SetTags = "set_tags", SessionWrite, HostCallTarget::Session;
    /// Search for sessions by their tags.
    FindSessions = "find_sessions", SessionRead, HostCallTarget::Session;
    /// Send a message to the model.
    Prompt = "prompt", SessionControl, HostCallTarget::Session;
    /// Send a message to the working agent.
    Steer = "steer", SessionControl, HostCallTarget::Session;
    /// Send a message that the agent receives when it would stop.
    FollowUp = "follow_up", SessionControl, HostCallTarget::Session;
    /// Remove and return the messages that the agent has not received.
    TakeQueued = "take_queued", SessionControl, HostCallTarget::Session;
    /// Stop the current prompt or compaction.
    Abort = "abort", SessionControl, HostCallTarget::Session;
    /// End the run in an orderly way.
    Interrupt = "interrupt", SessionControl, HostCallTarget::Session;
    /// Compact the conversation.
    Compact = "compact", SessionControl, HostCallTarget::Session;
    /// Wait until no prompt and no compaction runs or waits.
    WaitIdle = "wait_idle", SessionRead, HostCallTarget::Session;
    /// Clear the conversation.
    Clear = "clear", SessionControl, HostCallTarget::Session;
    /// Switch the model.
    SetModel = "set_model", SessionControl, HostCallTarget::Session;
    /// Set the thinking level.
    SetThinking = "set_thinking", SessionControl, HostCallTarget::Session;
    /// Limit the tools that the model gets.
    SetTools = "set_tools", SessionControl, HostCallTarget::Session;
    /// Open another session.
    NewSession = "new_session", SessionControl, HostCallTarget::Session;
    /// Make another session the current one.
    SwitchSession = "switch_session", SessionControl, HostCallTarget::Session;
    /// Close a session.
    CloseSession = "close_session", SessionControl, HostCallTarget::Session;
    /// Open a new session with a copy of the conversation.
    Fork = "fork", SessionControl, HostCallTarget::Session;
    /// Continue the session from another entry.
    MoveTo = "move_to", SessionControl, HostCallTarget::Session;
    /// Run a command.
    RunCommand = "run_command", SessionControl, HostCallTarget::Session;
    /// Search for extensions again, or restart one.
    ReloadExt = "reload_ext", SessionControl, HostCallTarget::Session;
    /// End the process.
    Shutdown = "shutdown", SessionControl, HostCallTarget::Session;
}

impl HostCallKind {
    /// True if the call may omit its `id`.
    pub const fn may_omit_id(self) -> bool {
        matches!(self, Self::UnlockFile)
            || matches!(self.target(), HostCallTarget::Screen | HostCallTarget::Bus | HostCallTarget::Session)
    }

    /// Returns the built-in tool that runs the call; `None` if no tool does.
    pub const fn tool(self) -> Option<&'static str> {
        match self.target() {
            HostCallTarget::Tool(tool) => Some(tool),
            HostCallTarget::FileLock
            | HostCallTarget::Agent
            | HostCallTarget::Person
            | HostCallTarget::Screen
            | HostCallTarget::Bus
            | HostCallTarget::Session => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_kinds_have_names_and_services() {
        for kind in HostCallKind::ALL {
            assert_eq!(HostCallKind::from_name(kind.name()), Some(*kind));
        }
        assert_eq!(HostCallKind::from_name("bash"), None);
        assert_eq!(HostCallKind::Edit.service(), HostService::FsWrite);
    }
}
