//! Results of a hook that replace a tool run.

use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::Message;
use serde_json::{Value, json};

use super::super::agency::{Does, Ran, answers, calls, methods, one_call, said};
use super::{ALL, HookTranscript, Scene};

/// Runs a turn in which the hook returns this instead of `bash`.
async fn responds(result: Value) -> (Ran, HookTranscript) {
    let reply = json!({"action": "respond", "result": result});
    let scene = Scene::new(ALL, one_call(), answers("hook.before_tool", reply)).await;
    scene.prompt().await
}

/// PicoClaw lets a hook answer for a tool without approval. This host asks the approvers first, unless the
/// user lets the hook vouch for the call. A tool that only hooks know needs no approval.
#[tokio::test(start_paused = true)]
async fn hooks_tool_respond_action_after_approval() {
    let (ran, told) = responds(json!({"for_llm": "hook result", "silent": true})).await;
    assert_eq!((ran.executions, ran.result()), (0, ("hook result".to_owned(), false)));
    assert_eq!((told.asked("hook.approve_tool").len(), told.asked("hook.after_tool").len()), (1, 0));
    let [start] = &told.events("agent.tool.exec_start")[..] else { panic!("{:?}", told.kinds()) };
    assert_eq!(start["payload"], json!({"Tool": "bash", "Arguments": {"command": "ls"}}));
    let [end] = &told.events("agent.tool.exec_end")[..] else { panic!("{:?}", told.kinds()) };
    assert_eq!(end["payload"]["Tool"], "bash");
    assert_eq!(end["payload"]["ForLLMLen"], "hook result".len());
    assert_eq!(end["payload"]["IsError"], false);
    let scene = Scene::new(ALL, one_call(), |call| {
        Does::Reply(match call["method"].as_str() {
            Some("hook.before_tool") => json!({"action": "respond", "result": {"for_llm": "hook result"}}),
            Some("hook.approve_tool") => json!({"approved": false, "reason": "not even so"}),
            _ => json!({}),
        })
    });
    let (ran, _) = scene.await.prompt().await;
    assert_eq!(ran.result().0, "Tool execution denied by approval hook: not even so");
}

/// The call next to the result is ignored, as in PicoClaw.
#[tokio::test(start_paused = true)]
async fn hooks_tool_respond_action_of_an_unknown_tool() {
    let call = json!({"tool": "bash", "arguments": {"command": "rm -rf /"}});
    let reply = json!({"action": "respond", "call": call, "result": {"for_llm": "sunny"}});
    let says = vec![calls("weather", json!({"city": "Rome"}))];
    let (ran, told) = Scene::new(ALL, says, answers("hook.before_tool", reply)).await.prompt().await;
    assert_eq!((ran.executions, ran.answer().as_str()), (0, "sunny"));
    let lines: Vec<Value> = told.lines.iter().filter(|line| !line["id"].is_null()).cloned().collect();
    let expect =
        ["hook.before_llm", "hook.after_llm", "hook.before_tool", "hook.before_llm", "hook.after_llm"];
    assert_eq!(methods(&lines), expect);
    let start = told.events("agent.tool.exec_start")[0];
    assert_eq!(start["payload"], json!({"Tool": "weather", "Arguments": {"city": "Rome"}}));
    assert_eq!(told.events.faults(), []);
}

/// PicoClaw makes the call and only logs the reason. Here a hook without a valid answer does not allow the
/// call.
#[tokio::test(start_paused = true)]
async fn hook_respond_without_a_result_blocks_and_is_reported() {
    let does = answers("hook.before_tool", json!({"action": "respond"}));
    let (ran, told) = Scene::new(ALL, one_call(), does).await.prompt().await;
    assert_eq!(ran.executions, 0);
    let message = told.events.only_message();
    assert!(
        message.contains(r#"respond without "result"; got {"action":"respond"}, expected {"#),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn hook_manager_before_tool_respond_action() {
    let image = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let (ran, told) = responds(json!({"for_llm": "drawn", "for_user": "a picture", "silent": false,
        "is_error": true, "async": false, "media": [image], "artifact_tags": ["[file:/tmp/x.png]"]}))
    .await;
    let Some(Message::Tool(result)) = ran.messages.get(2) else { panic!("{:?}", ran.messages) };
    assert!(result.is_error);
    let kinds: Vec<&str> = result
        .content
        .iter()
        .map(|block| match block {
            ContentBlock::Text { text } => text.as_str(),
            ContentBlock::Image(image) => image.mime_type.as_str(),
        })
        .collect();
    assert_eq!(kinds, ["drawn", "image/png", "[file:/tmp/x.png]"]);
    let shown = ran.events.iter().find_map(|event| {
        let AgentEvent::ExtDisplay { text, .. } = event else { return None };
        Some(text.as_str())
    });
    assert_eq!(shown, Some("a picture"));
    assert_eq!(told.events.faults(), []);
}

/// A terminal delivers only text, so the model has to mention the media, as in PicoClaw.
#[tokio::test(start_paused = true)]
async fn hook_respond_bus_fallback() {
    let result = json!({"for_llm": "sent", "media": ["media://1"], "response_handled": true});
    let reply = json!({"action": "respond", "result": result});
    let says = vec![one_call().remove(0), vec![said("done")]];
    let (ran, told) = Scene::new(ALL, says, answers("hook.before_tool", reply)).await.prompt().await;
    assert_eq!((ran.result().1, ran.answer().as_str(), ran.requests.len()), (false, "done", 2));
    assert!(ran.result().0.contains("media://1"), "{}", ran.result().0);
    assert_eq!(told.events("agent.tool.exec_end")[0]["payload"]["IsError"], false);
    assert_eq!(told.events.faults(), []);
}
