//! Results of the services that an extension under test calls.

use std::sync::Arc;

use haft_protocol::codec;
use haft_protocol::ext::{HostCall, HostCallError, HostFrame, HostResult, ResultBlock};
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, DuplexStream, WriteHalf};
use tokio::sync::{Mutex, watch};

use super::record::ExtensionRecord;
use crate::service::HostError;

/// Returns the result of a call.
pub(super) type ServiceHandler = Arc<dyn Fn(&str, Value) -> Result<String, HostError> + Send + Sync>;

/// The extension's input, until the test closes it.
pub(super) type ExtensionInput = Arc<Mutex<Option<WriteHalf<DuplexStream>>>>;

/// Simulates a host without services.
pub(super) fn unavailable_services() -> ServiceHandler {
    Arc::new(|call, _| Err(HostError::Unavailable { reason: format!("no {call} in this test") }))
}

/// Answers all calls, one after the other, until the extension has ended.
pub(super) async fn serve(
    seen: watch::Sender<ExtensionRecord>,
    input: ExtensionInput,
    answers: ServiceHandler,
) {
    let (mut watching, mut answered) = (seen.subscribe(), 0);
    loop {
        let news = watching.wait_for(|seen| seen.host_calls().nth(answered).is_some()).await;
        let Some(call) = news.ok().and_then(|seen| seen.host_calls().nth(answered).cloned()) else { return };
        answered += 1;
        let frame = HostFrame::from(run_service(call, &answers));
        let line = codec::encode(&frame).expect("every host frame has a JSON form");
        seen.send_modify(|seen| seen.record_sent(line.trim_end()));
        if let Some(pipe) = input.lock().await.as_mut() {
            // An extension that has ended needs no result.
            _ = pipe.write_all(line.as_bytes()).await;
        }
    }
}

fn run_service(HostCall { id, call, args }: HostCall, answers: &ServiceHandler) -> HostResult {
    let answer = answers(&call, args.read().unwrap_or_default());
    let text = |text: String| vec![ResultBlock::Text { text }];
    match answer {
        Ok(done) => {
            let details = (call == "exec").then(|| json!({ "exit_code": 0 }).into());
            let content = text(done);
            HostResult { id, content, is_error: false, code: None, by: None, permission: None, details }
        }
        Err(error) => {
            let (code, by, permission, reason) = error_parts(error);
            let content = text(reason);
            HostResult { id, content, is_error: true, code: Some(code), by, permission, details: None }
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
    }
}
