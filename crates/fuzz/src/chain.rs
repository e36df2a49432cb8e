//! Scripts of decisions, played to the chain of hooks over one tool call.
//!
//! A script is text: a hook's decisions are characters, in the order it is asked; `|` begins the next hook. A hook whose
//! script begins with `g` is a gate. A digit rewrites the arguments to one of ten, `b` blocks, `t` aborts the turn, `h`
//! discards it, `x` aborts the agent, `s` answers for the tool, anything else allows; `A` or `B`
//! has that tool called with the arguments as they stand, and the call is one of `A`. A hook whose script begins with `-`
//! has a part in calls of `B` alone. `!` anywhere makes the schema check refuse
//! rewritten arguments. So `ga|1|b` is three hooks: a gate that allows, one that rewrites, one that blocks. A hook that is
//! asked more often than its script is long allows. Who answers first of those that are asked at once follows from the
//! script.

use haft_core::chain::{ChainStep, InvalidRewrite, ToolChain, Verdict};
use haft_core::hooks::{HookRole, Refusal, RefusalScope, ToolDecision};
use haft_core::protocol::RawJson;
use haft_core::tool::ToolOutput;

use crate::pieces;

/// The tool that is called, and the other one.
const CALLED: &str = "A";
const OTHER: &str = "B";

/// A tool with arguments.
type CalledTool = (&'static str, RawJson);

/// More hooks than this show nothing new.
const MAX_HOOKS: usize = 24;

/// The chain ends; of several refusals the first in the order of the hooks comes out, whichever came first; what runs
/// was seen by every hook last, and refused by none.
pub fn check(script: &[u8]) {
    let mut play = ScriptedChain::new(script);
    let verdict = play.run();
    if play.unfit {
        return assert!(
            verdict_refusal(&verdict).is_some_and(|(scope, _)| scope == RefusalScope::Call),
            "a rewrite that does not fit came to {verdict:?}"
        );
    }
    if let Some(first) = play.hooks.iter().position(|hook| hook.refusal.is_some()) {
        let expect = play.hooks[first].refusal.map(|scope| (scope, format!("hook {first}")));
        assert_eq!(verdict_refusal(&verdict), expect, "the first refusal decides");
        assert!(
            !play.hooks[..first].iter().any(|hook| hook.open),
            "somebody before hook {first} was not waited for"
        );
        return;
    }
    assert!(!play.hooks.iter().any(|hook| hook.open), "somebody was not waited for");
    match &verdict {
        Verdict::Run { tool, args } => {
            assert!(!play.responded, "somebody answered for the tool");
            let runs = (tool.as_deref().unwrap_or(CALLED), args);
            assert_eq!(runs, play.current_call(), "another call is executed than stands");
        }
        Verdict::Respond { .. } => assert!(play.responded, "nobody answered for the tool"),
        Verdict::Refuse(_) => panic!("nobody refused, and it came to {verdict:?}"),
    }
    for (index, hook) in play.hooks.iter().enumerate().filter(|(_, hook)| hook.role(play.call.0).is_some()) {
        assert_eq!(hook.saw.as_ref(), Some(&play.call), "hook {index} saw another call");
    }
}

/// One chain being driven, and what the hooks know.
struct ScriptedChain<'a> {
    hooks: Vec<ScriptedHook<'a>>,
    /// The verdict of the schema on rewritten arguments.
    fits: bool,
    /// It refused some.
    unfit: bool,
    call: CalledTool,
    responded: bool,
    /// Changes with every answer: whose turn it is of those that are asked at once.
    turn: usize,
}

/// The script of one hook, and its outcome.
struct ScriptedHook<'a> {
    gate: bool,
    /// It has no part in calls of [`CALLED`].
    late: bool,
    decisions: std::slice::Iter<'a, u8>,
    /// The arguments it was asked about, or wrote, last.
    saw: Option<CalledTool>,
    refusal: Option<RefusalScope>,
    /// It was asked and has not answered.
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

    /// Every hook is asked at most twice, and every rewrite looked at twice, so the chain has to end by then.
    fn run(&mut self) -> Verdict {
        let mut chain = ToolChain::new(CALLED, self.call.1.clone(), self.roles());
        let mut last_round = false;
        for _ in 0..=5 * self.hooks.len() {
            // An answer that nobody asked for counts for nothing.
            let stranger = ToolDecision::block("a stranger", "no");
            assert!(chain.answer(self.hooks.len(), stranger).is_none());
            match chain.step() {
                ChainStep::Ask(index) => {
                    assert!(!last_round, "asked in order after the last round began");
                    self.ask_in_order(&mut chain, index);
                }
                ChainStep::Check { renamed, .. } => {
                    assert_eq!(&*chain.call().tool, self.call.0, "another tool is checked than is called");
                    self.unfit = !self.fits;
                    let roles = if renamed { self.roles() } else { Vec::new() };
                    let misfit = || InvalidRewrite::Args("it does not fit".to_owned());
                    chain.resolve_check(if self.fits { Ok(roles) } else { Err(misfit()) });
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
        panic!("asked without end")
    }

    fn ask_in_order(&mut self, chain: &mut ToolChain, index: usize) {
        assert_eq!(asked_call(chain), self.current_call(), "hook {index} is asked about another call");
        assert!(!self.unfit && self.hooks.iter().all(|hook| hook.refusal.is_none()), "asked after a refusal");
        let hook = &mut self.hooks[index];
        assert_eq!(
            (hook.role(self.call.0), &hook.saw),
            (Some(HookRole::Ordered), &None),
            "hook {index} is asked in order, once"
        );
        let decision = hook.next_decision(format!("hook {index}"), &self.call.1);
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
        chain.answer(index, decision);
    }

    /// All gates are asked, and those whose call was changed after they decided, and nobody else.
    fn begin_last_round(&mut self, indices: &[usize]) {
        for (index, hook) in self.hooks.iter_mut().enumerate() {
            let must = hook.role(self.call.0).is_some() && hook.saw.as_ref() != Some(&self.call);
            assert_eq!(indices.contains(&index), must, "hook {index} in the last round");
            hook.open = must;
            if must {
                hook.saw = Some(self.call.clone());
            }
        }
    }

    fn answer_one(&mut self, chain: &mut ToolChain, indices: &[usize]) {
        assert_eq!(asked_call(chain), self.current_call(), "the last round is about another call");
        let open = self.hooks.iter().enumerate().filter(|(_, hook)| hook.open).map(|(index, _)| index);
        assert_eq!(indices, open.collect::<Vec<_>>(), "who has not answered");
        self.turn = self.turn.wrapping_mul(31).wrapping_add(7) & 0xffff;
        let index = indices[self.turn % indices.len()];
        let hook = &mut self.hooks[index];
        hook.open = false;
        let decision = hook.next_decision(format!("hook {index}"), &self.call.1);
        // A gate may only say yes or no.
        let more = matches!(decision, ToolDecision::Rewrite { .. } | ToolDecision::Respond { .. });
        hook.refusal = if hook.gate && more { Some(RefusalScope::Call) } else { refusal_scope(&decision) };
        chain.answer(index, decision);
    }
}

/// The call that hooks are asked about.
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
