//! Chains in which a hook selects another tool.

use super::*;

fn rename(tool: &str, args: &str) -> ToolDecision {
    ToolDecision::Rewrite { tool: Some(tool.into()), args: json(args) }
}

/// A hook: its role in calls of `a` and of `b`, and its decisions in order.
type Hook = (Option<HookRole>, Option<HookRole>, Vec<ToolDecision>);

/// Runs a chain over a call of `a`; the only other tool is `b`.
fn play(hooks: &[Hook]) -> (Vec<String>, Verdict, Option<usize>) {
    let mut decisions: Vec<_> = hooks.iter().map(|(.., decisions)| decisions.clone().into_iter()).collect();
    let mut chain = ToolChain::new("a", json("{}"), hooks.iter().map(|(of_a, ..)| *of_a));
    let mut asked = Vec::new();
    for _ in 0..100 {
        match chain.step() {
            ChainStep::Ask(index) => {
                asked.push(format!("{index} {}{}", chain.call().tool, chain.call().args));
                chain.answer(index, NAMES[index], decisions[index].next().unwrap_or(ToolDecision::Allow));
            }
            ChainStep::Check { renamed: false, .. } => chain.resolve_check(Ok(Vec::new())),
            ChainStep::Check { renamed: true, .. } => {
                let roles = match &*chain.call().tool {
                    "a" => Ok(hooks.iter().map(|(of_a, ..)| *of_a).collect()),
                    "b" => Ok(hooks.iter().map(|(_, of_b, _)| *of_b).collect()),
                    other => Err(InvalidRewrite::Tool(format!("no {other}"))),
                };
                chain.resolve_check(roles);
            }
            ChainStep::AskAll(open) => {
                let index = open[0];
                asked.push(format!("{index} {}{} finally", chain.call().tool, chain.call().args));
                chain.answer(index, NAMES[index], decisions[index].next().unwrap_or(ToolDecision::Allow));
            }
            ChainStep::Done(outcome) => return (asked, outcome.verdict, outcome.decided_by),
        }
    }
    panic!("it does not end: {asked:?}");
}

#[track_caller]
fn check(hooks: &[Hook], asked: &[&str], verdict: Verdict) {
    let (got, outcome, _) = play(hooks);
    assert_eq!((got.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), outcome), (asked, verdict));
}

fn runs(tool: &str, args: &str) -> Verdict {
    Verdict::Run { tool: Some(tool.into()), args: json(args) }
}

#[test]
fn hooks_with_a_role_in_the_new_tool_see_the_final_call() {
    let hooks = [
        (Some(Gate), None, vec![]),
        (None, Some(Gate), vec![]),
        (Some(Ordered), Some(Ordered), vec![]),
        (Some(Ordered), None, vec![rename("b", r#"{"n":1}"#)]),
        (Some(Ordered), None, vec![]),
        (None, Some(Ordered), vec![]),
    ];
    let asked = ["2 a{}", "3 a{}", r#"5 b{"n":1}"#, r#"1 b{"n":1} finally"#, r#"2 b{"n":1} finally"#];
    check(&hooks, &asked, runs("b", r#"{"n":1}"#));
}

#[test]
fn asks_hook_that_has_a_role_only_in_the_new_tool() {
    let hooks = [
        (None, Some(Ordered), vec![rewrite(r#"{"safe":1}"#)]),
        (Some(Ordered), Some(Ordered), vec![rename("b", "{}")]),
    ];
    let asked = ["1 a{}", "0 b{}", r#"1 b{"safe":1} finally"#];
    check(&hooks, &asked, runs("b", r#"{"safe":1}"#));
}

#[test]
fn role_can_differ_in_the_new_tool() {
    // The hook has already allowed in phase 1, and now only a refusal counts.
    let hooks = [
        (Some(Ordered), Some(Gate), vec![ToolDecision::Allow, rewrite("{}")]),
        (Some(Ordered), None, vec![rename("b", "{}")]),
    ];
    let (asked, verdict, by) = play(&hooks);
    assert_eq!(asked, ["0 a{}", "1 a{}", "0 b{} finally"]);
    assert_eq!(blocker(&verdict), Some("a"));
    assert_eq!(by, Some(0));
}

#[test]
fn changing_the_tool_back_restores_the_roles() {
    let hooks = [
        (Some(Ordered), None, vec![]),
        (Some(Ordered), None, vec![rename("b", "{}")]),
        (None, Some(Ordered), vec![rename("a", "{}")]),
    ];
    check(&hooks, &["0 a{}", "1 a{}", "2 b{}", "1 a{} finally"], super::runs("{}"));
    let named = [(Some(Ordered), None, vec![rename("a", "{}")])];
    check(&named, &["0 a{}"], super::runs("{}"));
}

#[test]
fn missing_tool_blocks_without_asking_other_hooks() {
    let hooks = [(Some(Ordered), None, vec![rename("c", "{}")]), (Some(Ordered), None, vec![])];
    let (asked, verdict, by) = play(&hooks);
    assert_eq!((asked.len(), by), (1, Some(0)));
    let reason = "a changed the call to a tool that cannot run: no c";
    assert_eq!(verdict, Verdict::Refuse(Refusal::new(RefusalScope::Call, reason).attribute_to("a")));
}

#[test]
fn response_survives_a_later_tool_change_and_its_gates_decide() {
    let answers = |gate| {
        [
            (Some(Ordered), None, vec![respond()]),
            (Some(Ordered), None, vec![rename("b", "{}")]),
            (None, Some(Gate), vec![gate]),
        ]
    };
    let asked = ["0 a{}", "1 a{}", "2 b{} finally"];
    check(
        &answers(ToolDecision::Allow),
        &asked,
        Verdict::Respond { by: "a".into(), output: ToolOutput::text("x") },
    );
    check(&answers(block()), &asked, blocked("c"));
}

#[test]
fn change_reports_tool_and_changed_arguments() {
    let mut chain = ToolChain::new("a", json(r#"{"n":1}"#), [Ordered, Ordered]);
    chain.step();
    let change = chain.answer(0, NAMES[0], rename("b", r#"{"n":1}"#)).cloned().unwrap();
    assert_eq!((change.tool.as_deref(), change.changed.len()), (Some("b"), 0));
    assert_eq!(chain.step(), ChainStep::Check { hook: 0, renamed: true });
    // Other answers do not count before the check is resolved.
    assert_eq!(chain.answer(1, NAMES[1], block()), None);
    chain.resolve_check(Ok(vec![Some(Ordered); 2]));
    chain.step();
    chain.resolve_check(Err(InvalidRewrite::Args("out of turn".into())));
    let change = chain.answer(1, NAMES[1], rewrite(r#"{"n":2}"#)).cloned().unwrap();
    assert_eq!((change.tool, change.changed), (None, vec!["/n".to_owned()]));
}

#[test]
fn response_stays_bound_to_the_answered_call() {
    let mut chain = ToolChain::new("a", json(r#"{"n":1}"#), [Ordered, Ordered]);
    assert_eq!(chain.step(), ChainStep::Ask(0));
    chain.answer(0, NAMES[0], respond());
    assert_eq!(chain.step(), ChainStep::Ask(1));
    chain.answer(1, NAMES[1], rename("b", r#"{"n":2}"#));
    let renamed = ChainCall { tool: "b".into(), args: json(r#"{"n":2}"#), resolved_paths: Arc::default() };
    assert_eq!(*chain.call(), renamed);
    chain.resolve_check(Ok(vec![None; 2]));
    let ChainStep::Done(outcome) = chain.step() else { panic!("it does not end") };
    let answered = ChainCall { tool: "a".into(), args: json(r#"{"n":1}"#), resolved_paths: Arc::default() };
    assert_eq!((outcome.decided_by, outcome.call), (Some(0), answered));
}
