//! Services of the host for an extension: reading, writing, editing and running, with the same
//! gates as for the model.

mod file_lock;
mod session_handle;
mod user_interface;

use std::pin::pin;
use std::time::Duration;

use haft_protocol::RawJson;
use haft_protocol::ext::{
    AskAnswer, CallToolArgs, CompleteCall, CompletionData, CompletionPiece, EmitCall, HostCall,
    HostCallCancel, HostCallError, HostCallKind, HostResult, capability,
};
use haft_protocol::ids::RequestId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::oneshot;

use crate::host::Host;
use crate::tool::ToolResult;

pub use file_lock::FileLock;
pub use session_handle::SessionHandle;
pub use user_interface::UserInterface;

/// The content of a file, or the part that fits into one response.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilePage {
    /// The text of the file. Bytes that are not UTF-8 become U+FFFD.
    pub text: String,
    /// The number of the next line, if there are more; see [`Host::read_from`].
    pub next_line: Option<u64>,
    /// Remarks, for example that a line was cut or that the file is not text.
    pub remarks: Vec<String>,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandOutput {
    /// The output on both streams; only its end if it is long.
    pub output: String,
    /// The exit code.
    pub exit_code: i32,
    /// The file with the full output, if `output` was cut. [`Host::read`] reads it in this process
    /// of the extension.
    pub full_output: Option<String>,
    /// Remarks, for example that the output was cut.
    pub remarks: Vec<String>,
}

/// The reason why the host did not run a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The user has not granted the permission.
    #[error("{reason}")]
    PermissionDenied {
        /// The missing permission, such as `fs.read`, `ui` or `session.control`.
        permission: String,
        /// The action that is not permitted.
        reason: String,
    },
    /// A gate or an approver refused the call.
    #[error("{by} refused: {reason}")]
    Blocked {
        /// The name of the gate or approver.
        by: String,
        /// The reason.
        reason: String,
    },
    /// The file does not exist.
    #[error("{reason}")]
    NotFound {
        /// The missing file.
        reason: String,
    },
    /// The extension must read the file first: it has not read it yet, or the file has changed
    /// since.
    #[error("{reason}")]
    Stale {
        /// The file, and which case applies.
        reason: String,
    },
    /// Too many calls are open.
    #[error("{reason}")]
    Busy {
        /// The limit.
        reason: String,
    },
    /// The call exceeded its deadline.
    #[error("{reason}")]
    TimedOut {
        /// The deadline, and how far the call got.
        reason: String,
    },
    /// A command on the session failed, such as a switch to an unknown model.
    #[error("{reason}")]
    Command {
        /// The kind of failure, for programs.
        code: HostCallError,
        /// The failure, and the next step.
        reason: String,
    },
    /// The host does not provide services: it is another program, or it is shutting down.
    #[error("{reason}")]
    Unavailable {
        /// The reason.
        reason: String,
    },
    /// The call failed.
    #[error("{reason}")]
    Failed {
        /// The reason.
        reason: String,
    },
}

/// Services that an extension can call. Each call passes the same gates as a call of the model, and
/// waits in the same file queue. Dropping a call cancels it. Paths are absolute, or relative to the
/// working directory of the agent.
impl Host {
    /// Returns the person at the host, for questions.
    pub fn ui(&self) -> UserInterface<'_> {
        UserInterface::new(self)
    }

    /// Returns the session of the extension, for commands.
    pub fn session(&self) -> SessionHandle<'_> {
        SessionHandle::new(self)
    }

    /// Reads a text file from its beginning.
    ///
    /// # Errors
    /// [`HostError`], for example if the permission `fs.read` is not granted or the file does not
    /// exist.
    pub async fn read(&self, path: impl Into<String>) -> Result<FilePage, HostError> {
        self.read_page(json!({ "path": path.into() })).await
    }

    /// Reads a text file from this line on; the first line is 1.
    ///
    /// # Errors
    /// As [`read`](Self::read); also if the file has no such line.
    pub async fn read_from(&self, path: impl Into<String>, line: u64) -> Result<FilePage, HostError> {
        self.read_page(json!({ "path": path.into(), "offset": line })).await
    }

    /// Writes a whole file and creates its parent directories. An existing file must have been read
    /// or written by this extension, and not changed by others since.
    ///
    /// # Errors
    /// [`HostError`], for example if the permission `fs.write` is not granted, a gate refused, or
    /// the file is stale.
    pub async fn write(&self, path: impl Into<String>, content: impl Into<String>) -> Result<(), HostError> {
        let args = json!({ "path": path.into(), "content": content.into() });
        self.send_host_call(HostCallKind::Write, args).await?.into_success().map(drop)
    }

    /// Changes a file: replaces `old`, which must occur exactly once, with `new`. The file must
    /// have been read or written by this extension, and not changed by others since.
    ///
    /// # Errors
    /// As [`write`](Self::write); also if `old` does not occur, or occurs more than once.
    pub async fn edit(
        &self,
        path: impl Into<String>,
        old: impl Into<String>,
        new: impl Into<String>,
    ) -> Result<(), HostError> {
        let edits = json!([{ "old_text": old.into(), "new_text": new.into() }]);
        self.send_host_call(HostCallKind::Edit, json!({ "path": path.into(), "edits": edits }))
            .await?
            .into_success()
            .map(drop)
    }

    /// Waits until a file is free, and locks it: other extensions cannot lock it, and haft changes it
    /// only for this extension. haft releases the lock after a minute. Waits at most 30 seconds.
    ///
    /// ```
    /// use haft_sdk::{Host, HostError};
    ///
    /// async fn count(host: &Host) -> Result<(), HostError> {
    ///     let _lock = host.lock_file("builds.txt").await?;
    ///     let builds: u64 = host.read("builds.txt").await?.text.trim().parse().unwrap_or(0);
    ///     host.write("builds.txt", (builds + 1).to_string()).await
    /// }
    /// ```
    ///
    /// # Errors
    /// [`HostError`], for example if the permission `files.lock` is not granted, the directory does
    /// not exist, or the file is not free in time.
    pub async fn lock_file(&self, path: impl Into<String>) -> Result<FileLock, HostError> {
        self.info().await;
        if !self.has_capability(capability::FILES) {
            let reason = "this host locks no files for extensions".to_owned();
            return Err(HostError::Unavailable { reason });
        }
        let (kind, args) = (HostCallKind::LockFile, json!({ "path": path.into() }));
        let result = self.send_call(kind.name(), args.into(), CallScope::default()).await?;
        let HostReply(HostResult { value, .. }) = HostReply(result).into_success()?;
        let lease = value.and_then(|value| value.read().ok());
        let missing = || HostError::Failed { reason: "the host sent no lease".to_owned() };
        Ok(FileLock::new(self.clone(), lease.ok_or_else(missing)?))
    }

    /// Runs a shell command in the working directory of the agent, for at most two minutes. The
    /// command has the rights of the user, regardless of the extension's sandbox. An exit code
    /// other than 0 is not an error.
    ///
    /// # Errors
    /// [`HostError`], for example if the permission `exec` is not granted, a gate refused, or the
    /// command was killed.
    pub async fn exec(&self, command: impl Into<String>) -> Result<CommandOutput, HostError> {
        let args = json!({ "command": command.into() });
        self.send_host_call(HostCallKind::Exec, args).await?.into_output()
    }

    /// Runs a shell command like [`exec`](Self::exec) with another time limit, in whole seconds.
    ///
    /// # Errors
    /// As [`exec`](Self::exec).
    pub async fn exec_within(
        &self,
        time: Duration,
        command: impl Into<String>,
    ) -> Result<CommandOutput, HostError> {
        let args = json!({ "command": command.into(), "timeout": time.as_secs().max(1) });
        self.send_host_call(HostCallKind::Exec, args).await?.into_output()
    }

    /// Runs a tool that the model gets, under the same gates as a call of the model, and returns the
    /// content of its result. The call is not part of the conversation.
    ///
    /// ```
    /// use haft_sdk::{Host, HostError};
    /// use serde_json::json;
    ///
    /// async fn count_todos(host: &Host) -> Result<usize, HostError> {
    ///     let found = host.call_tool("grep", json!({"pattern": "TODO"})).await?;
    ///     Ok(found.joined_text().lines().count())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`HostError`], for example if the permission `session.control` is not granted, a gate refused,
    /// or the tool failed.
    pub async fn call_tool(
        &self,
        name: impl Into<String>,
        args: impl Into<RawJson>,
    ) -> Result<ToolResult, HostError> {
        let args = CallToolArgs { name: name.into(), args: args.into() };
        let result = self.send_agent_call(HostCallKind::CallTool, &args, CallScope::default()).await?;
        let HostReply(HostResult { content, .. }) = HostReply(result).into_success()?;
        Ok(content.into())
    }

    /// Asks a model, outside of the conversation. The session counts the usage.
    ///
    /// ```
    /// use haft_sdk::{CompleteCall, CompletionMessage, Host, HostError};
    ///
    /// async fn suggest_name(host: &Host, request: &str) -> Result<String, HostError> {
    ///     let system = "Answer with a name of at most three words.".to_owned();
    ///     let messages = vec![CompletionMessage::from_user(request)];
    ///     let answer = host.ask_model(CompleteCall { system, messages, ..CompleteCall::default() }).await?;
    ///     Ok(answer.text)
    /// }
    /// ```
    ///
    /// # Errors
    /// [`HostError`], for example if the permission `model.call` is not granted, or the model does not
    /// answer within two minutes.
    #[doc(alias = "complete")]
    pub async fn ask_model(&self, call: CompleteCall) -> Result<CompletionData, HostError> {
        self.ask_model_streamed(call, |_| {}).await
    }

    /// Asks a model as [`ask_model`](Self::ask_model) does. `on_text` receives the answer in pieces.
    ///
    /// # Errors
    /// As [`ask_model`](Self::ask_model).
    pub async fn ask_model_streamed(
        &self,
        call: CompleteCall,
        mut on_text: impl FnMut(&str),
    ) -> Result<CompletionData, HostError> {
        let (sender, mut pieces) = mpsc::unbounded_channel();
        let scope = CallScope { pieces: Some(sender), ..CallScope::default() };
        let mut asked = pin!(self.send_agent_call(HostCallKind::Complete, &call, scope));
        let result = loop {
            tokio::select! {
                biased;
                Some(piece) = pieces.recv() => {
                    if let Ok(CompletionPiece { text }) = RawJson::read(&piece) {
                        on_text(&text);
                    }
                }
                result = &mut asked => break result?,
            }
        };
        let HostReply(HostResult { value, .. }) = HostReply(result).into_success()?;
        let answer = value.and_then(|value| value.read().ok());
        answer.ok_or_else(|| HostError::Failed { reason: "the host sent no answer".to_owned() })
    }

    async fn send_agent_call(
        &self,
        kind: HostCallKind,
        args: &impl Serialize,
        scope: CallScope,
    ) -> Result<HostResult, HostError> {
        self.info().await;
        if !self.has_capability(capability::MODELS) {
            let reason = "this host offers its tools and models to no extension".to_owned();
            return Err(HostError::Unavailable { reason });
        }
        let args =
            RawJson::from_value(args).map_err(|error| HostError::Failed { reason: error.to_string() })?;
        self.send_call(kind.name(), args, scope).await
    }

    async fn read_page(&self, args: Value) -> Result<FilePage, HostError> {
        let answer = self.send_host_call(HostCallKind::Read, args).await?.into_success()?;
        let next_line = answer.details().next_offset;
        let (text, remarks) = answer.into_texts();
        Ok(FilePage { text, next_line, remarks })
    }

    async fn send_host_call(&self, kind: HostCallKind, args: Value) -> Result<HostReply, HostError> {
        self.info().await;
        if !self.has_capability(capability::HOST_SERVICES) {
            let reason = "this host provides no services for extensions".to_owned();
            return Err(HostError::Unavailable { reason });
        }
        self.send_call(kind.name(), args.into(), CallScope::default()).await.map(HostReply)
    }

    /// Asks the person. Returns the value of the result.
    pub(crate) async fn send_ask(&self, kind: HostCallKind, args: RawJson) -> Result<AskAnswer, HostError> {
        self.info().await;
        if !self.has_capability(capability::ASKS) {
            let reason = "this host does not support questions to the person".to_owned();
            return Err(HostError::Unavailable { reason });
        }
        // A background task may outlive the request of its handler.
        let under = self.request_id().filter(|id| self.open_requests().contains(id)).cloned();
        let result = self.send_call(kind.name(), args, CallScope { under, ..CallScope::default() }).await?;
        let HostReply(HostResult { value, .. }) = HostReply(result).into_success()?;
        let invalid = |reason: String| HostError::Failed { reason };
        let value = value.ok_or_else(|| invalid("the host sent a result without a value".to_owned()))?;
        value.read().map_err(|error| invalid(format!("the host sent an invalid value: {error}")))
    }

    /// Carries out a command. Returns its data.
    pub(crate) async fn send_command(
        &self,
        name: &str,
        args: RawJson,
        session: Option<String>,
    ) -> Result<RawJson, HostError> {
        self.info().await;
        if !self.has_capability(capability::SESSION) {
            let reason = "this host carries out no commands of extensions".to_owned();
            return Err(HostError::Unavailable { reason });
        }
        let result = self.send_call(name, args, CallScope { session, ..CallScope::default() }).await?;
        let HostReply(HostResult { value, .. }) = HostReply(result).into_success()?;
        Ok(value.unwrap_or_else(RawJson::empty_object))
    }

    /// Changes the screen. There is no result.
    pub(crate) fn send_show(&self, kind: HostCallKind, args: RawJson) {
        if self.has_capability(capability::SHOWS) {
            let call = kind.name().to_owned();
            self.outbox().push(HostCall { id: None, call, args, under: None, session: None });
        }
    }

    /// Sends a message to the other extensions that subscribed to the bus. `channel` tells messages
    /// apart, and `data` has at most 64 KiB. There is no result; without the permission `bus`, haft
    /// reports it.
    ///
    /// # Errors
    /// If the data has no JSON form.
    #[doc(alias = "emit")]
    pub fn emit_message(
        &self,
        channel: impl Into<String>,
        data: &(impl Serialize + ?Sized),
    ) -> Result<(), serde_json::Error> {
        let emit = EmitCall { channel: channel.into(), data: RawJson::from_value(data)? };
        if self.has_capability(capability::BUS) {
            let (call, args) = (HostCallKind::Emit.name().to_owned(), RawJson::from_value(&emit)?);
            self.outbox().push(HostCall { id: None, call, args, under: None, session: None });
        }
        Ok(())
    }

    async fn send_call(
        &self,
        name: impl Into<String>,
        args: RawJson,
        CallScope { under, session, pieces }: CallScope,
    ) -> Result<HostResult, HostError> {
        let (id, result) = self.calls().begin(pieces);
        let call = HostCall { id: Some(id.clone()), call: name.into(), args, under, session };
        let mut asking = PendingHostCall { host: self, id: Some(id), result };
        let sent = self.outbox().send(call);
        sent.map_err(|error| HostError::Failed { reason: error.to_string() })?;
        let result = (&mut asking.result).await;
        asking.id = None;
        let gone = || HostError::Unavailable { reason: "the connection to the host is closed".to_owned() };
        result.map_err(|_| gone())
    }

    /// Delivers the result of a call.
    pub(crate) fn deliver_result(&self, result: HostResult) {
        if let Some(unclaimed) = self.calls().complete(result) {
            self.release_unclaimed(unclaimed);
        }
    }

    /// Releases the lock that a call got while its caller went away.
    fn release_unclaimed(&self, result: HostResult) {
        if let Some(lease) = result.value.and_then(|value| value.read().ok()) {
            drop(FileLock::new(self.clone(), lease));
        }
    }
}

/// The request that a call serves, the session that it applies to, and the receiver of parts of its value.
#[derive(Default)]
struct CallScope {
    under: Option<RequestId>,
    session: Option<String>,
    pieces: Option<UnboundedSender<RawJson>>,
}

/// Cancels the call if the future is dropped.
struct PendingHostCall<'a> {
    host: &'a Host,
    id: Option<RequestId>,
    result: oneshot::Receiver<HostResult>,
}

impl Drop for PendingHostCall<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        if self.host.calls().forget(&id) {
            self.host.outbox().push(HostCallCancel { id });
        } else if let Ok(result) = self.result.try_recv() {
            self.host.release_unclaimed(result);
        }
    }
}

struct HostReply(HostResult);

#[derive(Default, Deserialize)]
struct ResultDetails {
    next_offset: Option<u64>,
    exit_code: Option<i32>,
    full_output: Option<String>,
}

impl HostReply {
    fn into_success(self) -> Result<Self, HostError> {
        if self.0.is_error { Err(self.into_error()) } else { Ok(self) }
    }

    fn details(&self) -> ResultDetails {
        let read = |details: &RawJson| details.read().unwrap_or_default();
        self.0.details.as_ref().map(read).unwrap_or_default()
    }

    fn into_output(self) -> Result<CommandOutput, HostError> {
        let ended = matches!(self.0.code, None | Some(HostCallError::Failed));
        let ResultDetails { exit_code, full_output, .. } = self.details();
        match exit_code.filter(|_| ended) {
            Some(exit_code) => {
                let (output, remarks) = self.into_texts();
                Ok(CommandOutput { output, exit_code, full_output, remarks })
            }
            None => Err(self.into_error()),
        }
    }

    /// Returns the first text, and the others.
    fn into_texts(self) -> (String, Vec<String>) {
        let blocks = self.0.content.into_iter();
        let mut texts = blocks.filter_map(|block| match block {
            haft_protocol::ext::ResultBlock::Text { text } => Some(text),
            haft_protocol::ext::ResultBlock::Image(_) | haft_protocol::ext::ResultBlock::Unknown { .. } => {
                None
            }
        });
        (texts.next().unwrap_or_default(), texts.collect())
    }

    fn into_error(self) -> HostError {
        let Self(HostResult { content, code, by, permission, .. }) = self;
        let reason = ToolResult::from(content).joined_text();
        let code = code.unwrap_or(HostCallError::Failed);
        match code {
            HostCallError::PermissionDenied => {
                HostError::PermissionDenied { permission: permission.unwrap_or_default(), reason }
            }
            HostCallError::Blocked => HostError::Blocked { by: by.unwrap_or_default(), reason },
            HostCallError::NotFound => HostError::NotFound { reason },
            HostCallError::NotRead | HostCallError::Stale => HostError::Stale { reason },
            HostCallError::Busy => HostError::Busy { reason },
            HostCallError::TimedOut => HostError::TimedOut { reason },
            HostCallError::Unavailable | HostCallError::Cancelled | HostCallError::UnknownCall => {
                HostError::Unavailable { reason }
            }
            HostCallError::InvalidArgs | HostCallError::Failed => HostError::Failed { reason },
            HostCallError::Aborted
            | HostCallError::Shutdown
            | HostCallError::NothingToDo
            | HostCallError::EmptyMessage
            | HostCallError::BadImage
            | HostCallError::QueueFull
            | HostCallError::SessionNotFound
            | HostCallError::SessionLocked
            | HostCallError::EntryNotFound
            | HostCallError::EntryExists
            | HostCallError::ModelNotFound
            | HostCallError::CommandNotFound
            | HostCallError::ExtensionNotFound
            | HostCallError::Unsupported => HostError::Command { code, reason },
            _ => HostError::Command { code, reason },
        }
    }
}
