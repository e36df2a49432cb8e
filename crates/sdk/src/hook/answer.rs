//! Every call is answered exactly once, whatever becomes of its handler.

use haft_protocol::RawJson;
use haft_protocol::hook::{HookReply, RpcError};
use haft_protocol::limits::MAX_RESULT_LINE;

use crate::handler::HandlerFailure;
use crate::logging::log;
use crate::outbox::FrameOutbox;

/// The code of JSON-RPC for a line that is not a request.
pub(super) const INVALID_REQUEST: i64 = -32600;
/// … a method that there is not.
pub(super) const UNKNOWN_METHOD: i64 = -32601;
/// … params that the method cannot have.
pub(super) const INVALID_PARAMS: i64 = -32602;
/// The code of PicoClaw's hooks for errors of their own.
const FAILED: i64 = -32000;

/// The duty to answer one call. Dropping it unanswered answers that the handler failed.
#[derive(Debug)]
#[must_use = "dropping it answers that the handler failed"]
pub(super) struct CallResponder {
    outbox: FrameOutbox,
    /// `None` once answered.
    id: Option<u64>,
}

impl CallResponder {
    pub(super) fn new(outbox: FrameOutbox, id: u64) -> Self {
        Self { outbox, id: Some(id) }
    }

    pub(super) fn respond(mut self, outcome: Result<RawJson, HandlerFailure>) {
        self.send_reply(outcome.map_err(|HandlerFailure(message)| RpcError { code: FAILED, message }));
    }

    /// Answers that the call cannot be.
    pub(super) fn respond_error(mut self, code: i64, message: String) {
        self.send_reply(Err(RpcError { code, message }));
    }

    fn send_reply(&mut self, outcome: Result<RawJson, RpcError>) {
        let Some(id) = self.id.take() else { return };
        if let Err(error) = &outcome {
            log(format_args!("call {id}: {error}"));
        }
        let reply = HookReply { id, outcome, repaired: false };
        match reply.encode() {
            Ok(line) if line.len() <= MAX_RESULT_LINE => self.outbox.send_line(line),
            Ok(line) => {
                let bytes = line.len();
                let message =
                    format!("reply of {bytes} bytes is longer than the host's limit of {MAX_RESULT_LINE}");
                self.id = Some(id);
                self.send_reply(Err(RpcError { code: FAILED, message }));
            }
            Err(error) => log(format_args!("call {id}: reply has no JSON form: {error}")),
        }
    }
}

impl Drop for CallResponder {
    fn drop(&mut self) {
        let message = "handler was stopped before it answered".to_owned();
        self.send_reply(Err(RpcError { code: FAILED, message }));
    }
}
