//! Tests of the options of requests: the agent's own, and demanded calls.

use haft_core::error::TurnErrorKind;
use haft_core::model::{ModelErrorKind, RequestOptions, ToolChoice};
use haft_core::tool::ToolOutput;
use haft_core::{AgentBuilder, BuildError};

use crate::fake::{Script, call, calls, run, says, tool};

/// Runs one prompt, and returns the options of its requests.
async fn sent(script: &Script, agent: AgentBuilder) -> Vec<RequestOptions> {
    let agent = agent.tool(tool("echo", |_| ToolOutput::text("done"))).build().unwrap();
    run(&agent).await.1.unwrap();
    script.requests.lock().unwrap().iter().map(|request| request.options.clone()).collect()
}

fn two_steps() -> Script {
    Script::new(vec![calls(vec![call("1", "echo", "{}")]), says("done")])
}

#[tokio::test]
async fn every_request_has_the_agents_options() {
    let script = two_steps();
    let agent = script.agent().max_tokens(9).temperature(0.5).top_p(0.9).stop(["END", "STOP"]);
    let expect = RequestOptions::default()
        .with_max_tokens(9)
        .with_temperature(0.5)
        .with_top_p(0.9)
        .with_stop(vec!["END".into(), "STOP".into()]);
    assert_eq!(sent(&script, agent).await, [expect.clone(), expect]);
}

#[tokio::test]
async fn calls_are_demanded_of_the_first_answer_only() {
    for demand in [ToolChoice::Required, ToolChoice::Tool("echo".into())] {
        let script = two_steps();
        let choices: Vec<_> = sent(&script, script.agent().tool_choice(demand.clone())).await;
        let choices: Vec<_> = choices.into_iter().map(|options| options.tool_choice).collect();
        assert_eq!(choices, [Some(demand), None]);
    }
    let script = two_steps();
    let options = sent(&script, script.agent().tool_choice(ToolChoice::None)).await;
    assert!(options.iter().all(|options| options.tool_choice == Some(ToolChoice::None)));
}

#[tokio::test]
async fn next_prompt_demands_calls_again() {
    let script = Script::new(vec![says("one"), says("two")]);
    let agent = script.agent().tool(tool("echo", |_| ToolOutput::text("done")));
    let agent = agent.tool_choice(ToolChoice::Required).build().unwrap();
    run(&agent).await.1.unwrap();
    run(&agent).await.1.unwrap();
    let requests = script.requests.lock().unwrap();
    assert!(requests.iter().all(|request| request.options.tool_choice == Some(ToolChoice::Required)));
    assert_eq!(requests.len(), 2);
}

#[tokio::test]
async fn demanded_tool_must_be_offered() {
    let script = Script::default();
    let agent = script.agent().tool(tool("echo", |_| ToolOutput::text("done")));
    let agent = agent.tool_choice(ToolChoice::Tool("other".into())).build().unwrap();
    let error = run(&agent).await.1.unwrap_err();
    let TurnErrorKind::Model(error) = error.kind else { panic!("{error:?}") };
    assert_eq!(error.kind, ModelErrorKind::Rejected);
    assert!(error.message.contains("\"other\""), "{error}");
    assert!(script.requests.lock().unwrap().is_empty());
}

#[tokio::test]
async fn without_tools_no_call_is_demanded() {
    let script = Script::new(vec![says("hi")]);
    let agent = script.agent().tool_choice(ToolChoice::Required).build().unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(script.requests.lock().unwrap()[0].options.tool_choice, None);
}

#[test]
fn options_that_no_model_accepts_fail_at_build() {
    let agent = || Script::default().agent();
    let wrong = [
        agent().top_p(0.0),
        agent().top_p(1.5),
        agent().top_p(f64::NAN),
        agent().temperature(-1.0),
        agent().temperature(9.0),
        agent().max_tokens(0),
        agent().stop([""]),
    ];
    for agent in wrong {
        assert!(matches!(agent.build(), Err(BuildError::Options(_))));
    }
    let error = agent().temperature(9.0).build().unwrap_err();
    assert_eq!(format!("{error:?}"), "the temperature is 9; set it to at least 0 and at most 2");
}
