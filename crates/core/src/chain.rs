//! How the decisions of several hooks about one tool call become one, without asking anybody.
//!
//! Invariant: the arguments of [`Verdict::Run`] are, byte for byte, the arguments that every hook saw last and did
//! not refuse. Enforced by `tests::executed_arguments_were_seen_by_every_hook`.

use haft_protocol::RawJson;

use crate::hooks::ToolDecision;
use crate::tool::ToolOutput;

/// The chain of hooks over one tool call, as a state machine: [`step`](Self::step) says what to do next.
///
/// First every hook is asked in order, each with the arguments the one before left. Rewritten arguments are then
/// checked against the tool's schema. Last, every hook whose arguments were changed after it decided is asked once
/// more; then only a refusal counts.
#[derive(Debug)]
pub struct ToolChain {
    args: RawJson,
    /// What each hook decided on, or wrote, last.
    seen: Vec<Option<RawJson>>,
    phase: Phase,
    rewriters: Vec<String>,
    response: Option<(String, ToolOutput)>,
}

#[derive(Debug)]
enum Phase {
    First { next: usize },
    Validate,
    Final { next: usize },
    Decided(Verdict),
}

/// What the driver of a [`ToolChain`] does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainStep {
    /// Ask this hook about [`ToolChain::args`], then call [`ToolChain::answer`].
    Ask(usize),
    /// Check [`ToolChain::args`] against the schema, then call [`ToolChain::validated`].
    Validate,
    /// Nothing; this is the outcome.
    Done(Verdict),
}

/// What becomes of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It runs with these arguments.
    Run {
        /// What every hook saw last.
        args: RawJson,
    },
    /// It does not run; a hook answered it and nobody objected.
    Respond {
        /// Who answered.
        by: String,
        /// The result.
        output: ToolOutput,
    },
    /// It does not run.
    Block {
        /// Who blocked it.
        by: String,
        /// What the model is told.
        reason: String,
    },
    /// Neither it nor the rest of the turn runs.
    AbortTurn {
        /// Who aborted.
        by: String,
        /// What the user is told.
        reason: String,
    },
}

impl ToolChain {
    /// A chain over `hooks` hooks for a call with these arguments, which fit the tool's schema.
    pub fn new(hooks: usize, args: RawJson) -> Self {
        let seen = vec![None; hooks];
        Self { args, seen, phase: Phase::First { next: 0 }, rewriters: Vec::new(), response: None }
    }

    /// The arguments as they stand.
    pub fn args(&self) -> &RawJson {
        &self.args
    }

    /// What to do next.
    pub fn step(&mut self) -> ChainStep {
        loop {
            match &mut self.phase {
                Phase::First { next } if *next < self.seen.len() => return ChainStep::Ask(*next),
                Phase::First { .. } if self.rewriters.is_empty() => {
                    self.phase = Phase::Decided(self.passed())
                }
                Phase::First { .. } => self.phase = Phase::Validate,
                Phase::Validate => return ChainStep::Validate,
                Phase::Final { next } => {
                    match self.seen.iter().skip(*next).position(|seen| seen.as_ref() != Some(&self.args)) {
                        Some(offset) => {
                            *next += offset;
                            return ChainStep::Ask(*next);
                        }
                        None => self.phase = Phase::Decided(self.passed()),
                    }
                }
                Phase::Decided(verdict) => return ChainStep::Done(verdict.clone()),
            }
        }
    }

    /// Takes the decision of the hook that [`step`](Self::step) named; returns whoever changed the arguments by it.
    pub fn answer(&mut self, decision: ToolDecision) -> Option<&str> {
        let (index, first) = match &mut self.phase {
            Phase::First { next } => (take_next(next), true),
            Phase::Final { next } => (take_next(next), false),
            Phase::Validate | Phase::Decided(_) => return None,
        };
        let rewrites = self.rewriters.len();
        match decision {
            ToolDecision::Block { by, reason } => self.phase = Phase::Decided(Verdict::Block { by, reason }),
            ToolDecision::AbortTurn { by, reason } => {
                self.phase = Phase::Decided(Verdict::AbortTurn { by, reason })
            }
            ToolDecision::Rewrite { by, args } if first && args != self.args => {
                self.args = args;
                self.rewriters.push(by);
            }
            ToolDecision::Respond { by, output } if first => {
                self.response.get_or_insert((by, output));
            }
            // In the final check only a refusal counts.
            ToolDecision::Allow | ToolDecision::Rewrite { .. } | ToolDecision::Respond { .. } => {}
        }
        if let Some(seen) = self.seen.get_mut(index) {
            *seen = Some(self.args.clone());
        }
        self.rewriters.get(rewrites).map(String::as_str)
    }

    /// Takes the outcome of the schema check: `Err` says which argument is wrong.
    pub fn validated(&mut self, outcome: Result<(), String>) {
        self.phase = match outcome {
            Ok(()) => Phase::Final { next: 0 },
            Err(detail) => {
                let by = self.rewriters.join(", ");
                let reason = format!("arguments rewritten by {by} do not fit the tool: {detail}");
                Phase::Decided(Verdict::Block { by, reason })
            }
        };
    }

    fn passed(&self) -> Verdict {
        match &self.response {
            Some((by, output)) => Verdict::Respond { by: by.clone(), output: output.clone() },
            None => Verdict::Run { args: self.args.clone() },
        }
    }
}

fn take_next(next: &mut usize) -> usize {
    let index = *next;
    *next += 1;
    index
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(text: &str) -> RawJson {
        RawJson::parse(text).unwrap()
    }

    fn rewrite(by: &str, args: &str) -> ToolDecision {
        ToolDecision::Rewrite { by: by.into(), args: json(args) }
    }

    fn block(by: &str) -> ToolDecision {
        ToolDecision::Block { by: by.into(), reason: "no".into() }
    }

    /// Runs a chain whose hook `i` gives `script[i]` in turn, then allows; returns who was asked what, and the end.
    fn run(script: Vec<Vec<ToolDecision>>, valid: bool) -> (Vec<(usize, String)>, Verdict) {
        let mut script: Vec<_> = script.into_iter().map(Vec::into_iter).collect();
        let mut chain = ToolChain::new(script.len(), json("{}"));
        let mut asked = Vec::new();
        loop {
            match chain.step() {
                ChainStep::Ask(index) => {
                    asked.push((index, chain.args().to_string()));
                    chain.answer(script[index].next().unwrap_or(ToolDecision::Allow));
                }
                ChainStep::Validate => chain.validated(if valid { Ok(()) } else { Err("bad".into()) }),
                ChainStep::Done(verdict) => return (asked, verdict),
            }
        }
    }

    #[track_caller]
    fn check(script: Vec<Vec<ToolDecision>>, asked: &[(usize, &str)], verdict: Verdict) {
        let (got, end) = run(script, true);
        let got: Vec<(usize, &str)> = got.iter().map(|(index, args)| (*index, args.as_str())).collect();
        assert_eq!((got.as_slice(), end), (asked, verdict));
    }

    #[test]
    fn nobody_objects() {
        check(vec![vec![], vec![]], &[(0, "{}"), (1, "{}")], Verdict::Run { args: json("{}") });
    }

    #[test]
    fn the_first_block_wins_and_ends_the_chain() {
        check(
            vec![vec![], vec![block("b")], vec![block("c")]],
            &[(0, "{}"), (1, "{}")],
            Verdict::Block { by: "b".into(), reason: "no".into() },
        );
    }

    #[test]
    fn rewrites_chain_and_earlier_hooks_see_the_result() {
        check(
            vec![vec![], vec![rewrite("b", r#"{"a":1}"#)], vec![rewrite("c", r#"{"a":2}"#)]],
            &[(0, "{}"), (1, "{}"), (2, r#"{"a":1}"#), (0, r#"{"a":2}"#), (1, r#"{"a":2}"#)],
            Verdict::Run { args: json(r#"{"a":2}"#) },
        );
    }

    #[test]
    fn a_block_in_the_final_check_counts() {
        check(
            vec![vec![ToolDecision::Allow, block("a")], vec![rewrite("b", r#"{"a":1}"#)]],
            &[(0, "{}"), (1, "{}"), (0, r#"{"a":1}"#)],
            Verdict::Block { by: "a".into(), reason: "no".into() },
        );
    }

    #[test]
    fn a_rewrite_in_the_final_check_does_not() {
        check(
            vec![vec![ToolDecision::Allow, rewrite("a", r#"{"a":9}"#)], vec![rewrite("b", r#"{"a":1}"#)]],
            &[(0, "{}"), (1, "{}"), (0, r#"{"a":1}"#)],
            Verdict::Run { args: json(r#"{"a":1}"#) },
        );
    }

    #[test]
    fn a_rewrite_to_the_same_bytes_asks_nobody_again() {
        check(
            vec![vec![], vec![rewrite("b", "{}")]],
            &[(0, "{}"), (1, "{}")],
            Verdict::Run { args: json("{}") },
        );
    }

    #[test]
    fn gates_run_before_a_response_counts() {
        let respond = ToolDecision::Respond { by: "a".into(), output: ToolOutput::text("x") };
        check(
            vec![vec![respond.clone()], vec![block("b")]],
            &[(0, "{}"), (1, "{}")],
            Verdict::Block { by: "b".into(), reason: "no".into() },
        );
        check(
            vec![vec![respond], vec![]],
            &[(0, "{}"), (1, "{}")],
            Verdict::Respond { by: "a".into(), output: ToolOutput::text("x") },
        );
    }

    #[test]
    fn arguments_that_no_longer_fit_block() {
        let (asked, verdict) = run(vec![vec![], vec![rewrite("b", r#"{"a":1}"#)]], false);
        assert_eq!(asked.len(), 2);
        assert!(matches!(verdict, Verdict::Block { by, .. } if by == "b"));
    }

    fn decision() -> impl Strategy<Value = ToolDecision> {
        prop_oneof![
            4 => Just(ToolDecision::Allow),
            3 => (0..3u8).prop_map(|n| rewrite("r", &format!(r#"{{"a":{n}}}"#))),
            1 => Just(block("x")),
        ]
    }

    proptest! {
        #[test]
        fn executed_arguments_were_seen_by_every_hook(
            script in prop::collection::vec(prop::collection::vec(decision(), 0..3), 0..6),
        ) {
            let hooks = script.len();
            let (asked, verdict) = run(script.clone(), true);
            if let Verdict::Run { args } = verdict {
                for (hook, decisions) in script.iter().enumerate() {
                    let last = asked.iter().rev().find(|(index, _)| *index == hook).map(|(_, args)| args.clone());
                    // A hook that wrote the final arguments itself has seen them, too.
                    let first = decisions.first();
                    let wrote = matches!(first, Some(ToolDecision::Rewrite { args: own, .. }) if *own == args);
                    prop_assert!(wrote || last.as_deref() == Some(args.as_str()));
                }
            }
            prop_assert!(asked.len() <= 2 * hooks);
        }
    }
}
