//! Queries the hooks about one tool call within the chain's time budget, then the approvers.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use haft_protocol::RawJson;
use haft_protocol::content::{ResolvedPath, ToolCall};
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::event::AgentEvent;
use haft_protocol::names;
use tokio::time::Instant;

use super::budget::GateBudget;
use crate::agent_state::{LazyValidator, OfferedTools};
use crate::chain::{CallRewrite, ChainCall, ChainOutcome, ChainStep, InvalidRewrite, ToolChain, Verdict};
use crate::hooks::{
    AfterBlock, ApproveTool, ApproverDecision, AttributedRefusal, BeforeToolExecute, GateClock, HookRole,
    PendingCall, Refusal, RefusalScope, ToolDecision,
};
use crate::run_context::{NoDecision, PANICKED, RunContext};
use crate::schema::SchemaValidator;
use crate::session::intervention::InterventionAction;
use crate::timeouts::MAX_DECISION_TIME;
use crate::tool::{ApprovalRequest, CanonicalArgs, LazyPreview, Tool, ToolContext};

/// The name in reports when the shared time is used up, because no single hook is at fault.
const BUDGET: &str = names::HAFT;

#[derive(Clone, Copy)]
pub(crate) struct GateScope<'a> {
    /// The validator that accepted the arguments; `None` for a tool that only hooks know.
    pub(crate) validator: Option<&'a SchemaValidator>,
    /// The called tool; `None` for a tool that only hooks know.
    pub(crate) tool: Option<&'a dyn Tool>,
    /// The tools that a hook can select instead; `None` if it cannot.
    pub(crate) others: Option<&'a OfferedTools>,
}

/// A decision that the call may run or has its result.
#[derive(Debug)]
pub(crate) struct GateDecision {
    pub(crate) verdict: Verdict,
    pub(crate) findings: GateFindings,
}

/// The findings of the gate about a call, which its tool compares with the state at the time of the execution.
#[derive(Debug, Default)]
pub(crate) struct GateFindings {
    /// The request of the tool that a person approved.
    pub(crate) approved: Option<ApprovalRequest>,
    /// The state on which the preview is based that a person saw.
    pub(crate) previewed_state: Option<u64>,
    /// The places that the paths of the call mean.
    pub(crate) resolved_paths: Arc<[ResolvedPath]>,
}

impl GateFindings {
    /// Sets the findings in the context of the execution.
    pub(crate) fn copy_to(&self, context: &mut ToolContext) {
        context.approved.clone_from(&self.approved);
        context.previewed_state = self.previewed_state;
        context.resolved_paths.clone_from(&self.resolved_paths);
    }
}

/// The gate for one call: first the hooks, then the approvers.
pub(crate) struct ToolGate<'a> {
    run: &'a RunContext,
    /// The call with canonical arguments.
    call: ToolCall,
    resolved_paths: Arc<[ResolvedPath]>,
    hooks: Vec<Arc<dyn BeforeToolExecute>>,
    approvers: Vec<Arc<dyn ApproveTool>>,
    scope: GateScope<'a>,
    /// The end of the shared budget.
    until: Instant,
    clock: GateClock,
}

#[derive(Debug)]
pub(crate) struct CallCancelled;

/// The reason why the chain ended early.
enum ChainAbort {
    Cancelled,
    /// The budget was used up while these hooks were asked.
    OutOfTime(Vec<usize>),
}

/// The hook or approver whose refusal decided.
enum RefusalSource<'a> {
    Hook(&'a dyn BeforeToolExecute),
    Approver(&'a dyn ApproveTool),
}

/// Checks the arguments of a call; returns the validator for arguments that hooks rewrite.
///
/// # Errors
/// The reason why the call cannot run.
pub(crate) fn validate_args<'a>(
    call: &ToolCall,
    validator: &'a LazyValidator,
) -> Result<&'a SchemaValidator, String> {
    let unfit = |error: &dyn std::fmt::Display| format!("{} was not run: {error}", call.name);
    let validator = validator.get().map_err(|error| unfit(error))?;
    validator.check(&call.args).map_err(|error| unfit(&error))?;
    Ok(validator)
}

/// Returns the canonical arguments of a call, or the reason why it cannot run. A tool that only hooks know keeps them.
///
/// # Errors
/// The call was cancelled.
pub(crate) async fn canonical_args(
    run: &RunContext,
    tool: Option<&dyn Tool>,
    call: &ToolCall,
) -> Result<Result<CanonicalArgs, String>, CallCancelled> {
    let Some(tool) = tool.filter(|_| is_up(Defense::CanonicalArguments)) else {
        return Ok(Ok(call.args.clone().into()));
    };
    match run.await_decision(tool.canonical_args(call.args.clone())).await {
        Ok(args) => Ok(args),
        Err(NoDecision::Cancelled) => Err(CallCancelled),
        Err(NoDecision::Panicked) => Ok(Err(format!("{} panicked when it read its arguments", call.name))),
    }
}

impl<'a> ToolGate<'a> {
    /// Creates a gate for a call with these canonical arguments.
    pub(crate) fn new(
        run: &'a RunContext,
        call: &ToolCall,
        CanonicalArgs { args, resolved_paths }: CanonicalArgs,
        scope: GateScope<'a>,
    ) -> Self {
        let call = ToolCall { args, ..call.clone() };
        let mut hooks = run.agent.current_hooks::<dyn BeforeToolExecute>();
        let mut approvers = run.agent.current_hooks::<dyn ApproveTool>();
        if let Some(caller) = &run.caller {
            // An extension that waits for its own call may have no other thread to answer on, so it is not asked.
            hooks.retain(|hook| !hook.belongs_to(caller));
            approvers.retain(|approver| !approver.belongs_to(caller));
        }
        let until = Instant::now() + run.agent.config.gate_budget;
        Self { run, call, resolved_paths, hooks, approvers, scope, until, clock: GateClock::default() }
    }

    /// Decides about the call. Reports a refusal of the call alone.
    ///
    /// # Errors
    /// The call was cancelled.
    pub(crate) async fn decide(&self) -> Result<GateDecision, CallCancelled> {
        let roles = self.hooks.iter().map(|hook| hook.role(&self.call.name));
        let args =
            CanonicalArgs { args: self.call.args.clone(), resolved_paths: Arc::clone(&self.resolved_paths) };
        let mut chain = ToolChain::new(&self.call.name, args, roles);
        let mut outcome = match self.run_chain(&mut chain).await {
            Ok(outcome) => outcome,
            Err(ChainAbort::Cancelled) => return Err(CallCancelled),
            Err(ChainAbort::OutOfTime(asked)) => {
                let reason = self.timeout_reason(&asked);
                let refusal = Refusal::new(RefusalScope::Call, reason).attribute_to(BUDGET);
                let verdict = self.record_refusal(refusal, None).await?;
                return Ok(GateDecision { verdict, findings: GateFindings::default() });
            }
        };
        let mut decider = self.hook_at(outcome.decided_by).map(|hook| RefusalSource::Hook(hook.as_ref()));
        let call = self.to_tool_call(&outcome.call);
        let approved = self.approval_request(&outcome.verdict, &call).await?;
        let preview = self.lazy_preview(&outcome, &call);
        let pending = PendingCall { preview: preview.as_ref(), ..self.pending_call(&call, &outcome.call) };
        if (self.needs_approval(&outcome) || approved.is_some())
            && let Some((approver, refusal)) = self.ask_approvers(&pending, approved.as_ref()).await?
        {
            (outcome.verdict, decider) = (Verdict::Refuse(refusal), approver.map(RefusalSource::Approver));
        }
        let verdict = match outcome.verdict {
            Verdict::Refuse(refusal) => self.record_refusal(refusal, decider).await?,
            Verdict::Run { .. } | Verdict::Respond { .. } => {
                self.note_changes(&outcome);
                outcome.verdict
            }
        };
        let previewed_state = preview.as_ref().and_then(LazyPreview::computed_state);
        let resolved_paths = outcome.call.resolved_paths;
        Ok(GateDecision { verdict, findings: GateFindings { approved, previewed_state, resolved_paths } })
    }

    /// Records and reports a refusal. The hook that refused the call is then asked whether the run ends too.
    async fn record_refusal(
        &self,
        mut refusal: AttributedRefusal,
        decider: Option<RefusalSource<'_>>,
    ) -> Result<Verdict, CallCancelled> {
        let action = if refusal.scope == RefusalScope::Call {
            InterventionAction::Blocked
        } else {
            InterventionAction::TurnEnded
        };
        self.run.record_intervention(Some(&self.call.id), action, vec![refusal.by.clone()]);
        if refusal.scope != RefusalScope::Call {
            return Ok(Verdict::Refuse(refusal));
        }
        if refusal.reason.is_empty() {
            refusal.reason = format!("tool call refused by {}", refusal.by);
        }
        let AttributedRefusal { by, reason, .. } = refusal.clone();
        self.run.emitter.emit(AgentEvent::ToolBlocked { id: self.call.id.clone(), by, reason });
        if let AfterBlock::AbortAgent { reason } = self.ask_after_block(decider).await? {
            (refusal.scope, refusal.reason) = (RefusalScope::Run, reason);
        }
        Ok(Verdict::Refuse(refusal))
    }

    /// Returns the reason why the tool of a call that would run requires the approval of a person.
    async fn approval_request(
        &self,
        verdict: &Verdict,
        call: &ToolCall,
    ) -> Result<Option<ApprovalRequest>, CallCancelled> {
        let Verdict::Run { .. } = verdict else { return Ok(None) };
        let Some(tool) = self.tool(&call.name) else { return Ok(None) };
        match self.run.await_decision(tool.approval_request(call)).await {
            Ok(request) => Ok(request),
            Err(NoDecision::Cancelled) => Err(CallCancelled),
            Err(NoDecision::Panicked) => {
                let reason = format!("{} panicked when it checked the call", call.name);
                Ok(Some(ApprovalRequest { reason, model_reason: None, permitted_by: None }))
            }
        }
    }

    /// Returns the preview of a call that would run, for approvers that ask a person.
    fn lazy_preview<'c>(&self, outcome: &ChainOutcome, call: &'c ToolCall) -> Option<LazyPreview<'c>>
    where
        'a: 'c,
    {
        let Verdict::Run { .. } = outcome.verdict else { return None };
        let mut context = ToolContext::new(self.run.cancel.child_token(), drop);
        context.resolved_paths = Arc::clone(&outcome.call.resolved_paths);
        Some(LazyPreview::new(self.tool(&call.name)?, call, context))
    }

    /// Returns the called tool, or another one that a hook selected.
    fn tool(&self, name: &str) -> Option<&'a dyn Tool> {
        let other = || Some(self.scope.others?.get(name)?.0.as_ref());
        if name == self.call.name { self.scope.tool } else { other() }
    }

    /// Asks the approvers in order; returns the first denial with its approver. A request of the tool needs the
    /// approval of a person.
    async fn ask_approvers(
        &self,
        pending: &PendingCall<'_>,
        request: Option<&ApprovalRequest>,
    ) -> Result<Option<(Option<&dyn ApproveTool>, AttributedRefusal)>, CallCancelled> {
        let mut unapproved = request;
        for approver in &self.approvers {
            let decision = self.run.await_decision(async {
                let asked = match request {
                    Some(request) => approver.ask_person(&self.run.cancel, pending, request).await,
                    None => None,
                };
                match asked {
                    Some(decision) => (true, decision),
                    None => (false, approver.approve_call(&self.run.cancel, pending).await),
                }
            });
            let reason = match decision.await {
                Ok((by_person, ApproverDecision::Approve)) => {
                    unapproved = unapproved.filter(|_| !by_person);
                    continue;
                }
                Ok((_, ApproverDecision::Deny { reason })) => reason,
                Err(NoDecision::Cancelled) => return Err(CallCancelled),
                Err(NoDecision::Panicked) => PANICKED.to_owned(),
            };
            let refusal = Refusal::new(RefusalScope::Call, reason).attribute_to(approver.name());
            return Ok(Some((Some(approver.as_ref()), refusal)));
        }
        Ok(unapproved.map(|request| {
            let refusal = Refusal::new(RefusalScope::Call, request.without_person());
            (None, refusal.attribute_to(names::HAFT))
        }))
    }

    /// Records the hooks that changed or answered the call.
    fn note_changes(&self, outcome: &ChainOutcome) {
        let (action, by) = match &outcome.verdict {
            Verdict::Run { tool: None, args } if *args == self.call.args => return,
            Verdict::Run { .. } => {
                let mut by: Vec<String> = outcome.changes.iter().map(|change| change.by.clone()).collect();
                by.dedup();
                (InterventionAction::Rewritten, by)
            }
            Verdict::Respond { by, .. } => (InterventionAction::Answered, vec![by.clone()]),
            Verdict::Refuse(_) => return,
        };
        self.run.record_intervention(Some(&self.call.id), action, by);
    }

    async fn run_chain(&self, chain: &mut ToolChain) -> Result<ChainOutcome, ChainAbort> {
        let mut validator = self.scope.validator;
        let mut budget = GateBudget::new(self.until, &self.clock);
        loop {
            match chain.step() {
                ChainStep::Ask(index) => {
                    let (call, now) = (self.to_tool_call(chain.call()), chain.call());
                    let asked = self.ask_hook(index, self.pending_call(&call, now));
                    let answer = match self.decision_time(index) {
                        Some(limit) => budget.run_with_decision_time(limit, asked).await,
                        None => budget.run(asked).await,
                    };
                    let decision =
                        answer.ok_or(ChainAbort::OutOfTime(vec![index]))?.ok_or(ChainAbort::Cancelled)?;
                    if let Some(change) = chain.answer(index, self.hook_name(index), decision).cloned() {
                        self.report_rewrite(change, &chain.call().args);
                    }
                }
                ChainStep::Check { hook, renamed } => {
                    let checked = self.check(chain, renamed, &mut validator).await?;
                    if let (Some(hook), Err(misfit)) = (self.hook_at(Some(hook)), &checked) {
                        hook.rewrite_refused(&self.to_tool_call(chain.call()), misfit.detail());
                    }
                    chain.resolve_check(checked);
                }
                ChainStep::AskAll(open) => self.ask_all(open, chain, &mut budget).await?,
                ChainStep::Done(outcome) => return Ok(outcome),
            }
        }
    }

    fn to_tool_call(&self, ChainCall { tool, args, .. }: &ChainCall) -> ToolCall {
        ToolCall { id: self.call.id.clone(), name: tool.to_string(), args: args.clone() }
    }

    fn pending_call<'f>(
        &'f self,
        call: &'f ToolCall,
        ChainCall { resolved_paths, .. }: &'f ChainCall,
    ) -> PendingCall<'f> {
        PendingCall {
            call,
            resolved_paths,
            caller: self.run.caller.as_ref(),
            clock: Some(&self.clock),
            preview: None,
        }
    }

    /// Checks the call of the chain, which a hook rewrote, and makes its arguments canonical. If the tool changed,
    /// returns the hooks' roles in its calls.
    async fn check(
        &self,
        chain: &mut ToolChain,
        renamed: bool,
        validator: &mut Option<&'a SchemaValidator>,
    ) -> Result<Result<Vec<Option<HookRole>>, InvalidRewrite>, ChainAbort> {
        let checked = self.validate(chain.call(), renamed, validator);
        if checked.is_err() {
            return Ok(checked);
        }
        let call = self.to_tool_call(chain.call());
        match canonical_args(self.run, self.tool(&call.name), &call).await {
            Ok(Ok(args)) => chain.set_canonical(args),
            Ok(Err(reason)) => return Ok(Err(InvalidRewrite::Args(reason))),
            Err(CallCancelled) => return Err(ChainAbort::Cancelled),
        }
        Ok(checked)
    }

    /// Validates a call that a hook rewrote. If the tool changed, looks up its validator and the hooks' roles in its
    /// calls.
    fn validate(
        &self,
        ChainCall { tool, args, .. }: &ChainCall,
        renamed: bool,
        validator: &mut Option<&'a SchemaValidator>,
    ) -> Result<Vec<Option<HookRole>>, InvalidRewrite> {
        let mut roles = Vec::new();
        if renamed {
            *validator = Some(self.validator_for(tool).map_err(InvalidRewrite::Tool)?);
            roles = self.hooks.iter().map(|hook| hook.role(tool)).collect();
        }
        let checked = validator.map_or(Ok(()), |validator| validator.check(args));
        checked.map(|()| roles).map_err(|error| InvalidRewrite::Args(error.to_string()))
    }

    /// Returns the validator for the tool that a hook selected.
    fn validator_for(&self, tool: &str) -> Result<&'a SchemaValidator, String> {
        let Some(others) = self.scope.others else {
            return Err(format!("{tool:?}: a hook cannot change the tool of an extension's call"));
        };
        let Some((_, validator)) = others.get(tool) else {
            return Err(format!("{tool:?}: the tool is not offered to the model"));
        };
        validator.get().map_err(|error| format!("{tool:?}: {error}"))
    }

    fn needs_approval(&self, outcome: &ChainOutcome) -> bool {
        let tool = &*outcome.call.tool;
        let known = self.scope.validator.is_some() || tool != self.call.name;
        let vouched = self.hook_at(outcome.decided_by).is_some_and(|hook| hook.bypasses_approval(tool));
        outcome.verdict.needs_approval(known, vouched)
    }

    /// Asks several hooks concurrently until the chain has its outcome; drops the remaining queries.
    async fn ask_all(
        &self,
        open: Vec<usize>,
        chain: &mut ToolChain,
        budget: &mut GateBudget<'_>,
    ) -> Result<(), ChainAbort> {
        let call = self.to_tool_call(chain.call());
        if let Some(longest) = open.iter().filter_map(|index| self.decision_time(*index)).max() {
            // These are the last hooks to be asked.
            budget.extend_by(longest);
        }
        let now = chain.call().clone();
        let ask = async |index| (index, self.ask_hook(index, self.pending_call(&call, &now)).await);
        let mut asked: FuturesUnordered<_> = open.into_iter().map(ask).collect();
        while let ChainStep::AskAll(open) = chain.step() {
            let Some(answer) = budget.run(asked.next()).await else {
                return Err(ChainAbort::OutOfTime(open));
            };
            let Some((index, decision)) = answer else { return Ok(()) };
            chain.answer(index, self.hook_name(index), decision.ok_or(ChainAbort::Cancelled)?);
        }
        Ok(())
    }

    /// Returns the hook's own decision time, if it has one.
    fn decision_time(&self, index: usize) -> Option<Duration> {
        Some(self.hook_at(Some(index))?.decision_time()?.min(MAX_DECISION_TIME))
    }

    /// Asks one hook. A panic counts as a refusal. Returns `None` if the run was cancelled.
    async fn ask_hook(&self, index: usize, pending: PendingCall<'_>) -> Option<ToolDecision> {
        let Some(hook) = self.hook_at(Some(index)) else { return Some(ToolDecision::Allow) };
        match self.run.await_decision(hook.decide_call(&self.run.cancel, &pending)).await {
            Ok(decision) => Some(decision),
            Err(NoDecision::Cancelled) => None,
            Err(NoDecision::Panicked) => Some(ToolDecision::block(PANICKED)),
        }
    }

    fn report_rewrite(&self, CallRewrite { by, tool, changed, conflicts }: CallRewrite, args: &RawJson) {
        let emitter = &self.run.emitter;
        let (id, args) = (self.call.id.clone(), args.clone());
        emitter.emit(AgentEvent::ToolRewritten { id, by: by.clone(), tool, args, changed });
        for conflict in conflicts {
            let (id, by) = (self.call.id.clone(), [conflict.first, by.clone()]);
            emitter.emit(AgentEvent::ToolRewriteConflict { id, path: conflict.path, by });
        }
    }

    fn timeout_reason(&self, asked: &[usize]) -> String {
        let names: Vec<&str> = asked.iter().map(|index| self.hook_name(*index)).collect();
        format!(
            "blocked: not all hooks answered within the shared {} s; still waiting for {}",
            self.run.agent.config.gate_budget.as_secs_f64(),
            names.join(", ")
        )
    }

    /// Asks the hook or approver that blocked the call whether the run ends too. A panic means that the run continues.
    async fn ask_after_block(&self, decider: Option<RefusalSource<'_>>) -> Result<AfterBlock, CallCancelled> {
        let cancel = &self.run.cancel;
        let after = match decider {
            Some(RefusalSource::Approver(approver)) => {
                self.run.await_decision(approver.after_denial(cancel, &self.call)).await
            }
            Some(RefusalSource::Hook(hook)) => {
                self.run.await_decision(hook.after_block(cancel, &self.call)).await
            }
            None => Ok(AfterBlock::GoOn),
        };
        match after {
            Ok(after) => Ok(after),
            Err(NoDecision::Cancelled) => Err(CallCancelled),
            Err(NoDecision::Panicked) => Ok(AfterBlock::GoOn),
        }
    }

    fn hook_name(&self, index: usize) -> &str {
        self.hook_at(Some(index)).map_or("", |hook| hook.name())
    }

    fn hook_at(&self, index: Option<usize>) -> Option<&Arc<dyn BeforeToolExecute>> {
        self.hooks.get(index?)
    }
}
