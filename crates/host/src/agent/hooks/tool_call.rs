//! The hook before a tool call for one extension: its role in the call, and the meaning of its answer in that
//! role.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use haft_core::hooks::{AfterBlock, BeforeToolExecute, HookRole, PendingCall, ToolDecision};
use haft_core::tool::ToolOutput;
use haft_protocol::content::ToolCall;
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ext::{
    AnswerError, EventInterceptResponse, Intercept, InterceptHook, InterceptKind, InterceptToolCall,
    ToolCallAnswer, ToolCallDecision, ToolResultFrame, capability,
};
use haft_protocol::ids::{ExtensionName, RequestId};
use haft_protocol::limits::MAX_NAME;
use tokio_util::sync::CancellationToken;

use super::{display_text, reason_or_default, refuse_turn};
use crate::agent::gates::DecisionSubject;
use crate::agent::hook_context::HookContext;
use crate::agent::managed_extension::{InterceptFailure, ManagedExtension};
use crate::agent::policy::FailureEffect;
use crate::agent::tool::SanitizedToolResult;
use crate::session::filter::InterceptorRole;
use crate::wire::fault::CallError;

/// The failure of a required gate that guards no tool, as a phrase that follows its name.
const GUARDS_NO_TOOL: &str =
    "is required but guards no tool: no tool has a name from `tools` of its subscription";

/// One extension's part in one tool call.
///
/// An answer resets the failure count only when the call is over and the answer was used. A rewrite may turn
/// out not to match the schema, and the extension is then queried again.
pub(crate) struct ToolCallHook {
    entry: Arc<ManagedExtension>,
    context: Arc<HookContext>,
    /// True if the extension answered and no failure followed.
    has_answered: AtomicBool,
}

impl ToolCallHook {
    pub(crate) fn new(entry: Arc<ManagedExtension>, context: Arc<HookContext>) -> Self {
        Self { entry, context, has_answered: AtomicBool::new(false) }
    }

    async fn query(
        &self,
        cancel: &CancellationToken,
        PendingCall { call, resolved_paths, caller, clock, .. }: &PendingCall<'_>,
    ) -> Result<ToolCallDecision, InterceptFailure> {
        // An extension that has just started has only now registered its tools.
        let entry = self.entry.current();
        let known = entry.wait_until_registered(cancel).await;
        known.map_err(|error| entry.intercept_failure(InterceptKind::ToolCall, &error))?;
        if entry.tool_role(&call.name).is_none() {
            let guards = self.check_guards_any(entry).map(|()| ToolCallDecision::Allow);
            return guards.map_err(|error| entry.intercept_failure(InterceptKind::ToolCall, &error));
        }
        let question = ToolCallQuery(InterceptToolCall {
            tool_id: call.id.clone(),
            tool_name: call.name.clone(),
            tool_args: call.args.clone(),
            caller: caller.filter(|_| entry.offers().has_capability(capability::HOST_SERVICES)).cloned(),
            resolved_paths: resolved_paths.to_vec(),
        });
        let mut response = entry.query_with_clock(cancel, question, *clock).await?;
        let offers = entry.offers();
        if !offers.has_capability(capability::HOOKS_2) {
            *response = (*response).without_hooks_2(InterceptKind::ToolCall);
        }
        let role = entry.tool_role(&call.name).unwrap_or(InterceptorRole::Plain);
        // Arguments that are as long as those of the call fit into a frame, too.
        let max_args = offers.limits.max_line.max(call.args.as_str().len());
        let decision = read_decision(*response, role, &call.name, max_args)
            .and_then(|decision| check_granted(entry, &call.name, decision))
            .map_err(|detail| {
                self.report_fault(&detail);
                entry.intercept_failure(InterceptKind::ToolCall, &CallError::BadResponse { detail })
            })?;
        self.has_answered.store(true, Ordering::Relaxed);
        Ok(decision)
    }

    /// Fails for a required gate that guards no tool at all: its filter was meant for tools that do not exist. The
    /// start checks this as well; a gate may get its filter later, by a reload or at its first use.
    fn check_guards_any(&self, entry: &ManagedExtension) -> Result<(), CallError> {
        let is_required = entry.spec.roles.requires_hook(InterceptKind::ToolCall);
        if !is_required || !is_up(Defense::RequiredGates) {
            return Ok(());
        }
        match self.context.host.tool_names() {
            Some(tools) if entry.guards_no_tool(&tools) => {
                Err(CallError::Gone { why: GUARDS_NO_TOOL.to_owned() })
            }
            Some(_) | None => Ok(()),
        }
    }

    async fn decide(&self, cancel: &CancellationToken, pending: &PendingCall<'_>) -> ToolDecision {
        let outcome = self.query(cancel, pending).await;
        // Otherwise the call passed because the user allows it, or the run was cancelled.
        if let Err(InterceptFailure { verdict: FailureEffect::Block, detail: Some(detail), .. }) = &outcome {
            self.record_failure(detail);
        }
        match outcome {
            Ok(ToolCallDecision::Allow) | Err(InterceptFailure { verdict: FailureEffect::Pass, .. }) => {
                ToolDecision::Allow
            }
            Ok(ToolCallDecision::Rewrite { args }) => ToolDecision::Rewrite { tool: None, args },
            Ok(ToolCallDecision::Redirect { tool, args }) => {
                let args = args.unwrap_or_else(|| pending.call.args.clone());
                ToolDecision::Rewrite { tool: Some(tool), args }
            }
            Ok(ToolCallDecision::Block { reason }) => {
                let default = || format!("tool call refused by extension {}", self.entry.name());
                ToolDecision::block(reason_or_default(reason, default))
            }
            Ok(ToolCallDecision::Answer(answer)) => self.answer_call(&pending.call.name, *answer).await,
            Ok(ToolCallDecision::Stop(stop)) => ToolDecision::Refuse(refuse_turn(self.entry.name(), stop)),
            Err(InterceptFailure { verdict: FailureEffect::Block, reason, .. }) => {
                ToolDecision::block(reason)
            }
        }
    }

    /// Returns the answer as the result of the call, within the limits of a tool of an extension.
    async fn answer_call(&self, tool: &str, answer: ToolCallAnswer) -> ToolDecision {
        let ToolCallAnswer { content, details, is_error, display, handled } = answer;
        let frame = ToolResultFrame { id: RequestId::new(""), content, is_error, details, terminate: false };
        let (name, limits) = (self.entry.name(), *self.context.shared.limits);
        let read =
            SanitizedToolResult::read_off_thread(name, tool, frame, limits, &self.context.results).await;
        let output = match read {
            Ok((read, kept)) => {
                read.rejected.iter().for_each(|detail| self.report_fault(detail));
                let what = format!("a result for tool {tool}");
                self.context.reporter(name).report_hidden_text(read.hidden, &what);
                let display = display.and_then(|text| display_text(name, &text, limits.max_result_text));
                read.into_output(kept.as_deref()).with_display(display).with_handled(handled)
            }
            Err(error) => ToolOutput::error(format!("extension {name}/{tool} failed: {error}")),
        };
        ToolDecision::Respond { output }
    }

    fn record_failure(&self, detail: &str) {
        self.has_answered.store(false, Ordering::Relaxed);
        self.context.gates.record_failure(self.entry.name(), DecisionSubject::Call, detail);
    }

    fn report_fault(&self, detail: &str) {
        self.entry.report_mistake(InterceptKind::ToolCall, detail);
    }
}

#[async_trait]
impl BeforeToolExecute for ToolCallHook {
    async fn before_tool_execute(&self, cancel: &CancellationToken, call: &ToolCall) -> ToolDecision {
        self.decide_call(cancel, &PendingCall::new(call)).await
    }

    async fn decide_call(&self, cancel: &CancellationToken, pending: &PendingCall<'_>) -> ToolDecision {
        self.decide(cancel, pending).await
    }

    fn belongs_to(&self, extension: &ExtensionName) -> bool {
        self.entry.name() == extension
    }

    fn name(&self) -> &str {
        self.entry.name().as_str()
    }

    fn decision_time(&self) -> Option<Duration> {
        let configured = self.entry.spec.as_hook()?;
        Some(configured.timeout_for(InterceptKind::ToolCall))
    }

    fn handles_unknown_tools(&self) -> bool {
        let offers = self.entry.current().offers();
        let may_answer = offers.has_capability(capability::HOOKS_2) && offers.tool_calls.has_ordered_role();
        may_answer || self.entry.foreign.is_some()
    }

    fn bypasses_approval(&self, tool: &str) -> bool {
        self.entry.spec.as_hook().is_some_and(|configured| configured.vouches_for(tool))
    }

    fn role(&self, tool: &str) -> Option<HookRole> {
        let entry = self.entry.current();
        Some(match entry.tool_role(tool)? {
            InterceptorRole::Gate => HookRole::Gate,
            InterceptorRole::Plain | InterceptorRole::Rewrite | InterceptorRole::Redactor => {
                HookRole::Ordered
            }
        })
    }

    fn rewrite_refused(&self, call: &ToolCall, detail: &str) {
        let detail = format!("the changed call of tool {} cannot run: {detail}", call.name);
        self.report_fault(&detail);
        self.record_failure(&detail);
    }

    async fn after_block(&self, cancel: &CancellationToken, _: &ToolCall) -> AfterBlock {
        self.context.after_block(cancel, &self.entry).await
    }
}

impl Drop for ToolCallHook {
    fn drop(&mut self) {
        if *self.has_answered.get_mut() {
            self.context.gates.record_answer(self.entry.name(), DecisionSubject::Call);
        }
    }
}

/// A query without the interpretation of its answer, which depends on the extension's role and on the tool.
/// The protocol knows neither.
#[derive(Debug, Clone)]
struct ToolCallQuery(InterceptToolCall);

impl From<ToolCallQuery> for Intercept {
    fn from(ToolCallQuery(question): ToolCallQuery) -> Self {
        Self::ToolCall(question)
    }
}

impl InterceptHook for ToolCallQuery {
    /// Boxed: the whole response passes through several futures.
    type Decision = Box<EventInterceptResponse>;

    const KIND: InterceptKind = InterceptKind::ToolCall;

    fn read(response: EventInterceptResponse) -> Result<Self::Decision, AnswerError> {
        Ok(response.into())
    }

    fn respond(response: Self::Decision, id: RequestId) -> EventInterceptResponse {
        EventInterceptResponse { id, ..*response }
    }
}

/// Reads the decision from the answer about this tool in this role. Rewritten arguments may have `max_args`
/// bytes, because they must fit into a frame for other extensions. Fails when the answer does not match the
/// query or the role.
fn read_decision(
    response: EventInterceptResponse,
    role: InterceptorRole,
    tool: &str,
    max_args: usize,
) -> Result<ToolCallDecision, String> {
    let (is_explicit, named) = (response.block.is_some(), response.tool_name.clone());
    let decision = InterceptToolCall::read(response).map_err(|error| error.to_string())?;
    if !is_up(Defense::GateAnswers) {
        return Ok(decision);
    }
    let refuses = matches!(decision, ToolCallDecision::Block { .. } | ToolCallDecision::Stop(_));
    if let Some(other) = named.filter(|named| !refuses && **named != *tool) {
        let start: String = other.chars().take(64).collect();
        return Err(format!("answered for tool {start:?}, but the request was about {tool:?}"));
    }
    match &decision {
        ToolCallDecision::Rewrite { .. } if role == InterceptorRole::Gate => {
            Err("sent modified_args, but a gate can only allow or block".to_owned())
        }
        ToolCallDecision::Redirect { .. } if role == InterceptorRole::Gate => {
            Err("sent modified_tool, but a gate can only allow or block".to_owned())
        }
        ToolCallDecision::Redirect { tool, .. } if tool.len() > MAX_NAME => {
            Err(format!("sent a modified_tool of {} bytes; the limit is {MAX_NAME}", tool.len()))
        }
        ToolCallDecision::Answer(_) if role == InterceptorRole::Gate => {
            Err("sent content, but a gate can only allow or block".to_owned())
        }
        ToolCallDecision::Rewrite { args } | ToolCallDecision::Redirect { args: Some(args), .. }
            if args.as_str().len() > max_args =>
        {
            let bytes = args.as_str().len();
            Err(format!("sent modified_args of {bytes} bytes; the limit is {max_args}"))
        }
        ToolCallDecision::Allow if role == InterceptorRole::Gate && !is_explicit => {
            Err("sent no decision; a gate must set `block` to true or false".to_owned())
        }
        ToolCallDecision::Allow
        | ToolCallDecision::Rewrite { .. }
        | ToolCallDecision::Redirect { .. }
        | ToolCallDecision::Block { .. }
        | ToolCallDecision::Answer(_)
        | ToolCallDecision::Stop(_) => Ok(decision),
    }
}

/// Checks a decision against the grant of the extension. An extension that subscribes without a role may lack
/// the grant to change arguments or to answer.
fn check_granted(
    entry: &ManagedExtension,
    tool: &str,
    decision: ToolCallDecision,
) -> Result<ToolCallDecision, String> {
    let granted = entry.spec.permissions.as_ref().filter(|_| is_up(Defense::Permissions));
    let (changed, other) = match &decision {
        ToolCallDecision::Rewrite { .. } => ("modified_args", tool),
        ToolCallDecision::Redirect { tool, .. } => ("modified_tool", tool.as_str()),
        ToolCallDecision::Answer(_) => ("content", tool),
        ToolCallDecision::Allow | ToolCallDecision::Block { .. } | ToolCallDecision::Stop(_) => {
            return Ok(decision);
        }
    };
    let Some(granted) = granted else { return Ok(decision) };
    if !granted.may_rewrite_call(tool) {
        return Err(format!("sent {changed}, but is granted only the role `gate`"));
    }
    match granted.may_rewrite_call(other) {
        true => Ok(decision),
        false => Err(format!("sent {changed} {other:?}, but calls of this tool are not granted")),
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::RawJson;
    use haft_protocol::limits::MAX_LINE;

    use super::*;

    #[track_caller]
    fn check(role: InterceptorRole, response: &str, expect: Result<ToolCallDecision, &str>) {
        let response = format!(r#"{{"id":"1",{response}}}"#);
        let answer = serde_json::from_str(&response).unwrap();
        match (read_decision(answer, role, "bash", MAX_LINE), expect) {
            (Err(detail), Err(part)) => assert!(detail.contains(part), "{detail}"),
            (got, expect) => assert_eq!(got, expect.map_err(str::to_owned), "{response}"),
        }
    }

    fn rewrite(args: &str) -> ToolCallDecision {
        ToolCallDecision::Rewrite { args: RawJson::parse(args).unwrap() }
    }

    #[test]
    fn rejects_answer_for_other_role_or_tool() {
        let refused = || Ok(ToolCallDecision::block(""));
        for role in [InterceptorRole::Plain, InterceptorRole::Rewrite] {
            check(role, r#""block":false"#, Ok(ToolCallDecision::Allow));
            check(role, r#""reason":"""#, Ok(ToolCallDecision::Allow));
            check(role, r#""tool_name":"bash""#, Ok(ToolCallDecision::Allow));
            check(role, r#""modified_args":{"a":1}"#, Ok(rewrite(r#"{"a":1}"#)));
            check(role, r#""tool_name":"read","modified_args":{}"#, Err("for tool \"read\""));
        }
        check(InterceptorRole::Gate, r#""block":false"#, Ok(ToolCallDecision::Allow));
        check(InterceptorRole::Gate, r#""block":true"#, refused());
        check(InterceptorRole::Gate, r#""block":true,"modified_args":{"a":1},"tool_name":"read""#, refused());
        check(InterceptorRole::Gate, r#""approved":true"#, Err("sent no decision"));
        check(
            InterceptorRole::Gate,
            r#""block":false,"modified_args":{"a":1}"#,
            Err("a gate can only allow or block"),
        );
    }

    #[test]
    fn rejects_oversized_arguments() {
        let of = |bytes: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - 8));
        let response = |bytes| format!(r#""modified_args":{}"#, of(bytes));
        check(InterceptorRole::Plain, &response(MAX_LINE), Ok(rewrite(&of(MAX_LINE))));
        check(InterceptorRole::Plain, &response(MAX_LINE + 1), Err("the limit is"));
    }
}
