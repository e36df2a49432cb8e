//! The agent's tool selection overrides hooks: PicoClaw's turn profile.

use serde_json::json;

use super::super::agency::{Does, Ran, calls, goes_on};
use super::{ALL, HookTranscript, Scene};

/// Runs a turn of an agent with only `echo_text`, and a hook that adds `plugin` and answers every call.
async fn selected(tool: &str, args: serde_json::Value) -> (Ran, HookTranscript) {
    let scene = Scene::new(ALL, vec![calls(tool, args)], |call| match call["method"].as_str() {
        Some("hook.before_llm") => {
            let mut tools = call["params"]["tools"].clone();
            for name in ["plugin", "bash"] {
                let function = json!({"name": name, "description": "", "parameters": {}});
                tools.as_array_mut().unwrap().push(json!({"type": "function", "function": function}));
            }
            let options = json!({"native_search": true});
            Does::Reply(json!({"action": "modify", "request": {"tools": tools, "options": options}}))
        }
        Some("hook.before_tool") if call["params"]["tool"] != "echo_text" => {
            Does::Reply(json!({"action": "respond", "result": {"for_llm": "from the hook"}}))
        }
        _ => goes_on(call),
    });
    let scene = scene.await;
    let agent = scene.agent().build().unwrap();
    agent.set_active_tools(Some(vec!["echo_text".to_owned()]));
    let ran = scene.stage.prompt(&agent, "hello").await;
    (ran, scene.end().await)
}

/// This host has no provider-side search that a hook could enable
/// (`BeforeLLMHookCannotReenableNativeSearch…`).
#[tokio::test(start_paused = true)]
async fn tools_custom_filters_provider_tools_and_hook_additions() {
    let (ran, told) = selected("echo_text", json!({"text": "x"})).await;
    for request in &ran.requests {
        let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["echo_text"]);
    }
    assert_eq!(ran.result(), ("x".to_owned(), false));
    let told = told.events.messages();
    assert_eq!(told.len(), 4, "two tools, two requests: {told:?}");
    let text = r#"before_llm hook: cannot add the tool "plugin": the tool is not active"#;
    assert_eq!(told[0], text);
}

#[tokio::test(start_paused = true)]
async fn tool_execution_rejects_disallowed_tool_calls() {
    let (ran, told) = selected("bash", json!({"command": "ls"})).await;
    assert_eq!(ran.executions, 0);
    let (text, is_error) = ran.result();
    assert!(is_error && text.contains("bash"), "{text}");
    assert_eq!(told.asked("hook.before_tool").len(), 0, "the call is refused before any hook");
}

#[tokio::test(start_paused = true)]
async fn before_tool_respond_cannot_bypass_disallowed_tool() {
    for tool in ["bash", "plugin"] {
        let (ran, _) = selected(tool, json!({"command": "ls"})).await;
        assert!(ran.result().1 && !ran.result().0.contains("from the hook"), "{tool}: {:?}", ran.result());
    }
}
