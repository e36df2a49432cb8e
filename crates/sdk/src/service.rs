//! Services of the host for an extension. reading, writing, editing and running, under the same gates as for the model.

use std::time::Duration;

use haft_protocol::RawJson;
use haft_protocol::ext::{HostCall, HostCallCancel, HostCallError, HostCallKind, HostResult, capability};
use haft_protocol::ids::RequestId;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::host::Host;
use crate::tool::ToolResult;

/// The content of a file: all of it, or the part that fits into one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilePage {
    /// The text as it is in the file. Bytes that are not UTF-8 are shown as U+FFFD.
    pub text: String,
    /// The line to go on with, when there are more; see [`Host::read_from`].
    pub next_line: Option<u64>,
    /// Remarks: that a line was cut, or that the file is not text.
    pub remarks: Vec<String>,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandOutput {
    /// The output of the command, on both streams; the end of it, when it was much.
    pub output: String,
    /// With what it ended.
    pub exit_code: i32,
    /// Where more of what it printed is than `output`, if that was much; [`Host::read`] reads it for this process of the
    /// extension.
    pub full_output: Option<String>,
    /// Remarks: that output was cut, and where all of it is.
    pub remarks: Vec<String>,
}

/// Why the host did not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The user has not granted this extension that much.
    #[error("{reason}")]
    PermissionDenied {
        /// The missing permission: `fs.read`, `fs.write` or `exec`.
        permission: String,
        /// The action that is not permitted.
        reason: String,
    },
    /// Somebody who decides about it refused it.
    #[error("{by} refused: {reason}")]
    Blocked {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// There is no such file.
    #[error("{reason}")]
    NotFound {
        /// The thing that does not exist.
        reason: String,
    },
    /// The file must be read before it is changed: it has not been yet, or has changed since.
    #[error("{reason}")]
    Stale {
        /// Which file, and what of the two it is.
        reason: String,
    },
    /// Too many calls are under way.
    #[error("{reason}")]
    Busy {
        /// The limit.
        reason: String,
    },
    /// Its time was up.
    #[error("{reason}")]
    TimedOut {
        /// The deadline, and how far the call got.
        reason: String,
    },
    /// The host does not do such things: it is another program, or it is leaving.
    #[error("{reason}")]
    Unavailable {
        /// Why.
        reason: String,
    },
    /// It did not work.
    #[error("{reason}")]
    Failed {
        /// Why.
        reason: String,
    },
}

/// Services that an extension can call. Each call passes the gates that a call of the model passes, and waits its turn
/// for a file like one. A call that is dropped is cancelled. Paths are relative to the directory that the agent works
/// in, or absolute.
impl Host {
    /// Reads a text file from its beginning.
    ///
    /// # Errors
    /// [`HostError`]: among others, the permission `fs.read` is not granted, or there is no such file.
    pub async fn read(&self, path: impl Into<String>) -> Result<FilePage, HostError> {
        self.read_page(json!({ "path": path.into() })).await
    }

    /// Reads on in a text file, from this line on; the first one is 1.
    ///
    /// # Errors
    /// As [`read`](Self::read); also when the file has no such line.
    pub async fn read_from(&self, path: impl Into<String>, line: u64) -> Result<FilePage, HostError> {
        self.read_page(json!({ "path": path.into(), "offset": line })).await
    }

    /// Writes a whole file, and makes the directories above it. One that is there must have been read or written by this
    /// extension, and not changed by others since.
    ///
    /// # Errors
    /// [`HostError`]: among others, the permission `fs.write` is not granted, a gate refused, or the file is stale.
    pub async fn write(&self, path: impl Into<String>, content: impl Into<String>) -> Result<(), HostError> {
        let args = json!({ "path": path.into(), "content": content.into() });
        self.send_host_call(HostCallKind::Write, args).await?.into_success().map(drop)
    }

    /// Changes a file: `old`, which must be in it exactly once, becomes `new`. It must have been read or written by this
    /// extension, and not changed by others since.
    ///
    /// # Errors
    /// As [`write`](Self::write); also when `old` is not in it, or more than once.
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

    /// Runs a shell command in the directory that the agent works in, for at most two minutes. It has the rights of the
    /// user, whatever sandbox the extension runs in. One that ends with another code than 0 is no error here.
    ///
    /// # Errors
    /// [`HostError`]: among others, the permission `exec` is not granted, a gate refused, or it was killed.
    pub async fn exec(&self, command: impl Into<String>) -> Result<CommandOutput, HostError> {
        let args = json!({ "command": command.into() });
        self.send_host_call(HostCallKind::Exec, args).await?.into_output()
    }

    /// The same with another time, in whole seconds.
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

    async fn read_page(&self, args: Value) -> Result<FilePage, HostError> {
        let answer = self.send_host_call(HostCallKind::Read, args).await?.into_success()?;
        let next_line = answer.details().next_offset;
        let (text, remarks) = answer.into_texts();
        Ok(FilePage { text, next_line, remarks })
    }

    async fn send_host_call(&self, kind: HostCallKind, args: Value) -> Result<HostReply, HostError> {
        if !self.info().await.capabilities.iter().any(|known| known == capability::HOST_SERVICES) {
            let reason = "this host does nothing for extensions".to_owned();
            return Err(HostError::Unavailable { reason });
        }
        let (id, result) = self.calls().begin();
        let call = HostCall { id: id.clone(), call: kind.name().to_owned(), args: args.into() };
        let asking = PendingHostCall { host: self, id: Some(id) };
        let sent = self.outbox().send(call);
        sent.map_err(|error| HostError::Failed { reason: error.to_string() })?;
        let result = result.await;
        asking.disarm();
        let gone = || HostError::Unavailable { reason: "the connection to the host is over".to_owned() };
        result.map(HostReply).map_err(|_| gone())
    }
}

/// Takes a call back when nobody waits for it any more.
struct PendingHostCall<'a> {
    host: &'a Host,
    id: Option<RequestId>,
}

impl PendingHostCall<'_> {
    fn disarm(mut self) {
        self.id = None;
    }
}

impl Drop for PendingHostCall<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take()
            && self.host.calls().forget(&id)
        {
            self.host.outbox().push(HostCallCancel { id });
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

    /// The first text, and the others.
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
        match code.unwrap_or(HostCallError::Failed) {
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
        }
    }
}
