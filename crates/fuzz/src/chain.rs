//! Scripts of hook decisions, run against the chain of hooks of one tool call.
//!
//! A script is text. Each character is one decision of a hook, in the order in which the hook is asked; `|` starts the
//! next hook:
//!
//! - `g` at the start of a hook's script makes the hook a gate.
//! - `-` at the start of a hook's script restricts the hook to calls of the tool `B`.
//! - A digit rewrites the arguments to one of ten values.
//! - `b` blocks the call, `t` aborts the turn, `h` discards the turn, `x` aborts the agent.
//! - `s` answers instead of the tool.
//! - `A` or `B` redirects the call to that tool with the current arguments; the first call is of `A`.
//! - Any other character allows the call. So does a hook that is asked more often than its script is long.
//! - `!` anywhere makes the schema check reject rewritten arguments.
//!
//! For example, `ga|1|b` is three hooks: a gate that allows, a hook that rewrites and a hook that blocks. The script
//! also determines which of several hooks that are asked at the same time answers first.

use haft_core::chain::{ChainStep, InvalidRewrite, ToolChain, Verdict};
use haft_core::hooks::{HookRole, Refusal, RefusalScope, ToolDecision};
use haft_core::protocol::RawJson;
use haft_core::tool::ToolOutput;

use crate::pieces;

/// The tool that is called first, and the other tool.
const CALLED: &str = "A";
const OTHER: &str = "B";

/// A tool with arguments.
type CalledTool = (&'static str, RawJson);

/// The largest number of hooks; more hooks do not find more bugs.
const MAX_HOOKS: usize = 24;

/// Checks one script.
///
/// The chain must end. Of several refusals, the first in hook order wins, regardless of which arrived first. Every hook
/// must have seen the executed call last, and none may have refused it.
pub fn check(script: &[u8]) {
    let mut run = ScriptedRun::new(script);
    let verdict = run.run();
    if run.has_invalid_args {
        return assert!(
            refusal(&verdict).is_some_and(|(scope, _)| scope == RefusalScope::Call),
            "an invalid rewrite led to {verdict:?}"
        );
    }
    if let Some(first) = run.hooks.iter().position(|hook| hook.refusal.is_some()) {
        let expect = run.hooks[first].refusal.map(|scope| (scope, format!("hook {first}")));
        assert_eq!(refusal(&verdict), expect, "the first refusal must win");
        assert!(
            !run.hooks[..first].iter().any(|hook| hook.open),
            "the chain did not wait for a hook before hook {first}"
        );
        return;
    }
    assert!(!run.hooks.iter().any(|hook| hook.open), "the chain did not wait for every hook");
    match &verdict {
        Verdict::Run { tool, args } => {
            assert!(!run.responded, "the tool runs although a hook answered for it");
            let runs = (tool.as_deref().unwrap_or(CALLED), args);
            assert_eq!(runs, run.current_call(), "the executed call differs from the current call");
        }
        Verdict::Respond { .. } => assert!(run.responded, "no hook answered for the tool"),
        Verdict::Refuse(_) => panic!("no hook refused, but the verdict is {verdict:?}"),
    }
    for (index, hook) in run.hooks.iter().enumerate().filter(|(_, hook)| hook.role(run.current.0).is_some()) {
        assert_eq!(hook.saw.as_ref(), Some(&run.current), "hook {index} did not see the executed call");
    }
}

/// One run of a chain, with the state of every hook.
struct ScriptedRun<'a> {
    hooks: Vec<ScriptedHook<'a>>,
    /// True if the schema accepts rewritten arguments.
    fits: bool,
    /// True if the schema rejected arguments.
    has_invalid_args: bool,
    current: Call,
    responded: bool,
    /// Pseudo-random state that selects which of several asked hooks answers next.
    turn: usize,
}

/// One hook with its script and its state.
struct ScriptedHook<'a> {
    gate: bool,
    /// True if the hook skips calls of [`CALLED`].
    only_other: bool,
    decisions: std::slice::Iter<'a, u8>,
    /// The call that the hook last saw or wrote.
    saw: Option<Call>,
    refusal: Option<RefusalScope>,
    /// True if the hook was asked and has not answered.
    open: bool,
}

impl<'a> ScriptedHook<'a> {
    fn new(script: &'a [u8]) -> Self {
        let (only_other, script) = match script {
            [b'-', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let (gate, decisions) = match script {
            [b'g', decisions @ ..] => (true, decisions),
            decisions => (false, decisions),
        };
        Self { gate, only_other, decisions: decisions.iter(), saw: None, refusal: None, open: false }
    }

    fn role(&self, tool: &str) -> Option<HookRole> {
        let has_part = !self.only_other || tool == OTHER;
        has_part.then_some(if self.gate { HookRole::Gate } else { HookRole::Ordered })
    }

    fn next_decision(&mut self, by: String, args: &RawJson) -> ToolDecision {
        let other = |tool: &str| ToolDecision::Rewrite {
            by: by.clone(),
            tool: Some(tool.to_owned()),
            args: args.clone(),
        };
        let refuse = |scope, reason: &str| ToolDecision::Refuse(Refusal::new(scope, by.clone(), reason));
        match self.decisions.next() {
            Some(b'b') => refuse(RefusalScope::Call, "no"),
            Some(b't') => refuse(RefusalScope::Turn, "stop"),
            Some(b'h') => refuse(RefusalScope::DiscardedTurn, "undo"),
            Some(b'x') => refuse(RefusalScope::Run, "end"),
            Some(b's') => ToolDecision::Respond { by, output: ToolOutput::text("done") },
            Some(digit @ b'0'..=b'9') => {
                ToolDecision::Rewrite { by, tool: None, args: numbered_args(*digit) }
            }
            Some(b'A') => other(CALLED),
            Some(b'B') => other(OTHER),
            Some(_) | None => ToolDecision::Allow,
        }
    }
}

impl<'a> ScriptedRun<'a> {
    fn new(script: &'a [u8]) -> Self {
        let hooks = script.split(|byte| *byte == b'|').take(MAX_HOOKS).map(ScriptedHook::new);
        Self {
            hooks: if script.is_empty() { Vec::new() } else { hooks.collect() },
            fits: !script.contains(&b'!'),
            has_invalid_args: false,
            current: (CALLED, RawJson::empty_object()),
            responded: false,
            turn: usize::from(pieces::fnv1a_hash(script).to_le_bytes()[0]),
        }
    }

    fn roles(&self) -> Vec<Option<HookRole>> {
        self.hooks.iter().map(|hook| hook.role(self.current.0)).collect()
    }

    fn current_call(&self) -> (&str, &RawJson) {
        (self.current.0, &self.current.1)
    }

    /// Runs the chain to its verdict. Each hook is asked at most twice and each rewrite is checked twice, which bounds
    /// the number of steps.
    fn run(&mut self) -> Verdict {
        let mut chain = ToolChain::new(CALLED, self.current.1.clone(), self.roles());
        let mut last_round = false;
        for _ in 0..=5 * self.hooks.len() {
            // The chain must ignore the answer of a hook that it did not ask.
            let unasked = ToolDecision::block("an unknown hook", "no");
            assert!(chain.answer(self.hooks.len(), unasked).is_none());
            match chain.step() {
                ChainStep::Ask(index) => {
                    assert!(!last_round, "a hook was asked in order after the last round began");
                    self.ask_in_order(&mut chain, index);
                }
                ChainStep::Check { renamed, .. } => {
                    assert_eq!(
                        &*chain.call().tool,
                        self.current.0,
                        "the checked tool differs from the called tool"
                    );
                    self.has_invalid_args = !self.fits;
                    let roles = if renamed { self.roles() } else { Vec::new() };
                    let misfit = || Misfit::Args("invalid arguments".to_owned());
                    chain.checked(if self.fits { Ok(roles) } else { Err(misfit()) });
                }
                ChainStep::AskAll(indices) => {
                    if !std::mem::replace(&mut last_round, true) {
                        self.begin_last_round(&indices);
                    }
                    self.answer_one(&mut chain, &indices);
                }
                ChainStep::Done(outcome) => return outcome.verdict,
            }
        }
        panic!("the chain does not end")
    }

    fn ask_in_order(&mut self, chain: &mut ToolChain, index: usize) {
        assert_eq!(
            asked_call(chain),
            self.current_call(),
            "hook {index} is asked about a call that is not current"
        );
        assert!(
            !self.has_invalid_args && self.hooks.iter().all(|hook| hook.refusal.is_none()),
            "a hook was asked after a refusal"
        );
        let hook = &mut self.hooks[index];
        assert_eq!(
            (hook.role(self.current.0), &hook.saw),
            (Some(HookRole::Ordered), &None),
            "hook {index} must be asked in order, and only once"
        );
        let decision = hook.decide(format!("hook {index}"), &self.current.1);
        hook.refusal = refusal_scope(&decision);
        match &decision {
            ToolDecision::Rewrite { tool, args, .. } => {
                let tool = match tool.as_deref() {
                    Some(OTHER) => OTHER,
                    Some(_) => CALLED,
                    None => self.current.0,
                };
                self.current = (tool, args.clone());
            }
            ToolDecision::Respond { .. } => self.responded = true,
            ToolDecision::Allow | ToolDecision::Refuse(_) => {}
        }
        hook.saw = Some(self.current.clone());
        chain.answer(index, decision);
    }

    /// Checks that the last round asks all gates and every hook whose call changed after its decision, and no other
    /// hooks.
    fn begin_last_round(&mut self, indices: &[usize]) {
        for (index, hook) in self.hooks.iter_mut().enumerate() {
            let must = hook.role(self.current.0).is_some() && hook.saw.as_ref() != Some(&self.current);
            assert_eq!(indices.contains(&index), must, "membership of hook {index} in the last round");
            hook.open = must;
            if must {
                hook.saw = Some(self.current.clone());
            }
        }
    }

    fn answer_one(&mut self, chain: &mut ToolChain, indices: &[usize]) {
        assert_eq!(
            asked_call(chain),
            self.current_call(),
            "the last round asks about a call that is not current"
        );
        let open = self.hooks.iter().enumerate().filter(|(_, hook)| hook.open).map(|(index, _)| index);
        assert_eq!(indices, open.collect::<Vec<_>>(), "the hooks that have not answered");
        self.turn = self.turn.wrapping_mul(31).wrapping_add(7) & 0xffff;
        let index = indices[self.turn % indices.len()];
        let hook = &mut self.hooks[index];
        hook.open = false;
        let decision = hook.decide(format!("hook {index}"), &self.current.1);
        // A gate can only allow or refuse.
        let more = matches!(decision, ToolDecision::Rewrite { .. } | ToolDecision::Respond { .. });
        hook.refusal = if hook.gate && more { Some(RefusalScope::Call) } else { refusal_scope(&decision) };
        chain.answer(index, decision);
    }
}

/// Returns the call that the chain asks hooks about.
fn asked_call(chain: &ToolChain) -> (&str, &RawJson) {
    (&chain.call().tool, &chain.call().args)
}

fn refusal_scope(decision: &ToolDecision) -> Option<RefusalScope> {
    match decision {
        ToolDecision::Refuse(refusal) => Some(refusal.scope),
        ToolDecision::Allow | ToolDecision::Rewrite { .. } | ToolDecision::Respond { .. } => None,
    }
}

/// Returns the work that a verdict ends, and the hook that refused.
fn verdict_refusal(verdict: &Verdict) -> Option<(RefusalScope, String)> {
    match verdict {
        Verdict::Refuse(refusal) => Some((refusal.scope, refusal.by.clone())),
        Verdict::Run { .. } | Verdict::Respond { .. } => None,
    }
}

fn numbered_args(digit: u8) -> RawJson {
    RawJson::from_value(&[("n", digit)]).unwrap_or_else(|_| RawJson::empty_object())
}
