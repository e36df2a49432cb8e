//! Every call is answered exactly once, whatever becomes of its handler.

use haft_protocol::RawJson;
use haft_protocol::hook::{Reply, RpcError};
use haft_protocol::limits::MAX_RESULT_LINE;

use crate::handler::Failure;
use crate::logging::log;
use crate::outbox::Outbox;

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
pub(super) struct Answer {
    outbox: Outbox,
    /// `None` once answered.
    id: Option<u64>,
}

impl Answer {
    pub(super) fn new(outbox: Outbox, id: u64) -> Self {
        Self { outbox, id: Some(id) }
    }

    pub(super) fn give(mut self, outcome: Result<RawJson, Failure>) {
        self.settle(outcome.map_err(|Failure(message)| RpcError { code: FAILED, message }));
    }

    /// Answers that the call cannot be.
    pub(super) fn refuse(mut self, code: i64, message: String) {
        self.settle(Err(RpcError { code, message }));
    }

    fn settle(&mut self, outcome: Result<RawJson, RpcError>) {
        let Some(id) = self.id.take() else { return };
        if let Err(error) = &outcome {
            log(format_args!("call {id}: {error}"));
        }
        let reply = Reply { id, outcome, mended: false };
        match reply.encode() {
            Ok(line) if line.len() <= MAX_RESULT_LINE => self.outbox.line(line),
            Ok(line) => {
                let bytes = line.len();
                let message =
                    format!("reply of {bytes} bytes is longer than the host's limit of {MAX_RESULT_LINE}");
                self.id = Some(id);
                self.settle(Err(RpcError { code: FAILED, message }));
            }
            Err(error) => log(format_args!("call {id}: reply has no JSON form: {error}")),
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let message = "handler was stopped before it answered".to_owned();
        self.settle(Err(RpcError { code: FAILED, message }));
    }
}
