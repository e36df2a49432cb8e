//! Guarantees exactly one reply to every call, even if its handler fails.

use crate::wire::{HookReply, RpcError};
use haft_protocol::RawJson;
use haft_protocol::limits::MAX_RESULT_LINE;

use haft_sdk::peer::{FrameOutbox, HandlerFailure, log};

/// The JSON-RPC code for a line that is not a request.
pub(super) const INVALID_REQUEST: i64 = -32600;
/// The JSON-RPC code for an unknown method.
pub(super) const UNKNOWN_METHOD: i64 = -32601;
/// The JSON-RPC code for invalid params.
pub(super) const INVALID_PARAMS: i64 = -32602;
/// The code of PicoClaw's hooks for their own errors.
const FAILED: i64 = -32000;

/// The obligation to answer one call. Dropping it reports that the handler failed.
#[derive(Debug)]
#[must_use = "dropping it reports that the handler failed"]
pub(super) struct CallResponder {
    outbox: FrameOutbox,
    /// `None` after the reply.
    id: Option<u64>,
}

impl CallResponder {
    pub(super) fn new(outbox: FrameOutbox, id: u64) -> Self {
        Self { outbox, id: Some(id) }
    }

    pub(super) fn respond(mut self, outcome: Result<RawJson, HandlerFailure>) {
        self.send_reply(outcome.map_err(|HandlerFailure(message)| RpcError { code: FAILED, message }));
    }

    /// Answers with an error.
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
