//! What each line of a process hook does to its session. A hook replies; what it says beside that is noise, which is
//! logged and skipped: many print to standard output what they should not.

use std::time::Instant;

use haft_protocol::RawJson;
use haft_protocol::hook::{Reply, Unread};
use haft_protocol::ids::RequestId;

use super::dialect::{Answer, HELLO};
use super::{Output, Phase, Session};
use crate::wire::decode::Noise;
use crate::wire::fault::{CallError, FaultCode};

/// What every reply looks like, for messages.
const SHAPE: &str = r#"a reply is {"jsonrpc":"2.0","id":7,"result":{…}} with the id of the request"#;

impl<T> Session<T> {
    pub(super) fn on_reply(&mut self, reply: Result<Reply, Noise>, bytes: usize, now: Instant) {
        match reply {
            Ok(Reply { id, outcome, mended }) => {
                if mended {
                    self.log(format!("half of a surrogate pair in reply {id} became U+FFFD"));
                }
                let outcome = outcome.map_err(|error| format!("it failed: {error}"));
                self.on_outcome(id, outcome, bytes, now);
            }
            Err(Noise { unread: Unread { id: Some(id), detail, .. }, .. }) => {
                self.on_outcome(id, Err(format!("its reply cannot be read: {detail}; {SHAPE}")), bytes, now);
            }
            Err(Noise { unread, excerpt }) => {
                self.count(bytes, now);
                self.on_noise(&unread, &excerpt);
            }
        }
    }

    /// What nearly is a reply is reported once; all else is only logged.
    fn on_noise(&mut self, Unread { code, detail, .. }: &Unread, excerpt: &str) {
        if *code == FaultCode::FrameInvalid.as_str() {
            let text =
                format!("said what answers nothing, which is skipped: {detail} in {excerpt:?}; {SHAPE}");
            return self.report(FaultCode::UnknownId, text);
        }
        self.log(format!("skipped: {detail} in {excerpt:?}"));
    }

    fn on_outcome(&mut self, number: u64, outcome: Result<RawJson, String>, bytes: usize, now: Instant) {
        let id = RequestId::new(number.to_string());
        match self.phase {
            Phase::AwaitHello { .. } if number == HELLO => return self.on_hello_reply(outcome),
            Phase::Closed(_) => return,
            Phase::AwaitHello { .. } | Phase::Registering { .. } | Phase::Ready | Phase::Draining { .. } => {}
        }
        let Some(open) = self.pending.answered(&id) else {
            return self.on_stray("reply", &id, bytes, now);
        };
        let answer = outcome.map(Answer::Result).map_err(|detail| {
            self.fault(FaultCode::HookError, format!("{}: {detail}", open.what));
            CallError::BadResponse { detail }
        });
        self.out.push_back(Output::Answer(open.ticket, answer));
    }

    /// What it says of itself does not matter.
    fn on_hello_reply(&mut self, outcome: Result<RawJson, String>) {
        let refused = match outcome {
            Ok(result) if result.is_object() => None,
            Ok(_) => Some(r#"its result is no object; expected {"ok":true}"#.to_owned()),
            Err(detail) => Some(detail),
        };
        match refused {
            None => {
                self.phase = Phase::Ready;
                self.was_ready = true;
                self.changed();
            }
            Some(detail) => self.fail(FaultCode::HelloInvalid, format!("hook.hello: {detail}")),
        }
    }
}
