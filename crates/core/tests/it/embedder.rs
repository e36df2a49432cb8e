//! Tests of what embedders write most: closures, one value with several hooks, instructions, and the tools of a builder.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use haft_core::error::TurnErrorKind;
use haft_core::hooks::{
    AgentStart, AgentStartAdditions, ApproverDecision, BeforeAgentStart, BeforeTurn, HookSet, Observer,
    PromptSection, TurnDecision, allow, deny,
};
use haft_core::model::{Model, ModelRequest};
use haft_core::prompt::SystemPrompt;
use haft_core::session::{EntryId, Session};
use haft_core::tool::{NoArgs, Tool, ToolOutput, ToolSet, ToolSpec, function};
use haft_core::{Agent, BuildError, CancellationToken, InvalidToolError};
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image, ToolCall};
use haft_protocol::event::AgentEvent;
use haft_protocol::message::Message;

use crate::fake::{Answer, Script, call, calls, run, says, tool};

#[tokio::test]
async fn closures_observe_and_approve() {
    let wanted = ["t1", "t2", "t3"].map(|id| call(id, "echo", "{}")).to_vec();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let agent = Script::new(vec![calls(wanted), says("ok")])
        .agent()
        .tool(tool("echo", |_| ToolOutput::text("ran")))
        .observe(move |event| {
            if let AgentEvent::ToolResult { id, is_error, .. } = event {
                log.lock().unwrap().push(format!("{id} {is_error}"));
            }
        })
        .approve(|_, call| async move { call.id.as_str() != "t2" })
        .approve(|cancel: CancellationToken, call| async move {
            match call.id.as_str() {
                "t3" => cancel.run_until_cancelled(async { None }).await.flatten().into(),
                _ => ApproverDecision::Approve,
            }
        })
        .build()
        .unwrap();
    let (events, _) = run(&agent).await;
    assert_eq!(*seen.lock().unwrap(), ["t1 false", "t2 true", "t3 true"]);
    assert!(events.contains(&"blocked t2 by the user: not allowed".to_owned()), "{events:?}");
}

/// Blocks the second step, and counts events.
#[derive(Clone, Default)]
struct Guard {
    events: Arc<Mutex<u32>>,
}

#[async_trait]
impl BeforeTurn for Guard {
    async fn before_turn(&self, _: &CancellationToken, step: u32) -> TurnDecision {
        match step {
            1 => TurnDecision::Allow,
            _ => TurnDecision::Block { reason: "one step".into() },
        }
    }

    fn name(&self) -> &str {
        "guard"
    }
}

impl Observer for Guard {
    fn observe(&self, _: &AgentEvent) {
        *self.events.lock().unwrap() += 1;
    }
}

impl From<Guard> for HookSet {
    fn from(guard: Guard) -> Self {
        let guard = Arc::new(guard);
        let mut hooks = Self::default();
        hooks.before_turn.push(guard.clone());
        hooks.observers.push(guard);
        hooks
    }
}

#[tokio::test]
async fn one_value_serves_several_hooks() {
    let guard = Arc::new(Guard::default());
    let script = || Script::new(vec![calls(vec![call("t1", "echo", "{}")]), says("ok")]).agent();
    let echo = || tool("echo", |_| ToolOutput::text("ran"));
    let shared = script().tool(echo()).before_turn(guard.clone()).observer(guard.clone()).build().unwrap();
    assert_eq!(run(&shared).await.1.unwrap_err().to_string(), "turn blocked by guard: one step");
    let seen = *guard.events.lock().unwrap();
    assert!(seen > 5, "{seen}");

    let names = format!("{:?}", HookSet::from(Guard::clone(&guard)));
    assert!(
        names.contains(r#"before_turn: ["guard"]"#) && names.contains(r#"observers: ["a hook"]"#),
        "{names}"
    );
    let as_set = script().tool(echo()).hooks(Guard::clone(&guard)).build().unwrap();
    assert_eq!(run(&as_set).await.1.unwrap_err().to_string(), "turn blocked by guard: one step");
    assert_eq!(*guard.events.lock().unwrap(), 2 * seen);
}

/// Adds a long section with a heading.
struct House;

fn house_rules() -> String {
    format!("# House rules\n<extension>\n{}", "Tests come first. ".repeat(1_000))
}

#[async_trait]
impl BeforeAgentStart for House {
    async fn before_agent_start(&self, _: &CancellationToken, _: &AgentStart) -> AgentStartAdditions {
        PromptSection::from(house_rules()).into()
    }
}

fn system_prompts(script: &Script) -> Vec<String> {
    script.requests.lock().unwrap().iter().map(|request| request.system.clone()).collect()
}

#[tokio::test]
async fn text_of_the_embedder_reaches_the_model_unchanged() {
    let facts = || SystemPrompt::default().with_facts(vec!["Date: today".into()]);
    let expect = format!("You sell tea.\n\nDate: today\n\n{}", house_rules());
    let script = Script::new(vec![says("ok"), says("ok")]);
    let agents = [
        script.agent().instructions("You sell tea.").system_prompt(facts()),
        script.agent().system_prompt(facts()).instructions("You sell tea."),
    ];
    for agent in agents {
        run(&agent.before_agent_start(House).build().unwrap()).await.1.unwrap();
    }
    assert_eq!(system_prompts(&script), [expect.clone(), expect]);
}

#[tokio::test]
async fn new_system_prompt_applies_to_the_next_request_and_keeps_the_transcript() {
    let script = Script::new(vec![calls(vec![call("t1", "swap", "{}")]), says("ok"), says("ok")]);
    let slot: Arc<std::sync::OnceLock<Agent>> = Arc::default();
    let other = slot.clone();
    let swap = tool("swap", move |_| {
        other.get().unwrap().set_system_prompt("You sell coffee.");
        ToolOutput::text("swapped")
    });
    let agent = script.agent().instructions("You sell tea.").tool(swap).build().unwrap();
    slot.set(agent.clone()).unwrap();
    run(&agent).await.1.unwrap();
    agent.set_system_prompt(agent.system_prompt().with_facts(vec!["Date: today".into()]));
    agent.reload().unwrap();
    run(&agent).await.1.unwrap();
    let firsts: Vec<_> = system_prompts(&script).iter().map(|text| text.replace('\n', " ")).collect();
    assert!(firsts[0].starts_with("You sell tea.  # Available tools - swap"), "{firsts:?}");
    assert!(firsts[1].starts_with("You sell coffee.  # Available tools - swap"), "{firsts:?}");
    assert!(firsts[2].starts_with("You sell coffee.") && firsts[2].ends_with("Date: today"), "{firsts:?}");
    assert_eq!(script.requests.lock().unwrap()[2].messages.len(), 5);
}

fn echo(name: &str) -> Arc<dyn Tool> {
    Arc::new(function(name, "Echoes.", |NoArgs {}, _| async { "ran" }))
}

fn tool_names(agent: &Agent) -> String {
    agent.tools().iter().map(|spec| spec.name.clone()).collect::<Vec<_>>().join(" ")
}

#[test]
fn sets_and_single_tools_add_up() {
    let script = Script::new(Vec::new());
    let set: ToolSet = ["b", "c", "b"].map(echo).into_iter().collect();
    assert_eq!(format!("{:?}", set.get("b").unwrap()), r#"Tool("b")"#);
    assert_eq!((&set).into_iter().count(), 2);
    let agent = script.agent().tool(echo("a")).tools(set.clone()).tool(Box::new(echo("d"))).build().unwrap();
    assert_eq!(tool_names(&agent), "a b c d");
    let agent = script.agent().tool(echo("a")).tool(echo("a")).replace_tools(set).build().unwrap();
    assert_eq!(tool_names(&agent), "b c");
}

#[test]
fn rejects_tools_that_no_model_can_be_offered() {
    let build = |spec: ToolSpec| {
        let given = function("given", "", |NoArgs {}, _| async {}).edit_spec(|own| *own = spec);
        Script::new(Vec::new()).agent().tool(given).build().map(drop)
    };
    let with_schema = |schema: &str| ToolSpec::new("good", "").with_schema(RawJson::parse(schema).unwrap());
    build(with_schema(r#"{"type":"object"}"#)).unwrap();
    for bad in ["", "two words", "1st", "tee.pot", &"x".repeat(65)] {
        let expect = BuildError::InvalidTool(InvalidToolError::Name { tool: bad.into() });
        assert_eq!(build(ToolSpec::new(bad, "")), Err(expect));
    }
    let top = r#"write `"type": "object"` at the top of the schema"#;
    let object = r#"describe an object that has the value as a property"#;
    for (bad, advice) in [
        (r#"{"type":"string"}"#, object),
        (r#"{"type":["object","null"]}"#, top),
        ("{}", top),
        (r##"{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}"##, top),
        ("true", "must be a JSON object"),
        (r#"{"type":"nope"}"#, "nope"),
        (r#"{"type":"object","properties":[]}"#, "properties"),
    ] {
        let error = build(with_schema(bad)).unwrap_err();
        let BuildError::InvalidTool(InvalidToolError::Schema { tool, .. }) = &error else {
            panic!("{error:?}")
        };
        assert_eq!(tool, "good");
        assert!(error.to_string().contains(advice), "{bad}: {error}");
    }
}

#[tokio::test]
async fn run_can_be_awaited_and_requests_can_be_logged() {
    let script = Script::new(vec![says("Hello!")]);
    let boxed: Box<dyn Model> = Box::new(script.clone());
    let agent = Agent::builder(boxed).tool(echo("a")).build().unwrap();
    assert_eq!(agent.prompt("Hi").await.unwrap(), "Hello!");
    let request: ModelRequest = script.requests.lock().unwrap()[0].clone();
    let json = serde_json::to_value(&request).unwrap();
    assert_eq!((&json["messages"][0]["role"], &json["tools"][0]["name"]), (&"user".into(), &"a".into()));
    assert_eq!(serde_json::to_value(agent.stats()).unwrap()["usage"]["input"], 10);
}

#[tokio::test]
async fn events_name_the_entries_to_fork_from() {
    let dir = tempfile::tempdir().unwrap();
    let cwd = std::path::Path::new("/work");
    for session in [Session::in_memory(cwd), Session::create(dir.path(), cwd)] {
        let script = Script::new(vec![calls(vec![call("t1", "a", "{}")]), says("ok")]);
        let agent = script.agent().tool(Arc::clone(&echo("a"))).session(session.clone()).build().unwrap();
        let mut sizes = Vec::new();
        let mut run = agent.prompt("go");
        while let Some(event) = run.next().await {
            let (AgentEvent::UserMessage { entry, .. }
            | AgentEvent::AssistantMessage { entry, .. }
            | AgentEvent::ToolResult { entry, .. }) = event
            else {
                continue;
            };
            let id: EntryId = entry.unwrap().parse().unwrap();
            let fork = session.fork(Some(id)).unwrap().messages();
            assert_eq!(fork.last().map(|(last, _)| *last), Some(id));
            sizes.push(fork.len());
        }
        assert_eq!(sizes, [1, 2, 3, 4], "prompt, call, result, answer");
    }
}

#[test]
fn usage_adds_up_and_ids_are_parsed() {
    use haft_protocol::ids::ToolCallId;
    use haft_protocol::message::TokenUsage;
    let usage = TokenUsage::default().with_input(1).with_cost_usd(0.5);
    let expect = TokenUsage::default().with_input(3).with_cost_usd(1.5);
    assert_eq!([usage, usage + usage].into_iter().sum::<TokenUsage>(), expect);
    assert_eq!("t1".parse(), Ok(ToolCallId::new("t1")));
    assert_eq!("t\x1b".parse::<ToolCallId>().unwrap_err().to_string(), "control character U+001B");
    let call = ToolCall { id: ToolCallId::new("t1"), name: "a".into(), args: RawJson::empty_object() };
    assert!(serde_json::to_string(&call).is_ok());
}

#[tokio::test]
async fn empty_prompt_is_refused_before_anything_is_recorded() {
    let script = Script::new(vec![says("a picture")]);
    let agent = script.agent().build().unwrap();
    for empty in ["", " \n"] {
        let error = agent.prompt(empty).await.unwrap_err();
        assert_eq!(error.kind, TurnErrorKind::EmptyPrompt);
        assert_eq!(format!("{error:?}"), "the prompt is empty; add text or an image");
    }
    assert!(agent.messages().is_empty() && script.requests.lock().unwrap().is_empty());

    let image = ContentBlock::Image(Image { mime_type: "image/png".into(), data: "iVBORw0KGgo=".into() });
    assert_eq!(agent.prompt(vec![image]).await.unwrap(), "a picture");
    let summaries: Vec<_> = agent.messages().iter().map(Message::summary).collect();
    assert_eq!(summaries, ["[image]", "a picture"]);
}

#[tokio::test]
async fn second_run_fails_only_while_the_first_is_polled() {
    let hanging = Answer { items: vec![], hangs: true };
    let script = Script::new(vec![says("second"), hanging, says("fourth")]);
    let agent = script.agent().build().unwrap();
    let mut first = agent.prompt("one");
    assert_eq!(agent.prompt("two").await.unwrap(), "second");
    assert!(first.next().await.is_some());
    assert_eq!(agent.prompt("three").await.unwrap_err().kind, TurnErrorKind::Busy);
    drop(first);
    assert_eq!(agent.prompt("four").await.unwrap(), "fourth");
}

#[tokio::test]
async fn closure_denies_a_call_with_a_reason() {
    let script =
        Script::new(vec![calls(vec![call("1", "echo", "{}"), call("2", "other", "{}")]), says("done")]);
    let agent = script.agent().tools([echo("echo"), echo("other")]);
    let agent = agent.approve(async |_, call: ToolCall| match call.name.as_str() {
        "echo" => allow(),
        _ => deny("only echo is allowed"),
    });
    let agent = agent.build().unwrap();
    agent.prompt("go").await.unwrap();
    let messages = agent.messages();
    let results: Vec<_> = messages.iter().filter(|message| matches!(message, Message::Tool(_))).collect();
    assert!(!results[0].text().contains("allowed"), "{results:?}");
    assert!(results[1].text().contains("only echo is allowed"), "{results:?}");
}
