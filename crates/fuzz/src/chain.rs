//! The oracle of the chain of hooks over one tool call. An input is a script of the hooks' decisions.
//!
//! A script is text. `|` separates the hooks. The model calls the tool `A`. Each character of a hook is its decision
//! for one question, in order:
//!
//! | character | decision |
//! |---|---|
//! | a digit | replaces the arguments by one of ten values |
//! | `A`, `B` | selects this tool and keeps the arguments |
//! | `s` | returns the result in place of the tool |
//! | `b` | blocks the call |
//! | `t` | ends the turn |
//! | `h` | discards the turn |
//! | `x` | ends the run |
//! | any other, or the end of the script | allows the call |
//!
//! A leading `-` limits the hook to calls of `B`. A `g` at the beginning or after the `-` makes the hook a gate. A `!`
//! anywhere in the script makes the schema check reject all rewrites. For example, `ga|1|b` has three hooks: a gate
//! that allows, a hook that rewrites, and a hook that blocks.
//!
//! The chain asks the hooks of the final check at the same time. The script determines the order of their answers.

use haft_core::chain::{ChainStep, InvalidRewrite, ToolChain, Verdict};
use haft_core::hooks::{HookRole, Refusal, RefusalScope, ToolDecision};
use haft_core::protocol::RawJson;
use haft_core::tool::ToolOutput;

use crate::pieces;

/// The tool that the model calls.
const CALLED: &str = "A";
/// The tool that a hook can select instead.
const OTHER: &str = "B";

/// A tool with arguments.
type CalledTool = (&'static str, RawJson);

/// The maximum number of hooks; more hooks find no further bugs.
const MAX_HOOKS: usize = 24;

/// Checks the outcome of the chain.
///
/// * The chain ends.
/// * Of several refusals, the first in the order of the hooks counts, whatever the order of the answers.
/// * Every hook saw the executed call last, and no hook refused it.
///
/// # Panics
/// If the chain breaks one of these promises.
pub fn check(script: &[u8]) {
    let mut play = ScriptedChain::new(script);
    let verdict = play.run();
    if play.unfit {
        return assert!(
            verdict_refusal(&verdict).is_some_and(|(scope, _)| scope == RefusalScope::Call),
            "the schema rejects the rewrite, but the verdict is {verdict:?}"
        );
    }
    if let Some(first) = play.hooks.iter().position(|hook| hook.refusal.is_some()) {
        let expect = play.hooks[first].refusal.map(|scope| (scope, format!("hook {first}")));
        assert_eq!(verdict_refusal(&verdict), expect, "the first refusal does not decide");
        assert!(
            !play.hooks[..first].iter().any(|hook| hook.open),
            "the chain did not wait for a hook before hook {first}"
        );
        return;
    }
    assert!(!play.hooks.iter().any(|hook| hook.open), "the chain did not wait for a hook");
    match &verdict {
        Verdict::Run { tool, args } => {
            assert!(!play.responded, "the tool runs although a hook returned the result");
            let runs = (tool.as_deref().unwrap_or(CALLED), args);
            assert_eq!(runs, play.current_call(), "the executed call is not the final call");
        }
        Verdict::Respond { .. } => assert!(play.responded, "no hook returned the result"),
        Verdict::Refuse(_) => panic!("no hook refused, but the verdict is {verdict:?}"),
    }
    for (index, hook) in play.hooks.iter().enumerate().filter(|(_, hook)| hook.role(play.call.0).is_some()) {
        assert_eq!(hook.saw.as_ref(), Some(&play.call), "hook {index} did not see the final call last");
    }
}

/// A chain in progress, and the state of its hooks.
struct ScriptedChain<'a> {
    hooks: Vec<ScriptedHook<'a>>,
    /// True if the schema accepts rewritten arguments.
    fits: bool,
    /// True after the schema rejected a rewrite.
    unfit: bool,
    /// The current tool and arguments.
    call: CalledTool,
    /// True after a hook returned the result.
    responded: bool,
    /// Selects the next answer among the hooks that are asked at the same time. Changes with every answer.
    turn: usize,
}

/// The script and the state of one hook.
struct ScriptedHook<'a> {
    gate: bool,
    /// True if the hook has a role only in calls of [`OTHER`].
    late: bool,
    decisions: std::slice::Iter<'a, u8>,
    /// The call that the hook last saw or wrote.
    saw: Option<CalledTool>,
    refusal: Option<RefusalScope>,
    /// True while the hook has an open question.
    open: bool,
}

impl<'a> ScriptedHook<'a> {
    fn new(script: &'a [u8]) -> Self {
        let (late, script) = match script {
            [b'-', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let (gate, decisions) = match script {
            [b'g', decisions @ ..] => (true, decisions),
            decisions => (false, decisions),
        };
        Self { gate, late, decisions: decisions.iter(), saw: None, refusal: None, open: false }
    }

    fn role(&self, tool: &str) -> Option<HookRole> {
        let has_part = !self.late || tool == OTHER;
        has_part.then_some(if self.gate { HookRole::Gate } else { HookRole::Ordered })
    }

    fn next_decision(&mut self, args: &RawJson) -> ToolDecision {
        let other = |tool: &str| ToolDecision::Rewrite { tool: Some(tool.to_owned()), args: args.clone() };
        let refuse = |scope, reason: &str| ToolDecision::Refuse(Refusal::new(scope, reason));
        match self.decisions.next() {
            Some(b'b') => refuse(RefusalScope::Call, "no"),
            Some(b't') => refuse(RefusalScope::Turn, "stop"),
            Some(b'h') => refuse(RefusalScope::DiscardedTurn, "undo"),
            Some(b'x') => refuse(RefusalScope::Run, "end"),
            Some(b's') => ToolDecision::Respond { output: ToolOutput::text("done") },
            Some(digit @ b'0'..=b'9') => ToolDecision::Rewrite { tool: None, args: numbered_args(*digit) },
            Some(b'A') => other(CALLED),
            Some(b'B') => other(OTHER),
            Some(_) | None => ToolDecision::Allow,
        }
    }
}

impl<'a> ScriptedChain<'a> {
    fn new(script: &'a [u8]) -> Self {
        let hooks = script.split(|byte| *byte == b'|').take(MAX_HOOKS).map(ScriptedHook::new);
        Self {
            hooks: if script.is_empty() { Vec::new() } else { hooks.collect() },
            fits: !script.contains(&b'!'),
            unfit: false,
            call: (CALLED, RawJson::empty_object()),
            responded: false,
            turn: usize::from(pieces::fnv1a_hash(script).to_le_bytes()[0]),
        }
    }

    fn roles(&self) -> Vec<Option<HookRole>> {
        self.hooks.iter().map(|hook| hook.role(self.call.0)).collect()
    }

    fn current_call(&self) -> (&str, &RawJson) {
        (self.call.0, &self.call.1)
    }

    /// Drives the chain to its verdict. The chain must end within five steps for each hook.
    fn run(&mut self) -> Verdict {
        let mut chain = ToolChain::new(CALLED, self.call.1.clone(), self.roles());
        let mut final_check = false;
        for _ in 0..=5 * self.hooks.len() {
            // The chain ignores an answer that it did not request.
            let unrequested = ToolDecision::block("no");
            assert!(chain.answer(self.hooks.len(), "an unknown hook", unrequested).is_none());
            match chain.step() {
                ChainStep::Ask(index) => {
                    assert!(!final_check, "hook {index} is asked in order after the final check began");
                    self.ask_in_order(&mut chain, index);
                }
                ChainStep::Check { renamed, .. } => {
                    assert_eq!(&*chain.call().tool, self.call.0, "the schema check is about another tool");
                    self.unfit = !self.fits;
                    let roles = if renamed { self.roles() } else { Vec::new() };
                    let misfit = || InvalidRewrite::Args("the schema rejects it".to_owned());
                    chain.resolve_check(if self.fits { Ok(roles) } else { Err(misfit()) });
                }
                ChainStep::AskAll(indices) => {
                    if !std::mem::replace(&mut final_check, true) {
                        self.begin_final_check(&indices);
                    }
                    self.answer_one(&mut chain, &indices);
                }
                ChainStep::Done(outcome) => return outcome.verdict,
            }
        }
        panic!("the chain does not end")
    }

    fn ask_in_order(&mut self, chain: &mut ToolChain, index: usize) {
        assert_eq!(asked_call(chain), self.current_call(), "hook {index} is asked about another call");
        assert!(
            !self.unfit && self.hooks.iter().all(|hook| hook.refusal.is_none()),
            "hook {index} is asked after a refusal"
        );
        let hook = &mut self.hooks[index];
        assert_eq!(
            (hook.role(self.call.0), &hook.saw),
            (Some(HookRole::Ordered), &None),
            "hook {index} is not an ordered hook, or is asked twice"
        );
        let decision = hook.next_decision(&self.call.1);
        hook.refusal = refusal_scope(&decision);
        match &decision {
            ToolDecision::Rewrite { tool, args, .. } => {
                let tool = match tool.as_deref() {
                    Some(OTHER) => OTHER,
                    Some(_) => CALLED,
                    None => self.call.0,
                };
                self.call = (tool, args.clone());
            }
            ToolDecision::Respond { .. } => self.responded = true,
            ToolDecision::Allow | ToolDecision::Refuse(_) => {}
        }
        hook.saw = Some(self.call.clone());
        chain.answer(index, &format!("hook {index}"), decision);
    }

    /// Checks the hooks that the final check asks: all gates, and all other hooks whose call changed after their
    /// decision.
    fn begin_final_check(&mut self, indices: &[usize]) {
        for (index, hook) in self.hooks.iter_mut().enumerate() {
            let must = hook.role(self.call.0).is_some() && hook.saw.as_ref() != Some(&self.call);
            assert_eq!(indices.contains(&index), must, "hook {index} in the final check");
            hook.open = must;
            if must {
                hook.saw = Some(self.call.clone());
            }
        }
    }

    fn answer_one(&mut self, chain: &mut ToolChain, indices: &[usize]) {
        assert_eq!(asked_call(chain), self.current_call(), "the final check is about another call");
        let open = self.hooks.iter().enumerate().filter(|(_, hook)| hook.open).map(|(index, _)| index);
        assert_eq!(indices, open.collect::<Vec<_>>(), "the chain lists other open questions");
        self.turn = self.turn.wrapping_mul(31).wrapping_add(7) & 0xffff;
        let index = indices[self.turn % indices.len()];
        let hook = &mut self.hooks[index];
        hook.open = false;
        let decision = hook.next_decision(&self.call.1);
        // A gate can only allow or refuse.
        let more = matches!(decision, ToolDecision::Rewrite { .. } | ToolDecision::Respond { .. });
        hook.refusal = if hook.gate && more { Some(RefusalScope::Call) } else { refusal_scope(&decision) };
        chain.answer(index, &format!("hook {index}"), decision);
    }
}

/// Returns the call that the chain asks the hooks about.
fn asked_call(chain: &ToolChain) -> (&str, &RawJson) {
    (&chain.call().tool, &chain.call().args)
}

fn refusal_scope(decision: &ToolDecision) -> Option<RefusalScope> {
    match decision {
        ToolDecision::Refuse(refusal) => Some(refusal.scope),
        ToolDecision::Allow | ToolDecision::Rewrite { .. } | ToolDecision::Respond { .. } => None,
    }
}

/// Returns the scope of the refusal and the hook that refused; `None` without a refusal.
fn verdict_refusal(verdict: &Verdict) -> Option<(RefusalScope, String)> {
    match verdict {
        Verdict::Refuse(refusal) => Some((refusal.scope, refusal.by.clone())),
        Verdict::Run { .. } | Verdict::Respond { .. } => None,
    }
}

fn numbered_args(digit: u8) -> RawJson {
    RawJson::from_value(&[("n", digit)]).unwrap_or_else(|_| RawJson::empty_object())
}
