//! Random chains: every hook with a role has seen the call that runs.

use proptest::prelude::*;

use super::*;

fn decision() -> impl Strategy<Value = ToolDecision> {
    prop_oneof![
        6 => Just(ToolDecision::Allow),
        2 => (0..3usize, 0..3u8).prop_map(|(tool, n)| ToolDecision::Rewrite {
            tool: Some(TOOLS[tool].into()),
            args: json(&format!(r#"{{"a":{n}}}"#)),
        }),
        4 => (0..4u8).prop_map(|n| rewrite(&format!(r#"{{"a":{n}}}"#))),
        1 => Just(respond()),
        // Refusals, and failures, which count as refusals.
        1 => Just(block()),
        1 => Just(ToolDecision::Refuse(Refusal::new(RefusalScope::Run, "no"))),
    ]
}

/// The tools that random hooks select; all exist.
const TOOLS: [&str; 3] = ["a", "b", "c"];

/// Generates a hook with any role in calls of each tool.
fn played() -> impl Strategy<Value = ([Option<HookRole>; 3], Vec<ToolDecision>)> {
    let role = || prop_oneof![2 => Just(Some(Ordered)), 2 => Just(Some(Gate)), 1 => Just(None)];
    ([role(), role(), role()], prop::collection::vec(decision(), 0..3))
}

/// The call that a hook last saw or wrote, and its decisions about it.
#[derive(Clone, Default)]
struct Knows {
    saw: Option<(String, RawJson)>,
    /// The number of queries.
    asked: usize,
    /// True if the hook refused, or returned more than yes or no as a gate.
    refused: bool,
    /// True if the hook returned a result in phase 1.
    answered: bool,
}

proptest! {
    #[test]
    fn executed_arguments_were_seen_by_every_hook(
        hooks in prop::collection::vec(played(), 0..8),
        order in prop::collection::vec(any::<usize>(), 16),
        unfit in 0..8u8,
    ) {
        let unfit = json(&format!(r#"{{"a":{unfit}}}"#));
        let mut order = order.into_iter().cycle();
        let roles = |tool: &str| -> Vec<Option<HookRole>> {
            let at = TOOLS.iter().position(|other| *other == tool).unwrap();
            hooks.iter().map(|(roles, _)| roles[at]).collect()
        };
        let mut knows = vec![Knows::default(); hooks.len()];
        let mut chain = ToolChain::new("a", json("{}"), roles("a"));
        let mut last_round = false;
        let outcome = loop {
            let index = match chain.step() {
                ChainStep::Ask(index) => index,
                ChainStep::AskAll(open) => {
                    last_round = true;
                    open[order.next().unwrap() % open.len()]
                }
                ChainStep::Check { renamed, .. } => {
                    let ChainCall { tool, args, .. } = chain.call();
                    let parts = if renamed { roles(tool) } else { Vec::new() };
                    let checked = if *args == unfit { Err(InvalidRewrite::Args("bad".into())) } else { Ok(parts) };
                    chain.resolve_check(checked);
                    continue;
                }
                ChainStep::Done(outcome) => break outcome,
            };
            let role = roles(&chain.call().tool)[index];
            let known = &mut knows[index];
            let decision = hooks[index].1.get(known.asked).cloned().unwrap_or(ToolDecision::Allow);
            known.asked += 1;
            known.saw = Some((chain.call().tool.to_string(), chain.call().args.clone()));
            match &decision {
                ToolDecision::Allow => {}
                ToolDecision::Rewrite { tool, args, .. } if !last_round => {
                    let tool = tool.clone().unwrap_or_else(|| chain.call().tool.to_string());
                    known.saw = Some((tool, args.clone()));
                }
                ToolDecision::Respond { .. } if !last_round => known.answered = true,
                ToolDecision::Rewrite { .. } | ToolDecision::Respond { .. } => {
                    known.refused |= role == Some(Gate);
                }
                ToolDecision::Refuse(_) => known.refused = true,
            }
            prop_assert!(role.is_some() && known.asked <= 2, "{index} was asked {} times", known.asked);
            chain.answer(index, NAMES[index], decision);
        };
        let Verdict::Run { tool, args } = outcome.verdict else { return Ok(()) };
        let tool = tool.unwrap_or_else(|| "a".to_owned());
        prop_assert!(args != unfit || (outcome.changes.is_empty()));
        for (index, (known, role)) in knows.iter().zip(roles(&tool)).enumerate() {
            if role.is_some() {
                prop_assert_eq!(known.saw.as_ref(), Some(&(tool.clone(), args.clone())), "hook {}", index);
            }
            // No hook that was asked refused, whichever call it was asked about.
            prop_assert!(!known.refused && !known.answered, "hook {index} did not let it pass");
        }
    }
}
