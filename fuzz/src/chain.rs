//! Scripts of decisions, played to the chain of hooks over one tool call.
//!
//! A script is text: a hook's decisions are characters, in the order it is asked; `|` begins the next hook, and one that
//! begins with `g` is a gate. A digit rewrites the arguments to one of ten, `b` blocks, `t` aborts the turn, `x` the
//! agent, `s` answers for the tool, anything else allows. `!` anywhere makes the schema check refuse rewritten
//! arguments, `~` turns the order round in which those answer that are asked at once. So `g|1|b` is three hooks: a gate
//! allows, one rewrites, one blocks. A hook that is asked more often than its script is long allows.

use haft_core::chain::{ChainStep, ToolChain, Verdict};
use haft_core::hooks::{HookRole, ToolDecision};
use haft_core::protocol::RawJson;
use haft_core::tool::ToolOutput;

/// More hooks than this show nothing new.
const MAX_HOOKS: usize = 24;

/// The chain ends; a refusal is what comes out, the first in order of those that were given; what runs was seen by
/// every hook last.
pub fn check(script: &[u8]) {
    let mut play = Play::new(script);
    let verdict = play.run();
    if let Some(refusal) = play.refusal() {
        assert_eq!(verdict, refusal, "the first refusal decides");
        return;
    }
    match verdict {
        Verdict::Run { args } => {
            assert!(!play.responded, "somebody answered for the tool");
            play.every_hook_saw(&args);
        }
        Verdict::Respond { .. } => {
            assert!(play.responded, "nobody answered for the tool");
            play.every_hook_saw(&play.args);
        }
        Verdict::Block { .. } => assert!(play.invalid, "blocked, and nobody did"),
        Verdict::AbortTurn { .. } | Verdict::AbortAgent { .. } => panic!("aborted, and nobody did"),
    }
}

/// One chain being driven, and what the hooks know.
struct Play<'a> {
    hooks: Vec<Hook<'a>>,
    fits: bool,
    backwards: bool,
    args: RawJson,
    responded: bool,
    invalid: bool,
}

/// What one hook will say, the arguments it was asked about, or wrote, last, and its refusal.
struct Hook<'a> {
    role: HookRole,
    decisions: std::slice::Iter<'a, u8>,
    saw: Option<RawJson>,
    refusal: Option<Verdict>,
}

impl<'a> Hook<'a> {
    fn new(script: &'a [u8]) -> Self {
        let (role, decisions) = match script.strip_prefix(b"g") {
            Some(rest) => (HookRole::Gate, rest),
            None => (HookRole::Ordered, script),
        };
        Self { role, decisions: decisions.iter(), saw: None, refusal: None }
    }
}

impl<'a> Play<'a> {
    fn new(script: &'a [u8]) -> Self {
        let hooks = script.split(|byte| *byte == b'|').take(MAX_HOOKS).map(Hook::new);
        Self {
            hooks: if script.is_empty() { Vec::new() } else { hooks.collect() },
            fits: !script.contains(&b'!'),
            backwards: script.contains(&b'~'),
            args: RawJson::empty_object(),
            responded: false,
            invalid: false,
        }
    }

    fn refusal(&self) -> Option<Verdict> {
        self.hooks.iter().find_map(|hook| hook.refusal.clone())
    }

    /// Each hook is asked at most twice, so the chain has to end by then.
    fn run(&mut self) -> Verdict {
        let mut chain = ToolChain::new(self.hooks.iter().map(|hook| hook.role), self.args.clone());
        let (mut asked, mut last_round) = (0, false);
        loop {
            let index = match chain.step() {
                ChainStep::Ask(index) => {
                    assert!(!last_round, "asked in order after the last round began");
                    assert!(self.refusal().is_none() && !self.invalid, "asked after a refusal");
                    assert_eq!(self.hooks[index].role, HookRole::Ordered, "a gate is asked in order");
                    index
                }
                ChainStep::AskAll(open) => {
                    last_round = true;
                    let next = if self.backwards { open.last() } else { open.first() };
                    *next.expect("asked nobody")
                }
                ChainStep::Validate => {
                    assert!(!last_round, "validated in the last round");
                    self.invalid = !self.fits;
                    chain.validated(if self.fits { Ok(()) } else { Err("it does not fit".to_owned()) });
                    continue;
                }
                ChainStep::Done(verdict) => return verdict,
            };
            asked += 1;
            assert!(asked <= 2 * self.hooks.len(), "asked without end");
            let decision = self.decide(index, chain.args().clone(), last_round);
            chain.answer(index, decision);
        }
    }

    fn decide(&mut self, index: usize, args: RawJson, last_round: bool) -> ToolDecision {
        let by = format!("hook {index}");
        let hook = &mut self.hooks[index];
        assert_eq!(args, self.args, "hook {index} is asked about other arguments than stand");
        let decision = match hook.decisions.next() {
            Some(b'b') => ToolDecision::Block { by, reason: "no".to_owned() },
            Some(b't') => ToolDecision::AbortTurn { by, reason: "stop".to_owned() },
            Some(b'x') => ToolDecision::AbortAgent { by, reason: "stop".to_owned() },
            Some(b's') => ToolDecision::Respond { by, output: ToolOutput::text("done") },
            Some(digit @ b'0'..=b'9') => ToolDecision::Rewrite { by, args: numbered(*digit) },
            Some(_) | None => ToolDecision::Allow,
        };
        let gate = hook.role == HookRole::Gate;
        match decision.clone() {
            ToolDecision::Rewrite { by, .. } | ToolDecision::Respond { by, .. } if gate => {
                let reason = format!("{by} is a gate, which may only allow or refuse, and tried to do more");
                hook.refusal = Some(Verdict::Block { by, reason });
            }
            ToolDecision::Rewrite { args, .. } if !last_round => self.args = args,
            ToolDecision::Respond { .. } if !last_round => self.responded = true,
            ToolDecision::Block { by, reason } => hook.refusal = Some(Verdict::Block { by, reason }),
            ToolDecision::AbortTurn { by, reason } => {
                hook.refusal = Some(Verdict::AbortTurn { by, reason });
            }
            ToolDecision::AbortAgent { by, reason } => {
                hook.refusal = Some(Verdict::AbortAgent { by, reason });
            }
            // In the last round only a refusal counts.
            ToolDecision::Allow | ToolDecision::Rewrite { .. } | ToolDecision::Respond { .. } => {}
        }
        hook.saw = Some(self.args.clone());
        decision
    }

    #[track_caller]
    fn every_hook_saw(&self, args: &RawJson) {
        assert_eq!(args, &self.args, "executed other arguments than stand");
        for (index, hook) in self.hooks.iter().enumerate() {
            assert_eq!(hook.saw.as_ref(), Some(args), "hook {index} saw other arguments");
        }
    }
}

fn numbered(digit: u8) -> RawJson {
    RawJson::from_value(&[("n", digit)]).unwrap_or_else(|_| RawJson::empty_object())
}
