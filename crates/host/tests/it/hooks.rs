//! Interception and events, in memory and in virtual time.

use std::sync::Arc;
use std::time::Duration;

use haft_core::compact::{CompactReason, PendingCompaction};
use haft_core::hooks::{
    AgentStart, CompactDecision, MessageDecision, PromptSection, ToolDecision, TurnDecision,
};
use haft_core::session::entry::{CustomMessage, SessionEntry};
use haft_host::{ExtensionState, Host};
use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::{AssistantBlock, Message, Rfc3339Time, StopCause};
use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Events, blocked, call, fault, gate, host_with, host_with_two, state};

fn intercept(kinds: &[&str]) -> Value {
    json!({"type": "subscribe", "intercept": kinds})
}

async fn guard() -> (Host, FakePeer, Events) {
    host_with("guard", [intercept(&["tool_call"])]).await
}

#[tokio::test(start_paused = true)]
async fn gate_allows_rewrites_and_blocks() {
    let (host, mut peer, events) = guard().await;
    let ls = call("bash", json!({"command": "ls"}));
    let answers =
        [json!({}), json!({"modified_args": {"command": "echo hi"}}), json!({"block": true, "reason": "no"})];
    let mut decisions = Vec::new();
    for answer in answers {
        let reply = async {
            let question = peer.expect("event_intercept").await;
            assert_eq!(question["tool_args"], json!({"command": "ls"}));
            peer.answer(&question, "event_intercept_response", answer).await;
        };
        let (mut decided, ()) = tokio::join!(gate(&host, &ls), reply);
        decisions.append(&mut decided);
    }
    let args = RawJson::parse(r#"{"command":"echo hi"}"#).unwrap();
    let expect = [ToolDecision::Allow, ToolDecision::Rewrite { tool: None, args }, ToolDecision::block("no")];
    assert_eq!(decisions, expect);
    assert_eq!(host.hook_source().hooks().before_tool_execute[0].name(), "guard");
    assert_eq!(events.faults(), []);
}

#[tokio::test(start_paused = true)]
async fn block_without_reason_gets_default_reason() {
    let (host, mut peer, _) = guard().await;
    let reply = async {
        let question = peer.expect("event_intercept").await;
        peer.answer(&question, "event_intercept_response", json!({"block": true})).await;
    };
    let ls = call("bash", json!({}));
    let (blocked, ()) = tokio::join!(blocked(&host, &ls), reply);
    assert_eq!(blocked.unwrap().1, "tool call refused by extension guard");
}

#[tokio::test(start_paused = true)]
async fn silent_gate_blocks_after_five_seconds_and_is_reported_once() {
    let (host, _peer, events) = guard().await;
    let start = tokio::time::Instant::now();
    let (by, reason) = blocked(&host, &call("bash", json!({}))).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    assert_eq!(by, "guard");
    insta::assert_snapshot!(reason, @"blocked: extension guard, which must approve this, did not answer within 5 s; the user was notified");
    assert_eq!(events.faults(), [fault("guard", "hook_timeout")]);
    insta::assert_snapshot!(events.only_message(), @"tool_call intercept was not answered within 5 s");
}

#[tokio::test(start_paused = true)]
async fn invalid_answer_of_gate_blocks() {
    let failed = json!({"error": "no disk"});
    let nonsense =
        [json!({"modified_args": null}), json!({"modified_args": [1]}), json!({"block": "false"}), failed];
    for nonsense in nonsense {
        let (host, mut peer, events) = guard().await;
        let reply = async {
            let question = peer.expect("event_intercept").await;
            peer.answer(&question, "event_intercept_response", nonsense.clone()).await;
        };
        let ls = call("bash", json!({}));
        let (blocked, ()) = tokio::join!(blocked(&host, &ls), reply);
        assert!(blocked.is_some(), "{nonsense}");
        assert_eq!(events.faults(), [fault("guard", "hook_error")], "{nonsense}");
    }
}

#[tokio::test(start_paused = true)]
async fn ended_gate_keeps_blocking() {
    let (host, peer, events) = guard().await;
    drop(peer);
    let ls = call("bash", json!({}));
    for _ in 0..3 {
        let (by, reason) = blocked(&host, &ls).await.unwrap();
        assert_eq!(by, "guard");
        assert!(reason.contains("closed the connection"), "{reason}");
    }
    assert_eq!(events.faults(), [fault("guard", "exited")]);
}

#[tokio::test(start_paused = true)]
async fn gate_that_exits_during_query_blocks_immediately() {
    let (host, mut peer, events) = guard().await;
    let start = tokio::time::Instant::now();
    let ls = call("bash", json!({}));
    let death = async {
        peer.expect("event_intercept").await;
        drop(peer);
    };
    let (blocked, ()) = tokio::join!(blocked(&host, &ls), death);
    assert!(blocked.is_some());
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(events.faults(), [fault("guard", "exited")]);
}

#[tokio::test(start_paused = true)]
async fn cancelled_query_returns_immediately_without_fault() {
    let (host, mut peer, events) = guard().await;
    let start = tokio::time::Instant::now();
    let cancel = CancellationToken::new();
    let hook = host.hook_source().hooks().before_tool_execute.remove(0);
    let ls = call("bash", json!({}));
    let asked = hook.before_tool_execute(&cancel, &ls);
    let abort = async {
        let question = peer.expect("event_intercept").await;
        cancel.cancel();
        question
    };
    let (decision, question) = tokio::join!(asked, abort);
    assert!(matches!(decision, ToolDecision::Refuse(_)));
    assert_eq!(start.elapsed(), Duration::ZERO);
    peer.answer(&question, "event_intercept_response", json!({})).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(events.faults(), []);
    assert_eq!(state(&host, "guard"), ExtensionState::Ready);
}

#[tokio::test(start_paused = true)]
async fn turns_and_messages_pass_when_interceptor_fails() {
    let (host, peer, events) = host_with("meter", [intercept(&["turn_start", "assistant_message"])]).await;
    let hooks = host.hook_source().hooks();
    let cancel = CancellationToken::new();
    assert_eq!(hooks.before_turn[0].before_turn(&cancel, 1).await, TurnDecision::Allow);
    let shown = hooks.before_assistant_message[0].before_assistant_message(&cancel, "hi").await;
    assert_eq!(shown, MessageDecision::Show);
    assert_eq!(events.faults(), [fault("meter", "hook_timeout"), fault("meter", "hook_timeout")]);
    drop(peer);
    tokio::time::sleep(Duration::from_millis(1)).await;
    let hooks = host.hook_source().hooks();
    assert!(hooks.before_turn.is_empty() && hooks.before_assistant_message.is_empty());
}

#[tokio::test(start_paused = true)]
async fn interceptor_decides_about_turns_and_messages() {
    let (host, mut peer, _) = host_with("meter", [intercept(&["turn_start", "assistant_message"])]).await;
    let hooks = host.hook_source().hooks();
    let cancel = CancellationToken::new();
    let replies = async {
        for answer in [
            json!({"block": true, "reason": "closed"}),
            json!({"replace_text": "[redacted]"}),
            json!({"block": true}),
        ] {
            let question = peer.expect("event_intercept").await;
            peer.answer(&question, "event_intercept_response", answer).await;
        }
    };
    let asked = async {
        let turn = hooks.before_turn[0].before_turn(&cancel, 1).await;
        let message = &hooks.before_assistant_message[0];
        let replaced = message.before_assistant_message(&cancel, "SECRET").await;
        (turn, replaced, message.before_assistant_message(&cancel, "SECRET").await)
    };
    let ((turn, replaced, suppressed), ()) = tokio::join!(asked, replies);
    assert_eq!((hooks.before_turn[0].name(), hooks.before_assistant_message[0].name()), ("meter", "meter"));
    assert_eq!(turn, TurnDecision::Block { reason: "closed".into() });
    assert_eq!(replaced, MessageDecision::Replace { text: "[redacted]".into() });
    let reason = "message withheld by extension meter".to_owned();
    assert_eq!(suppressed, MessageDecision::Suppress { reason });
}

#[tokio::test(start_paused = true)]
async fn system_prompt_sections_name_their_owner() {
    let (host, mut peer, events) = host_with("guide", [intercept(&["before_agent_start"])]).await;
    let hook = host.hook_source().hooks().before_agent_start.remove(0);
    let start = AgentStart::new(vec![ContentBlock::text("weather?")], "You are haft.");
    let answers = [
        json!({"append_system_prompt": "Ask `weather`.\u{e0041}"}),
        json!({"system_prompt": "You are haft.\n\nAsk `weather`."}),
        json!({"system_prompt": "I am somebody else."}),
        json!({}),
    ];
    let replies = async {
        for answer in answers {
            let question = peer.expect("event_intercept").await;
            assert_eq!(question["prompt"], "weather?");
            peer.answer(&question, "event_intercept_response", answer).await;
        }
    };
    let asked = async {
        let mut sections = Vec::new();
        for _ in 0..4 {
            sections.push(hook.before_agent_start(&CancellationToken::new(), &start).await.sections);
        }
        sections
    };
    let (sections, ()) = tokio::join!(asked, replies);
    let counts: Vec<usize> = sections.iter().map(Vec::len).collect();
    assert_eq!(counts, [1, 1, 0, 0]);
    for section in sections.into_iter().flatten() {
        assert_eq!(section, PromptSection::of_extension(ExtensionName::new("guide"), "Ask `weather`."));
    }
    assert_eq!(events.faults(), [fault("guide", "hidden_text"), fault("guide", "hook_error")]);
}

#[tokio::test(start_paused = true)]
async fn messages_name_their_owner_and_their_faults() {
    let (host, mut peer, events) = host_with("guide", [intercept(&["before_agent_start"])]).await;
    let hook = host.hook_source().hooks().before_agent_start.remove(0);
    let start = AgentStart::new(Vec::new(), String::new());
    let noon = json!({"kind": "clock", "content": "It is\u{e0041} noon.", "display": false, "details": [12]});
    let broken = json!({"kind": "k", "content": "c", "display": true, "images": [{"mime_type": "image/png", "data": "x"}]});
    let answers = [
        json!({"append_system_prompt": "Be brief.", "messages": [noon]}),
        json!({"append_system_prompt": "Be brief.", "messages": [noon, broken]}),
        json!({"append_system_prompt": "Be brief.", "messages": vec![noon.clone(); 17]}),
    ];
    let replies = async {
        for answer in answers {
            let question = peer.expect("event_intercept").await;
            peer.answer(&question, "event_intercept_response", answer).await;
        }
    };
    let asked = async {
        let mut additions = Vec::new();
        for _ in 0..3 {
            additions.push(hook.before_agent_start(&CancellationToken::new(), &start).await);
        }
        additions
    };
    let (additions, ()) = tokio::join!(asked, replies);
    let noon =
        CustomMessage::new("guide", "clock", vec![ContentBlock::text("[from extension guide]\nIt is noon.")])
            .with_display(false)
            .with_details(RawJson::parse("[12]").unwrap());
    assert_eq!(additions[0].messages, [noon]);
    let counts: Vec<_> = additions.iter().map(|all| (all.sections.len(), all.messages.len())).collect();
    assert_eq!(counts, [(1, 1), (1, 0), (0, 0)]);
    let hidden = fault("guide", "hidden_text");
    let expect = [hidden.clone(), hidden, fault("guide", "hook_error"), fault("guide", "hook_error")];
    assert_eq!(events.faults(), expect);
}

fn compacting() -> PendingCompaction {
    let entry = |id: u128, text: &str| {
        let (content, time) = (vec![ContentBlock::text(text)], Rfc3339Time("T".into()));
        let body = Message::User { content, time: time.clone() }.into();
        Arc::new(SessionEntry::new(id.into(), None, time, body))
    };
    let entries = vec![entry(1, "fix it"), entry(2, "go on")];
    let mut compacting = PendingCompaction::new(CompactReason::Manual, entries)
        .with_instructions("mind")
        .with_tokens_before(7000)
        .with_window(8192)
        .with_files_read(vec!["a.rs".into()]);
    compacting.first_kept = Some(2.into());
    compacting
}

#[tokio::test(start_paused = true)]
async fn compaction_hook_refuses_or_writes_summary() {
    let (host, mut peer, events) = host_with("notes", [intercept(&["before_compact"])]).await;
    let hook = host.hook_source().hooks().before_compact.remove(0);
    let compacting = compacting();
    let first_id = compacting.entries[0].id.to_string();
    let answers = [
        json!({}),
        json!({"block": true, "reason": "not yet"}),
        json!({"summary": "All well.\u{e0041}"}),
        json!({"summary": "All well.", "first_kept": first_id}),
        json!({"summary": "All well.", "first_kept": "nowhere"}),
        json!({"summary": 5}),
    ];
    let count = answers.len();
    let replies = async {
        for answer in answers {
            let question = peer.expect("event_intercept").await;
            assert_eq!(question["reason"], "manual");
            assert_eq!(question["entries"][1]["text"], "[user]\ngo on");
            assert_eq!(question["entries"][1]["may_begin"], true);
            peer.answer(&question, "event_intercept_response", answer).await;
        }
    };
    let asked = async {
        let mut decided = Vec::new();
        for _ in 0..count {
            decided.push(hook.before_compact(&CancellationToken::new(), &compacting).await);
        }
        decided
    };
    let (decided, ()) = tokio::join!(asked, replies);
    assert_eq!(hook.name(), "notes");
    let replace = |first_kept| CompactDecision::Replace { summary: "All well.".into(), first_kept };
    let expect = [
        CompactDecision::Default,
        CompactDecision::Cancel { reason: "not yet".into() },
        replace(None),
        replace(Some(1.into())),
        CompactDecision::Default,
        CompactDecision::Default,
    ];
    assert_eq!(decided, expect);
    hook.cut_refused(7.into());
    let codes: Vec<_> = events.faults().into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes, ["hidden_text", "hook_error", "hook_error", "hook_error"]);
}

#[tokio::test(start_paused = true)]
async fn summary_has_timeout_of_a_tool() {
    let (host, mut peer, events) = host_with("notes", [intercept(&["before_compact"])]).await;
    let hook = host.hook_source().hooks().before_compact.remove(0);
    let (cancel, compacting) = (CancellationToken::new(), compacting());
    let begun = tokio::time::Instant::now();
    let silent = async { peer.expect("event_intercept").await };
    let (decided, _) = tokio::join!(hook.before_compact(&cancel, &compacting), silent);
    assert_eq!(decided, CompactDecision::Default);
    assert_eq!(begun.elapsed().as_secs(), 60);
    assert_eq!(events.faults().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn queries_interceptors_in_extension_order() {
    let (host, [_one, _two], _) =
        host_with_two(("one", [intercept(&["tool_call"])]), ("two", [intercept(&["tool_call"])])).await;
    let hooks = host.hook_source().hooks().before_tool_execute;
    let ls = call("bash", json!({}));
    let mut order = Vec::new();
    for hook in hooks {
        let decision = hook.before_tool_execute(&CancellationToken::new(), &ls).await;
        if let ToolDecision::Refuse(_) = decision {
            order.push(hook.name().to_owned());
        }
    }
    assert_eq!(order, ["one", "two"]);
}

#[tokio::test(start_paused = true)]
async fn observers_receive_events_in_order_before_shutdown() {
    let watch = json!({"type": "subscribe", "events":
        ["session_start", "turn_start", "tool_call", "assistant_message", "turn_end"]});
    let (host, [mut peer, mut other], _) =
        host_with_two(("audit", [watch]), ("other", [json!({"type": "subscribe", "events": ["turn_end"]})]))
            .await;
    host.session_start(None);
    let hooks = host.hook_source().hooks();
    let time = || Rfc3339Time("2026-01-01T00:00:00Z".into());
    let message =
        vec![AssistantBlock::Text { text: "one".into() }, AssistantBlock::Text { text: "two".into() }];
    let bash = call("bash", json!({"command": "ls"}));
    let happened = [
        AgentEvent::TurnStart { step: 1 },
        AgentEvent::TextDelta { delta: "on".into() },
        AgentEvent::AssistantMessage { content: message, time: time(), entry: None },
        AgentEvent::ToolCall { id: bash.id, name: bash.name, args: bash.args },
        AgentEvent::TurnEnd { stop: StopCause::End, error: None },
    ];
    for event in &happened {
        hooks.observers.iter().for_each(|observer| observer.observe(event));
    }
    let watched = async {
        let mut seen = Vec::new();
        while let Some(frame) = peer.next().await {
            seen.push(frame.to_string());
        }
        drop(peer);
        seen
    };
    let rest = async {
        let mut seen = Vec::new();
        while let Some(frame) = other.next().await {
            seen.push(frame["type"].clone());
        }
        drop(other);
        seen
    };
    let ((), seen, rest) = tokio::join!(host.shutdown(), watched, rest);
    insta::assert_snapshot!(seen.join("\n"), @r##"
    {"type":"event","event":"session_start"}
    {"type":"event","event":"turn_start","step":1}
    {"type":"event","event":"assistant_message","text":"onetwo"}
    {"type":"event","event":"tool_call","tool_id":"t1","tool_name":"bash","tool_args":{"command":"ls"}}
    {"type":"event","event":"turn_end","stop":"end"}
    {"type":"shutdown"}
    "##);
    assert_eq!(rest, ["event", "shutdown"]);
}

#[tokio::test(start_paused = true)]
async fn unreading_observer_loses_events_without_delay() {
    let (host, peer, events) =
        host_with("slow", [json!({"type": "subscribe", "events": ["turn_start"]})]).await;
    let start = tokio::time::Instant::now();
    let hooks = host.hook_source().hooks();
    for step in 0..10_000 {
        hooks.observers[0].observe(&AgentEvent::TurnStart { step });
        if step % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(events.faults(), [fault("slow", "write_stalled")]);
    drop(peer);
}
