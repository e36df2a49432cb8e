//! The mapping of a turn to PicoClaw's events.

use super::*;
use haft_protocol::content::ToolCall;
use haft_protocol::message::{AssistantBlock, Rfc3339Time};

/// Returns the payloads for these events, one line each.
fn told(events: Vec<AgentEvent>) -> Vec<String> {
    let turns = crate::translate::TurnTracker::new("run".to_owned(), "user".to_owned());
    let at = Instant::now();
    let line = |payload: HookEventPayload| {
        format!("{} {}", payload.kind().name(), serde_json::to_string(&payload).unwrap())
    };
    events.iter().flat_map(|event| turns.record_event(event, "/work", at).1).map(line).collect()
}

fn user(text: &str) -> AgentEvent {
    AgentEvent::UserMessage {
        content: vec![ContentBlock::text(text)],
        time: Rfc3339Time(String::new()),
        entry: None,
    }
}

fn said(text: &str) -> AgentEvent {
    let content = vec![AssistantBlock::Text { text: text.into() }];
    AgentEvent::AssistantMessage { content, time: Rfc3339Time(String::new()), entry: None }
}

fn call(id: &str, name: &str) -> AgentEvent {
    let ToolCall { id, name, args } =
        ToolCall { id: ToolCallId::new(id), name: name.into(), args: RawJson::empty_object() };
    AgentEvent::ToolCall { id, name, args }
}

fn result(id: &str, name: &str) -> AgentEvent {
    AgentEvent::ToolResult {
        id: ToolCallId::new(id),
        name: name.into(),
        is_error: false,
        content: vec![ContentBlock::text("fog")],
        extension: None,
        synthetic_by: None,
        details: None,
        entry: None,
    }
}

fn start(id: &str, name: &str) -> AgentEvent {
    AgentEvent::ToolStart {
        id: ToolCallId::new(id),
        name: name.into(),
        args: RawJson::empty_object(),
        label: None,
    }
}

fn end(id: &str) -> AgentEvent {
    AgentEvent::ToolEnd { id: ToolCallId::new(id), name: "x".into(), duration_ms: 0 }
}

fn request(step: u32) -> AgentEvent {
    AgentEvent::ModelRequest {
        step,
        provider: "p".into(),
        model: "m".into(),
        messages: u64::from(step),
        tools: 1,
        max_tokens: None,
        temperature: None,
    }
}

fn response(tool_calls: u64) -> AgentEvent {
    AgentEvent::ModelResponse { text_bytes: 3, tool_calls, thinking: false }
}

#[test]
fn maps_turn_with_tool() {
    let end = |stop| AgentEvent::TurnEnd { stop, error: None };
    let events = vec![
        user("the weather?"),
        AgentEvent::TurnStart { step: 1 },
        request(1),
        response(2),
        call("a", "weather"),
        call("b", "bash"),
        AgentEvent::ToolBlocked { id: ToolCallId::new("b"), by: "gate".into(), reason: "no".into() },
        start("a", "weather"),
        self::end("a"),
        result("a", "weather"),
        result("b", "bash"),
        end(StopCause::ToolUse),
        AgentEvent::TurnStart { step: 2 },
        request(2),
        response(0),
        said("fog"),
        end(StopCause::End),
        AgentEvent::Done,
    ];
    insta::assert_snapshot!(told(events).join("\n"), @r#"
    agent.turn.start {"UserMessage":"the weather?","MediaCount":0,"Channel":"cli","ChatID":"direct"}
    agent.llm.request {"Model":"m","MessagesCount":2,"ToolsCount":1,"MaxTokens":0,"Temperature":0.0}
    agent.llm.response {"ContentLen":3,"ToolCalls":2,"HasReasoning":false}
    agent.tool.exec_skipped {"Tool":"bash","Reason":"no"}
    agent.tool.exec_start {"Tool":"weather","Arguments":{}}
    agent.tool.exec_end {"Tool":"weather","Duration":0,"ForLLMLen":3,"ForUserLen":0,"IsError":false,"Async":false}
    agent.llm.request {"Model":"m","MessagesCount":3,"ToolsCount":1,"MaxTokens":0,"Temperature":0.0}
    agent.llm.response {"ContentLen":3,"ToolCalls":0,"HasReasoning":false}
    agent.turn.end {"Status":"completed","Workspace":"/work","Iterations":2,"Duration":0,"FinalContentLen":3,"UserMessage":"the weather?","FinalContent":"fog","ActiveSkills":[],"AttemptedSkills":[],"FinalSuccessfulPath":[],"SkillContextSnapshots":[],"ToolKinds":["weather"],"ToolExecutions":[{"name":"weather","success":true}]}
    "#);
}

/// Checks the payloads of tool calls. Each event has its time in seconds from the first one.
#[track_caller]
fn check_calls(events: Vec<(u64, AgentEvent)>, expect: &[&str]) {
    let (turns, began) =
        (crate::translate::TurnTracker::new("run".to_owned(), "user".to_owned()), Instant::now());
    turns.record_event(&user("go"), "", began);
    let line = |payload: HookEventPayload| {
        let told = serde_json::to_value(&payload).unwrap();
        let took = told["Duration"].as_u64().map(|took| format!(" {}", took / 1_000_000_000));
        let rest = told["Reason"].as_str().map(|reason| format!(" {reason}")).or(took).unwrap_or_default();
        let kind = payload.kind().name().trim_start_matches("agent.tool.exec_");
        format!("{kind} {}{rest}", told["Tool"].as_str().unwrap())
    };
    let at = |seconds| began + Duration::from_secs(seconds);
    let told =
        events.iter().flat_map(|(seconds, event)| turns.record_event(event, "", at(*seconds)).1).map(line);
    assert_eq!(told.collect::<Vec<_>>(), expect);
}

fn answered(id: &str, name: &str) -> AgentEvent {
    let AgentEvent::ToolResult { id, name, is_error, content, .. } = result(id, name) else {
        panic!("above")
    };
    let synthetic_by = Some("cache".to_owned());
    AgentEvent::ToolResult {
        id,
        name,
        is_error,
        content,
        extension: None,
        synthetic_by,
        details: None,
        entry: None,
    }
}

#[test]
fn tool_duration_starts_when_tool_runs() {
    check_calls(
        vec![
            (0, call("a", "slow")),
            (0, call("b", "fast")),
            (9, start("a", "slow")),
            (9, start("b", "fast")),
            (11, end("b")),
            (19, end("a")),
            (25, result("a", "slow")),
            (25, result("b", "fast")),
        ],
        &["start slow", "start fast", "end slow 10", "end fast 2"],
    );
}

#[test]
fn reports_calls_that_did_not_run() {
    let rewritten = |tool: &str| AgentEvent::ToolRewritten {
        id: ToolCallId::new("a"),
        by: "gate".into(),
        tool: Some(tool.into()),
        args: RawJson::empty_object(),
        changed: Vec::new(),
    };
    let skipped =
        AgentEvent::ToolSkipped { id: ToolCallId::new("a"), name: "bash".into(), reason: "later".into() };
    let blocked =
        AgentEvent::ToolBlocked { id: ToolCallId::new("a"), by: "gate".into(), reason: "no".into() };
    let called = || (0, call("a", "bash"));
    check_calls(vec![called(), (5, answered("a", "bash"))], &["start bash", "end bash 0"]);
    check_calls(vec![called(), (1, blocked.clone()), (5, result("a", "bash"))], &["skipped bash no"]);
    check_calls(vec![called(), (1, rewritten("read")), (2, blocked)], &["skipped read no"]);
    check_calls(vec![called(), (1, skipped), (5, result("a", "bash"))], &["skipped bash later"]);
    // The tool does not exist, or its arguments are invalid.
    check_calls(vec![called(), (5, result("a", "bash"))], &["skipped bash fog"]);
    // Another tool runs in its place.
    let renamed = vec![called(), (1, rewritten("read")), (2, start("a", "read")), (4, result("a", "bash"))];
    check_calls(renamed, &["start read", "end read 2"]);
    // A call of an extension is not one of the model.
    check_calls(vec![(0, start("host-1", "read")), (1, end("host-1"))], &[]);
}

#[test]
fn maps_events_between_turns() {
    let events = vec![
        user("go"),
        AgentEvent::TurnStart { step: 1 },
        AgentEvent::Retry {
            attempt: 2,
            delay_ms: 5,
            message: "429".into(),
            max_attempts: Some(4),
            reason: Some(RetryReason::RateLimited),
        },
        AgentEvent::QueueUpdate { steering: vec!["stop".into()], follow_up: vec![], next_turn: vec![] },
        AgentEvent::QueueUpdate { steering: vec![], follow_up: vec![], next_turn: vec![] },
        AgentEvent::SteeringInjected { count: 1, bytes: 4 },
        user("stop"),
        AgentEvent::CompactionStart { reason: CompactReason::Overflow },
        AgentEvent::CompactionEnd {
            summary: Some("short".into()),
            tokens_before: 9,
            tokens_after: Some(1),
            messages_summed_up: Some(12),
            messages_kept: Some(3),
            by: None,
            error: None,
        },
        AgentEvent::Interrupted { hint_bytes: 2 },
        AgentEvent::Error { message: "no model".into(), stage: Some(ErrorStage::Model), advice: None },
        AgentEvent::Done,
    ];
    let told = told(events);
    let kinds: Vec<&str> = told.iter().filter_map(|line| line.split(' ').next()).collect();
    let expect = [
        "agent.turn.start",
        "agent.llm.retry",
        "agent.interrupt.received",
        "agent.steering.injected",
        "agent.context.compress",
        "agent.session.summarize",
        "agent.interrupt.received",
        "agent.error",
        "agent.turn.end",
    ];
    assert_eq!(kinds, expect);
    let of = |kind: &str| told.iter().find(|line| line.starts_with(kind)).cloned().unwrap_or_default();
    let numbers = [
        (
            "agent.llm.retry",
            r#"{"Attempt":1,"MaxRetries":3,"Reason":"rate_limited","Error":"429","Backoff":5000000}"#,
        ),
        ("agent.context.compress", r#"{"Reason":"llm_retry","DroppedMessages":12,"RemainingMessages":3}"#),
        (
            "agent.session.summarize",
            r#"{"SummarizedMessages":12,"KeptMessages":3,"SummaryLen":5,"OmittedOversized":false}"#,
        ),
        ("agent.error", r#"{"Stage":"llm","Message":"no model"}"#),
    ];
    for (kind, payload) in numbers {
        assert_eq!(of(kind), format!("{kind} {payload}"));
    }
}

#[track_caller]
fn status(event: AgentEvent, expect: &str) {
    let last = told(vec![user("x"), AgentEvent::TurnStart { step: 1 }, event, AgentEvent::Done]);
    let last = last.last().cloned().unwrap_or_default();
    assert!(last.contains(&format!(r#""Status":"{expect}""#)), "{last}");
}

#[test]
fn maps_end_of_turn() {
    status(AgentEvent::TurnEnd { stop: StopCause::End, error: None }, "completed");
    status(AgentEvent::TurnEnd { stop: StopCause::Error, error: None }, "error");
    status(AgentEvent::TurnEnd { stop: StopCause::Aborted, error: None }, "aborted");
    status(AgentEvent::TurnDiscarded { by: "gate".into(), reason: "no".into() }, "aborted");
    status(AgentEvent::Error { message: "x".into(), stage: None, advice: None }, "error");
}

#[test]
fn unfinished_turn_ends_with_next_turn() {
    let turns = crate::translate::TurnTracker::new("run".to_owned(), "user".to_owned());
    let at = Instant::now();
    let mut ids = Vec::new();
    for event in [user("one"), AgentEvent::TurnStart { step: 1 }, AgentEvent::TurnStart { step: 1 }] {
        ids.push(turns.record_event(&event, "", at).0.turn_id);
    }
    assert_eq!(ids[0], ids[1]);
    assert_ne!(ids[1], ids[2]);
}
