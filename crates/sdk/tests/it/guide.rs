//! The programs of the tutorials and of `docs/extension-guide.md`, compiled and run here, so that the pages stay true.

use std::path::Path;
use std::{env, fs};

use haft_sdk::protocol::ids::ToolCallId;
use haft_sdk::protocol::message::StopCause;
use haft_sdk::testing::{Harness, host_info};
use haft_sdk::{
    Completion, Extension, ExtensionConfig, GateDecision, HostError, HostInfo, InterceptToolCall,
    LifecycleEvent, Panel, PanelEvent, RawJson, ResolvedPath, Response, ToolCallDecision, ToolResult,
};
use serde_json::{Value, json};

use haft_test_support::subprocess::PeerProcess;

const GUIDE: &str = include_str!("../../../../docs/extension-guide.md");
const PYTHON: &str = include_str!("../../../../docs/first-extension-python.md");
const SHELL: &str = include_str!("../../../../docs/first-extension-shell.md");
const RUST: &str = include_str!("../../../../docs/first-extension-rust.md");
const GATE: &str = include_str!("../../../../docs/first-gate.md");

/// The command of the guide that reads the session.
mod mirroring {
    use haft_sdk::protocol::ext::{ContextData, EntriesFrame, StateFrame};
    use haft_sdk::testing::Harness;
    use haft_sdk::{Extension, Host, MirrorPart, RawJson, Response, SessionMirror};

    fn turns(mirror: &SessionMirror) -> usize {
        let branch = mirror.current_branch();
        let is_prompt = |line: &RawJson| line.as_str().contains(r#""role":"user""#);
        branch.iter().filter(|entry| entry.kind == "message" && is_prompt(&entry.line)).count()
    }

    fn extension() -> Extension {
        Extension::new("turns", "1.0.0").mirror_session([MirrorPart::Entries, MirrorPart::Context]).command(
            "turns",
            "Count the prompts",
            |_, host: Host| async move {
                let mirror = host.session_mirror();
                let tokens = mirror.state().context.unwrap_or_default().tokens;
                Response::display(format!("{} prompts, {tokens} tokens", turns(mirror)))
            },
        )
    }

    #[tokio::test]
    async fn command_counts_the_prompts_of_its_copy() {
        let harness = Harness::start(extension()).await;
        assert_eq!(harness.command("turns", "").await, Response::display("0 prompts, 0 tokens"));
        let context = Some(ContextData { tokens: 1200, ..ContextData::default() });
        harness.mirror_state(StateFrame { context, ..StateFrame::default() }).await;
        let said = |id: &str, parent: &str, role: &str| {
            let message = format!(
                r#"{{"type":"message","id":"{id}","parent":{parent},"message":{{"role":"{role}"}}}}"#
            );
            RawJson::parse(&message).unwrap()
        };
        let append =
            vec![said("a", "null", "user"), said("b", r#""a""#, "assistant"), said("c", "null", "user")];
        let entries = EntriesFrame { reset: true, append, leaf: Some("b".into()), ..EntriesFrame::default() };
        harness.mirror_entries(entries).await;
        assert_eq!(harness.command("turns", "").await, Response::display("1 prompts, 1200 tokens"));
    }
}

/// The gate of the guide that asks the person.
mod asking {
    use haft_sdk::{Extension, GateDecision, UiAnswer};

    #[tokio::test]
    async fn gate_asks_the_person() {
        let gate = Extension::new("guard", "1.0.0").gate("bash", |call, host| async move {
            match host.ui().confirm("Run this command?", call.tool_args.to_string()).await {
                Ok(true) => GateDecision::allow(),
                Ok(false) => GateDecision::block("the user said no"),
                Err(error) => GateDecision::block(error.to_string()),
            }
        });
        let harness =
            haft_sdk::testing::Harness::start_with_person(gate, |_| UiAnswer::Confirmed(true)).await;
        let decision = harness.intercept_tool_call("bash", serde_json::json!({"command": "ls"})).await;
        assert_eq!(decision, haft_sdk::ToolCallDecision::Allow);
    }
}

/// The changes of the screen that the guide lists.
mod showing {
    use haft_sdk::protocol::ext::ShowCall;
    use haft_sdk::testing::{Harness, host_info};
    use haft_sdk::{Extension, HostInfo, Response, SetWorkingCall};

    fn baker() -> Extension {
        Extension::new("baker", "1.0.0").command("bake", "Bake", |_, host| async move {
            host.ui().set_title("Bakery");
            host.ui()
                .set_working(SetWorkingCall { text: Some("Baking".into()), ..SetWorkingCall::default() });
            host.ui().set_editor_text("/bake more");
            host.ui().insert_text(" bread");
            Response::Noop
        })
    }

    #[tokio::test]
    async fn screen_changes_in_order_without_results() {
        let harness = Harness::start(baker()).await;
        harness.command("bake", "").await;
        let kinds: Vec<&str> = harness.screen_changes().iter().map(|show| show.kind().name()).collect();
        assert_eq!(kinds, ["set_title", "set_working", "set_editor", "insert"]);
        assert!(matches!(&harness.screen_changes()[0], ShowCall::SetTitle(title) if title.text == "Bakery"));
    }

    #[tokio::test]
    async fn host_without_a_screen_gets_no_changes() {
        let info = HostInfo { capabilities: Vec::new(), ..host_info() };
        let harness = Harness::start_with(baker(), info).await;
        harness.command("bake", "").await;
        assert_eq!(harness.screen_changes(), []);
    }
}

/// The command of the guide that controls the session.
mod reviewing {
    use std::sync::{Arc, Mutex};

    use haft_sdk::protocol::rpc::{Command, CommandFailure, ErrorCode};
    use haft_sdk::testing::Harness;
    use haft_sdk::{Extension, Host, HostError, Response};
    use serde_json::{Value, json};
    use tokio::sync::Notify;

    fn state() -> Value {
        let tokens = json!({"input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "cost_usd": 0.0});
        json!({
            "provider": "acme", "model": "small", "cwd": "/w", "message_count": 0, "busy": false, "usage": tokens,
            "session": "0199", "thinking": "off", "context": {"tokens": 0, "estimated": 0}, "prompts": 0,
            "queue": {"steering": [], "follow_up": [], "next_turn": []},
        })
    }

    async fn review(host: &Host) -> Result<(), HostError> {
        let session = host.session();
        let state = session.state().await?;
        session.set_model("anthropic/claude-opus-4-1").await?;
        session.prompt("Review the uncommitted changes.").await?;
        session.wait_idle().await?;
        session.set_model(format!("{}/{}", state.provider, state.model)).await.map(drop)
    }

    fn extension() -> Extension {
        Extension::new("review", "1.0.0").command("review", "Review the changes", |_, host| async move {
            // The review takes longer than a command may take.
            tokio::spawn(async move { review(&host).await.unwrap_or_else(|error| host.log(error)) });
            Response::Noop
        })
    }

    #[tokio::test]
    async fn another_model_reviews_the_changes() {
        let (seen, reviewed) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
        let (log, finished) = (Arc::clone(&seen), Arc::clone(&reviewed));
        let harness = Harness::start_with_session(extension(), move |command| {
            let mut log = log.lock().unwrap();
            log.push(serde_json::to_value(command).unwrap());
            if log.len() == 5 {
                finished.notify_one();
            }
            Ok(match command.kind().name() {
                "get_state" => state(),
                "set_model" => json!({"provider": "x", "model": "y"}),
                "prompt" => json!({"started": true}),
                _ => Value::Null,
            })
        })
        .await;
        assert_eq!(harness.command("review", "").await, Response::Noop);
        reviewed.notified().await;
        let kinds: Vec<Value> = seen.lock().unwrap().iter().map(|command| command["type"].clone()).collect();
        assert_eq!(kinds, ["get_state", "set_model", "prompt", "wait_idle", "set_model"]);
        assert_eq!(seen.lock().unwrap()[4]["model"], "acme/small");
    }

    #[tokio::test]
    async fn failed_command_has_a_code() {
        let fast =
            Extension::new("fast", "1.0.0").command("fast", "Use the fast model", |_, host| async move {
                match host.session().set_model("acme/fast").await {
                    Err(HostError::Command { code, reason }) => {
                        Response::display(format!("{code}: {reason}"))
                    }
                    other => Response::display(format!("{other:?}")),
                }
            });
        let fails =
            |_: &Command| Err(CommandFailure::new(ErrorCode::ModelNotFound, "no model is called acme/fast"));
        let harness = Harness::start_with_session(fast, fails).await;
        let expected = Response::display("model_not_found: no model is called acme/fast");
        assert_eq!(harness.command("fast", "").await, expected);
    }
}

/// The data in the session of the guide.
mod session_data {
    use std::sync::{Arc, Mutex};

    use haft_sdk::protocol::rpc::{DeliveryTime, SendMessage};
    use haft_sdk::testing::Harness;
    use haft_sdk::{Extension, Host, HostError, Response};
    use serde_json::{Value, json};

    async fn report(output: String, failures: u32, host: &Host) -> Result<(), HostError> {
        let session = host.session();
        session.append_entry("failures", &failures).await?;
        session.set_tags([("build", Some("red"))]).await?;
        let (when, turn) = (DeliveryTime::FollowUp, true);
        session.send_message(SendMessage { when, turn, ..SendMessage::new("build", output) }).await.map(drop)
    }

    #[tokio::test]
    async fn failed_build_is_recorded_and_the_model_works_on_it() {
        let extension =
            Extension::new("build", "1.0.0").command("build", "Build", |_, host: Host| async move {
                report("It failed.".to_owned(), 3, &host).await.unwrap();
                host.session().set_label("e1", Some("red")).await.unwrap();
                let found = host.session().find_sessions([("build", None)]).await.unwrap();
                Response::display(found.sessions.len().to_string())
            });
        let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
        let log = Arc::clone(&seen);
        let harness = Harness::start_with_session(extension, move |command| {
            log.lock().unwrap().push(serde_json::to_value(command).unwrap());
            Ok(match command.kind().name() {
                "append_entry" => json!({"entry": "e1"}),
                "send_message" => json!({"running": true}),
                "find_sessions" => json!({"sessions": []}),
                _ => Value::Null,
            })
        })
        .await;
        assert_eq!(harness.command("build", "").await, Response::display("0"));
        let message = json!({
            "type": "send_message", "kind": "build", "content": "It failed.", "display": true,
            "when": "follow_up", "turn": true,
        });
        let expected = [
            json!({"type": "append_entry", "kind": "failures", "data": 3}),
            json!({"type": "set_tags", "tags": {"build": "red"}}),
            message,
            json!({"type": "set_label", "entry": "e1", "label": "red"}),
            json!({"type": "find_sessions", "tags": {"build": null}}),
        ];
        assert_eq!(*seen.lock().unwrap(), expected);
    }
}

/// The lock of the guide.
mod file_locks {
    use haft_sdk::testing::Harness;
    use haft_sdk::{Extension, Host, HostError, Response};
    use serde_json::Value;

    async fn count(host: &Host) -> Result<u64, HostError> {
        let _lock = host.lock_file("builds.txt").await?;
        let builds: u64 = host.read("builds.txt").await?.text.trim().parse().unwrap_or(0);
        host.write("builds.txt", (builds + 1).to_string()).await?;
        Ok(builds + 1)
    }

    #[tokio::test]
    async fn lock_is_released_after_the_change() {
        let extension =
            Extension::new("builds", "1.0.0").command("build", "Count a build", |_, host: Host| async move {
                Response::display(count(&host).await.unwrap().to_string())
            });
        let harness = Harness::start_served(extension, |call: &str, _args: Value| {
            Ok(if call == "read" { "6\n".to_owned() } else { "done".to_owned() })
        })
        .await;
        assert_eq!(harness.command("build", "").await, Response::display("7"));
        let frames = harness.transcript();
        let at = |text: &str| frames.find(text).expect(text);
        let calls = [r#""call":"lock_file""#, r#""call":"write""#, r#""call":"unlock_file""#].map(at);
        assert!(calls.is_sorted(), "{frames}");
    }
}

/// The messages between extensions of the guide.
mod messages {
    use haft_sdk::protocol::ext::EmitCall;
    use haft_sdk::testing::Harness;
    use haft_sdk::{BusMessage, Extension, Host, RawJson, Response};
    use serde_json::json;

    fn extension() -> Extension {
        Extension::new("builder", "1.0.0").command("build", "Build the project", |_, host| async move {
            host.emit_message("build", &json!({"passed": true})).map(|()| Response::display("built"))
        })
    }

    fn lamp() -> Extension {
        Extension::new("lamp", "1.0.0").on_bus(|message: BusMessage, host: Host| async move {
            if message.channel == "build" && message.from.as_str() == "builder" {
                host.set_status("build", message.data.to_string());
            }
        })
    }

    #[tokio::test]
    async fn command_sends_a_message() {
        let harness = Harness::start(extension()).await;
        assert_eq!(harness.command("build", "").await, Response::display("built"));
        let data = RawJson::parse(r#"{"passed":true}"#).unwrap();
        assert_eq!(harness.emitted_messages(), [EmitCall { channel: "build".into(), data }]);
    }

    #[tokio::test]
    async fn message_reaches_the_handler() {
        let harness = Harness::start(lamp()).await;
        harness.bus_message("stranger", "build", json!("no")).await;
        harness.bus_message("builder", "build", json!({"passed": false})).await;
        assert_eq!(harness.status(), [("build".to_owned(), r#"{"passed":false}"#.to_owned())]);
        let frames = harness.transcript();
        assert!(
            frames.contains(
                r#""capabilities":["events","ping","event_gap","bus","host_services","progress","calls"]"#
            ),
            "{frames}"
        );
    }
}

/// The tools and models of the agent of the guide.
mod agent_calls {
    use haft_sdk::testing::Harness;
    use haft_sdk::{CompleteCall, CompletionMessage, Extension, Host, HostError, NoArgs, ToolResult};
    use serde_json::json;

    async fn summarize_todos(host: &Host) -> Result<String, HostError> {
        let found = host.call_tool("grep", json!({"pattern": "TODO"})).await?;
        let system = "Summarize these notes in one sentence.".to_owned();
        let messages = vec![CompletionMessage::from_user(found.joined_text())];
        let answer = host.ask_model(CompleteCall { system, messages, ..CompleteCall::default() }).await?;
        Ok(answer.text)
    }

    #[tokio::test]
    async fn notes_are_summarized() {
        let extension =
            Extension::new("todos", "1.0.0").tool("todos", "", |_: NoArgs, host: Host| async move {
                summarize_todos(&host).await.map(ToolResult::text)
            });
        let harness = Harness::start_served(extension, |call, args| match call {
            "call_tool" => Ok("a.rs:1:TODO knead".to_owned()),
            _ => Ok(format!("{}!", args["messages"][0]["content"].as_str().unwrap_or_default())),
        })
        .await;
        assert_eq!(harness.tool("todos", json!({})).await, ToolResult::text("a.rs:1:TODO knead!"));
    }
}

/// The session event of the guide.
mod session_events {
    use haft_sdk::Extension;
    use haft_sdk::protocol::event::AgentEvent;
    use haft_sdk::protocol::ids::ToolCallId;

    #[derive(serde::Deserialize)]
    struct ToolEnd {
        name: String,
        duration_ms: u64,
    }

    #[tokio::test]
    async fn event_is_read_as_a_type() {
        let extension = Extension::new("times", "1.0.0")
            .on_session_event("tool_end", |event, host| async move {
                let ToolEnd { name, duration_ms } = event.read()?;
                host.log(format_args!("{name} took {duration_ms} ms"));
                Ok::<_, serde_json::Error>(())
            })
            .wait_agent_end(|run, host| async move { host.log(format_args!("finished: {:?}", run.error)) });
        let harness = haft_sdk::testing::Harness::start(extension).await;
        let id = ToolCallId::new("t");
        harness.session_event(&AgentEvent::ToolEnd { id, name: "bash".into(), duration_ms: 3 }).await;
        harness.wait_event(haft_sdk::InterceptAgentEnd { error: None }).await;
        assert_eq!(harness.notes(), [], "a failed handler sends a note");
        harness.shutdown().await;
    }
}

/// The program of the Rust tutorial.
mod tutorial {
    use haft_sdk::{Extension, Response, ToolResult};

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct City {
        /// The name of the city.
        city: String,
    }

    fn extension() -> Extension {
        Extension::new("weather", "1.0.0")
            .command("weather", "show the weather in CITY", |city, _host| async move {
                Response::display(format!("{city}: sunny"))
            })
            .tool("weather", "Current weather for a city.", |args: City, _host| async move {
                ToolResult::text(format!("{}: sunny", args.city))
            })
    }

    #[expect(dead_code, reason = "the program of the tutorial; the tests run its extension")]
    fn main() -> std::process::ExitCode {
        extension().run()
    }

    #[tokio::test]
    async fn the_command_shows_the_weather() {
        let harness = haft_sdk::testing::Harness::start(extension()).await;
        assert_eq!(harness.command("weather", "Berlin").await, Response::display("Berlin: sunny"));
    }

    #[tokio::test]
    async fn frames_after_the_start_are_compared() {
        use serde_json::json;

        let harness = haft_sdk::testing::Harness::start(extension()).await;
        harness.tool("weather", json!({"city": "Berlin"})).await;
        insta::assert_snapshot!(harness.transcript_since_ready(), @r#"
        → {"type":"tool_call","id":"1","name":"weather","args":{"city":"Berlin"},"tool_id":"call-1"}
        ← {"type":"tool_result","id":"1","content":[{"type":"text","text":"Berlin: sunny"}]}
        "#);
    }

    #[cfg(test)]
    mod tests {
        use haft_sdk::testing::Harness;

        #[tokio::test]
        async fn berlin_is_sunny() {
            let harness = Harness::start(super::extension()).await;
            let result = harness.tool("weather", serde_json::json!({"city": "Berlin"})).await;
            assert_eq!(result.joined_text(), "Berlin: sunny");
        }
    }
}

/// The programs of the guide.
mod program {
    use haft_sdk::{Extension, HostError, NoteLevel, Response, ToolResult};

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Search {
        /// The text to find.
        query: String,
        /// At most this many results.
        #[serde(default)]
        limit: Option<u32>,
    }

    #[derive(Default, serde::Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Settings {
        units: String,
        token: Option<String>,
    }

    pub(super) fn units(extension: Extension) -> Extension {
        extension.command("units", "", |_, host| async move {
            let settings: Settings = match host.config().await {
                Ok(settings) => settings,
                Err(error) => {
                    host.notify(NoteLevel::Error, error.to_string());
                    Settings::default()
                }
            };
            Response::display(format!("{:?} {}", settings.units, settings.token.is_some()))
        })
    }

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Note {
        text: String,
    }

    pub(super) fn note(extension: Extension) -> Extension {
        extension.tool("note", "", |args: Note, host| async move {
            let mut page = match host.read("NOTES.md").await {
                Ok(page) => page.text,
                Err(HostError::NotFound { .. }) => String::new(),
                Err(error) => return ToolResult::error(error.to_string()),
            };
            page.push_str(&format!("* {}\n", args.text));
            match host.write("NOTES.md", page).await {
                Ok(()) => ToolResult::text("noted"),
                Err(HostError::Blocked { by, reason }) => {
                    ToolResult::error(format!("{by} says no: {reason}"))
                }
                Err(error) => ToolResult::error(error.to_string()),
            }
        })
    }

    pub(super) fn search(extension: Extension) -> Extension {
        extension.tool("search", "", |args: Search, _| async move {
            ToolResult::text(format!("{} {:?}", args.query, args.limit))
        })
    }
}

/// The fragments of the guide in one extension.
fn extension() -> Extension {
    program::note(program::units(program::search(Extension::new("guide", "1.0.0"))))
        .on_event("turn_end", |event, host| async move { host.log(format_args!("{:?}", event.stop)) })
        .gate("bash", |call, _host| async move {
            let args: Value = call.tool_args.read()?;
            if args["command"].as_str().is_some_and(|command| command.contains("git push")) {
                return Ok(GateDecision::block("pushing is left to people"));
            }
            Ok::<_, serde_json::Error>(GateDecision::allow())
        })
        .gate("read", |call, _host| async move {
            let secret =
                call.resolved_paths.iter().any(|place| Path::new(&place.path).starts_with("/srv/secrets"));
            Ok::<_, serde_json::Error>(if secret {
                GateDecision::block("secrets")
            } else {
                GateDecision::allow()
            })
        })
        .rewrite(["grep", "find"], |call, _host| async move {
            let mut args: Value = call.tool_args.read()?;
            if args["limit"].as_u64().is_some_and(|limit| limit <= 50) {
                return Ok(ToolCallDecision::allow());
            }
            args["limit"] = 50.into();
            Ok::<_, serde_json::Error>(ToolCallDecision::rewrite(args))
        })
        .command("board", "open the board", |_, _| async {
            Response::open_panel(
                Panel::new("board").title("Board").lines(["one", "two"]).footer("enter closes"),
            )
        })
        .panel("board", |event, host| async move {
            match event {
                PanelEvent::Key(key) if key.key == "enter" => host.close_panel("board"),
                PanelEvent::Key(key) => host.render_panel(Panel::new("board").lines([key.key])),
                PanelEvent::Resized { .. } | PanelEvent::Closed => {}
            }
        })
        .complete("board", |typed, _host| async move {
            let views = ["week", "month"].into_iter().filter(|view| view.starts_with(&typed));
            views.map(|view| Completion::new(view).description("what is due then")).collect::<Vec<_>>()
        })
        .shortcut("f8", "show the board", |_, host| async move {
            host.ui().open_panel(Panel::new("board").title("Board").lines(["one", "two"]));
        })
}

#[tokio::test]
async fn fragments_work_as_documented() {
    let harness = Harness::start(extension()).await;
    let misfit = harness.tool("search", json!({"query": "q", "limit": "3"})).await;
    let expect = r#"argument "limit" does not fit: invalid type: string "3", expected u32"#;
    assert_eq!(misfit, ToolResult::error(expect));
    assert!(GUIDE.contains(expect));
    let push = harness.intercept_tool_call("bash", json!({"command": "git push"})).await;
    assert_eq!(push, ToolCallDecision::block("pushing is left to people"));
    let read = async |path: &str| {
        let place = ResolvedPath::new("path", path).with_exists(true).with_link(true);
        let call = InterceptToolCall {
            tool_id: ToolCallId::new("t1"),
            tool_name: "read".into(),
            tool_args: json!({ "path": path }).into(),
            caller: None,
            resolved_paths: vec![place],
        };
        harness.intercept_call(call).await
    };
    assert_eq!(read("/srv/secrets/key").await, ToolCallDecision::block("secrets"));
    assert_eq!(read("/srv/secrets-of-the-sea").await, ToolCallDecision::Allow);
    let search = harness.intercept_tool_call("grep", json!({"pattern": "x", "limit": 90})).await;
    assert_eq!(search, ToolCallDecision::rewrite(json!({"pattern": "x", "limit": 50})));
    assert_eq!(harness.command("units", "").await, Response::display("\"\" false"));
    assert_eq!(harness.complete("board", "w").await.len(), 1);
    harness.command("board", "").await;
    harness.panel_key("board", "up").await;
    assert_eq!(harness.panel("board").unwrap().lines, ["up"]);
    harness.panel_key("board", "enter").await;
    assert_eq!(harness.panel("board"), None);
    assert_eq!(harness.press_shortcut("f8").await, Ok(()));
    assert_eq!(harness.panel("board").unwrap().lines, ["one", "two"]);
    harness.event(LifecycleEvent::turn_end(StopCause::End, None)).await;
    assert_eq!(harness.notes(), []);
}

#[tokio::test]
async fn settings_and_host_calls_are_answered_in_tests() {
    let config = ExtensionConfig::new(RawJson::parse(r#"{"units":"si"}"#).unwrap());
    let harness = Harness::start_with(extension(), HostInfo { config, ..host_info() }).await;
    assert_eq!(harness.command("units", "").await, Response::display("\"si\" false"));

    let answer = |call: &str, _args: Value| Ok(format!("result of {call}"));
    let harness = Harness::start_served(extension(), answer).await;
    assert_eq!(harness.tool("note", json!({"text": "rain"})).await, ToolResult::text("noted"));
}

#[tokio::test]
async fn host_services_are_used_and_failures_reported() {
    let note = json!({"text": "rain"});
    let harness = Harness::start_served(extension(), |call, args| match call {
        "read" => Ok("* sun\n".to_owned()),
        "write" if args["content"] == "* sun\n* rain\n" => Ok("replaced".to_owned()),
        other => panic!("{other} {args}"),
    });
    assert_eq!(harness.await.tool("note", note.clone()).await, ToolResult::text("noted"));
    let harness = Harness::start_served(extension(), |call, _| match call {
        "read" => Err(HostError::NotFound { reason: "none".into() }),
        _ => Err(HostError::Blocked { by: "guard".into(), reason: "later".into() }),
    });
    let refused = harness.await.tool("note", note.clone()).await;
    assert_eq!(refused, ToolResult::error("guard says no: later"));
    let harness = Harness::start(extension()).await;
    assert_eq!(harness.tool("note", note).await, ToolResult::error("no read in this test"));
}

#[test]
fn every_rust_block_is_compiled_here() {
    /// Removes white space and the commas that rustfmt adds with it.
    fn bare(text: &str) -> String {
        let bare: String = text.split_whitespace().collect();
        bare.replace(",}", "}").replace(",)", ")")
    }
    let here = bare(include_str!("guide.rs"));
    let blocks: Vec<_> = blocks(RUST, "rust").chain(blocks(GUIDE, "rust")).collect();
    assert!(blocks.len() > 5);
    for block in blocks {
        let missing = block.split("\n\n").find(|part| !here.contains(&bare(part)));
        assert_eq!(missing, None, "not compiled by this test");
    }
}

#[test]
fn the_python_tutorial_runs() {
    let dir = tempfile::tempdir().unwrap();
    let program = blocks(PYTHON, "python").next().unwrap();
    let mut greet = start("python3", program, dir.path());
    assert_eq!(greet.expect_frame("hello")["name"], "greet");
    greet.until_ready();
    let command = json!({"type": "command_invoked", "id": "1", "name": "greet", "args": "Ada"});
    assert_eq!(greet.ask_question(&command, "command_response")["display"], "Hello, Ada!");
    let call = json!({"type": "tool_call", "id": "2", "name": "shoe_size", "args": {"name": "Ada"}});
    assert_eq!(greet.ask_question(&call, "tool_result")["content"][0]["text"], "size 39");
    greet.shutdown();
}

#[test]
fn the_shell_tutorial_runs() {
    let dir = tempfile::tempdir().unwrap();
    let program = blocks(SHELL, "bash").find(|block| block.starts_with("#!")).unwrap();
    let mut count = start("bash", program, dir.path());
    assert_eq!(count.expect_frame("hello")["name"], "count");
    count.until_ready();
    let command = json!({"type": "command_invoked", "id": "1", "name": "count", "args": "one two three"});
    assert_eq!(count.ask_question(&command, "command_response")["display"], "3 words");
    let call = json!({"type": "tool_call", "id": "2", "name": "count_words", "args": {"text": "to be"}});
    assert_eq!(count.ask_question(&call, "tool_result")["content"][0]["text"], "2 words");
    count.shutdown();
}

#[test]
fn the_gate_tutorial_runs() {
    let dir = tempfile::tempdir().unwrap();
    let program = blocks(GATE, "python").next().unwrap();
    let mut gate = start("python3", program, dir.path());
    assert_eq!(gate.expect_frame("hello")["name"], "no-push");
    let registered = gate.until_ready();
    assert_eq!(registered[0]["intercept"][0]["role"], "gate");
    for (command, block) in [("git push origin main", true), ("echo tests pass", false)] {
        let question = json!({
            "type": "event_intercept", "id": command, "event": "tool_call", "tool_id": "t", "tool_name": "bash",
            "tool_args": {"command": command},
        });
        assert_eq!(gate.ask_question(&question, "event_intercept_response")["block"], block, "{command}");
    }
    gate.shutdown();
}

#[test]
fn every_json_block_of_the_tutorials_is_json() {
    for page in [PYTHON, SHELL, RUST, GATE] {
        assert_eq!(blocks(page, "json").count(), 2, "a manifest and a script");
        for block in blocks(page, "json") {
            let parsed = serde_json::from_str::<Value>(block);
            assert!(parsed.is_ok(), "{parsed:?}: {block}");
        }
    }
}

/// Starts a program of a page by its interpreter.
fn start(interpreter: &str, program: &str, dir: &Path) -> PeerProcess {
    let file = dir.join("program");
    fs::write(&file, program).unwrap();
    PeerProcess::start(&find(interpreter), &[file.display().to_string()], dir)
}

fn find(program: &str) -> std::path::PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|dir| dir.join(program)).find(|file| Path::is_file(file));
    found.unwrap_or_else(|| panic!("this test needs {program} on the PATH"))
}

/// The code blocks of a page in one language.
fn blocks(page: &'static str, language: &str) -> impl Iterator<Item = &'static str> {
    let fence = format!("```{language}\n");
    let mut rest = page;
    std::iter::from_fn(move || {
        let (_, from) = rest.split_once(fence.as_str())?;
        let (block, after) = from.split_once("```")?;
        rest = after;
        Some(block)
    })
}
