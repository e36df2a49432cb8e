//! Asking the hooks about one tool call: what the chain says to ask, within the chain's budget.

use std::pin::{Pin, pin};
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_protocol::{RawJson, names};
use tokio::time::{Instant, Sleep, sleep_until};

use super::{Calling, Cancelled};
use crate::chain::{ChainStep, Change, ToolChain, Verdict};
use crate::hooks::{AfterBlock, BeforeToolExecute, HookRole, ToolDecision};
use crate::schema::Validator;
use crate::session::intervention::Action;

/// Who is named when the hooks' time was up: none of them did anything wrong alone.
const BUDGET: &str = names::HAFT;

/// One call on its way through its hooks.
struct Gating<'a> {
    calling: &'a Calling<'a>,
    call: &'a ToolCall,
    hooks: &'a [Arc<dyn BeforeToolExecute>],
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
    pub(crate) async fn gate(&self, call: &ToolCall, validator: &Validator) -> Result<Verdict, Cancelled> {
        let hooks = self.agent.hooks().before_tool_execute.into_iter();
        // Who waits for a call of its own cannot be asked about it: it might have no other thread to answer on.
        let own = |hook: &Arc<dyn BeforeToolExecute>| self.caller.is_some_and(|caller| hook.is_of(caller));
        let (hooks, roles): (Vec<Arc<dyn BeforeToolExecute>>, Vec<HookRole>) = hooks
            .filter(|hook| !own(hook))
            .filter_map(|hook| hook.role(&call.name).map(|role| (hook, role)))
            .unzip();
        let mut chain = ToolChain::new(roles, call.args.clone());
        let until = Instant::now() + self.agent.gate_budget;
        let gating = Gating { calling: self, call, hooks: &hooks, until };
        let verdict = match gating.drive(&mut chain, validator).await {
            Ok(verdict) => verdict,
            Err(Left::Cancelled) => return Err(Cancelled),
            Err(Left::OutOfTime(asked)) => gating.out_of_time(&asked),
        };
        self.remark_verdict(call, &verdict, &chain);
        let Verdict::Block { by, reason } = verdict else { return Ok(verdict) };
        let reason = if reason.is_empty() { format!("tool call refused by {by}") } else { reason };
        let (id, refused) = (call.id.clone(), reason.clone());
        self.emitter.emit(AgentEvent::ToolBlocked { id, by: by.clone(), reason: refused });
        match gating.consequence(chain.decided_by()).await? {
            AfterBlock::GoOn => Ok(Verdict::Block { by, reason }),
            AfterBlock::AbortAgent { reason } => Ok(Verdict::AbortAgent { by, reason }),
        }
    }

    /// Notes who came between the call and its tool.
    fn remark_verdict(&self, call: &ToolCall, verdict: &Verdict, chain: &ToolChain) {
        let (action, by) = match verdict {
            Verdict::Run { args } if *args == call.args => return,
            Verdict::Run { .. } => {
                let mut by: Vec<String> = chain.changes().iter().map(|change| change.by.clone()).collect();
                by.dedup();
                (Action::Rewritten, by)
            }
            Verdict::Respond { by, .. } => (Action::Answered, vec![by.clone()]),
            Verdict::Block { by, .. } => (Action::Blocked, vec![by.clone()]),
            Verdict::AbortTurn { by, .. } | Verdict::AbortAgent { by, .. } => {
                (Action::TurnEnded, vec![by.clone()])
            }
        };
        self.remark(Some(&call.id), action, by);
    }
}

impl Gating<'_> {
    async fn drive(&self, chain: &mut ToolChain, validator: &Validator) -> Result<Verdict, Left> {
        let mut last_asked = None;
        // One timer for all of them: to set one and take it away again costs more than to look at one.
        let mut over = pin!(sleep_until(self.until));
        loop {
            match chain.step() {
                ChainStep::Ask(index) => {
                    last_asked = Some(index);
                    let asked = self.ask(index, chain.args().clone());
                    let answer = unless_over(&mut over, asked).await;
                    let decision = answer.ok_or(Left::OutOfTime(vec![index]))?.ok_or(Left::Cancelled)?;
                    if let Some(change) = chain.answer(index, decision).cloned() {
                        self.record(change, chain);
                    }
                }
                ChainStep::Validate => {
                    let outcome = validator.check(chain.args()).map_err(|error| error.to_string());
                    if let (Err(detail), Some(hook)) = (&outcome, self.hook(last_asked)) {
                        hook.rewrite_refused(self.call, detail);
                    }
                    chain.validated(outcome);
                }
                ChainStep::AskAll(open) => self.ask_all(open, chain, &mut over).await?,
                ChainStep::Done(verdict) => return Ok(verdict),
            }
        }
    }

    /// Asks several hooks at once, until the chain has heard enough; the others are let go.
    async fn ask_all(
        &self,
        open: Vec<usize>,
        chain: &mut ToolChain,
        over: &mut Pin<&mut Sleep>,
    ) -> Result<(), Left> {
        let args = chain.args().clone();
        let ask = async |index| (index, self.ask(index, args.clone()).await);
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

    /// Asks one hook; one that panics did not allow the call. `None` when the run was cancelled.
    async fn ask(&self, index: usize, args: RawJson) -> Option<ToolDecision> {
        let call = ToolCall { id: self.call.id.clone(), name: self.call.name.clone(), args };
        let Some(hook) = self.hook(Some(index)) else { return Some(ToolDecision::Allow) };
        match self.calling.settle(self.question(hook.as_ref(), &call)).await {
            Some(decision) => Some(decision),
            None if self.calling.cancel.is_cancelled() => None,
            None => {
                let (by, reason) = (hook.name().to_owned(), "the hook panicked".to_owned());
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
    fn record(&self, Change { by, changed, conflicts }: Change, chain: &ToolChain) {
        let (id, args) = (self.call.id.clone(), chain.args().clone());
        self.calling.emitter.emit(AgentEvent::ToolRewritten { id, by: by.clone(), args, changed });
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

    /// Asks the hook whose block it was what else shall follow. One that panics has nothing more to say.
    async fn consequence(&self, decider: Option<usize>) -> Result<AfterBlock, Cancelled> {
        let Some(hook) = self.hook(decider) else { return Ok(AfterBlock::GoOn) };
        match self.calling.settle(hook.blocked(self.calling.cancel, self.call)).await {
            Some(after) => Ok(after),
            None if self.calling.cancel.is_cancelled() => Err(Cancelled),
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
