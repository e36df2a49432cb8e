//! What a newcomer tries first, from names in other libraries and in std: each compiles and works.
//!
//! The guesses that do not compile are in `examples/embed/src/lib.rs`; the error of the compiler names the right call.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use haft_core::prelude::*;
use haft_example_embed::scripted;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A model that says "ok" to every request.
fn model() -> impl Model + Clone + 'static {
    Arc::new(scripted(r#"[{"say": [{"text": "ok"}], "repeat": true}]"#).unwrap())
}

fn agent() -> Agent {
    Agent::builder(model()).build().unwrap()
}

#[derive(serde::Deserialize, JsonSchema)]
struct Sum {
    a: u32,
    b: u32,
}

fn adder() -> impl Tool + Clone + 'static {
    function("add", "Adds numbers.", |Sum { a, b }, _| async move { a + b })
}

#[tokio::test]
async fn a_run_is_awaited() -> Outcome {
    assert_eq!(agent().prompt("Hi").await?, "ok");
    Ok(())
}

#[tokio::test]
async fn a_run_has_next_without_an_import() {
    async fn count(mut run: Run) -> usize {
        let mut count = 0;
        while let Some(_event) = run.next().await {
            count += 1;
        }
        count
    }
    assert!(count(agent().prompt("Hi")).await > 3);
}

#[tokio::test]
async fn a_run_is_a_stream() {
    let texts = agent().prompt("Hi").filter_map(async |event| event.text_delta().map(str::to_owned));
    assert_eq!(texts.collect::<Vec<_>>().await, ["ok"]);
}

#[tokio::test]
async fn a_run_is_spawned() -> Outcome {
    assert_eq!(tokio::spawn(agent().prompt("Hi").answer()).await??, "ok");
    Ok(())
}

#[tokio::test]
async fn a_run_has_a_timeout() -> Outcome {
    assert_eq!(tokio::time::timeout(Duration::from_secs(60), agent().prompt("Hi")).await??, "ok");
    Ok(())
}

#[tokio::test]
async fn a_run_is_cancelled_by_a_token() {
    let token = CancellationToken::new();
    token.cancel();
    let error: TurnError = agent().prompt("Hi").with_cancellation(token).await.unwrap_err();
    assert_eq!(error.kind, TurnErrorKind::Aborted);
}

#[tokio::test]
async fn a_prompt_is_a_string_or_a_reference() -> Outcome {
    let (agent, text) = (agent(), String::from("Hi"));
    agent.prompt(&text).await?;
    agent.prompt(text).await?;
    Ok(())
}

#[tokio::test]
async fn a_model_is_a_trait_object() -> Outcome {
    let (boxed, shared): (Box<dyn Model>, Arc<dyn Model>) = (Box::new(model()), Arc::new(model()));
    Agent::builder(boxed).build()?.prompt("Hi").await?;
    Agent::builder(shared).build()?.prompt("Hi").await?;
    Ok(())
}

#[test]
fn a_tool_is_shared_or_boxed() -> Outcome {
    let shared: Arc<dyn Tool> = Arc::new(adder());
    Agent::builder(model()).tool(Arc::clone(&shared)).build()?;
    Agent::builder(model()).tool(Box::new(adder())).build()?;
    assert_eq!(format!("{shared:?}"), r#"Tool("add")"#);
    Ok(())
}

#[test]
fn tools_are_an_array_a_vector_or_a_set() -> Outcome {
    let one = || -> Arc<dyn Tool> { Arc::new(adder()) };
    Agent::builder(model()).tools([one()]).build()?;
    Agent::builder(model()).tools(vec![one()]).build()?;
    Agent::builder(model()).tools([one()].into_iter().collect::<ToolSet>()).build()?;
    Ok(())
}

#[test]
fn a_tool_set_is_iterated_and_extended() {
    let mut tools: ToolSet = std::iter::empty().collect();
    tools.extend([Arc::new(adder()) as Arc<dyn Tool>]);
    for tool in &tools {
        assert_eq!(tool.spec().name, "add");
    }
    assert_eq!(tools.into_iter().count(), 1);
}

#[test]
fn a_tool_is_an_async_fn() -> Outcome {
    async fn add(args: Sum, _: ToolContext) -> u32 {
        args.a + args.b
    }
    Agent::builder(model()).tool(function("add", "Adds numbers.", add)).build()?;
    Ok(())
}

#[tokio::test]
async fn a_tool_uses_the_question_mark() -> Outcome {
    let read = function("read", "Reads a number.", |Sum { a, .. }, _| async move {
        let text = std::fs::read_to_string(format!("/nowhere/{a}"))?;
        Ok::<_, std::io::Error>(text)
    });
    let call = ToolCall::new("t1", "read", serde_json::json!({ "a": 1, "b": 2 }));
    let output = read.execute(ToolContext::new(CancellationToken::new(), |_| {}), call).await;
    assert!(output.is_error);
    Ok(())
}

#[tokio::test]
async fn instructions_are_a_text() -> Outcome {
    let agent = Agent::builder(model()).instructions("You sell tea.").build()?;
    agent.set_system_prompt("You sell coffee.");
    Agent::builder(model()).system_prompt("You sell tea.").build()?;
    Ok(())
}

#[tokio::test]
async fn a_closure_observes() -> Outcome {
    let (sender, events) = std::sync::mpsc::channel();
    Agent::builder(model())
        .observe(move |event| sender.send(event.clone()).unwrap())
        .build()?
        .prompt("Hi")
        .await?;
    assert_eq!(events.into_iter().last(), Some(AgentEvent::Done));
    Ok(())
}

#[test]
fn a_closure_approves() -> Outcome {
    Agent::builder(model()).approve(|_, _| async { true }).build()?;
    Agent::builder(model()).approve(async |_, call: ToolCall| call.name == "add").build()?;
    Agent::builder(model()).approve(|_, _| async { allow() }).build()?;
    Agent::builder(model()).approve(|_, _| async { deny("not today") }).build()?;
    Ok(())
}

#[tokio::test]
async fn a_message_has_a_text() -> Outcome {
    let agent = agent();
    agent.prompt("Hi").await?;
    let texts: Vec<_> = agent.messages().iter().map(Message::text).collect();
    assert_eq!(texts, ["Hi", "ok"]);
    Ok(())
}

/// Counts steps and events.
struct Counter;

#[async_trait]
impl BeforeTurn for Counter {
    async fn before_turn(&self, _: &CancellationToken, _: u32) -> TurnDecision {
        TurnDecision::Allow
    }
}

impl Observer for Counter {
    fn observe(&self, _: &AgentEvent) {}
}

#[test]
fn one_value_is_several_hooks() -> Outcome {
    let counter = Arc::new(Counter);
    Agent::builder(model()).before_turn(counter.clone()).observer(counter).build()?;
    Ok(())
}

#[tokio::test]
async fn an_agent_is_a_tool() -> Outcome {
    Agent::builder(model()).tool(agent().as_tool("ask", "Asks an agent.")).build()?.prompt("Hi").await?;
    Ok(())
}

#[tokio::test]
async fn usages_are_added() -> Outcome {
    let agents = [agent(), agent()];
    let total: haft_core::protocol::message::TokenUsage = agents.iter().map(Agent::usage).sum();
    assert_eq!(total, agents[0].usage() + agents[1].usage());
    Ok(())
}

#[test]
fn ids_are_parsed_and_printed_alike() -> Outcome {
    let id: EntryId = "0f3a5c7e9b1d2f4061728394a5b6c7d8".parse()?;
    assert_eq!(format!("{id:?}"), id.to_string());
    Ok(())
}

#[tokio::test]
async fn stats_are_json() -> Outcome {
    assert!(serde_json::to_value(agent().stats())?["usage"].is_object());
    Ok(())
}

#[tokio::test]
async fn a_session_is_forked_at_a_message() -> Outcome {
    let agent = agent();
    agent.prompt("Hi").await?;
    let messages = agent.session().messages();
    let (first, _) = &messages[0];
    assert_eq!(agent.session().fork(Some(*first))?.messages(), messages[..1]);
    Ok(())
}
