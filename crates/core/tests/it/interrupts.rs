//! Tests of interrupted runs, skipped calls, and results that the user already has.

use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use haft_core::error::TurnErrorKind;
use haft_core::hooks::{BeforeModelRequest, CancellationToken, OutgoingRequest, RequestDecision};
use haft_core::tool::{Tool, ToolConcurrency, ToolContext, ToolOutput, ToolSpec};
use haft_core::{Agent, QueueDelivery};
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;

use crate::fake::{Answer, Script, answer, call, calls, run, says, spec, tool, transcript, whenever};

/// A tool that runs alone and calls a closure with the agent.
struct Does<F> {
    agent: Arc<OnceLock<Agent>>,
    act: F,
}

#[async_trait]
impl<F: Fn(&Agent) + Send + Sync> Tool for Does<F> {
    fn spec(&self) -> Arc<ToolSpec> {
        spec("alone", ToolConcurrency::Exclusive)
    }

    async fn execute(&self, _: ToolContext, _: ToolCall) -> ToolOutput {
        (self.act)(self.agent.get().unwrap());
        ToolOutput::text("ran")
    }
}

/// Records for each request whether it was marked as the last.
#[derive(Clone, Default)]
struct Watches(Arc<Mutex<Vec<(u32, bool, usize)>>>);

#[async_trait]
impl BeforeModelRequest for Watches {
    async fn before_model_request(
        &self,
        _: &CancellationToken,
        request: &OutgoingRequest,
    ) -> RequestDecision {
        self.0.lock().unwrap().push((request.step, request.last, request.tools.len()));
        RequestDecision::Send
    }
}

/// Builds an agent whose tool `alone` calls the closure.
fn doing(script: &Script, skips: bool, act: impl Fn(&Agent) + Send + Sync + 'static) -> (Agent, Watches) {
    let (slot, watches) = (Arc::new(OnceLock::new()), Watches::default());
    let agent = script
        .agent()
        .tool(Does { agent: slot.clone(), act })
        .tool(tool("echo", |_| ToolOutput::text("echoed")))
        .steering_skips(skips)
        .before_model_request(watches.clone())
        .build()
        .unwrap();
    slot.set(agent.clone()).unwrap();
    (agent, watches)
}

fn three_calls() -> Answer {
    calls(vec![call("t1", "alone", "{}"), call("t2", "echo", "{}"), call("t3", "alone", "{}")])
}

#[tokio::test]
async fn interrupt_skips_pending_calls_and_sends_a_last_request() {
    let script = Script::new(vec![three_calls(), says("half is done")]);
    let (agent, watches) = doing(&script, false, |agent| assert!(agent.interrupt("sum up")));
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    let skipped = "Skipped due to graceful interrupt.";
    assert_eq!(
        transcript(&agent),
        [
            "user go",
            "assistant  alone{} echo{} alone{}",
            "tool t1 ran",
            &format!("tool t2 error {skipped}"),
            &format!("tool t3 error {skipped}"),
            "user sum up",
            "assistant half is done "
        ]
    );
    assert_eq!(*watches.0.lock().unwrap(), [(1, false, 2), (2, true, 0)]);
    let told: Vec<_> =
        events.iter().filter(|line| line.contains("t2") || line.contains("interrupted")).collect();
    assert_eq!(
        told,
        [
            "call t2 echo {}",
            r#"{"type":"interrupted","hint_bytes":6}"#,
            r#"{"type":"tool_skipped","id":"t2","name":"echo","reason":"graceful interrupt requested"}"#,
            &format!("result t2 error {skipped}")
        ]
    );
}

#[tokio::test]
async fn interrupt_without_hint_uses_the_default_text() {
    let script = Script::new(vec![calls(vec![call("t1", "alone", "{}")]), says("half")]);
    let (agent, _) = doing(&script, false, |agent| assert!(agent.interrupt("")));
    run(&agent).await.1.unwrap();
    assert!(transcript(&agent)[3].starts_with("user Stop here"), "{:#?}", transcript(&agent));
}

#[tokio::test]
async fn calls_in_the_last_answer_do_not_run() {
    let again =
        answer(Some("wait"), vec![call("t9", "echo", "{}")], haft_protocol::message::StopCause::ToolUse);
    let script = Script::new(vec![calls(vec![call("t1", "alone", "{}")]), again]);
    let (agent, _) = doing(&script, false, |agent| assert!(agent.interrupt("sum up")));
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    assert!(!events.contains(&"call t9 echo {}".to_owned()));
    let last = transcript(&agent).pop().unwrap();
    assert_eq!(last, "tool t9 error not run: the turn ended before this call was carried out");
}

#[tokio::test]
async fn queued_messages_survive_an_interrupt() {
    let script = Script::new(vec![calls(vec![call("t1", "alone", "{}")]), says("half")]);
    let (agent, _) = doing(&script, false, |agent| {
        assert_eq!(agent.follow_up("then").unwrap(), QueueDelivery::Running);
        assert_eq!(agent.steer("and").unwrap(), QueueDelivery::Running);
        assert!(agent.interrupt("sum up"));
    });
    run(&agent).await.1.unwrap();
    let waiting = agent.queued_messages();
    assert_eq!((waiting.steering.len(), waiting.follow_up.len()), (1, 1));
    assert_eq!(transcript(&agent).last().unwrap(), "assistant half ");
}

/// Interrupts a run while the model answers without a call.
async fn interrupted_while_answering(hint: &'static str, answers: Vec<Answer>) -> Agent {
    let agent = whenever(Script::new(answers).agent(), move |agent, event| {
        if let AgentEvent::AssistantStart = event
            && agent.messages().len() == 1
        {
            assert!(agent.interrupt(hint));
            assert_eq!(agent.follow_up("then").unwrap(), QueueDelivery::Running);
        }
    });
    assert!(!agent.interrupt(hint), "there is no active run");
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    assert!(!events.contains(&"user then".to_owned()), "the run was to end");
    agent
}

#[tokio::test]
async fn stopped_model_is_asked_again_only_with_a_hint() {
    let agent = interrupted_while_answering("", vec![says("done")]).await;
    assert_eq!(transcript(&agent), ["user go", "assistant done "]);
    let agent = interrupted_while_answering("in German", vec![says("done"), says("fertig")]).await;
    let lines = ["user go", "assistant done ", "user in German", "assistant fertig "];
    assert_eq!(transcript(&agent), lines);
}

#[tokio::test]
async fn interrupt_affects_only_one_run() {
    let script = Script::new(vec![says("done"), calls(vec![call("t1", "echo", "{}")]), says("ok")]);
    let watches = Watches::default();
    let builder = script.agent().tool(tool("echo", |_| ToolOutput::text("echoed")));
    let agent = whenever(builder.before_model_request(watches.clone()), |agent, event| {
        if let AgentEvent::AssistantStart = event
            && agent.messages().len() == 1
        {
            assert!(agent.interrupt(""));
        }
    });
    run(&agent).await.1.unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent).last().unwrap(), "assistant ok ");
    assert_eq!(*watches.0.lock().unwrap(), [(1, false, 1), (1, false, 1), (2, false, 1)]);
}

#[tokio::test]
async fn abort_overrides_an_interrupt() {
    let script = Script::new(vec![three_calls()]);
    let aborts: Arc<OnceLock<CancellationToken>> = Arc::default();
    let token = aborts.clone();
    let (agent, _) = doing(&script, false, move |agent| {
        assert!(agent.interrupt("sum up"));
        token.get().unwrap().cancel();
    });
    let run = agent.prompt("go");
    aborts.set(run.cancellation_token()).unwrap();
    assert_eq!(run.finish().await.unwrap_err().kind, TurnErrorKind::Aborted);
    assert!(!transcript(&agent).contains(&"user sum up".to_owned()));
}

#[tokio::test]
async fn steering_skips_pending_calls_if_configured() {
    let results = |skips| async move {
        let script = Script::new(vec![three_calls(), says("ok")]);
        let (agent, _) = doing(&script, skips, |agent| {
            if agent.queued_messages().is_empty() {
                assert_eq!(agent.steer("other").unwrap(), QueueDelivery::Running);
            }
        });
        let (events, outcome) = run(&agent).await;
        outcome.unwrap();
        assert_eq!(transcript(&agent)[5], "user other");
        let skipped = events.iter().filter(|line| line.contains("queued user steering message")).count();
        (transcript(&agent)[2..5].to_vec(), skipped)
    };
    let told = |text: &str| ["t1", "t2", "t3"].map(|id| format!("tool {id} {text}"));
    let (usual, _) = results(false).await;
    assert_eq!(usual, ["tool t1 ran", "tool t2 echoed", "tool t3 ran"]);
    let (skipping, skipped) = results(true).await;
    assert_eq!((skipping[0].as_str(), skipped), ("tool t1 ran", 2));
    assert_eq!(skipping[1..], told("error Skipped due to queued user message.")[1..]);
}

fn handled(text: &str) -> ToolOutput {
    ToolOutput::text(text).with_handled(true)
}

fn handling(script: &Script) -> Agent {
    let sent = tool("send", |_| handled("sent"));
    script.agent().tool(sent).tool(tool("echo", |_| ToolOutput::text("echoed"))).build().unwrap()
}

#[tokio::test]
async fn handled_results_cause_no_further_request() {
    let script = Script::new(vec![calls(vec![call("t1", "send", "{}"), call("t2", "send", "{}")])]);
    let agent = handling(&script);
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(transcript(&agent).last().unwrap(), "tool t2 sent");
    assert!(events.contains(&"end ToolUse".to_owned()), "{events:#?}");
}

#[tokio::test]
async fn one_unhandled_result_causes_a_request() {
    let script =
        Script::new(vec![calls(vec![call("t1", "send", "{}"), call("t2", "echo", "{}")]), says("ok")]);
    let agent = handling(&script);
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent).last().unwrap(), "assistant ok ");
}

#[tokio::test]
async fn queued_message_is_answered_after_handled_results() {
    let script = Script::new(vec![calls(vec![call("t1", "send", "{}")]), says("ok")]);
    let sent = tool("send", |_| handled("sent"));
    let agent = whenever(script.agent().tool(sent), |agent, event| {
        if let AgentEvent::ToolCall { .. } = event {
            assert_eq!(agent.steer("and now?").unwrap(), QueueDelivery::Running);
        }
    });
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent)[2..], ["tool t1 sent", "user and now?", "assistant ok "]);
}

fn final_tool() -> impl Tool + 'static {
    tool("finish", |_| ToolOutput::text("finished").with_terminate(true))
}

#[tokio::test]
async fn one_terminating_result_ends_the_run_after_all_calls() {
    let script = Script::new(vec![calls(vec![call("t1", "finish", "{}"), call("t2", "echo", "{}")])]);
    let echo = tool("echo", |_| ToolOutput::text("echoed"));
    let agent = script.agent().tool(final_tool()).tool(echo).build().unwrap();
    let (_, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(transcript(&agent)[2..], ["tool t1 finished", "tool t2 echoed"]);
}

#[tokio::test]
async fn queued_message_is_answered_after_terminating_result() {
    let script = Script::new(vec![calls(vec![call("t1", "finish", "{}")]), says("ok")]);
    let agent = whenever(script.agent().tool(final_tool()), |agent, event| {
        if let AgentEvent::ToolCall { .. } = event {
            assert_eq!(agent.steer("and now?").unwrap(), QueueDelivery::Running);
        }
    });
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent)[2..], ["tool t1 finished", "user and now?", "assistant ok "]);
}
