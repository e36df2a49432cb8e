//! G11, simulated: random chains of hooks. Nothing is executed with arguments that a hook did not see last.

use anyhow::{Result, bail, ensure};
use haft_core::chain::{ChainStep, InvalidRewrite, ToolChain, Verdict};
use haft_core::hooks::{HookRole, Refusal, RefusalScope, ToolDecision};
use haft_core::tool::ToolOutput;
use haft_protocol::RawJson;
use serde_json::json;

use super::{GoalContext, GoalFigure};

/// The number of chains.
const CHAINS: (u32, u32) = (10_000, 1_000_000);

/// The largest number of hooks in a chain.
const HOOKS: u64 = 8;

/// One of this many checks of rewritten arguments fails.
const UNFIT: u64 = 16;

pub(super) fn measure(place: &GoalContext) -> Result<Vec<GoalFigure>> {
    let (reduced, full) = CHAINS;
    let chains = place.amount(reduced, full);
    let mut dice = RandomSource(0x6a09_e667_f3bc_c908);
    let (mut executed, mut unseen, mut refused_and_run) = (0_u32, 0_u32, 0_u32);
    for _ in 0..chains {
        let mut play = ChainRun::new(&mut dice);
        if let Verdict::Run { args, .. } = play.run(&mut dice)? {
            executed += 1;
            unseen += u32::from(play.saw.iter().any(|saw| saw.as_ref() != Some(&args)));
            refused_and_run += u32::from(play.refused);
        }
    }
    ensure!(executed > chains / 20, "only {executed} of {chains} chains executed the tool");
    let of = format!("of {chains} random chains, {executed} of which execute");
    Ok(vec![
        GoalFigure::new(
            format!("executed arguments that a hook did not see last, {of}"),
            unseen,
            "0",
            unseen == 0,
        ),
        GoalFigure::new("executed although a hook refused", refused_and_run, "0", refused_and_run == 0),
    ])
}

/// One run of a chain, with the state of its hooks.
struct ChainRun {
    roles: Vec<HookRole>,
    /// The arguments that each hook last saw or wrote.
    saw: Vec<Option<RawJson>>,
    refused: bool,
}

impl ChainRun {
    fn new(dice: &mut RandomSource) -> Self {
        let count = dice.random_below(HOOKS);
        let roles: Vec<HookRole> = (0..count)
            .map(|_| if dice.random_below(2) == 0 { HookRole::Gate } else { HookRole::Ordered })
            .collect();
        Self { saw: vec![None; roles.len()], roles, refused: false }
    }

    fn run(&mut self, dice: &mut RandomSource) -> Result<Verdict> {
        let mut chain = ToolChain::new("a", RawJson::empty_object(), self.roles.iter().copied());
        // Each hook is asked at most twice, and each rewrite is checked once.
        for _ in 0..=4 * self.roles.len() {
            match chain.step() {
                ChainStep::Ask(index) => self.ask(&mut chain, index, dice)?,
                ChainStep::AskAll(indices) => {
                    let picked = usize::try_from(dice.random_below(indices.len() as u64))?;
                    let Some(&index) = indices.get(picked) else { bail!("the chain asks no hook") };
                    self.ask(&mut chain, index, dice)?;
                }
                ChainStep::Check { renamed: true, .. } => bail!("the chain renames a tool without a request"),
                ChainStep::Check { renamed: false, .. } => {
                    let fits = dice.random_below(UNFIT) != 0;
                    self.refused |= !fits;
                    chain.resolve_check(if fits {
                        Ok(Vec::new())
                    } else {
                        Err(InvalidRewrite::Args("invalid arguments".to_owned()))
                    });
                }
                ChainStep::Done(outcome) => return Ok(outcome.verdict),
            }
        }
        bail!("a chain of {} hooks does not end", self.roles.len())
    }

    /// Asks one hook. A rewrite in the last phase is ignored, so the hook has not seen its result.
    fn ask(&mut self, chain: &mut ToolChain, index: usize, dice: &mut RandomSource) -> Result<()> {
        let decision = dice.random_decision()?;
        let asked_again = self.saw.get(index).is_some_and(Option::is_some);
        let writes = self.roles.get(index) == Some(&HookRole::Ordered) && !asked_again;
        let seen = match &decision {
            ToolDecision::Rewrite { args, .. } if writes => args.clone(),
            ToolDecision::Rewrite { .. } | ToolDecision::Allow | ToolDecision::Respond { .. } => {
                chain.call().args.clone()
            }
            ToolDecision::Refuse(_) => {
                self.refused = true;
                chain.call().args.clone()
            }
        };
        if let Some(saw) = self.saw.get_mut(index) {
            *saw = Some(seen);
        }
        chain.answer(index, &format!("hook {index}"), decision);
        Ok(())
    }
}

/// Xorshift with 64 bits: the same chains in every run.
struct RandomSource(u64);

impl RandomSource {
    fn random_below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % bound.max(1)
    }

    fn random_decision(&mut self) -> Result<ToolDecision> {
        Ok(match self.random_below(32) {
            0 => ToolDecision::block("no"),
            1 => ToolDecision::Refuse(Refusal::new(RefusalScope::Turn, "no")),
            2 => ToolDecision::Refuse(Refusal::new(RefusalScope::Run, "no")),
            3 => ToolDecision::Respond { output: ToolOutput::text("done") },
            4..=12 => {
                let args = RawJson::from_value(&json!({"n": self.random_below(4)}))?;
                ToolDecision::Rewrite { tool: None, args }
            }
            _ => ToolDecision::Allow,
        })
    }
}
