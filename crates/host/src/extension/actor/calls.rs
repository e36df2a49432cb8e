//! Running host calls of the extension. Each call is its own task, which ends soon after it is no longer
//! needed.

use std::collections::HashMap;
use std::future::ready;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};

use futures::FutureExt as _;
use futures::channel::mpsc;
use haft_core::sanitize::strip_hidden_chars;
use haft_protocol::RawJson;
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ext::{AgentCall, AskCall, AskEnd, BusMessage, EmitCall, HostCallError, HostResult};
use haft_protocol::ids::{ExtensionName, RequestId};
use haft_protocol::rpc::{
    AppendEntry, Command, CommandFailure, CompactCommand, ErrorCode, FollowUp, InterruptCommand,
    PromptCommand, RpcRequest, SendMessage, SteerCommand,
};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::extension::ActorCommand;
use crate::extension::frontend::{FaultReporter, Frontend, LabeledText};
use crate::extension::message_bus::MessageBus;
use crate::extension::services::HostCallServer;
use crate::process::log::ExtensionLog;
use crate::session::{CallId, HostCallRequest, HostCallTask};
use crate::timeouts::CALLS_END;

/// The running host calls of one extension.
pub(super) struct HostCallTasks {
    /// Runs tools. Without it, the session accepts no calls of tools.
    desk: Option<Arc<HostCallServer>>,
    owner: SessionOwner,
    open: HashMap<CallId, CancellationToken>,
    all: CancellationToken,
    tasks: TaskTracker,
}

impl HostCallTasks {
    pub(super) fn new(desk: Option<Arc<HostCallServer>>, owner: SessionOwner) -> Self {
        Self { desk, owner, open: HashMap::new(), all: CancellationToken::new(), tasks: TaskTracker::new() }
    }

    /// Starts a call; its result arrives as a command.
    pub(super) fn begin(&mut self, wanted: HostCallRequest, to: &Weak<mpsc::UnboundedSender<ActorCommand>>) {
        let HostCallRequest { id: call, task } = wanted;
        let id = match &call {
            CallId::Named(id) => id.clone(),
            CallId::Unnamed(_) => RequestId::new(""),
        };
        let name = task.name();
        let (cancel, to) = (self.all.child_token(), Weak::clone(to));
        let work = match (task, &self.desk) {
            (HostCallTask::Tool { kind, args }, Some(desk)) => {
                Arc::clone(desk).serve(cancel.clone(), id.clone(), kind, args).boxed()
            }
            (HostCallTask::FileLock(call), Some(desk)) => {
                let process = self.all.child_token();
                Arc::clone(desk).serve_lock(cancel.clone(), process, id.clone(), call).boxed()
            }
            (HostCallTask::Agent(AgentCall::CallTool(args)), Some(desk)) => {
                Arc::clone(desk).serve_agent_tool(cancel.clone(), id.clone(), args).boxed()
            }
            (HostCallTask::Agent(AgentCall::Complete(wish)), Some(desk)) => {
                let (call, to) = (call.clone(), Weak::clone(&to));
                let show = move |value| {
                    if let Some(to) = to.upgrade() {
                        // An extension that ended needs no progress.
                        _ = to.unbounded_send(ActorCommand::HostCallProgress { id: call.clone(), value });
                    }
                };
                Arc::clone(desk).serve_completion(cancel.clone(), id.clone(), wish, show).boxed()
            }
            (HostCallTask::Tool { .. } | HostCallTask::FileLock(_) | HostCallTask::Agent(_), None) => return,
            (HostCallTask::Ask(ask), _) => {
                self.owner.clone().ask_person(cancel.clone(), id.clone(), ask).boxed()
            }
            (HostCallTask::Show(show), _) => {
                self.owner.frontend.show(&self.owner.extension, &show);
                ready(HostResult::with_content(id.clone(), Vec::new())).boxed()
            }
            (HostCallTask::Emit(EmitCall { channel, data }), _) => {
                let from = self.owner.extension.clone();
                self.owner.bus.publish_message(&BusMessage { channel, data, from });
                ready(HostResult::with_content(id.clone(), Vec::new())).boxed()
            }
            (HostCallTask::Session(request), _) => {
                let mut work =
                    self.owner.clone().execute_command(cancel.clone(), id.clone(), *request).boxed();
                // The command is queued before the extension's next one.
                let done = (&mut work).now_or_never();
                done.map_or(work, |done| ready(done).boxed())
            }
        };
        self.open.insert(call.clone(), cancel);
        self.tasks.spawn(async move {
            let done = AssertUnwindSafe(work).catch_unwind().await;
            // A call without a result would hold the request that waits for it.
            let failed = || {
                HostResult::from_failure(id, HostCallError::Failed, "the call ended with an internal error")
            };
            let result = done.unwrap_or_else(|_| failed());
            if let Some(to) = to.upgrade() {
                // An extension that ended needs no result.
                _ = to.unbounded_send(ActorCommand::HostCallDone { id: call, name, result });
            }
        });
    }

    pub(super) fn finish(&mut self, id: &CallId) {
        self.open.remove(id);
    }

    pub(super) fn cancel(&self, id: &CallId) {
        if let Some(cancel) = self.open.get(id) {
            cancel.cancel();
        }
    }

    pub(super) fn cancel_all(&self) {
        if is_up(Defense::Leases) {
            self.all.cancel();
        }
    }

    /// Waits a limited time for the end of all calls.
    pub(super) async fn wait_until_ended(&self) {
        self.tasks.close();
        _ = timeout(CALLS_END, self.tasks.wait()).await;
    }
}

/// The owner of the session, which asks the person and carries out commands for one extension.
#[derive(Clone)]
pub(super) struct SessionOwner {
    pub(super) extension: ExtensionName,
    pub(super) frontend: Arc<dyn Frontend>,
    pub(super) log: Arc<ExtensionLog>,
    pub(super) reporter: FaultReporter,
    pub(super) bus: Arc<MessageBus>,
}

impl SessionOwner {
    async fn ask_person(self, cancel: CancellationToken, id: RequestId, ask: AskCall) -> HostResult {
        let asked = self.frontend.ask(&cancel, &self.extension, &ask);
        let answer =
            cancel.run_until_cancelled(asked).await.unwrap_or_else(|| ask.without_answer(AskEnd::Cancelled));
        self.log.log_host_line(format_args!("host_call {}: {}", ask.kind(), answer.why));
        // An answer always has a JSON form.
        let value = RawJson::from_value(&answer).ok();
        HostResult { value, ..HostResult::with_content(id, Vec::new()) }
    }

    /// Adds the origin to a message for the model and to an entry, and removes invisible characters from the message. A
    /// labeled text runs no command.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other commands have no text for the model and no owner"
    )]
    fn add_origin(&self, command: &mut Command) {
        if let Command::SendMessage(SendMessage { owner, .. })
        | Command::AppendEntry(AppendEntry { owner, .. }) = command
        {
            *owner = Some(self.extension.to_string());
        }
        let (text, is_message) = match command {
            Command::SendMessage(SendMessage { content, .. }) => (content, true),
            Command::Prompt(PromptCommand { message, .. })
            | Command::Steer(SteerCommand { message, .. })
            | Command::FollowUp(FollowUp { message, .. }) => (message, true),
            Command::Compact(CompactCommand { instructions: Some(text) }) => (text, false),
            Command::Interrupt(InterruptCommand { hint }) => (hint, false),
            _ => return,
        };
        let read = strip_hidden_chars(text);
        self.reporter.report_hidden_text(read.hidden, "a message of the extension");
        // An empty message stays one, so that its error says so.
        *text = match is_message && !read.text.trim().is_empty() {
            true => LabeledText::new(&self.extension, "", &read.text).text,
            false => read.text.into_owned(),
        };
    }

    async fn execute_command(
        self,
        cancel: CancellationToken,
        id: RequestId,
        mut request: RpcRequest,
    ) -> HostResult {
        let kind = request.command.kind();
        self.add_origin(&mut request.command);
        let executed = self.frontend.execute_command(&self.extension, request);
        let cancelled = || CommandFailure::new(ErrorCode::Aborted, "the call was cancelled");
        let outcome = cancel.run_until_cancelled(executed).await.unwrap_or_else(|| Err(cancelled()));
        let outcome = outcome.and_then(|data| data.to_json().map_err(CommandFailure::other));
        match outcome {
            Ok(data) => {
                self.log.log_host_line(format_args!("host_call {kind}: done"));
                let value = Some(data).filter(|data| *data != RawJson::empty_object());
                HostResult { value, ..HostResult::with_content(id, Vec::new()) }
            }
            Err(CommandFailure { code, error }) => {
                self.log.log_host_line(format_args!("host_call {kind}: {code}"));
                HostResult::from_failure(id, code.into(), error)
            }
        }
    }
}
