//! The calls of an extension to the host: how many at once, and that each is answered once.

use haft_protocol::defence::{Defence, is_up};
use haft_protocol::ext::{HostCall, HostCallError, HostCallKind, HostResult, ResultBlock};
use haft_protocol::ids::RequestId;

use super::pending::PendingQuestions;
use super::{HostCallRequest, SessionConfig};
use crate::wire::decode::excerpt;

#[derive(Debug, Default)]
pub(super) struct HostCalls {
    open: Vec<OpenCall>,
    is_denial_reported: bool,
}

#[derive(Debug)]
struct OpenCall {
    id: RequestId,
    /// The number of lines that the extension had been written when it made the call: the open questions among them are
    /// those that the call serves.
    behind: u64,
}

impl HostCalls {
    pub(super) fn contains(&self, id: &RequestId) -> bool {
        self.open.iter().any(|call| call.id == *id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Begins a call that the extension may make now, or returns the answer that refuses it. `lines` is the number of lines
    /// that the extension was written.
    pub(super) fn begin(
        &mut self,
        call: HostCall,
        facts: &SessionConfig,
        is_ready: bool,
        lines: u64,
    ) -> Result<HostCallRequest, HostResult> {
        let kind = self.admit(&call, facts, is_ready)?;
        self.open.push(OpenCall { id: call.id.clone(), behind: lines });
        Ok(HostCallRequest { id: call.id, kind, args: call.args })
    }

    fn admit(
        &self,
        call: &HostCall,
        facts: &SessionConfig,
        is_ready: bool,
    ) -> Result<HostCallKind, HostResult> {
        let refuse = |code, text: String| refusal(call.id.clone(), code, text);
        let most = facts.limits.max_host_calls;
        if !facts.services {
            let text = "this host does nothing for extensions".to_owned();
            return Err(refuse(HostCallError::Unavailable, text));
        }
        if !is_ready {
            return Err(refuse(HostCallError::Unavailable, "calls are taken from `ready` on".to_owned()));
        }
        let kind = HostCallKind::from_name(&call.call).ok_or_else(|| {
            let names: Vec<&str> = HostCallKind::ALL.iter().map(|kind| kind.name()).collect();
            let call = excerpt(call.call.as_bytes());
            let text = format!("there is no call {call:?}; there are {}", names.join(", "));
            refuse(HostCallError::UnknownCall, text)
        })?;
        check_granted(kind, call, facts)?;
        if self.open.len() >= usize::try_from(most).unwrap_or(usize::MAX) {
            let text = format!("{most} calls are under way already; wait for one");
            return Err(refuse(HostCallError::Busy, text));
        }
        Ok(kind)
    }

    /// Ends a call. False if no such call is under way.
    pub(super) fn end(&mut self, id: &RequestId) -> bool {
        let place = self.open.iter().position(|call| call.id == *id);
        place.map(|place| self.open.swap_remove(place)).is_some()
    }

    /// The calls that end with the question in this line, because nobody waits for its answer any more: those that were
    /// made while it was open, unless another question is open that they may serve. Calls that the extension made on its
    /// own account continue.
    pub(super) fn ended_by<T>(&self, line: u64, pending: &PendingQuestions<T>) -> Vec<RequestId> {
        let ends = |call: &&OpenCall| line <= call.behind && !pending.has_within(call.behind);
        self.open.iter().filter(ends).map(|call| call.id.clone()).collect()
    }

    /// Forgets all calls. False if there were none.
    pub(super) fn clear(&mut self) -> bool {
        let had = !self.open.is_empty();
        self.open.clear();
        had
    }

    /// The report of the first call without a grant. An author should see it, and an extension that tries everything must
    /// fill neither the screen nor the log.
    pub(super) fn denial_report(&mut self, result: &HostResult) -> Option<String> {
        let is_denied = result.code == Some(HostCallError::PermissionDenied);
        if !is_denied || std::mem::replace(&mut self.is_denial_reported, true) {
            return None;
        }
        Some(format!("asked the host for what it may not have: {}", first_line(result)))
    }
}

fn check_granted(kind: HostCallKind, call: &HostCall, facts: &SessionConfig) -> Result<(), HostResult> {
    let service = kind.service();
    let granted = facts.granted.as_deref().is_none_or(|granted| granted.host.contains(&service));
    if granted || !is_up(Defence::ServiceGrants) {
        return Ok(());
    }
    let (name, what) = (&facts.name, kind.name());
    let text = format!(
        "extension {name} may not {what} through haft: the permission {service} is not granted to it"
    );
    let permission = Some(service.name().to_owned());
    Err(HostResult { permission, ..refusal(call.id.clone(), HostCallError::PermissionDenied, text) })
}

fn first_line(result: &HostResult) -> &str {
    let text = result.content.iter().find_map(|block| match block {
        ResultBlock::Text { text } => text.lines().next(),
        ResultBlock::Image { .. } | ResultBlock::Unknown { .. } => None,
    });
    text.unwrap_or_default()
}

/// The answer to a call that is not served.
pub(super) fn refusal(id: RequestId, code: HostCallError, text: String) -> HostResult {
    let content = vec![ResultBlock::Text { text }];
    HostResult { id, content, is_error: true, code: Some(code), by: None, permission: None, details: None }
}
