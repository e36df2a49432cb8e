//! Runs that come to an end in good order, calls that are passed over, and results that the user has already.

use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use haft_core::error::TurnErrorKind;
use haft_core::hooks::{BeforeModelRequest, CancellationToken, OutgoingRequest, RequestDecision};
use haft_core::tool::{Tool, ToolConcurrency, ToolContext, ToolOutput, ToolSpec};
use haft_core::{Agent, QueueDelivery};
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;

use crate::fake::{Answer, Script, answer, call, calls, run, says, spec, tool, transcript, whenever};

/// A tool that runs alone, and has something done to the agent while it does.
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

/// Keeps whether each request was said to be the last.
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

/// An agent whose tool `alone` does this to it.
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
async fn an_interrupt_skips_what_has_not_begun_and_asks_once_more_without_tools() {
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
async fn without_a_hint_the_model_is_told_to_stop() {
    let script = Script::new(vec![calls(vec![call("t1", "alone", "{}")]), says("half")]);
    let (agent, _) = doing(&script, false, |agent| assert!(agent.interrupt("")));
    run(&agent).await.1.unwrap();
    assert!(transcript(&agent)[3].starts_with("user Stop here"), "{:#?}", transcript(&agent));
}

#[tokio::test]
async fn a_model_that_calls_tools_all_the_same_is_not_asked_again() {
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
async fn what_waits_when_a_run_is_interrupted_waits_on() {
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

/// Interrupts a run whose model is answering without a call.
async fn interrupted_while_answering(hint: &'static str, answers: Vec<Answer>) -> Agent {
    let agent = whenever(Script::new(answers).agent(), move |agent, event| {
        if let AgentEvent::AssistantStart = event
            && agent.messages().len() == 1
        {
            assert!(agent.interrupt(hint));
            assert_eq!(agent.follow_up("then").unwrap(), QueueDelivery::Running);
        }
    });
    assert!(!agent.interrupt(hint), "nothing is under way");
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    assert!(!events.contains(&"user then".to_owned()), "the run was to end");
    agent
}

#[tokio::test]
async fn a_model_that_stops_by_itself_is_asked_again_only_if_something_was_said() {
    let agent = interrupted_while_answering("", vec![says("done")]).await;
    assert_eq!(transcript(&agent), ["user go", "assistant done "]);
    let agent = interrupted_while_answering("in German", vec![says("done"), says("fertig")]).await;
    let lines = ["user go", "assistant done ", "user in German", "assistant fertig "];
    assert_eq!(transcript(&agent), lines);
}

#[tokio::test]
async fn an_interrupt_is_of_one_run() {
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
async fn an_abort_beats_an_interrupt() {
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
async fn steering_skips_what_has_not_begun_if_the_agent_is_made_so() {
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
    ToolOutput { handled: true, ..ToolOutput::text(text) }
}

fn handling(script: &Script) -> Agent {
    let sent = tool("send", |_| handled("sent"));
    script.agent().tool(sent).tool(tool("echo", |_| ToolOutput::text("echoed"))).build().unwrap()
}

#[tokio::test]
async fn when_the_user_has_all_results_the_model_is_not_asked_again() {
    let script = Script::new(vec![calls(vec![call("t1", "send", "{}"), call("t2", "send", "{}")])]);
    let agent = handling(&script);
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(transcript(&agent).last().unwrap(), "tool t2 sent");
    assert!(events.contains(&"end ToolUse".to_owned()), "{events:#?}");
}

#[tokio::test]
async fn one_result_that_the_user_does_not_have_is_for_the_model() {
    let script =
        Script::new(vec![calls(vec![call("t1", "send", "{}"), call("t2", "echo", "{}")]), says("ok")]);
    let agent = handling(&script);
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent).last().unwrap(), "assistant ok ");
}

#[tokio::test]
async fn a_message_of_the_user_is_answered_behind_results_that_the_user_has() {
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
