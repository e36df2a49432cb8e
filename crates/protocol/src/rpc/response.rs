//! The reply to a command. Every command has exactly one reply.
//!
//! ```json
//! {"type":"response","id":"1","command":"ping","success":true,"data":{"pong":true}}
//! {"type":"response","id":"2","command":"set_model","success":false,"error":"…","code":"model_not_found"}
//! ```

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{CommandKind, CommandParams, ReplyPayload, line};
use crate::json::RawJson;
use crate::named_enum::named_enum;

/// The reply to one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcResponse {
    /// The command's id, if it had one.
    pub id: Option<String>,
    /// The command's name as it was sent; empty when the line could not be read.
    pub command: String,
    /// The result; an empty object if there is no data.
    pub outcome: Result<ReplyPayload, CommandFailure>,
}

/// The reason why a command failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFailure {
    /// The error code, for programs.
    pub code: ErrorCode,
    /// The failure and the next step, for people.
    pub error: String,
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error)
    }
}

impl std::error::Error for CommandFailure {}

impl CommandFailure {
    /// Creates a failure.
    pub fn new(code: ErrorCode, error: impl Into<String>) -> Self {
        Self { code, error: error.into() }
    }

    /// Creates a failure without a specific code: [`ErrorCode::Failed`].
    pub fn other(error: impl fmt::Display) -> Self {
        Self::new(ErrorCode::Failed, error.to_string())
    }
}

named_enum! {
    /// The reason of a failure, for programs. Codes keep their meaning; new ones can be added.
    /// Clients treat an unknown code as `failed`.
    #[non_exhaustive]
    pub enum ErrorCode {
        /// The line is not one JSON object with strings as `id` and `type`.
        Malformed = "malformed",
        /// The line is longer than 16 MiB.
        LineTooLong = "line_too_long",
        /// The command does not exist.
        UnknownCommand = "unknown_command",
        /// A field of the command is missing or wrong.
        BadRequest = "bad_request",
        /// The first line must be `hello` with the token.
        AuthRequired = "auth_required",
        /// The token is wrong; the process ends.
        AuthFailed = "auth_failed",
        /// The session is busy with work that excludes this command.
        Busy = "busy",
        /// The client cancelled the command before it started.
        Aborted = "aborted",
        /// The process ended or the session was closed first.
        Shutdown = "shutdown",
        /// There is nothing to do: nothing to compact, no run to interrupt.
        NothingToDo = "nothing_to_do",
        /// The message is empty.
        EmptyMessage = "empty_message",
        /// An image is not base64, too large, or of an unsupported type.
        BadImage = "bad_image",
        /// Too many messages or commands wait.
        QueueFull = "queue_full",
        /// No open or saved session has that id, or the prefix is ambiguous.
        SessionNotFound = "session_not_found",
        /// Another process has the session open.
        SessionLocked = "session_locked",
        /// The session does not have that entry.
        EntryNotFound = "entry_not_found",
        /// The session already has an entry with that id.
        EntryExists = "entry_exists",
        /// The model is unknown or not available.
        ModelNotFound = "model_not_found",
        /// No command has that name.
        CommandNotFound = "command_not_found",
        /// No extension has that name, it does not run, or it has no such shortcut.
        ExtensionNotFound = "extension_not_found",
        /// The question was already answered, or its time limit has passed; or there is no such panel or job.
        NotOpen = "not_open",
        /// An extension blocked the command; `error` names the extension and its reason.
        Blocked = "blocked",
        /// This agent does not support the command, for example because it has no extensions.
        Unsupported = "unsupported",
        /// Any other failure; `error` has the details.
        #[serde(other)]
        Failed = "failed",
    }
}

impl RpcResponse {
    /// Creates the reply to a successful command. Empty data is omitted.
    ///
    /// # Errors
    /// None for values that this crate can build; callers must not rely on that.
    pub fn success<C: CommandParams>(id: Option<String>, data: &C::Data) -> Result<Self, serde_json::Error> {
        Ok(Self::success_of_kind(id, C::KIND, RawJson::from_value(data)?))
    }

    /// Creates a reply like [`success`](Self::success) for a command that is known only by its
    /// kind; the data must be that of the kind.
    pub fn success_of_kind(id: Option<String>, kind: CommandKind, data: impl Into<ReplyPayload>) -> Self {
        Self { id, command: kind.name().to_owned(), outcome: Ok(data.into()) }
    }

    /// Creates the reply to a failed command.
    pub fn failure(id: Option<String>, kind: CommandKind, failure: CommandFailure) -> Self {
        Self { id, command: kind.name().to_owned(), outcome: Err(failure) }
    }

    /// Encodes the line, newline included.
    ///
    /// # Errors
    /// None for values that this crate can build; callers must not rely on that.
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        line(self).map(|line| line + "\n")
    }
}

/// The form on the wire.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Response"))]
struct ResponseWire {
    /// Marks the line as a reply.
    #[serde(rename = "type")]
    tag: ResponseTag,
    /// The command's id, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The command's name as it was sent; empty when the line could not be read.
    command: String,
    /// True if it was done.
    success: bool,
    /// The result; absent where there is nothing to say. Its fields are those of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<RawJson>,
    /// The failure and the next step, for people; present if `success` is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The failure, for programs. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<ErrorCode>,
}

#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum ResponseTag {
    Response,
}

impl Serialize for RpcResponse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let failure = self.outcome.as_ref().err();
        let data = self.outcome.as_ref().ok().map(ReplyPayload::to_json);
        let data = data.transpose().map_err(serde::ser::Error::custom)?;
        let wire = ResponseWire {
            tag: ResponseTag::Response,
            id: self.id.clone(),
            command: self.command.clone(),
            success: failure.is_none(),
            data: data.filter(|data| data.as_str() != "{}"),
            error: failure.map(|failure| failure.error.clone()),
            code: failure.map(|failure| failure.code),
        };
        wire.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RpcResponse {
    /// Reads a reply, for clients. A reply without a `code`, as zot writes it, has
    /// [`ErrorCode::Failed`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ResponseWire { tag: ResponseTag::Response, id, command, success, data, error, code } =
            ResponseWire::deserialize(deserializer)?;
        let failed = || CommandFailure::new(code.unwrap_or(ErrorCode::Failed), error.unwrap_or_default());
        let data = data.unwrap_or_else(RawJson::empty_object);
        let outcome = if success { Ok(ReplyPayload::from(data)) } else { Err(failed()) };
        Ok(Self { id, command, outcome })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for RpcResponse {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        ResponseWire::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = ResponseWire::json_schema(generator);
        schema.insert("description".into(), "The reply to one command.".into());
        schema
    }
}
