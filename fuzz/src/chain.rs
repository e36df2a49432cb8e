//! Scripts of decisions, played to the chain of hooks over one tool call.
//!
//! A script is text: a hook's decisions are characters, in the order it is asked; `|` begins the next hook. A digit
//! rewrites the arguments to one of ten, `b` blocks, `t` aborts the turn, `s` answers for the tool, anything else
//! allows. `!` anywhere makes the schema check refuse rewritten arguments. So `a|1|b` is three hooks: one allows, one
//! rewrites, one blocks. A hook that is asked more often than its script is long allows.

use haft_core::chain::{ChainStep, ToolChain, Verdict};
use haft_core::hooks::ToolDecision;
use haft_core::protocol::RawJson;
use haft_core::tool::ToolOutput;

/// More hooks than this show nothing new.
const MAX_HOOKS: usize = 24;

/// The chain ends; a refusal ends it at once and is what comes out; what runs was seen by every hook last.
pub fn check(script: &[u8]) {
    let mut play = Play::new(script);
    let verdict = play.run();
    if let Some(refusal) = &play.refusal {
        assert_eq!(&verdict, refusal, "the first refusal decides");
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
        Verdict::AbortTurn { .. } => panic!("aborted, and nobody did"),
    }
}

/// One chain being driven, and what the hooks know.
struct Play<'a> {
    hooks: Vec<Hook<'a>>,
    fits: bool,
    args: RawJson,
    responded: bool,
    invalid: bool,
    refusal: Option<Verdict>,
}

/// What one hook will say, and the arguments it was asked about, or wrote, last.
struct Hook<'a> {
    decisions: std::slice::Iter<'a, u8>,
    saw: Option<RawJson>,
}

impl<'a> Play<'a> {
    fn new(script: &'a [u8]) -> Self {
        let hooks = script.split(|byte| *byte == b'|').take(MAX_HOOKS);
        let hooks = hooks.map(|decisions| Hook { decisions: decisions.iter(), saw: None });
        Self {
            hooks: if script.is_empty() { Vec::new() } else { hooks.collect() },
            fits: !script.contains(&b'!'),
            args: RawJson::empty_object(),
            responded: false,
            invalid: false,
            refusal: None,
        }
    }

    /// Each hook is asked at most twice, so the chain has to end by then.
    fn run(&mut self) -> Verdict {
        let mut chain = ToolChain::new(self.hooks.len(), self.args.clone());
        let (mut asked, mut last_round) = (0, false);
        loop {
            match chain.step() {
                ChainStep::Ask(index) => {
                    assert!(self.refusal.is_none() && !self.invalid, "asked after a refusal");
                    asked += 1;
                    assert!(asked <= 2 * self.hooks.len(), "asked without end");
                    let decision = self.decide(index, chain.args().clone(), last_round);
                    chain.answer(decision);
                }
                ChainStep::Validate => {
                    assert!(!last_round, "validated twice");
                    last_round = true;
                    self.invalid = !self.fits;
                    chain.validated(if self.fits { Ok(()) } else { Err("it does not fit".to_owned()) });
                }
                ChainStep::Done(verdict) => return verdict,
            }
        }
    }

    fn decide(&mut self, index: usize, args: RawJson, last_round: bool) -> ToolDecision {
        let by = format!("hook {index}");
        let hook = &mut self.hooks[index];
        assert_eq!(args, self.args, "hook {index} is asked about other arguments than stand");
        let decision = match hook.decisions.next() {
            Some(b'b') => ToolDecision::Block { by, reason: "no".to_owned() },
            Some(b't') => ToolDecision::AbortTurn { by, reason: "stop".to_owned() },
            Some(b's') => ToolDecision::Respond { by, output: ToolOutput::text("done") },
            Some(digit @ b'0'..=b'9') => ToolDecision::Rewrite { by, args: numbered(*digit) },
            Some(_) | None => ToolDecision::Allow,
        };
        match decision.clone() {
            ToolDecision::Rewrite { args, .. } if !last_round => self.args = args,
            ToolDecision::Respond { .. } if !last_round => self.responded = true,
            ToolDecision::Block { by, reason } => self.refusal = Some(Verdict::Block { by, reason }),
            ToolDecision::AbortTurn { by, reason } => self.refusal = Some(Verdict::AbortTurn { by, reason }),
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
