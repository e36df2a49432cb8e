//! What the extension has the host do: how much at once, and that each call is answered once.

use std::time::Instant;

use haft_protocol::defence::{Defence, is_up};
use haft_protocol::ext::{HostCall, HostCallError, HostCallKind, HostFrame, HostResult, ResultBlock};
use haft_protocol::ids::RequestId;

use super::{Output, Phase, Session, Wanted};
use crate::wire::decode::excerpt;
use crate::wire::fault::FaultCode;

/// The calls that are under way.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: Vec<Call>,
    /// It was reported that it asks for more than it may.
    denied: bool,
}

#[derive(Debug)]
struct Call {
    id: RequestId,
    /// How many lines it had been written when it asked: what of them is open is what it serves.
    behind: u64,
}

impl Calls {
    fn has(&self, id: &RequestId) -> bool {
        self.open.iter().any(|call| call.id == *id)
    }
}

impl<T> Session<T> {
    pub(super) fn on_host_call(&mut self, call: HostCall, bytes: usize, now: Instant) {
        if self.calls.has(&call.id) {
            // An answer could be taken for that of the other.
            self.count(bytes, now);
            let id = excerpt(call.id.as_str().as_bytes());
            let text = format!("made a host_call {id} while another of that id is under way; it is not done");
            return self.report(FaultCode::FrameInvalid, text);
        }
        match self.admit(&call) {
            Ok(kind) => {
                self.count_call(bytes, now);
                self.calls.open.push(Call { id: call.id.clone(), behind: self.lines });
                self.out.push_back(Output::Call(Wanted { id: call.id, kind, args: call.args }));
            }
            Err(refused) => {
                self.count(bytes, now);
                self.say(&refused, now);
            }
        }
    }

    /// # Errors
    /// What is said of a call that is not made.
    fn admit(&self, call: &HostCall) -> Result<HostCallKind, HostResult> {
        let refuse = |code, text: String| refusal(call.id.clone(), code, text);
        let most = self.facts.limits.max_host_calls;
        if !self.facts.services {
            return Err(refuse(
                HostCallError::Unavailable,
                "this host does nothing for extensions".to_owned(),
            ));
        }
        if self.phase != Phase::Ready {
            return Err(refuse(HostCallError::Unavailable, "calls are taken from `ready` on".to_owned()));
        }
        let kind = HostCallKind::from_name(&call.call).ok_or_else(|| {
            let names: Vec<&str> = HostCallKind::ALL.iter().map(|kind| kind.name()).collect();
            let call = excerpt(call.call.as_bytes());
            refuse(
                HostCallError::UnknownCall,
                format!("there is no call {call:?}; there are {}", names.join(", ")),
            )
        })?;
        self.check_granted(kind, call)?;
        if self.calls.open.len() >= usize::try_from(most).unwrap_or(usize::MAX) {
            let text = format!("{most} calls are under way already; wait for one");
            return Err(refuse(HostCallError::Busy, text));
        }
        Ok(kind)
    }

    fn check_granted(&self, kind: HostCallKind, call: &HostCall) -> Result<(), HostResult> {
        let service = kind.service();
        let granted = self.facts.granted.as_deref().is_none_or(|granted| granted.host.contains(&service));
        if granted || !is_up(Defence::ServiceGrants) {
            return Ok(());
        }
        let (name, what) = (&self.facts.name, kind.name());
        let text = format!(
            "extension {name} may not {what} through haft: the permission {service} is not granted to it"
        );
        let permission = Some(service.name().to_owned());
        Err(HostResult { permission, ..refusal(call.id.clone(), HostCallError::PermissionDenied, text) })
    }

    pub(super) fn on_host_call_cancel(&mut self, id: RequestId, bytes: usize, now: Instant) {
        // One that is over was answered, and the two have crossed.
        self.count(bytes, now);
        if self.calls.has(&id) {
            self.out.push_back(Output::CancelCall(id));
        }
    }

    /// Nobody waits any more for the answer to the question in this line. Calls that were made while it was open end with
    /// it, unless another question is open that they may be for; those that were made on the extension's own account go
    /// on.
    pub(super) fn end_calls_for(&mut self, line: u64) {
        for call in self.calls.open.iter().filter(|call| line <= call.behind) {
            if !self.pending.has_within(call.behind) {
                self.out.push_back(Output::CancelCall(call.id.clone()));
            }
        }
    }

    /// A call is over.
    pub(crate) fn handle_result(&mut self, result: HostResult, now: Instant) {
        let Some(place) = self.calls.open.iter().position(|call| call.id == result.id) else { return };
        self.calls.open.swap_remove(place);
        self.say(&result, now);
    }

    /// Once: an author should see it, and one that tries everything must fill neither the screen nor the log.
    fn report_denied(&mut self, result: &HostResult) {
        if result.code == Some(HostCallError::PermissionDenied) && !self.calls.denied {
            self.calls.denied = true;
            let text = format!("asked the host for what it may not have: {}", words(result));
            self.report(FaultCode::PermissionDenied, text);
        }
    }

    /// Whether it waits for the host.
    pub(super) fn has_calls(&self) -> bool {
        !self.calls.open.is_empty()
    }

    /// Its calls are of no more use to anybody.
    pub(super) fn drop_calls(&mut self) {
        if self.has_calls() {
            self.calls.open.clear();
            self.out.push_back(Output::DropCalls);
        }
    }

    fn say(&mut self, result: &HostResult, now: Instant) {
        self.report_denied(result);
        if self.absence().is_some() {
            return;
        }
        match self.encode(HostFrame::HostResult(result.clone())) {
            Ok(line) => {
                self.write(line, false);
                self.watch.wrote(now);
            }
            Err(detail) => {
                let text = format!("the result is too long: {detail}");
                let refusal = refusal(result.id.clone(), HostCallError::Failed, text);
                if let Ok(line) = self.encode(HostFrame::HostResult(refusal)) {
                    self.write(line, false);
                }
            }
        }
    }
}

/// The first line of what is said of a call.
fn words(result: &HostResult) -> &str {
    let text = result.content.iter().find_map(|block| match block {
        ResultBlock::Text { text } => text.lines().next(),
        ResultBlock::Image { .. } | ResultBlock::Unknown { .. } => None,
    });
    text.unwrap_or_default()
}

fn refusal(id: RequestId, code: HostCallError, text: String) -> HostResult {
    let content = vec![ResultBlock::Text { text }];
    HostResult { id, content, is_error: true, code: Some(code), by: None, permission: None, details: None }
}
