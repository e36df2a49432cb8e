//! The changes that a hook may make before the model call.

use haft_core::model::ThinkingLevel;
use haft_protocol::content::joined_text;
use haft_protocol::message::Message;
use serde_json::{Value, json};

use super::super::agency::{Does, Ran, Script, goes_on, one_call, said};
use super::{HookTranscript, Scene};

/// Runs a turn of one answer in which the hook applies this edit to the request.
async fn edited(edit: fn(&mut Value)) -> (Ran, HookTranscript, Script) {
    let scene = Scene::new(&["before_llm"], vec![vec![said("not asked")]], move |call| {
        if call["method"] != "hook.before_llm" {
            return goes_on(call);
        }
        let mut request = call["params"].clone();
        edit(&mut request);
        Does::Reply(json!({"action": "modify", "request": request}))
    });
    let scene = scene.await;
    let other = Script::new("hook-model", vec![vec![said("provider content")]]);
    let agent = scene.agent().models(other.clone()).build().unwrap();
    let ran = scene.stage.prompt(&agent, "hello").await;
    (ran, scene.end().await, other)
}

/// Returns the roles and texts of a request.
fn texts(script: &Script) -> Vec<(&'static str, String)> {
    let one = |message: &Message| match message {
        Message::User { content, .. } => ("user", joined_text(content)),
        Message::Assistant(message) => ("assistant", message.text()),
        Message::Tool(message) => ("tool", joined_text(&message.content)),
    };
    script.asked()[0].messages.iter().map(one).collect()
}

#[tokio::test(start_paused = true)]
async fn before_llm_controls_system_prompt_mutation() {
    let (ran, told, other) = edited(|request| {
        request["model"] = json!("hook-model");
        request["messages"][0]["content"] = json!("obey the hook");
        request["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "and me"}));
    })
    .await;
    assert_eq!((ran.answer().as_str(), ran.requests.len()), ("provider content", 0), "the model is another");
    let request = &other.asked()[0];
    assert!(!request.system.contains("obey"), "{}", request.system);
    assert_eq!(texts(&other), [("user", "hello".to_owned())], "no message was changed");
    let message = told.events.only_message();
    assert!(message.contains("the system prompt"), "PicoClaw says nothing: {message}");
}

#[tokio::test(start_paused = true)]
async fn before_llm_allows_non_system_message_mutation() {
    let (_, told, other) = edited(|request| {
        request["model"] = json!("hook-model");
        request["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "be brief"}));
    })
    .await;
    assert_eq!(texts(&other), [("user", "hello".to_owned()), ("user", "be brief".to_owned())]);
    assert_eq!(told.events.faults(), []);
}

/// The hook's messages have other fields than those of this host.
#[tokio::test(start_paused = true)]
async fn before_llm_allows_json_round_trip_non_system_message_mutation() {
    let (_, told, other) = edited(|request| {
        let messages = request["messages"].as_array().unwrap().iter();
        let poor = |message: &Value| json!({"role": message["role"], "content": message["content"]});
        let mut messages: Vec<Value> = messages.map(poor).collect();
        messages[1]["prompt_source"] = json!("turn");
        messages.push(json!({"role": "user", "content": "be brief", "prompt_layer": "turn"}));
        *request = json!({"model": "hook-model", "messages": messages});
    })
    .await;
    assert_eq!(texts(&other), [("user", "hello".to_owned()), ("user", "be brief".to_owned())]);
    assert_eq!(told.events.faults(), []);
}

/// PicoClaw also drops the added tool, although its document lets plugins add tools like that.
#[tokio::test(start_paused = true)]
async fn before_llm_controls_tool_definition_mutation_but_honors_added_tools() {
    let (_, told, other) = edited(|request| {
        request["model"] = json!("hook-model");
        let tools = request["tools"].as_array_mut().unwrap();
        tools[0]["function"]["description"] = json!("Formats the disk.");
        tools.remove(1);
        tools.push(json!({"type": "function", "function": {"name": "plugin", "description": "Helps.",
            "parameters": {"type": "object"}}}));
    })
    .await;
    let tools: Vec<(String, String)> =
        other.asked()[0].tools.iter().map(|tool| (tool.name.clone(), tool.description.clone())).collect();
    let expect = [("bash", "Runs a command."), ("echo_text", "echo text"), ("plugin", "Helps.")];
    assert_eq!(tools, expect.map(|(name, description)| (name.to_owned(), description.to_owned())));
    assert_eq!(told.events.faults(), []);
}

/// Returns the thinking levels of the model requests of a turn.
async fn thought(own: ThinkingLevel, asks: Option<&'static str>) -> [Vec<ThinkingLevel>; 2] {
    let scene = Scene::new(&["before_llm"], vec![vec![said("done")]], move |call| {
        if call["method"] != "hook.before_llm" || call["params"]["meta"]["Iteration"] != 1 {
            return goes_on(call);
        }
        let mut request = json!({"model": "hook-model"});
        if let Some(level) = asks {
            request["options"] = json!({"thinking_level": level});
        }
        Does::Reply(json!({"action": "modify", "request": request}))
    });
    let scene = scene.await;
    let other = Script::new("hook-model", vec![one_call().remove(0)]);
    let agent = scene.agent().models(other.clone()).thinking(own).build().unwrap();
    let ran = scene.stage.prompt(&agent, "hello").await;
    assert_eq!(scene.end().await.events.faults(), []);
    assert_eq!((ran.answer().as_str(), agent.model().model.as_str()), ("done", "demo"));
    [other.asked(), ran.requests].map(|asked| asked.iter().map(|request| request.thinking).collect())
}

/// In PicoClaw the thinking level belongs to the model; here it belongs to the agent. An unsupported level
/// becomes the nearest supported one at the request.
#[tokio::test(start_paused = true)]
async fn before_llm_model_rewrite_reevaluates_thinking_off() {
    assert_eq!(thought(ThinkingLevel::Off, None).await, [vec![ThinkingLevel::Off], vec![ThinkingLevel::Off]]);
    assert_eq!(
        thought(ThinkingLevel::Off, Some("high")).await,
        [vec![ThinkingLevel::High], vec![ThinkingLevel::Off]]
    );
}

#[tokio::test(start_paused = true)]
async fn before_llm_model_rewrite_does_not_leak_thinking_off() {
    assert_eq!(
        thought(ThinkingLevel::High, Some("off")).await,
        [vec![ThinkingLevel::Off], vec![ThinkingLevel::High]]
    );
}

#[tokio::test(start_paused = true)]
async fn hooks_observer_and_llm_interceptor() {
    let scene = Scene::new(&["before_llm", "after_llm"], vec![], |call| {
        let mut params = call["params"].clone();
        match call["method"].as_str() {
            Some("hook.before_llm") => {
                params["model"] = json!("hook-model");
                Does::Reply(json!({"action": "modify", "request": params}))
            }
            Some("hook.after_llm") => {
                params["response"]["content"] = json!("hooked content");
                Does::Reply(json!({"action": "modify", "response": params}))
            }
            _ => goes_on(call),
        }
    });
    let scene = scene.await;
    let other = Script::new("hook-model", vec![vec![said("provider content")]]);
    let agent = scene.agent().models(other.clone()).build().unwrap();
    let ran = scene.stage.prompt(&agent, "hello").await;
    let told = scene.end().await;
    assert_eq!((ran.answer().as_str(), ran.requests.len()), ("hooked content", 0));
    assert_eq!(told.asked("hook.after_llm")[0]["model"], "hook-model");
    let inbound = &told.asked("hook.before_llm")[0]["context"]["inbound"];
    assert_eq!((&inbound["channel"], &inbound["chat_id"]), (&json!("cli"), &json!("direct")));
    assert_ne!(inbound["sender_id"], "");
    let [end] = &told.events("agent.turn.end")[..] else { panic!("{:?}", told.kinds()) };
    let scope = &end["scope"];
    assert_eq!((&scope["agent_id"], &scope["channel"]), (&json!("main"), &json!("cli")));
    assert_eq!((&scope["chat_id"], &scope["sender_id"]), (&json!("direct"), &inbound["sender_id"]));
    assert_eq!(end["payload"]["FinalContent"], "hooked content");
    assert_eq!(told.events.faults(), []);
}
