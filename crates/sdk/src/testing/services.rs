//! Results of the services that an extension under test calls.

use std::sync::Arc;

use haft_protocol::RawJson;
use haft_protocol::codec;
use haft_protocol::ext::{
    AskAnswer, AskCall, AskEnd, CompletionData, FileLease, FileLockCall, HostCall, HostCallError,
    HostCallKind, HostFrame, HostResult, ResultBlock, UiAnswer,
};
use haft_protocol::ids::RequestId;
use haft_protocol::message::{StopCause, TokenUsage};
use haft_protocol::rpc::{Command, CommandFailure, ErrorCode, RpcRequest};
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, DuplexStream, WriteHalf};
use tokio::sync::{Mutex, watch};

use super::record::ExtensionRecord;
use crate::service::HostError;
use crate::tool::ToolResult;

/// Returns the result of a call.
pub(super) type ServiceHandler = Arc<dyn Fn(&str, Value) -> Result<String, HostError> + Send + Sync>;

/// The extension's input, until the test closes it.
pub(super) type ExtensionInput = Arc<Mutex<Option<WriteHalf<DuplexStream>>>>;

/// Returns the answer to a question.
pub(super) type PersonHandler = Arc<dyn Fn(&AskCall) -> UiAnswer + Send + Sync>;

/// Returns the reply to a command.
pub(super) type CommandHandler = Arc<dyn Fn(&Command) -> Result<Value, CommandFailure> + Send + Sync>;

/// The results of all calls.
pub(super) struct HostBehavior {
    pub(super) services: ServiceHandler,
    pub(super) person: Option<PersonHandler>,
    pub(super) session: Option<CommandHandler>,
}

impl Default for HostBehavior {
    /// Simulates a host without services and without a person.
    fn default() -> Self {
        let services: ServiceHandler =
            Arc::new(|call, _| Err(HostError::Unavailable { reason: format!("no {call} in this test") }));
        Self { services, person: None, session: None }
    }
}

/// Answers all calls, one after the other, until the extension has ended.
pub(super) async fn serve(
    seen: watch::Sender<ExtensionRecord>,
    input: ExtensionInput,
    behavior: HostBehavior,
) {
    let (mut watching, mut answered) = (seen.subscribe(), 0);
    loop {
        let news = watching.wait_for(|seen| seen.host_calls().nth(answered).is_some()).await;
        let Some(call) = news.ok().and_then(|seen| seen.host_calls().nth(answered).cloned()) else { return };
        answered += 1;
        // Calls without an id have no result.
        let Some(id) = call.id.clone() else { continue };
        let frame = HostFrame::from(answer_call(id, call, &behavior));
        let line = codec::encode(&frame).expect("every host frame has a JSON form");
        seen.send_modify(|seen| seen.record_sent(line.trim_end()));
        if let Some(pipe) = input.lock().await.as_mut() {
            // An extension that has ended needs no result.
            _ = pipe.write_all(line.as_bytes()).await;
        }
    }
}

fn answer_call(id: RequestId, call: HostCall, behavior: &HostBehavior) -> HostResult {
    let kind = HostCallKind::from_name(&call.call);
    if let Some(request) =
        kind.and_then(|kind| RpcRequest::from_host_call(kind, &call.args, call.session.clone()))
    {
        return execute_command(id, request, behavior.session.as_ref());
    }
    if let Some(lock) = kind.and_then(|kind| FileLockCall::read(kind, &call.args)) {
        return grant_lock(id, lock);
    }
    match kind.and_then(|kind| AskCall::read(kind, &call.args)) {
        None if kind == Some(HostCallKind::Complete) => {
            complete_text(run_service(id, call, &behavior.services))
        }
        None => run_service(id, call, &behavior.services),
        Some(Ok(ask)) => {
            let answer = match &behavior.person {
                None => ask.without_answer(AskEnd::NoPerson),
                Some(person) => match person(&ask) {
                    UiAnswer::Cancelled => ask.without_answer(AskEnd::Cancelled),
                    answer @ (UiAnswer::Confirmed(_) | UiAnswer::Value(_)) => {
                        AskAnswer { answer, why: AskEnd::Answered }
                    }
                },
            };
            let value = Some(RawJson::from_value(&answer).expect("an answer has a JSON form"));
            HostResult { value, ..HostResult::with_content(id, Vec::new()) }
        }
        Some(Err(reason)) => HostResult::from_failure(id, HostCallError::InvalidArgs, reason),
    }
}

/// Converts the text of a service to the answer of a model.
fn complete_text(result: HostResult) -> HostResult {
    if result.is_error {
        return result;
    }
    let text = ToolResult::from(result.content).joined_text();
    let (model, stop, usage) = ("scripted/scripted".to_owned(), StopCause::End, TokenUsage::default());
    let data = CompletionData { text, model, stop, usage };
    let value = Some(RawJson::from_value(&data).expect("an answer has a JSON form"));
    HostResult { value, ..HostResult::with_content(result.id, Vec::new()) }
}

/// Locks each file at once: no one else uses it.
fn grant_lock(id: RequestId, lock: Result<FileLockCall, String>) -> HostResult {
    match lock {
        Ok(FileLockCall::LockFile(_)) => {
            let lease = FileLease { lease: format!("lock-{id}"), lasts_ms: 60_000 };
            let value = Some(RawJson::from_value(&lease).expect("a lease has a JSON form"));
            HostResult { value, ..HostResult::with_content(id, Vec::new()) }
        }
        Ok(FileLockCall::UnlockFile(_)) => HostResult::with_content(id, Vec::new()),
        Err(reason) => HostResult::from_failure(id, HostCallError::InvalidArgs, reason),
    }
}

fn execute_command(
    id: RequestId,
    request: Result<RpcRequest, String>,
    handler: Option<&CommandHandler>,
) -> HostResult {
    let outcome = match (request, handler) {
        (Err(reason), _) => Err(CommandFailure::new(ErrorCode::BadRequest, reason)),
        (Ok(_), None) => Err(CommandFailure::new(ErrorCode::Unsupported, "no session in this test")),
        (Ok(request), Some(handler)) => handler(&request.command),
    };
    match outcome {
        Ok(data) => {
            let value = Some(RawJson::from(data)).filter(RawJson::is_object);
            HostResult { value, ..HostResult::with_content(id, Vec::new()) }
        }
        Err(CommandFailure { code, error }) => HostResult::from_failure(id, code.into(), error),
    }
}

fn run_service(id: RequestId, HostCall { call, args, .. }: HostCall, answers: &ServiceHandler) -> HostResult {
    let answer = answers(&call, args.read().unwrap_or_default());
    let text = |text: String| vec![ResultBlock::Text { text }];
    match answer {
        Ok(done) => {
            let details = (call == "exec").then(|| json!({ "exit_code": 0 }).into());
            let content = text(done);
            HostResult { details, ..HostResult::with_content(id, content) }
        }
        Err(error) => {
            let (code, by, permission, reason) = error_parts(error);
            HostResult { by, permission, ..HostResult::from_failure(id, code, reason) }
        }
    }
}

fn error_parts(error: HostError) -> (HostCallError, Option<String>, Option<String>, String) {
    match error {
        HostError::PermissionDenied { permission, reason } => {
            (HostCallError::PermissionDenied, None, Some(permission), reason)
        }
        HostError::Blocked { by, reason } => (HostCallError::Blocked, Some(by), None, reason),
        HostError::NotFound { reason } => (HostCallError::NotFound, None, None, reason),
        HostError::Stale { reason } => (HostCallError::Stale, None, None, reason),
        HostError::Busy { reason } => (HostCallError::Busy, None, None, reason),
        HostError::TimedOut { reason } => (HostCallError::TimedOut, None, None, reason),
        HostError::Unavailable { reason } => (HostCallError::Unavailable, None, None, reason),
        HostError::Failed { reason } => (HostCallError::Failed, None, None, reason),
        HostError::Command { code, reason } => (code, None, None, reason),
    }
}
