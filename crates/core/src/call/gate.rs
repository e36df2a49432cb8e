//! Asking the hooks about one tool call: what the chain says to ask, within the chain's budget, and then who approves.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_protocol::names;
use tokio::time::{Instant, Sleep, sleep_until};

use super::{Calling, Cancelled, PANICKED};
use crate::agent::Offered;
use crate::chain::{ChainStep, Change, ToolChain, Verdict};
use crate::hooks::{AfterBlock, Approval, ApproveTool, BeforeToolExecute, HookRole, Hooks, ToolDecision};
use crate::schema::Validator;
use crate::session::intervention::Action;
use crate::timeouts::LONGEST_PATIENCE;

/// Who is named when the hooks' time was up: none of them did anything wrong alone.
const BUDGET: &str = names::HAFT;

/// What a call may come to.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// What checks its arguments, which fit; nothing for a tool that only hooks know.
    pub(crate) validator: Option<&'a Validator>,
    /// The tools of which a hook may have another one called.
    pub(crate) others: Option<&'a Offered>,
}

/// One call on its way through its hooks.
struct Gating<'a> {
    calling: &'a Calling<'a>,
    call: &'a ToolCall,
    hooks: &'a [Arc<dyn BeforeToolExecute>],
    scope: Scope<'a>,
    /// When the budget is used up.
    until: Instant,
}

/// Why the chain was left before it came to its end.
enum Left {
    Cancelled,
    /// The budget was used up while these were asked.
    OutOfTime(Vec<usize>),
}

impl Calling<'_> {
    /// Decides about one call and reports a block.
    ///
    /// # Errors
    /// The call was cancelled meanwhile.
    pub(crate) async fn gate(&self, call: &ToolCall, scope: Scope<'_>) -> Result<Verdict, Cancelled> {
        let Hooks { before_tool_execute: mut hooks, approve_tool: mut approvers, .. } = self.agent.hooks();
        if let Some(caller) = self.caller {
            // Who waits for a call of its own cannot be asked about it: it might have no other thread to answer on.
            hooks.retain(|hook| !hook.is_of(caller));
            approvers.retain(|approver| !approver.is_of(caller));
        }
        let roles = hooks.iter().map(|hook| hook.role(&call.name));
        let mut chain = ToolChain::new(&call.name, call.args.clone(), roles);
        let until = Instant::now() + self.agent.gate_budget;
        let gating = Gating { calling: self, call, hooks: &hooks, scope, until };
        let mut verdict = match gating.drive(&mut chain).await {
            Ok(verdict) => verdict,
            Err(Left::Cancelled) => return Err(Cancelled),
            Err(Left::OutOfTime(asked)) => gating.out_of_time(&asked),
        };
        let mut denier = None;
        if gating.needs_approval(&verdict, &chain)
            && let Some((who, by, reason)) = self.denied(&approvers, &gating.subject(&chain)).await?
        {
            (verdict, denier) = (Verdict::Block { by, reason }, Some(who));
        }
        self.remark_verdict(call, &verdict, &chain);
        let Verdict::Block { by, reason } = verdict else { return Ok(verdict) };
        let reason = if reason.is_empty() { format!("tool call refused by {by}") } else { reason };
        let (id, refused) = (call.id.clone(), reason.clone());
        self.emitter.emit(AgentEvent::ToolBlocked { id, by: by.clone(), reason: refused });
        match gating.consequence(denier, chain.decided_by()).await? {
            AfterBlock::GoOn => Ok(Verdict::Block { by, reason }),
            AfterBlock::AbortAgent { reason } => Ok(Verdict::AbortAgent { by, reason }),
        }
    }

    /// Asks who approves, one after the other; the first that denies the call, by what name, and why.
    async fn denied<'a>(
        &self,
        approvers: &'a [Arc<dyn ApproveTool>],
        call: &ToolCall,
    ) -> Result<Option<(&'a dyn ApproveTool, String, String)>, Cancelled> {
        for approver in approvers {
            match self.settle(approver.approve_tool(self.cancel, call)).await {
                Some(Approval::Approve) => {}
                Some(Approval::Deny { by, reason }) => return Ok(Some((approver.as_ref(), by, reason))),
                None if self.cancel.is_cancelled() => return Err(Cancelled),
                None => {
                    let by = approver.name().to_owned();
                    return Ok(Some((approver.as_ref(), by, PANICKED.to_owned())));
                }
            }
        }
        Ok(None)
    }

    /// Notes who came between the call and its tool.
    fn remark_verdict(&self, call: &ToolCall, verdict: &Verdict, chain: &ToolChain) {
        let (action, by) = match verdict {
            Verdict::Run { tool: None, args } if *args == call.args => return,
            Verdict::Run { .. } => {
                let mut by: Vec<String> = chain.changes().iter().map(|change| change.by.clone()).collect();
                by.dedup();
                (Action::Rewritten, by)
            }
            Verdict::Respond { by, .. } => (Action::Answered, vec![by.clone()]),
            Verdict::Block { by, .. } => (Action::Blocked, vec![by.clone()]),
            Verdict::AbortTurn { by, .. }
            | Verdict::HardAbort { by, .. }
            | Verdict::AbortAgent { by, .. } => (Action::TurnEnded, vec![by.clone()]),
        };
        self.remark(Some(&call.id), action, by);
    }
}

impl<'a> Gating<'a> {
    async fn drive(&self, chain: &mut ToolChain) -> Result<Verdict, Left> {
        let mut validator = self.scope.validator;
        let mut last_asked = None;
        // One timer for all of them: to set one and take it away again costs more than to look at one.
        let mut over = pin!(sleep_until(self.until));
        loop {
            match chain.step() {
                ChainStep::Ask(index) => {
                    last_asked = Some(index);
                    let call = self.standing(chain);
                    let answer = self.in_its_time(index, &mut over, self.ask(index, &call)).await;
                    let decision = answer.ok_or(Left::OutOfTime(vec![index]))?.ok_or(Left::Cancelled)?;
                    if let Some(change) = chain.answer(index, decision).cloned() {
                        self.record(change, chain);
                    }
                }
                ChainStep::Resolve => {
                    let found = self.resolve(chain.tool());
                    self.tell_unfit(last_asked, chain, found.as_ref().err());
                    chain.resolved(found.map(|(checks, roles)| {
                        validator = Some(checks);
                        roles
                    }));
                }
                ChainStep::Validate => {
                    let outcome = validator.map_or(Ok(()), |checks| checks.check(chain.args()));
                    let outcome = outcome.map_err(|error| error.to_string());
                    self.tell_unfit(last_asked, chain, outcome.as_ref().err());
                    chain.validated(outcome);
                }
                ChainStep::AskAll(open) => self.ask_all(open, chain, &mut over).await?,
                ChainStep::Done(verdict) => return Ok(verdict),
            }
        }
    }

    /// The call as the hooks have made it.
    fn standing(&self, chain: &ToolChain) -> ToolCall {
        ToolCall { id: self.call.id.clone(), name: chain.tool().to_owned(), args: chain.args().clone() }
    }

    /// What those who approve calls are asked about.
    fn subject(&self, chain: &ToolChain) -> ToolCall {
        let (tool, args) = chain.subject();
        ToolCall { id: self.call.id.clone(), name: tool.to_owned(), args: args.clone() }
    }

    /// What checks the arguments of a tool that is called instead, and the hooks' parts in its calls.
    fn resolve(&self, tool: &str) -> Result<(&'a Validator, Vec<Option<HookRole>>), String> {
        let Some(others) = self.scope.others else {
            return Err(format!("{tool:?}, and what an extension calls stays what it is"));
        };
        let Some((_, validator)) = others.get(tool) else {
            return Err(format!("{tool:?}, which the model is not offered"));
        };
        let validator = validator.get().map_err(|error| format!("{tool:?}: {error}"))?;
        Ok((validator, self.hooks.iter().map(|hook| hook.role(tool)).collect()))
    }

    fn tell_unfit(&self, rewriter: Option<usize>, chain: &ToolChain, detail: Option<&String>) {
        if let (Some(hook), Some(detail)) = (self.hook(rewriter), detail) {
            hook.rewrite_refused(&self.standing(chain), detail);
        }
    }

    fn needs_approval(&self, verdict: &Verdict, chain: &ToolChain) -> bool {
        let (tool, _) = chain.subject();
        let known = self.scope.validator.is_some() || tool != self.call.name;
        let vouched = self.hook(chain.responder()).is_some_and(|hook| hook.vouches(tool));
        verdict.needs_approval(known, vouched)
    }

    /// Asks several hooks at once, until the chain has heard enough; the others are let go.
    async fn ask_all(
        &self,
        open: Vec<usize>,
        chain: &mut ToolChain,
        over: &mut Pin<&mut Sleep>,
    ) -> Result<(), Left> {
        let call = self.standing(chain);
        if let Some(longest) = open.iter().filter_map(|index| self.patience(*index)).max() {
            // Nobody is asked after these.
            let until = over.deadline() + longest;
            over.as_mut().reset(until);
        }
        let ask = async |index| (index, self.ask(index, &call).await);
        let mut asked: FuturesUnordered<_> = open.into_iter().map(ask).collect();
        while let ChainStep::AskAll(open) = chain.step() {
            let Some(answer) = unless_over(over, asked.next()).await else {
                return Err(Left::OutOfTime(open));
            };
            let Some((index, decision)) = answer else { return Ok(()) };
            chain.answer(index, decision.ok_or(Left::Cancelled)?);
        }
        Ok(())
    }

    /// What comes of asking a hook, within the time that all have together. What one takes of its own time is not part of
    /// that.
    async fn in_its_time<T>(
        &self,
        index: usize,
        over: &mut Pin<&mut Sleep>,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let Some(patience) = self.patience(index) else { return unless_over(over, work).await };
        let (begun, until) = (Instant::now(), over.deadline());
        over.as_mut().reset(until + patience);
        let done = unless_over(over, work).await;
        over.as_mut().reset(until + patience.min(begun.elapsed()));
        done
    }

    /// How long a hook may take that keeps a time of its own.
    fn patience(&self, index: usize) -> Option<Duration> {
        Some(self.hook(Some(index))?.patience()?.min(LONGEST_PATIENCE))
    }

    /// Asks one hook; one that panics did not allow the call. `None` when the run was cancelled.
    async fn ask(&self, index: usize, call: &ToolCall) -> Option<ToolDecision> {
        let Some(hook) = self.hook(Some(index)) else { return Some(ToolDecision::Allow) };
        match self.calling.settle(self.question(hook.as_ref(), call)).await {
            Some(decision) => Some(decision),
            None if self.calling.cancel.is_cancelled() => None,
            None => {
                let (by, reason) = (hook.name().to_owned(), PANICKED.to_owned());
                Some(ToolDecision::Block { by, reason })
            }
        }
    }

    async fn question(&self, hook: &dyn BeforeToolExecute, call: &ToolCall) -> ToolDecision {
        let cancel = self.calling.cancel;
        match self.calling.caller {
            None => hook.before_tool_execute(cancel, call).await,
            Some(caller) => hook.before_extension_call(cancel, call, caller).await,
        }
    }

    /// Says who changed what, and over whose change.
    fn record(&self, Change { by, tool, changed, conflicts }: Change, chain: &ToolChain) {
        let (id, args) = (self.call.id.clone(), chain.args().clone());
        self.calling.emitter.emit(AgentEvent::ToolRewritten { id, by: by.clone(), tool, args, changed });
        for conflict in conflicts {
            let (id, by) = (self.call.id.clone(), [conflict.first, by.clone()]);
            self.calling.emitter.emit(AgentEvent::ToolRewriteConflict { id, path: conflict.path, by });
        }
    }

    fn out_of_time(&self, asked: &[usize]) -> Verdict {
        let names: Vec<&str> =
            asked.iter().filter_map(|index| Some(self.hook(Some(*index))?.name())).collect();
        let reason = format!(
            "blocked, because everybody who decides about this has {} s together, and {} had not answered by then",
            self.calling.agent.gate_budget.as_secs_f64(),
            names.join(", ")
        );
        Verdict::Block { by: BUDGET.to_owned(), reason }
    }

    /// Asks whose block it was what else shall follow. One that panics has nothing more to say.
    async fn consequence(
        &self,
        denier: Option<&dyn ApproveTool>,
        decider: Option<usize>,
    ) -> Result<AfterBlock, Cancelled> {
        let Calling { cancel, .. } = self.calling;
        let after = match (denier, self.hook(decider)) {
            (Some(approver), _) => self.calling.settle(approver.denied(cancel, self.call)).await,
            (None, Some(hook)) => self.calling.settle(hook.blocked(cancel, self.call)).await,
            (None, None) => return Ok(AfterBlock::GoOn),
        };
        match after {
            Some(after) => Ok(after),
            None if cancel.is_cancelled() => Err(Cancelled),
            None => Ok(AfterBlock::GoOn),
        }
    }

    fn hook(&self, index: Option<usize>) -> Option<&Arc<dyn BeforeToolExecute>> {
        self.hooks.get(index?)
    }
}

/// What work comes to, unless the time is over first. Work that is done counts, however late it is looked at.
async fn unless_over<T>(over: &mut Pin<&mut Sleep>, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = over => None,
    }
}
