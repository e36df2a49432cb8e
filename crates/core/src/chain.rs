//! Merges the decisions of several hooks about one tool call, without I/O.
//!
//! Invariant: every hook with a role in calls of the tool has seen the tool and the arguments of [`Verdict::Run`], byte
//! for byte, and did not refuse them. Enforced by `tests::random::executed_arguments_were_seen_by_every_hook`.

mod diff;

use std::sync::Arc;

use haft_protocol::RawJson;
use haft_protocol::content::ResolvedPath;
use haft_protocol::defense::{Defense, is_up};

use crate::hooks::{AttributedRefusal, HookRole, Refusal, RefusalScope, ToolDecision};
use crate::tool::{CanonicalArgs, ToolOutput};

/// The chain of hooks over one tool call, as a state machine. [`step`](Self::step) returns the next action for the
/// driver.
///
/// Phase 1: the ordered hooks are asked one after the other, each with the call that the previous hook left. Each
/// rewrite is checked against the tool's schema before the next hook sees it; a rewrite to the [same
/// value](RawJson::same_value) is ignored. If a hook selects another tool, the hooks' roles in calls of that tool apply
/// from there on. An ordered hook that has a role only then is asked in its turn, whatever its position. Phase 2: every
/// gate, and every ordered hook whose tool or arguments changed after its decision, is asked concurrently about the
/// final call. Only refusals count in this phase. Of several refusals, the first in the order of the hooks counts,
/// regardless of arrival order.
///
/// The driver uses five methods: [`step`](Self::step), [`call`](Self::call), [`answer`](Self::answer),
/// [`set_canonical`](Self::set_canonical) and [`resolve_check`](Self::resolve_check).
#[derive(Debug)]
pub struct ToolChain {
    called: Arc<str>,
    current: ChainCall,
    hooks: Vec<HookState>,
    phase: ChainPhase,
    changes: Vec<CallRewrite>,
    response: Option<HookResponse>,
}

#[derive(Debug)]
struct HookState {
    /// The hook's role in calls of the tool; `None` without a role.
    role: Option<HookRole>,
    /// The call that the hook last decided on or wrote.
    seen: Option<ChainCall>,
}

/// A hook's result in place of the tool.
#[derive(Debug)]
struct HookResponse {
    index: usize,
    /// The call that the hook answered.
    answers: ChainCall,
    by: String,
    output: ToolOutput,
}

#[derive(Debug)]
enum ChainPhase {
    Ordered,
    Check { rewriter: usize, renamed: bool },
    Final { open: Vec<PendingDecision> },
    Decided { verdict: Verdict, by: Option<usize> },
}

/// One hook in phase 2.
#[derive(Debug)]
struct PendingDecision {
    index: usize,
    /// `None` until the hook answers; then its refusal, if it refused.
    answer: Option<Option<AttributedRefusal>>,
}

/// The next task for the driver of a [`ToolChain`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainStep {
    /// Ask this hook about [`ToolChain::call`], then call [`ToolChain::answer`].
    Ask(usize),
    /// Check that [`ToolChain::call`], which this hook rewrote, can run, and pass the canonical form of its arguments
    /// to [`ToolChain::set_canonical`]. Then call [`ToolChain::resolve_check`].
    Check {
        /// The hook that rewrote the call.
        hook: usize,
        /// True if the hook selected another tool.
        renamed: bool,
    },
    /// Ask these hooks concurrently. Call [`ToolChain::answer`] for each answer as it arrives, until
    /// [`step`](ToolChain::step) returns another step. The remaining answers are not needed.
    AskAll(Vec<usize>),
    /// Stop: the chain has this outcome.
    Done(ChainOutcome),
}

impl ToolChain {
    /// Creates a chain for a call of this tool. The arguments must match the tool's schema and be canonical. A hook
    /// without a role is not asked, but can receive a role when another tool is selected.
    pub fn new(
        tool: &str,
        args: impl Into<CanonicalArgs>,
        roles: impl IntoIterator<Item = impl Into<Option<HookRole>>>,
    ) -> Self {
        let hooks = roles.into_iter().map(|role| HookState { role: role.into(), seen: None }).collect();
        let called: Arc<str> = tool.into();
        let CanonicalArgs { args, resolved_paths } = args.into();
        let stands = ChainCall { tool: called.clone(), args, resolved_paths };
        Self {
            called,
            current: stands,
            hooks,
            phase: ChainPhase::Ordered,
            changes: Vec::new(),
            response: None,
        }
    }

    /// Returns the current call.
    pub fn call(&self) -> &ChainCall {
        &self.current
    }

    /// Returns the next action for the driver.
    pub fn step(&mut self) -> ChainStep {
        loop {
            self.phase = match &self.phase {
                ChainPhase::Ordered => match self.next_ordered() {
                    Some(index) => return ChainStep::Ask(index),
                    None => ChainPhase::Final { open: self.pending_decisions() },
                },
                ChainPhase::Check { rewriter, renamed } => {
                    return ChainStep::Check { hook: *rewriter, renamed: *renamed };
                }
                ChainPhase::Final { open } => match self.final_verdict(open) {
                    Some((verdict, by)) => ChainPhase::Decided { verdict, by },
                    None => return ChainStep::AskAll(unanswered_hooks(open)),
                },
                ChainPhase::Decided { verdict, by } => {
                    return ChainStep::Done(self.build_outcome(verdict.clone(), *by));
                }
            };
        }
    }

    fn build_outcome(&self, verdict: Verdict, decided_by: Option<usize>) -> ChainOutcome {
        let call = self.response.as_ref().map_or(&self.current, |response| &response.answers).clone();
        ChainOutcome { verdict, decided_by, call, changes: self.changes.clone() }
    }

    /// Takes the decision of a hook that [`step`](Self::step) named, and the name of the hook; returns its changes to
    /// the call. An answer that [`step`](Self::step) did not request is ignored.
    pub fn answer(&mut self, index: usize, by: &str, decision: ToolDecision) -> Option<&CallRewrite> {
        let next = self.next_ordered();
        match &mut self.phase {
            ChainPhase::Ordered if next == Some(index) => self.apply_ordered_decision(index, by, decision),
            ChainPhase::Final { open } => {
                let gate = self.hooks.get(index).is_some_and(|hook| hook.role == Some(HookRole::Gate));
                let slot = open.iter_mut().find(|open| open.index == index && open.answer.is_none())?;
                slot.answer = Some(final_refusal(gate, by, decision));
                None
            }
            ChainPhase::Ordered | ChainPhase::Check { .. } | ChainPhase::Decided { .. } => None,
        }
    }

    /// Replaces the arguments of the rewrite that [`ChainStep::Check`] is about with their canonical form. If they
    /// change, the hook that wrote them is asked again in phase 2, because it has not seen them.
    pub fn set_canonical(&mut self, CanonicalArgs { args, resolved_paths }: CanonicalArgs) {
        let ChainPhase::Check { rewriter, .. } = self.phase else { return };
        let same = args == self.current.args;
        self.current = ChainCall { tool: self.current.tool.clone(), args, resolved_paths };
        if let Some(hook) = self.hooks.get_mut(rewriter).filter(|_| same) {
            hook.seen = Some(self.current.clone());
        }
    }

    /// Takes the outcome of [`ChainStep::Check`]. If the tool changed, `Ok` holds the role of each hook in its calls,
    /// in the order of the hooks; otherwise the list is empty.
    ///
    /// [`InvalidRewrite`] refuses the call.
    pub fn resolve_check(&mut self, outcome: Result<Vec<Option<HookRole>>, InvalidRewrite>) {
        let ChainPhase::Check { rewriter, .. } = self.phase else { return };
        self.phase = match outcome {
            Ok(roles) => {
                for (hook, role) in self.hooks.iter_mut().zip(roles) {
                    hook.role = role;
                }
                ChainPhase::Ordered
            }
            Err(misfit) => {
                let by = self.changes.last().map(|change| change.by.clone()).unwrap_or_default();
                ChainPhase::Decided { verdict: Verdict::Refuse(misfit.to_refusal(by)), by: Some(rewriter) }
            }
        };
    }

    /// Returns the first ordered hook that was not asked yet.
    fn next_ordered(&self) -> Option<usize> {
        self.hooks.iter().position(|hook| hook.role == Some(HookRole::Ordered) && hook.seen.is_none())
    }

    /// Returns the hooks that have a role in the final call and have not seen it. Gates have not seen any call yet.
    fn pending_decisions(&self) -> Vec<PendingDecision> {
        let sees_again = is_up(Defense::FinalArguments);
        let unseen = self.hooks.iter().enumerate().filter(|(_, hook)| match &hook.seen {
            Some(seen) => sees_again && hook.role.is_some() && *seen != self.current,
            None => hook.role.is_some(),
        });
        unseen.map(|(index, _)| PendingDecision { index, answer: None }).collect()
    }

    fn apply_ordered_decision(
        &mut self,
        index: usize,
        by: &str,
        decision: ToolDecision,
    ) -> Option<&CallRewrite> {
        let mut changed = false;
        match decision {
            ToolDecision::Allow => {}
            ToolDecision::Rewrite { tool, args } => {
                let tool = tool.filter(|tool| *tool != *self.current.tool);
                let same = args.same_value(&self.current.args);
                if tool.is_some() || !same {
                    let args = if same { self.current.args.clone() } else { args };
                    self.phase = ChainPhase::Check { rewriter: index, renamed: tool.is_some() };
                    self.apply_rewrite(by, tool, args);
                    changed = true;
                }
            }
            ToolDecision::Respond { output } => {
                let (answers, by) = (self.current.clone(), by.to_owned());
                _ = self.response.get_or_insert(HookResponse { index, answers, by, output });
            }
            ToolDecision::Refuse(refusal) => {
                self.phase = ChainPhase::Decided {
                    verdict: Verdict::Refuse(refusal.attribute_to(by)),
                    by: Some(index),
                };
            }
        }
        if let Some(hook) = self.hooks.get_mut(index) {
            hook.seen = Some(self.current.clone());
        }
        self.changes.last().filter(|_| changed)
    }

    fn apply_rewrite(&mut self, by: &str, tool: Option<String>, args: RawJson) {
        let stands = &mut self.current;
        let changed =
            if stands.args == args { Vec::new() } else { diff::changed_pointers(&stands.args, &args) };
        let mut conflicts: Vec<RewriteConflict> = Vec::new();
        for path in &changed {
            let others = self.changes.iter().filter(|change| change.by != by);
            for earlier in
                others.filter(|change| change.changed.iter().any(|old| diff::pointers_overlap(old, path)))
            {
                let conflict = RewriteConflict { path: path.clone(), first: earlier.by.clone() };
                if !conflicts.contains(&conflict) {
                    conflicts.push(conflict);
                }
            }
        }
        if let Some(tool) = &tool {
            stands.tool = tool.as_str().into();
        }
        stands.args = args;
        stands.resolved_paths = Arc::default();
        self.changes.push(CallRewrite { by: by.to_owned(), tool, changed, conflicts });
    }

    /// Returns the outcome of phase 2 as soon as it is certain. A refusal counts when all hooks before it have allowed
    /// the call.
    fn final_verdict(&self, open: &[PendingDecision]) -> Option<(Verdict, Option<usize>)> {
        for PendingDecision { index, answer } in open {
            match answer.as_ref()? {
                None => {}
                Some(refusal) => return Some((Verdict::Refuse(refusal.clone()), Some(*index))),
            }
        }
        if let Some(HookResponse { index, by, output, .. }) = &self.response {
            return Some((Verdict::Respond { by: by.clone(), output: output.clone() }, Some(*index)));
        }
        let ChainCall { tool, args, .. } = &self.current;
        let tool = (*tool != self.called).then(|| tool.to_string());
        Some((Verdict::Run { tool, args: args.clone() }, None))
    }
}

fn unanswered_hooks(open: &[PendingDecision]) -> Vec<usize> {
    open.iter().filter(|open| open.answer.is_none()).map(|open| open.index).collect()
}

/// Returns a hook's refusal in phase 2, where only refusals count. A gate that returns a rewrite or a result refuses
/// the call.
fn final_refusal(gate: bool, by: &str, decision: ToolDecision) -> Option<AttributedRefusal> {
    match decision {
        ToolDecision::Refuse(refusal) => Some(refusal.attribute_to(by)),
        ToolDecision::Rewrite { .. } | ToolDecision::Respond { .. } if gate => {
            let reason = format!(
                "{by} is a gate and tried to change the call; a gate can only allow or refuse a call"
            );
            Some(Refusal::new(RefusalScope::Call, reason).attribute_to(by))
        }
        ToolDecision::Allow | ToolDecision::Rewrite { .. } | ToolDecision::Respond { .. } => None,
    }
}

/// The combined decision of all hooks about a tool call. It is the last of the four forms of an answer; see
/// [`ToolDecision`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The call runs.
    Run {
        /// The tool that a hook selected instead; `None` keeps the model's tool.
        tool: Option<String>,
        /// The arguments that all hooks allowed.
        args: RawJson,
    },
    /// The call does not run. A hook returned the result and no hook refused.
    Respond {
        /// The hook that returned the result.
        by: String,
        /// The result.
        output: ToolOutput,
    },
    /// The call does not run.
    Refuse(AttributedRefusal),
}

impl Verdict {
    /// True if [approvers](crate::hooks::ApproveTool) must be asked before the verdict applies. `known`: the tool
    /// exists. `vouched`: the hook that returned the result vouches for it.
    pub fn needs_approval(&self, known: bool, vouched: bool) -> bool {
        match self {
            Self::Run { .. } => known,
            Self::Respond { .. } => known && !vouched && is_up(Defense::ResponseApproval),
            Self::Refuse(_) => false,
        }
    }
}

/// The outcome of a [`ToolChain`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChainOutcome {
    /// The decision.
    pub verdict: Verdict,
    /// The hook that decided alone: by its refusal, its invalid rewrite, or its result.
    pub decided_by: Option<usize>,
    /// The call that the decision is about, if no hook refused. This is the call that a hook answered, whatever later
    /// hooks changed, or else the final call.
    pub call: ChainCall,
    /// The changes to the call, in order.
    pub changes: Vec<CallRewrite>,
}

/// A tool and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChainCall {
    /// The tool.
    pub tool: Arc<str>,
    /// The arguments.
    pub args: RawJson,
    /// The places that the paths in the arguments mean.
    pub resolved_paths: Arc<[ResolvedPath]>,
}

/// The reasons why a rewritten call cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidRewrite {
    /// The selected tool cannot be called.
    Tool(String),
    /// The arguments do not match the tool's schema.
    Args(String),
}

impl InvalidRewrite {
    /// Returns the description of the error.
    pub fn detail(&self) -> &str {
        match self {
            Self::Tool(detail) | Self::Args(detail) => detail,
        }
    }

    /// Returns the refusal for a hook that rewrote the call to one that cannot run.
    fn to_refusal(&self, by: String) -> AttributedRefusal {
        let reason = match self {
            Self::Tool(detail) => format!("{by} changed the call to a tool that cannot run: {detail}"),
            Self::Args(detail) => {
                format!("arguments rewritten by {by} do not match the tool's schema: {detail}")
            }
        };
        Refusal::new(RefusalScope::Call, reason).attribute_to(by)
    }
}

/// One rewrite of a call by a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallRewrite {
    /// The hook that changed the call.
    pub by: String,
    /// The tool that the hook selected; `None` if the tool did not change.
    pub tool: Option<String>,
    /// JSON pointers to the changed values; `""` is the whole document.
    pub changed: Vec<String>,
    /// The changed values that an earlier hook had already changed.
    pub conflicts: Vec<RewriteConflict>,
}

/// A field that two hooks changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RewriteConflict {
    /// The JSON pointer of the field.
    pub path: String,
    /// The hook that changed the field first.
    pub first: String,
}

#[cfg(test)]
mod tests;
