//! Tests of steps: order of events, limits, failures of the model, usage, tools of the next step.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::StreamExt as _;
use haft_core::error::TurnErrorKind;
use haft_core::hooks::{
    AgentStart, AgentStartAdditions, BeforeAgentStart, BeforeTurn, Observer, PromptSection, TurnDecision,
};
use haft_core::model::{ModelError, ModelErrorKind, ModelEvent};
use haft_core::tool::{ToolOutput, ToolSet};
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::StopCause;
use tokio_util::sync::CancellationToken;

use crate::fake::{Answer, Script, answer, call, calls, line, run, says, tool, transcript};

#[tokio::test]
async fn tool_call_and_answer_emit_events_in_the_documented_order() {
    let script = Script::new(vec![calls(vec![call("t1", "echo", r#"{"n":1}"#)]), says("done")]);
    let agent =
        script.agent().tool(tool("echo", |args| ToolOutput::text(format!("got {args}")))).build().unwrap();
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    insta::assert_snapshot!(events.join("\n"), @r#"
    user go
    {"type":"turn_start","step":1}
    {"type":"model_request","step":1,"provider":"script","model":"test","messages":1,"tools":1}
    {"type":"assistant_start"}
    {"type":"usage","input":10,"output":1,"cache_read":0,"cache_write":0,"cost_usd":0.0,"cumulative":{"input":10,"output":1,"cache_read":0,"cache_write":0,"cost_usd":0.0}}
    {"type":"model_response","text_bytes":0,"tool_calls":1,"thinking":false}
    assistant 
    call t1 echo {"n":1}
    result t1 got {"n":1}
    end ToolUse
    {"type":"turn_start","step":2}
    {"type":"model_request","step":2,"provider":"script","model":"test","messages":3,"tools":1}
    {"type":"assistant_start"}
    delta done
    {"type":"usage","input":10,"output":1,"cache_read":0,"cache_write":0,"cost_usd":0.0,"cumulative":{"input":20,"output":2,"cache_read":0,"cache_write":0,"cost_usd":0.0}}
    {"type":"model_response","text_bytes":4,"tool_calls":0,"thinking":false}
    assistant done
    end End
    {"type":"done"}
    "#);
    assert_eq!(agent.usage().input, 20);
    assert_eq!(
        transcript(&agent),
        ["user go", r#"assistant  echo{"n":1}"#, r#"tool t1 got {"n":1}"#, "assistant done "]
    );
}

#[tokio::test]
async fn max_steps_ends_the_prompt_with_its_own_error() {
    let again = || calls(vec![call("t1", "echo", "{}")]);
    let script = Script::new(vec![again(), again()]);
    let agent = script.agent().tool(tool("echo", |_| ToolOutput::text("x"))).max_steps(2).build().unwrap();
    let (events, outcome) = run(&agent).await;
    let error = outcome.unwrap_err();
    assert!(std::error::Error::source(&error).is_none(), "a chain of errors says it once");
    assert_eq!((error.step, error.kind), (2, TurnErrorKind::MaxSteps { limit: 2 }));
    assert_eq!(
        events[events.len() - 2],
        "error stopped after 2 steps (the step limit); raise the limit or split the task"
    );
}

#[tokio::test]
async fn failing_model_leaves_a_usable_transcript() {
    let failure = ModelError::new(ModelErrorKind::Unavailable, "script is overloaded; try again later");
    let script = Script::new(vec![Answer { items: vec![Err(failure.clone())], hangs: false }, says("back")]);
    let agent = script.agent().build().unwrap();
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome.unwrap_err().kind, TurnErrorKind::Model(failure));
    let tail = &events[events.len() - 3..];
    assert_eq!(tail[0], "end Error script is overloaded; try again later");
    assert_eq!(run(&agent).await.1, Ok(()));
}

#[tokio::test]
async fn stream_without_final_event_is_truncated() {
    let items = vec![Ok(ModelEvent::Text("half an ans".into()))];
    let agent = Script::new(vec![Answer { items, hangs: false }]).agent().build().unwrap();
    let (_, outcome) = run(&agent).await;
    let TurnErrorKind::Model(error) = outcome.unwrap_err().kind else { panic!("not a model error") };
    assert_eq!(error.kind, ModelErrorKind::Truncated);
}

#[tokio::test]
async fn calls_of_a_truncated_answer_do_not_run() {
    let script =
        Script::new(vec![answer(None, vec![call("t1", "echo", "{}")], StopCause::Length), says("ok")]);
    let agent = script.agent().tool(tool("echo", |_| panic!("must not run"))).build().unwrap();
    let (events, _) = run(&agent).await;
    assert!(
        events.iter().any(|line| line.starts_with("result t1 error echo was not run: the message was cut"))
    );
}

#[tokio::test]
async fn second_prompt_fails_while_the_first_runs() {
    let script = Script::new(vec![Answer { items: vec![], hangs: true }]);
    let agent = script.agent().build().unwrap();
    let mut first = agent.prompt("one");
    futures::StreamExt::next(&mut first).await;
    assert_eq!(agent.prompt("two").finish().await.unwrap_err().kind, TurnErrorKind::Busy);
    assert_eq!(transcript(&agent), ["user one"]);
}

#[tokio::test]
async fn replaced_tools_are_offered_from_the_next_step_on() {
    let script = Script::new(vec![calls(vec![call("t1", "old", "{}")]), says("ok")]);
    let agent = script.agent().build().unwrap();
    let other = agent.clone();
    let mut first = ToolSet::default();
    first
        .add(Arc::new(tool("old", move |_| {
            let mut next = ToolSet::default();
            next.add(Arc::new(tool("new", |_| ToolOutput::text("")))).unwrap();
            other.set_tools(next).unwrap();
            ToolOutput::text("swapped")
        })))
        .unwrap();
    agent.set_tools(first).unwrap();
    run(&agent).await.1.unwrap();
    let offered: Vec<Vec<String>> = script
        .requests
        .lock()
        .unwrap()
        .iter()
        .map(|request| request.tools.iter().map(|spec| spec.name.clone()).collect())
        .collect();
    assert_eq!(offered, [["old"], ["new"]]);
}

#[tokio::test]
async fn the_system_prompt_names_the_tools_of_its_step_and_keeps_the_sections() {
    let script = Script::new(vec![calls(vec![call("t1", "old", "{}")]), says("ok")]);
    let agent = script.agent().before_agent_start(Guide("one")).build().unwrap();
    let other = agent.clone();
    agent
        .set_tools(one(tool("old", move |_| {
            other.set_tools(one(tool("new", |_| ToolOutput::text("")))).unwrap();
            ToolOutput::text("swapped")
        })))
        .unwrap();
    run(&agent).await.1.unwrap();
    let requests = script.requests.lock().unwrap();
    for (request, (has, lacks)) in requests.iter().zip([("- old", "- new"), ("- new", "- old")]) {
        assert!(request.system.contains(has) && !request.system.contains(lacks), "{}", request.system);
        assert!(
            request.system.ends_with("<extension name=\"one\">\none saw 0 sections\n</extension>"),
            "{}",
            request.system
        );
    }
}

fn one(tool: impl haft_core::tool::Tool + 'static) -> ToolSet {
    let mut set = ToolSet::default();
    set.add(Arc::new(tool)).unwrap();
    set
}

/// Records the events that it receives.
#[derive(Clone, Default)]
struct Watches(Arc<Mutex<Vec<String>>>);

impl Observer for Watches {
    fn observe(&self, event: &AgentEvent) {
        self.0.lock().unwrap().push(line(event));
    }
}

#[tokio::test]
async fn observer_and_run_owner_receive_the_same_events() {
    let watches = Watches::default();
    let script = Script::new(vec![calls(vec![call("t1", "echo", "{}")]), says("ok")]);
    let agent = script
        .agent()
        .tool(tool("echo", |args| ToolOutput::text(args)))
        .observer(watches.clone())
        .build()
        .unwrap();
    let events: Vec<_> = agent.prompt("go").map(|event| line(&event)).collect().await;
    assert_eq!(*watches.0.lock().unwrap(), events);
}

#[tokio::test]
async fn rejected_second_prompt_adds_no_event_to_the_first() {
    let watches = Watches::default();
    let script = Script::new(vec![Answer { items: vec![], hangs: true }]);
    let agent = script.agent().observer(watches.clone()).build().unwrap();
    let mut first = agent.prompt("one");
    futures::StreamExt::next(&mut first).await;
    let before = watches.0.lock().unwrap().clone();
    let (events, _) = run(&agent).await;
    assert_eq!(events[0], "error the agent is busy with another prompt; wait for it or abort it");
    assert_eq!(*watches.0.lock().unwrap(), before);
}

struct Hours;

#[async_trait]
impl BeforeTurn for Hours {
    async fn before_turn(&self, _: &CancellationToken, step: u32) -> TurnDecision {
        match step {
            1 => TurnDecision::Allow,
            _ => TurnDecision::Block { reason: "closed".into() },
        }
    }

    fn name(&self) -> &str {
        "hours"
    }
}

#[tokio::test]
async fn a_blocked_turn_never_reaches_the_model() {
    let script = Script::new(vec![calls(vec![call("t1", "echo", "{}")])]);
    let agent =
        script.agent().tool(tool("echo", |_| ToolOutput::text("x"))).before_turn(Hours).build().unwrap();
    let (events, outcome) = run(&agent).await;
    assert_eq!(
        outcome.unwrap_err().kind,
        TurnErrorKind::Blocked { by: "hours".into(), reason: "closed".into() }
    );
    assert_eq!(script.requests.lock().unwrap().len(), 1);
    assert_eq!(events[events.len() - 3], "end Error turn blocked by hours: closed");
}

struct Guide(&'static str);

#[async_trait]
impl BeforeAgentStart for Guide {
    async fn before_agent_start(&self, _: &CancellationToken, start: &AgentStart) -> AgentStartAdditions {
        let text = format!("{} saw {} sections", self.0, start.system_prompt.matches("<extension").count());
        PromptSection::of_extension(ExtensionName::new(self.0), text).into()
    }
}

#[tokio::test]
async fn sections_of_the_system_prompt_come_in_order_under_their_owners() {
    let script = Script::new(vec![says("ok")]);
    let agent =
        script.agent().before_agent_start(Guide("one")).before_agent_start(Guide("two")).build().unwrap();
    run(&agent).await.1.unwrap();
    let system = script.requests.lock().unwrap()[0].system.clone();
    let sections = "# From extensions\n<extension name=\"one\">\none saw 0 sections\n</extension>\n\
        <extension name=\"two\">\ntwo saw 1 sections\n</extension>";
    assert!(system.ends_with(sections), "{system}");
}
