//! Tests of agents as tools of other agents.

use std::sync::Arc;

use haft_core::model::{ModelError, ModelErrorKind};
use haft_core::tool::{NoArgs, Tool, ToolContext, ToolFailureKind, ToolOutput, function};
use haft_core::{Agent, CancellationToken};
use haft_protocol::event::AgentEvent;
use tokio::sync::Barrier;

use crate::fake::{Answer, Script, call, calls, run, says};

/// An agent that counts with a tool and then answers. The tool waits until two calls run at the same time.
fn counter(answers: Vec<Answer>) -> (Script, Agent) {
    let (script, barrier) = (Script::new(answers), Arc::new(Barrier::new(2)));
    let count = function("count", "Counts.", move |NoArgs {}, _| {
        let barrier = barrier.clone();
        async move { barrier.wait().await.is_leader() }
    });
    let agent = script.agent().tool(count).build().unwrap();
    (script, agent)
}

async fn execute(agent: &Agent, cancel: CancellationToken) -> ToolOutput {
    let tool = agent.as_tool("ask", "Asks the counter.");
    tool.execute(ToolContext::new(cancel, |_| {}), call("t1", "ask", r#"{"prompt":"go"}"#)).await
}

#[tokio::test]
async fn each_call_is_a_run_with_an_empty_transcript() {
    let count = || calls(vec![call("c1", "count", "{}")]);
    let (script, sub) = counter(vec![count(), count(), says("It is 12."), says("It is 12.")]);
    let both = vec![
        call("t1", "ask", r#"{"prompt":"How many teapots?"}"#),
        call("t2", "ask", r#"{"prompt":"How many kettles?"}"#),
    ];
    let main = Script::new(vec![calls(both), says("12 and 12")]);
    let agent = main.agent().tool(sub.as_tool("ask", "Asks the counter.")).build().unwrap();
    let (events, outcome) = run(&agent).await;
    outcome.unwrap();
    let results: Vec<_> = events.iter().filter(|line| line.starts_with("result")).collect();
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|line| line.ends_with("It is 12.")), "{results:?}");
    let progress = events.iter().filter(|line| line.contains("tool_progress"));
    assert!(progress.clone().all(|line| line.contains(r"count\n")) && progress.count() == 2, "{events:?}");
    let mut sizes: Vec<_> =
        script.requests.lock().unwrap().iter().map(|request| request.messages.len()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [1, 1, 3, 3], "no call sees another one");
    assert_eq!(sub.messages().len(), 0);
}

#[tokio::test]
async fn result_has_the_usage_or_the_error_of_the_run() {
    let (_, sub) = counter(vec![says("12")]);
    let output = execute(&sub, CancellationToken::new()).await;
    let details = output.details.as_ref().unwrap().read::<serde_json::Value>().unwrap();
    assert_eq!((&details["usage"]["input"], output.is_error), (&10.into(), false));

    let error = Err(ModelError::new(ModelErrorKind::Auth, "no key"));
    let (_, sub) = counter(vec![Answer { items: vec![error], hangs: false }]);
    let output = execute(&sub, CancellationToken::new()).await;
    assert_eq!((output.content, output.is_error), (ToolOutput::text("no key").content, true));
}

#[tokio::test]
async fn cancelled_call_cancels_its_run() {
    let (_, sub) = counter(vec![Answer { items: Vec::new(), hangs: true }]);
    let cancel = CancellationToken::new();
    let stop = async {
        tokio::task::yield_now().await;
        cancel.cancel();
    };
    let (output, ()) = tokio::join!(execute(&sub, cancel.clone()), stop);
    assert_eq!(output.failure, Some(ToolFailureKind::Cancelled));

    let (_, sub) = counter(vec![Answer { items: Vec::new(), hangs: true }]);
    let main = Script::new(vec![calls(vec![call("t1", "ask", r#"{"prompt":"go"}"#)])]);
    let agent = main.agent().tool(sub.as_tool("ask", "Asks.")).build().unwrap();
    let parent = CancellationToken::new();
    let mut run = agent.prompt("go").with_cancellation(parent.clone());
    let mut result = None;
    while let Some(event) = run.next().await {
        match event {
            AgentEvent::ToolStart { .. } => parent.cancel(),
            AgentEvent::ToolResult { is_error, .. } => result = Some(is_error),
            _ => {}
        }
    }
    assert_eq!((result, run.finish().await.is_err()), (Some(true), true));
}
