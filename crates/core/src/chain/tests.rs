//! Tests of the hook chain with scripted and random decisions.

mod random;
mod renames;

use super::*;
use crate::hooks::HookRole::{Gate, Ordered};

fn json(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

/// The names of the hooks.
const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

fn rewrite(args: &str) -> ToolDecision {
    ToolDecision::Rewrite { tool: None, args: json(args) }
}

fn block() -> ToolDecision {
    ToolDecision::block("no")
}

fn respond() -> ToolDecision {
    ToolDecision::Respond { output: ToolOutput::text("x") }
}

/// Returns the hook that refused the call alone.
fn blocker(verdict: &Verdict) -> Option<&str> {
    match verdict {
        Verdict::Refuse(AttributedRefusal { by, scope: RefusalScope::Call, .. }) => Some(by),
        Verdict::Refuse(_) | Verdict::Run { .. } | Verdict::Respond { .. } => None,
    }
}

fn blocked(by: &str) -> Verdict {
    Verdict::Refuse(Refusal::new(RefusalScope::Call, "no").attribute_to(by))
}

fn runs(args: &str) -> Verdict {
    Verdict::Run { tool: None, args: json(args) }
}

/// A test hook: its role and its decisions in order; after them it allows.
type Script = (HookRole, Vec<ToolDecision>);

fn ordered(decisions: Vec<ToolDecision>) -> Script {
    (Ordered, decisions)
}

fn gate(decisions: Vec<ToolDecision>) -> Script {
    (Gate, decisions)
}

/// The record of a chain run.
struct Played {
    /// The queries in order: hook and call.
    asked: Vec<(usize, String)>,
    verdict: Verdict,
    by: Option<usize>,
}

/// Runs a chain. `pick` selects whose answer arrives first in phase 2; `valid` stands in for the schema check.
fn run(script: &[Script], mut pick: impl FnMut(usize) -> usize, valid: impl Fn(&RawJson) -> bool) -> Played {
    let mut decisions: Vec<_> = script.iter().map(|(_, decisions)| decisions.clone().into_iter()).collect();
    let mut decide = |index: usize| decisions[index].next().unwrap_or(ToolDecision::Allow);
    let mut chain = ToolChain::new("a", json("{}"), script.iter().map(|(role, _)| *role));
    let mut asked = Vec::new();
    let mut told: Vec<usize> = Vec::new();
    loop {
        match chain.step() {
            ChainStep::Ask(index) => {
                asked.push((index, chain.call().args.to_string()));
                chain.answer(index, NAMES[index], decide(index));
            }
            ChainStep::Check { .. } => chain.resolve_check(match valid(&chain.call().args) {
                true => Ok(Vec::new()),
                false => Err(InvalidRewrite::Args("bad".into())),
            }),
            ChainStep::AskAll(open) => {
                for index in open.iter().filter(|index| !told.contains(index)) {
                    asked.push((*index, chain.call().args.to_string()));
                }
                told.extend(&open);
                let index = open[pick(open.len()) % open.len()];
                chain.answer(index, NAMES[index], decide(index));
            }
            ChainStep::Done(outcome) => {
                return Played { asked, verdict: outcome.verdict, by: outcome.decided_by };
            }
        }
    }
}

#[track_caller]
fn check(script: &[Script], asked: &[(usize, &str)], verdict: Verdict) {
    let outcome = run(script, |_| 0, |_| true);
    let got: Vec<(usize, &str)> = outcome.asked.iter().map(|(index, args)| (*index, args.as_str())).collect();
    assert_eq!((got.as_slice(), outcome.verdict), (asked, verdict));
}

#[test]
fn runs_call_when_all_hooks_allow() {
    check(&[], &[], runs("{}"));
    check(&[ordered(vec![]), ordered(vec![])], &[(0, "{}"), (1, "{}")], runs("{}"));
}

#[test]
fn first_block_ends_the_chain() {
    let script = [ordered(vec![]), ordered(vec![block()]), ordered(vec![block()])];
    check(&script, &[(0, "{}"), (1, "{}")], blocked("b"));
}

#[test]
fn earlier_hooks_see_the_rewritten_call() {
    let script =
        [ordered(vec![]), ordered(vec![rewrite(r#"{"a":1}"#)]), ordered(vec![rewrite(r#"{"a":2}"#)])];
    let asked = [(0, "{}"), (1, "{}"), (2, r#"{"a":1}"#), (0, r#"{"a":2}"#), (1, r#"{"a":2}"#)];
    check(&script, &asked, runs(r#"{"a":2}"#));
}

#[test]
fn gate_sees_only_the_final_arguments_at_any_position() {
    let script = [gate(vec![]), ordered(vec![rewrite(r#"{"a":1}"#)]), gate(vec![])];
    check(&script, &[(1, "{}"), (0, r#"{"a":1}"#), (2, r#"{"a":1}"#)], runs(r#"{"a":1}"#));
    check(&[gate(vec![]), gate(vec![block()])], &[(0, "{}"), (1, "{}")], blocked("b"));
}

#[test]
fn gate_that_rewrites_or_responds_blocks_the_call() {
    for more in [rewrite(r#"{"a":9}"#), rewrite("{}"), respond()] {
        let outcome = run(&[gate(vec![more])], |_| 0, |_| true);
        assert_eq!(blocker(&outcome.verdict), Some("a"), "{:?}", outcome.verdict);
        assert_eq!(outcome.by, Some(0));
    }
}

#[test]
fn ignores_rewrites_in_the_final_check() {
    let again = |second| [ordered(vec![ToolDecision::Allow, second]), ordered(vec![rewrite(r#"{"a":1}"#)])];
    let asked = [(0, "{}"), (1, "{}"), (0, r#"{"a":1}"#)];
    check(&again(block()), &asked, blocked("a"));
    check(&again(rewrite(r#"{"a":9}"#)), &asked, runs(r#"{"a":1}"#));
    let abort = Refusal::new(RefusalScope::Run, "no");
    check(&again(ToolDecision::Refuse(abort.clone())), &asked, Verdict::Refuse(abort.attribute_to("a")));
}

#[test]
fn identical_rewrite_asks_no_hook_again() {
    check(&[ordered(vec![]), ordered(vec![rewrite("{}")])], &[(0, "{}"), (1, "{}")], runs("{}"));
}

#[test]
fn equal_value_in_other_spelling_is_not_a_rewrite() {
    let args = r#"{"b":"ä & \"ö\"","a":[1.0,9007199254740993]}"#;
    let other = r#"{"a":[1.0,9007199254740993],"b":"\u00e4 \u0026 \u0022\u00f6\u0022"}"#;
    let first = || ordered(vec![rewrite(args)]);
    let asked = [(0, "{}"), (1, args)];
    check(&[first(), ordered(vec![rewrite(other)])], &asked, runs(args));
    let float = r#"{"b":"ä & \"ö\"","a":[1,9007199254740993]}"#;
    let asked = [(0, "{}"), (1, args), (0, float)];
    check(&[first(), ordered(vec![rewrite(float)])], &asked, runs(float));
}

#[test]
fn gates_run_before_a_response_counts() {
    for last in [ordered(vec![block()]), gate(vec![block()])] {
        check(&[ordered(vec![respond()]), last], &[(0, "{}"), (1, "{}")], blocked("b"));
    }
    check(
        &[ordered(vec![respond()]), gate(vec![])],
        &[(0, "{}"), (1, "{}")],
        Verdict::Respond { by: "a".into(), output: ToolOutput::text("x") },
    );
}

#[test]
fn invalid_rewrite_blocks_before_other_hooks_see_it() {
    let script = [ordered(vec![]), ordered(vec![rewrite(r#"{"a":1}"#)]), ordered(vec![])];
    let outcome = run(&script, |_| 0, |_| false);
    assert_eq!(outcome.asked.len(), 2);
    assert_eq!(blocker(&outcome.verdict), Some("b"));
    assert_eq!(outcome.by, Some(1));
}

#[test]
fn first_refusal_in_hook_order_decides() {
    let script = [gate(vec![]), gate(vec![block()]), gate(vec![block()])];
    for pick in 0..3 {
        let outcome = run(&script, |_| pick, |_| true);
        assert_eq!((outcome.verdict, outcome.by), (blocked("b"), Some(1)));
    }
}

#[test]
fn does_not_wait_for_hooks_after_the_first_refusal() {
    let mut chain = ToolChain::new("a", json("{}"), [Gate, Gate, Gate]);
    assert_eq!(chain.step(), ChainStep::AskAll(vec![0, 1, 2]));
    chain.answer(1, NAMES[1], block());
    assert_eq!(chain.step(), ChainStep::AskAll(vec![0, 2]));
    chain.answer(0, NAMES[0], ToolDecision::Allow);
    let ChainStep::Done(outcome) = chain.step() else { panic!("it does not end") };
    assert_eq!((outcome.verdict, outcome.decided_by), (blocked("b"), Some(1)));
}

#[test]
fn ignores_unrequested_answers() {
    let mut chain = ToolChain::new("a", json("{}"), [Ordered, Gate]);
    chain.answer(1, NAMES[1], ToolDecision::Allow);
    chain.answer(0, NAMES[0], ToolDecision::Allow);
    assert_eq!(chain.step(), ChainStep::AskAll(vec![1]));
    chain.answer(0, NAMES[0], block());
    assert_eq!(chain.step(), ChainStep::AskAll(vec![1]));
}

#[test]
fn rewrite_reports_changes_and_conflicts() {
    let mut chain = ToolChain::new("a", json(r#"{"a":1,"b":1}"#), [Ordered; 3]);
    let mut next = |by: &str, index: usize, args: &str| {
        chain.step();
        let change = chain.answer(index, by, rewrite(args)).cloned();
        chain.step();
        chain.resolve_check(Ok(Vec::new()));
        change
    };
    let change = |by: &str, changed: &[&str], conflicts: &[(&str, &str)]| {
        let conflicts = conflicts
            .iter()
            .map(|(path, first)| RewriteConflict { path: (*path).into(), first: (*first).into() });
        let changed = changed.iter().map(|path| (*path).into()).collect();
        Some(CallRewrite { by: by.into(), tool: None, changed, conflicts: conflicts.collect() })
    };
    assert_eq!(next("x", 0, r#"{"a":2,"b":1}"#), change("x", &["/a"], &[]));
    assert_eq!(next("y", 1, r#"{"a":2,"b":2}"#), change("y", &["/b"], &[]));
    assert_eq!(next("z", 2, r#"{"a":3,"b":{}}"#), change("z", &["/a", "/b"], &[("/a", "x"), ("/b", "y")]));
}

#[test]
fn verdict_needs_approval_unless_vouched() {
    let runs = runs("{}");
    let responds = Verdict::Respond { by: "r".into(), output: ToolOutput::text("x") };
    for (verdict, known, vouched, expect) in [
        (&runs, true, false, true),
        // A hook that vouches for results changes nothing for a call that runs.
        (&runs, true, true, true),
        // A call of an unregistered tool does not run.
        (&runs, false, false, false),
        (&responds, true, false, true),
        (&responds, true, true, false),
        (&responds, false, false, false),
        (&responds, false, true, false),
        (&blocked("b"), true, false, false),
    ] {
        assert_eq!(verdict.needs_approval(known, vouched), expect, "{verdict:?} {known} {vouched}");
    }
}

#[test]
fn any_hook_can_discard_the_turn() {
    let refusal = || Refusal::for_discarded_turn("undo");
    let (hard, verdict) =
        (|| ToolDecision::Refuse(refusal()), || Verdict::Refuse(refusal().attribute_to("a")));
    check(&[ordered(vec![hard()]), gate(vec![])], &[(0, "{}")], verdict());
    check(&[gate(vec![hard()])], &[(0, "{}")], verdict());
    let late = [ordered(vec![ToolDecision::Allow, hard()]), ordered(vec![rewrite(r#"{"a":1}"#)])];
    check(&late, &[(0, "{}"), (1, "{}"), (0, r#"{"a":1}"#)], verdict());
    // The order of the hooks decides, regardless of the scope of the refusals.
    check(&[gate(vec![block()]), gate(vec![hard()])], &[(0, "{}"), (1, "{}")], blocked("a"));
}
