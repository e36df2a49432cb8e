//! Tests of `BeforeToolExecute` end to end: the call that runs, the result for the model, and the records in the
//! session.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use haft_core::Agent;
use haft_core::error::TurnErrorKind;
use haft_core::hooks::{
    AfterBlock, BeforeToolExecute, HookRole, HookSet, HookSource, Refusal, RefusalScope, ToolDecision,
};
use haft_core::session::entry::{EntryBody, SessionEntry};
use haft_core::session::intervention::{HookIntervention, InterventionAction};
use haft_core::tool::ToolOutput;
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use tokio_util::sync::CancellationToken;

use crate::fake::{Script, call, calls, run, says, tool, transcript};

/// Returns its decisions in order, then allows; records its queries.
#[derive(Clone, Default)]
struct Gate {
    name: &'static str,
    decisions: Arc<Mutex<VecDeque<ToolDecision>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Gate {
    fn new(name: &'static str, decisions: Vec<ToolDecision>) -> Self {
        Self { name, decisions: Arc::new(Mutex::new(decisions.into())), asked: Arc::default() }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl BeforeToolExecute for Gate {
    async fn before_tool_execute(&self, _: &CancellationToken, call: &ToolCall) -> ToolDecision {
        self.asked.lock().unwrap().push(call.args.to_string());
        self.decisions.lock().unwrap().pop_front().unwrap_or(ToolDecision::Allow)
    }

    fn name(&self) -> &str {
        self.name
    }
}

fn rewrite(args: &str) -> ToolDecision {
    ToolDecision::Rewrite { tool: None, args: RawJson::parse(args).unwrap() }
}

fn script() -> Script {
    Script::new(vec![calls(vec![call("t1", "echo", r#"{"n":1}"#)]), says("ok")])
}

#[tokio::test]
async fn tool_receives_rewritten_arguments_and_transcript_keeps_original() {
    let (first, second) = (Gate::default(), Gate::new("b", vec![rewrite(r#"{"n":2}"#)]));
    let agent = script()
        .agent()
        .tool(tool("echo", |args| ToolOutput::text(args)))
        .before_tool_execute(first.clone())
        .before_tool_execute(second)
        .build()
        .unwrap();
    let (events, _) = run(&agent).await;
    assert_eq!(first.asked(), [r#"{"n":1}"#, r#"{"n":2}"#]);
    let told: Vec<_> = events.iter().filter(|line| line.contains("t1")).collect();
    assert_eq!(told, [r#"call t1 echo {"n":1}"#, r#"rewritten t1 by b {"n":2}"#, r#"result t1 {"n":2}"#]);
    assert_eq!(transcript(&agent)[1], r#"assistant  echo{"n":1}"#);
}

fn interventions(agent: &Agent) -> Vec<HookIntervention> {
    let custom = |entry: &Arc<SessionEntry>| match &entry.body {
        EntryBody::Custom(custom) => HookIntervention::from_custom(custom),
        _ => None,
    };
    agent.session().branch().iter().filter_map(custom).collect()
}

#[tokio::test]
async fn session_records_interventions_in_a_call() {
    let respond = ToolDecision::Respond { output: ToolOutput::text("cached") };
    let stop = ToolDecision::Refuse(Refusal::new(RefusalScope::Turn, "enough"));
    let cases = [
        (ToolDecision::Allow, None),
        (rewrite(r#"{"n":1}"#), None),
        (rewrite(r#"{"n":2}"#), Some((InterventionAction::Rewritten, "a"))),
        (ToolDecision::block("no"), Some((InterventionAction::Blocked, "a"))),
        (respond, Some((InterventionAction::Answered, "a"))),
        (stop, Some((InterventionAction::TurnEnded, "a"))),
    ];
    for (decision, expect) in cases {
        let agent = script()
            .agent()
            .tool(tool("echo", |args| ToolOutput::text(args)))
            .before_tool_execute(Gate::new("a", vec![decision]))
            .build()
            .unwrap();
        let (_, _ended) = run(&agent).await;
        let found: Vec<_> =
            interventions(&agent).into_iter().map(|it| (it.action, it.by.join(","))).collect();
        assert_eq!(found, Vec::from_iter(expect.map(|(action, by)| (action, by.to_owned()))));
    }
}

#[tokio::test]
async fn earlier_hook_can_block_after_a_late_rewrite() {
    let first = Gate::new("a", vec![ToolDecision::Allow, ToolDecision::block("not with 2")]);
    let agent = script()
        .agent()
        .tool(tool("echo", |_| panic!("must not run")))
        .before_tool_execute(first)
        .before_tool_execute(Gate::new("b", vec![rewrite(r#"{"n":2}"#)]))
        .build()
        .unwrap();
    let (events, _) = run(&agent).await;
    assert!(events.contains(&"blocked t1 by a: not with 2".to_owned()));
    assert!(events.contains(&"result t1 error not with 2".to_owned()));
}

#[tokio::test]
async fn invalid_rewritten_arguments_block_the_call() {
    for args in [r#"{"n":"two"}"#, "null", "[1]", r#""s""#] {
        let agent = script()
            .agent()
            .tool(tool("echo", |_| panic!("must not run")))
            .before_tool_execute(Gate::new("b", vec![rewrite(args)]))
            .build()
            .unwrap();
        let (events, _) = run(&agent).await;
        let result = events.iter().find(|line| line.starts_with("result t1 error")).unwrap();
        assert!(
            result.contains("arguments rewritten by b do not match the tool's schema"),
            "{args}: {result}"
        );
    }
}

#[tokio::test]
async fn abort_reports_every_result_before_the_end() {
    let three = vec![call("t1", "echo", "{}"), call("t2", "echo", "{}"), call("t3", "echo", "{}")];
    let abort = ToolDecision::Refuse(Refusal::new(RefusalScope::Turn, "stop"));
    let agent = Script::new(vec![calls(three)])
        .agent()
        .tool(tool("echo", |_| panic!("must not run")))
        .before_tool_execute(Gate::new("a", vec![ToolDecision::block("not this one"), abort]))
        .build()
        .unwrap();
    let (events, _) = run(&agent).await;
    let told: Vec<_> =
        events.iter().filter(|line| line.starts_with("result") || line.starts_with("end")).collect();
    let dangling = "error not run: the turn ended before this call was carried out";
    assert_eq!(
        told,
        [
            "result t1 error not this one",
            &format!("result t2 {dangling}"),
            &format!("result t3 {dangling}"),
            "end Error turn blocked by a: stop"
        ]
    );
    assert_eq!(transcript(&agent)[2], "tool t1 error not this one");
}

#[tokio::test]
async fn abort_leaves_no_call_without_a_result() {
    let abort = ToolDecision::Refuse(Refusal::new(RefusalScope::Turn, "stop"));
    let agent = Script::new(vec![calls(vec![call("t1", "echo", "{}"), call("t2", "echo", "{}")])])
        .agent()
        .tool(tool("echo", |_| panic!("must not run")))
        .before_tool_execute(Gate::new("a", vec![ToolDecision::Allow, abort]))
        .build()
        .unwrap();
    let (_, outcome) = run(&agent).await;
    assert_eq!(outcome.unwrap_err().kind, TurnErrorKind::Blocked { by: "a".into(), reason: "stop".into() });
    let dangling = "error not run: the turn ended before this call was carried out";
    assert_eq!(transcript(&agent)[2..], [format!("tool t1 {dangling}"), format!("tool t2 {dangling}")]);
}

struct Panics;

#[async_trait]
impl BeforeToolExecute for Panics {
    async fn before_tool_execute(&self, _: &CancellationToken, _: &ToolCall) -> ToolDecision {
        panic!("boom")
    }
}

#[tokio::test]
async fn panicking_gate_blocks() {
    let agent = script()
        .agent()
        .tool(tool("echo", |_| panic!("must not run")))
        .before_tool_execute(Panics)
        .build()
        .unwrap();
    let (events, _) = run(&agent).await;
    assert!(events.contains(&"result t1 error the hook panicked".to_owned()));
}

/// A source of one gate.
struct Source(Gate);

impl HookSource for Source {
    fn hooks(&self) -> HookSet {
        let mut hooks = HookSet::default();
        hooks.before_tool_execute.push(Arc::new(self.0.clone()));
        hooks
    }
}

#[tokio::test]
async fn source_hooks_are_asked_after_the_agents_own() {
    let own = Gate::new("own", vec![rewrite(r#"{"n":5}"#)]);
    let late = Gate::default();
    let agent = script()
        .agent()
        .tool(tool("echo", |args| ToolOutput::text(args)))
        .hook_source(Arc::new(Source(late.clone())))
        .before_tool_execute(own)
        .build()
        .unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(late.asked(), [r#"{"n":5}"#]);
}

/// A gate for one tool that answers after a delay.
#[derive(Clone)]
struct Slow {
    name: &'static str,
    tool: &'static str,
    after: Duration,
    decision: ToolDecision,
    /// The answer when its block decided.
    then: AfterBlock,
    told: Arc<Mutex<Vec<String>>>,
}

impl Slow {
    fn new(name: &'static str, seconds: u64, decision: ToolDecision) -> Self {
        let after = Duration::from_secs(seconds);
        Self { name, tool: "echo", after, decision, then: AfterBlock::GoOn, told: Arc::default() }
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }
}

#[async_trait]
impl BeforeToolExecute for Slow {
    async fn before_tool_execute(&self, _: &CancellationToken, call: &ToolCall) -> ToolDecision {
        self.told.lock().unwrap().push(format!("asked {}", call.args));
        // sleep: virtual time
        tokio::time::sleep(self.after).await;
        self.told.lock().unwrap().push("answered".into());
        self.decision.clone()
    }

    fn name(&self) -> &str {
        self.name
    }

    fn role(&self, tool: &str) -> Option<HookRole> {
        (tool == self.tool).then_some(HookRole::Gate)
    }

    async fn after_block(&self, _: &CancellationToken, _: &ToolCall) -> AfterBlock {
        self.told.lock().unwrap().push("blocked".into());
        self.then.clone()
    }
}

fn gated(hooks: impl IntoIterator<Item = Slow>) -> Agent {
    let builder = script().agent().tool(tool("echo", |args| ToolOutput::text(args)));
    hooks.into_iter().fold(builder, |builder, hook| builder.before_tool_execute(hook)).build().unwrap()
}

#[track_caller]
fn result_of(events: &[String]) -> &str {
    events.iter().find(|line| line.starts_with("result t1")).expect("every call has a result")
}

#[tokio::test(start_paused = true)]
async fn gates_run_concurrently_on_rewritten_arguments() {
    let gates = [Slow::new("a", 4, ToolDecision::Allow), Slow::new("b", 5, ToolDecision::Allow)];
    let agent = script()
        .agent()
        .tool(tool("echo", |args| ToolOutput::text(args)))
        .before_tool_execute(gates[0].clone())
        .before_tool_execute(Gate::new("r", vec![rewrite(r#"{"n":2}"#)]))
        .before_tool_execute(gates[1].clone())
        .build()
        .unwrap();
    let start = tokio::time::Instant::now();
    let (events, _) = run(&agent).await;
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    assert_eq!(result_of(&events), r#"result t1 {"n":2}"#);
    for gate in gates {
        assert_eq!(gate.told(), [r#"asked {"n":2}"#, "answered"]);
    }
}

#[tokio::test(start_paused = true)]
async fn first_refusing_gate_decides_without_waiting_for_later_ones() {
    let gates = [
        Slow::new("a", 2, ToolDecision::Allow),
        Slow::new("b", 3, ToolDecision::block("not so")),
        Slow::new("c", 1, ToolDecision::block("never")),
        Slow::new("d", 9, ToolDecision::Allow),
    ];
    let start = tokio::time::Instant::now();
    let (events, _) = run(&gated(gates.clone())).await;
    assert_eq!(start.elapsed(), Duration::from_secs(3));
    assert!(events.contains(&"blocked t1 by b: not so".to_owned()), "{events:?}");
    let ends = gates.map(|gate| gate.told().last().cloned().unwrap());
    assert_eq!(ends, ["answered", "blocked", "answered", r#"asked {"n":1}"#]);
}

#[tokio::test(start_paused = true)]
async fn gate_is_not_asked_about_other_tools() {
    let other = Slow { tool: "bash", ..Slow::new("a", 1, ToolDecision::block("no")) };
    let (events, _) = run(&gated([other.clone()])).await;
    assert_eq!((result_of(&events), other.told()), (r#"result t1 {"n":1}"#, vec![]));
}

#[tokio::test(start_paused = true)]
async fn blocks_call_when_hooks_exceed_the_budget() {
    let quick = Slow::new("quick", 1, ToolDecision::Allow);
    let slow = Slow::new("slow", 60, ToolDecision::Allow);
    let start = tokio::time::Instant::now();
    let (events, outcome) = run(&gated([quick, slow.clone(), Slow { name: "slower", ..slow.clone() }])).await;
    assert_eq!((start.elapsed(), outcome), (Duration::from_secs(30), Ok(())));
    let expect = "result t1 error blocked: not all hooks answered within the shared 30 s; still waiting for slow, slower";
    assert_eq!(result_of(&events), expect);
    assert_eq!(slow.told().len(), 2, "its own block did not decide");

    let agent = script().agent().tool(tool("echo", |args| ToolOutput::text(args)));
    let agent = agent.before_tool_execute(slow).gate_budget(Duration::from_secs(7)).build().unwrap();
    let start = tokio::time::Instant::now();
    assert!(result_of(&run(&agent).await.0).contains("7 s; still waiting for slow"));
    assert_eq!(start.elapsed(), Duration::from_secs(7));
}

#[tokio::test(start_paused = true)]
async fn after_block_is_outside_the_budget_and_can_end_the_run() {
    let then = AfterBlock::AbortAgent { reason: "it keeps failing".into() };
    let gate = Slow { then, ..Slow::new("guard", 1, ToolDecision::block("broken")) };
    let (events, outcome) = run(&gated([gate])).await;
    let (by, reason) = ("guard".to_owned(), "it keeps failing".to_owned());
    assert_eq!(outcome.unwrap_err().kind, TurnErrorKind::Stopped { by, reason });
    assert!(events.contains(&"blocked t1 by guard: broken".to_owned()), "{events:?}");
    assert!(events.contains(&"error stopped by guard: it keeps failing".to_owned()), "{events:?}");
}

#[tokio::test]
async fn agent_abort_ends_the_run_with_its_own_error() {
    let abort = ToolDecision::Refuse(Refusal::new(RefusalScope::Run, "unsafe"));
    let agent = script()
        .agent()
        .tool(tool("echo", |_| panic!("must not run")))
        .before_tool_execute(Gate::new("a", vec![abort]))
        .build()
        .unwrap();
    let (events, outcome) = run(&agent).await;
    let (by, reason) = ("a".to_owned(), "unsafe".to_owned());
    assert_eq!(outcome.unwrap_err().kind, TurnErrorKind::Stopped { by, reason });
    assert_eq!(
        result_of(&events),
        "result t1 error not run: the turn ended before this call was carried out"
    );
}

#[tokio::test]
async fn reports_rewrite_conflicts() {
    let agent = script()
        .agent()
        .tool(tool("echo", |args| ToolOutput::text(args)))
        .before_tool_execute(Gate::new("a", vec![rewrite(r#"{"n":2}"#)]))
        .before_tool_execute(Gate::new("b", vec![rewrite(r#"{"n":3}"#)]))
        .build()
        .unwrap();
    let (events, _) = run(&agent).await;
    let told: Vec<_> = events.iter().filter(|line| line.contains(" t1 ")).collect();
    let steps = [r#"rewritten t1 by a {"n":2}"#, r#"rewritten t1 by b {"n":3}"#, "conflict t1 /n a b"];
    assert_eq!(told[1..4], steps);
}

#[tokio::test]
async fn hook_response_is_marked_and_passes_all_gates() {
    let respond = ToolDecision::Respond { output: ToolOutput::text("old") };
    let answered = |gate: Slow| {
        let builder = script().agent().tool(tool("echo", |_| panic!("must not run")));
        let builder = builder.before_tool_execute(Gate::new("cache", vec![respond.clone()]));
        builder.before_tool_execute(gate).build().unwrap()
    };
    let (events, _) = run(&answered(Slow::new("guard", 0, ToolDecision::Allow))).await;
    assert_eq!(result_of(&events), "result t1 (by cache) old");
    let (events, _) = run(&answered(Slow::new("guard", 0, ToolDecision::block("no")))).await;
    assert_eq!(result_of(&events), "result t1 error no");
}
