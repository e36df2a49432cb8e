//! Tests of answers with a schema: checks, corrections, errors.

use haft_core::error::OutputError;
use haft_core::model::OutputSchema;
use haft_core::protocol::RawJson;
use haft_core::protocol::event::AgentEvent;
use haft_core::tool::ToolOutput;

use crate::fake::{Script, call, calls, line, says, tool, transcript};

/// A place on a map.
#[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
struct Place {
    /// The English name.
    city: String,
    population: Option<u32>,
}

const OSLO: &str = r#"{"city":"Oslo","population":717710}"#;

fn place_schema() -> OutputSchema {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    OutputSchema::new("place", RawJson::parse(schema).unwrap()).unwrap()
}

#[tokio::test]
async fn answer_becomes_a_value_of_its_type() {
    let script = Script::new(vec![calls(vec![call("1", "echo", "{}")]), says(OSLO)]);
    let agent = script.agent().tool(tool("echo", |_| ToolOutput::text("done"))).build().unwrap();
    let place: Place = agent.prompt("Where?").answer_as().await.unwrap();
    assert_eq!(place, Place { city: "Oslo".into(), population: Some(717_710) });
    let requests = script.requests.lock().unwrap();
    let schemas: Vec<_> = requests.iter().map(|request| request.output_schema.as_ref().unwrap()).collect();
    assert_eq!(schemas.len(), 2);
    assert_eq!(schemas[0].name(), "Place");
    assert!(schemas[0].json_schema().as_str().contains("The English name."), "{:?}", schemas[0]);
}

#[tokio::test]
async fn model_corrects_its_answer() {
    let script = Script::new(vec![says("It is in Oslo."), says(r#"{"town":"Oslo"}"#), says(OSLO)]);
    let agent = script.agent().build().unwrap();
    let answer = agent.prompt("Where?").answer_json(place_schema()).await.unwrap();
    assert_eq!(answer.as_str(), OSLO);
    let said = transcript(&agent);
    assert_eq!(said.len(), 6, "{said:?}");
    assert!(said[2].contains("not JSON") && said[2].contains(r#""required":["city"]"#), "{said:?}");
    assert!(said[4].contains("city"), "{said:?}");
}

#[tokio::test]
async fn wrong_answers_end_with_the_text() {
    let script = Script::new(vec![says("one"), says("two"), says("three")]);
    let agent = script.agent().build().unwrap();
    let error = agent.prompt("Where?").answer_as::<Place>().await.unwrap_err();
    let OutputError::Mismatch { text, .. } = &error else { panic!("{error:?}") };
    assert_eq!(text, "three");
    assert!(error.to_string().contains("three"), "{error}");
    assert_eq!(script.requests.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn events_of_corrections_arrive_in_the_same_run() {
    let script = Script::new(vec![says("Oslo"), says(OSLO)]);
    let agent = script.agent().build().unwrap();
    let mut run = agent.prompt("Where?").with_output(place_schema());
    let mut lines = Vec::new();
    while let Some(event) = run.next().await {
        lines.push(line(&event));
    }
    run.finish().await.unwrap();
    assert_eq!(lines.iter().filter(|line| line.contains("Oslo")).count(), 4, "{lines:?}");
    assert!(lines.last().unwrap().contains("done"), "{lines:?}");
}

#[tokio::test]
async fn later_runs_have_no_schema() {
    let script = Script::new(vec![says(OSLO), says("It is the capital.")]);
    let agent = script.agent().build().unwrap();
    agent.prompt("Where?").answer_json(place_schema()).await.unwrap();
    assert_eq!(agent.prompt("Why?").answer().await.unwrap(), "It is the capital.");
    assert_eq!(script.requests.lock().unwrap()[1].output_schema, None);
}

#[tokio::test]
async fn failed_run_is_not_corrected() {
    let script = Script::new(vec![calls(vec![call("1", "echo", "{}")])]);
    let agent = script.agent().max_steps(1).tool(tool("echo", |_| ToolOutput::text("done"))).build().unwrap();
    let error = agent.prompt("Where?").answer_as::<Place>().await.unwrap_err();
    assert!(matches!(error, OutputError::Turn(_)), "{error:?}");
}

#[tokio::test]
async fn corrections_count_as_steps() {
    let script = Script::new(vec![calls(vec![call("1", "echo", "{}")]), says("one"), says(OSLO)]);
    let agent = script.agent().max_steps(2).tool(tool("echo", |_| ToolOutput::text("done"))).build().unwrap();
    let error = agent.prompt("Where?").answer_as::<Place>().await.unwrap_err();
    assert!(matches!(&error, OutputError::Mismatch { text, .. } if text == "one"), "{error:?}");

    let script = Script::new(vec![says("one"), says("two"), says("three")]);
    let mut steps = Vec::new();
    let agent = script.agent().max_steps(2).build().unwrap();
    let mut run = agent.prompt("Where?").with_output(place_schema());
    while let Some(event) = run.next().await {
        if let AgentEvent::TurnStart { step } = event {
            steps.push(step);
        }
    }
    run.finish().await.unwrap();
    assert_eq!(steps, [1, 2]);
}

#[tokio::test]
async fn type_without_fields_is_an_error() {
    let agent = Script::default().agent().build().unwrap();
    let error = agent.prompt("Where?").answer_as::<Vec<Place>>().await.unwrap_err();
    assert!(matches!(error, OutputError::Schema(_)), "{error:?}");
}
