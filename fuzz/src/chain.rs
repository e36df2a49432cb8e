//! Scripts of decisions, played to the chain of hooks over one tool call.
//!
//! A script is text: a hook's decisions are characters, in the order it is asked; `|` begins the next hook. A hook whose
//! script begins with `g` is a gate. A digit rewrites the arguments to one of ten, `b` blocks, `t` aborts the turn, `h`
//! discards it, `x` aborts the agent, `s` answers for the tool, anything else allows. `!` anywhere makes the schema check refuse
//! rewritten arguments. So `ga|1|b` is three hooks: a gate that allows, one that rewrites, one that blocks. A hook that is
//! asked more often than its script is long allows. Who answers first of those that are asked at once follows from the
//! script.

use haft_core::chain::{ChainStep, ToolChain, Verdict};
use haft_core::hooks::{HookRole, ToolDecision};
use haft_core::protocol::RawJson;
use haft_core::tool::ToolOutput;

use crate::pieces;

/// More hooks than this show nothing new.
const MAX_HOOKS: usize = 24;

/// The chain ends; of several refusals the first in the order of the hooks comes out, whichever came first; what runs
/// was seen by every hook last, and refused by none.
pub fn check(script: &[u8]) {
    let mut play = Play::new(script);
    let verdict = play.run();
    if play.unfit {
        return assert!(
            matches!(verdict, Verdict::Block { .. }),
            "a rewrite that does not fit came to {verdict:?}"
        );
    }
    if let Some(first) = play.hooks.iter().position(|hook| hook.refusal.is_some()) {
        let expect = play.hooks[first].refusal.map(|refusal| (refusal, format!("hook {first}")));
        assert_eq!(refusal(&verdict), expect, "the first refusal decides");
        assert!(
            !play.hooks[..first].iter().any(|hook| hook.open),
            "somebody before hook {first} was not waited for"
        );
        return;
    }
    assert!(!play.hooks.iter().any(|hook| hook.open), "somebody was not waited for");
    match &verdict {
        Verdict::Run { args, .. } => {
            assert!(!play.responded, "somebody answered for the tool");
            assert_eq!(args, &play.args, "other arguments are executed than stand");
        }
        Verdict::Respond { .. } => assert!(play.responded, "nobody answered for the tool"),
        Verdict::Block { .. }
        | Verdict::AbortTurn { .. }
        | Verdict::HardAbort { .. }
        | Verdict::AbortAgent { .. } => {
            panic!("nobody refused, and it came to {verdict:?}")
        }
    }
    for (index, hook) in play.hooks.iter().enumerate() {
        assert_eq!(hook.saw.as_ref(), Some(&play.args), "hook {index} saw other arguments");
    }
}

/// One chain being driven, and what the hooks know.
struct Play<'a> {
    hooks: Vec<Hook<'a>>,
    /// What the schema says to rewritten arguments.
    fits: bool,
    /// It refused some.
    unfit: bool,
    args: RawJson,
    responded: bool,
    /// Changes with every answer: whose turn it is of those that are asked at once.
    turn: usize,
}

/// What one hook will say, and what became of it.
struct Hook<'a> {
    role: HookRole,
    decisions: std::slice::Iter<'a, u8>,
    /// What it was asked about, or wrote, last.
    saw: Option<RawJson>,
    refusal: Option<Refusal>,
    /// It was asked and has not answered.
    open: bool,
}

/// The ways to refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Block,
    AbortTurn,
    HardAbort,
    AbortAgent,
}

impl<'a> Hook<'a> {
    fn new(script: &'a [u8]) -> Self {
        let (role, decisions) = match script {
            [b'g', decisions @ ..] => (HookRole::Gate, decisions),
            decisions => (HookRole::Ordered, decisions),
        };
        Self { role, decisions: decisions.iter(), saw: None, refusal: None, open: false }
    }

    fn decide(&mut self, by: String) -> ToolDecision {
        match self.decisions.next() {
            Some(b'b') => ToolDecision::Block { by, reason: "no".to_owned() },
            Some(b't') => ToolDecision::AbortTurn { by, reason: "stop".to_owned() },
            Some(b'h') => ToolDecision::HardAbort { by, reason: "undo".to_owned() },
            Some(b'x') => ToolDecision::AbortAgent { by, reason: "end".to_owned() },
            Some(b's') => ToolDecision::Respond { by, output: ToolOutput::text("done") },
            Some(digit @ b'0'..=b'9') => ToolDecision::Rewrite { by, tool: None, args: numbered(*digit) },
            Some(_) | None => ToolDecision::Allow,
        }
    }
}

impl<'a> Play<'a> {
    fn new(script: &'a [u8]) -> Self {
        let hooks = script.split(|byte| *byte == b'|').take(MAX_HOOKS).map(Hook::new);
        Self {
            hooks: if script.is_empty() { Vec::new() } else { hooks.collect() },
            fits: !script.contains(&b'!'),
            unfit: false,
            args: RawJson::empty_object(),
            responded: false,
            turn: usize::from(pieces::hash(script).to_le_bytes()[0]),
        }
    }

    /// Every hook is asked at most twice, and every rewrite validated once, so the chain has to end by then.
    fn run(&mut self) -> Verdict {
        let mut chain = ToolChain::new("a", self.args.clone(), self.hooks.iter().map(|hook| hook.role));
        let mut last_round = false;
        for _ in 0..=4 * self.hooks.len() {
            // An answer that nobody asked for counts for nothing.
            let stranger = ToolDecision::Block { by: "a stranger".to_owned(), reason: "no".to_owned() };
            assert!(chain.answer(self.hooks.len(), stranger).is_none());
            match chain.step() {
                ChainStep::Ask(index) => {
                    assert!(!last_round, "asked in order after the last round began");
                    self.ask_in_order(&mut chain, index);
                }
                ChainStep::Resolve => panic!("nobody has another tool called"),
                ChainStep::Validate => {
                    self.unfit = !self.fits;
                    chain.validated(if self.fits { Ok(()) } else { Err("it does not fit".to_owned()) });
                }
                ChainStep::AskAll(indices) => {
                    if !std::mem::replace(&mut last_round, true) {
                        self.begin_last_round(&indices);
                    }
                    self.answer_one(&mut chain, &indices);
                }
                ChainStep::Done(verdict) => return verdict,
            }
        }
        panic!("asked without end")
    }

    fn ask_in_order(&mut self, chain: &mut ToolChain, index: usize) {
        assert_eq!(*chain.args(), self.args, "hook {index} is asked about other arguments than stand");
        assert!(!self.unfit && self.hooks.iter().all(|hook| hook.refusal.is_none()), "asked after a refusal");
        let hook = &mut self.hooks[index];
        assert_eq!(
            (hook.role, &hook.saw),
            (HookRole::Ordered, &None),
            "hook {index} is asked in order, once"
        );
        let decision = hook.decide(format!("hook {index}"));
        hook.refusal = refused(&decision);
        match &decision {
            ToolDecision::Rewrite { args, .. } => self.args = args.clone(),
            ToolDecision::Respond { .. } => self.responded = true,
            ToolDecision::Allow
            | ToolDecision::Block { .. }
            | ToolDecision::AbortTurn { .. }
            | ToolDecision::HardAbort { .. }
            | ToolDecision::AbortAgent { .. } => {}
        }
        hook.saw = Some(self.args.clone());
        chain.answer(index, decision);
    }

    /// All gates are asked, and those whose arguments were changed after they decided, and nobody else.
    fn begin_last_round(&mut self, indices: &[usize]) {
        for (index, hook) in self.hooks.iter_mut().enumerate() {
            let must = hook.saw.as_ref() != Some(&self.args);
            assert_eq!(indices.contains(&index), must, "hook {index} in the last round");
            hook.open = must;
            hook.saw = Some(self.args.clone());
        }
    }

    fn answer_one(&mut self, chain: &mut ToolChain, indices: &[usize]) {
        assert_eq!(*chain.args(), self.args, "the last round is about other arguments than stand");
        let open = self.hooks.iter().enumerate().filter(|(_, hook)| hook.open).map(|(index, _)| index);
        assert_eq!(indices, open.collect::<Vec<_>>(), "who has not answered");
        self.turn = self.turn.wrapping_mul(31).wrapping_add(7) & 0xffff;
        let index = indices[self.turn % indices.len()];
        let hook = &mut self.hooks[index];
        hook.open = false;
        let decision = hook.decide(format!("hook {index}"));
        // A gate may only say yes or no.
        let more = matches!(decision, ToolDecision::Rewrite { .. } | ToolDecision::Respond { .. });
        hook.refusal = match hook.role {
            HookRole::Gate if more => Some(Refusal::Block),
            HookRole::Gate | HookRole::Ordered => refused(&decision),
        };
        chain.answer(index, decision);
    }
}

fn refused(decision: &ToolDecision) -> Option<Refusal> {
    match decision {
        ToolDecision::Block { .. } => Some(Refusal::Block),
        ToolDecision::AbortTurn { .. } => Some(Refusal::AbortTurn),
        ToolDecision::HardAbort { .. } => Some(Refusal::HardAbort),
        ToolDecision::AbortAgent { .. } => Some(Refusal::AbortAgent),
        ToolDecision::Allow | ToolDecision::Rewrite { .. } | ToolDecision::Respond { .. } => None,
    }
}

/// How a call was refused, and by whom.
fn refusal(verdict: &Verdict) -> Option<(Refusal, String)> {
    match verdict {
        Verdict::Block { by, .. } => Some((Refusal::Block, by.clone())),
        Verdict::AbortTurn { by, .. } => Some((Refusal::AbortTurn, by.clone())),
        Verdict::HardAbort { by, .. } => Some((Refusal::HardAbort, by.clone())),
        Verdict::AbortAgent { by, .. } => Some((Refusal::AbortAgent, by.clone())),
        Verdict::Run { .. } | Verdict::Respond { .. } => None,
    }
}

fn numbered(digit: u8) -> RawJson {
    RawJson::from_value(&[("n", digit)]).unwrap_or_else(|_| RawJson::empty_object())
}
