//! Events in both forms.

use haft_adapter_picoclaw::wire::*;
use haft_protocol::RawJson;
use insta::assert_snapshot;

use super::samples::{meta, occurrence};

/// One payload of every kind, in order.
fn payloads() -> Vec<HookEventPayload> {
    HookEventKind::ALL
        .iter()
        .map(|kind| HookEventPayload::read(*kind, &RawJson::empty_object()).unwrap())
        .collect()
}

#[test]
fn every_kind_has_its_names_number_place_and_fields() {
    let rows = payloads().into_iter().map(|payload| {
        let kind = payload.kind();
        let (name, legacy, trace) = (kind.name(), kind.legacy_name(), kind.trace_path());
        let payload = serde_json::to_string(&payload).unwrap();
        format!("{} {name} {legacy} {trace} {payload}", kind.number())
    });
    assert_snapshot!(rows.collect::<Vec<_>>().join("\n"), @r#"
    0 agent.turn.start turn_start turn.start {"UserMessage":"","MediaCount":0,"Channel":"","ChatID":""}
    1 agent.turn.end turn_end turn.end {"Status":"","Workspace":"","Iterations":0,"Duration":0,"FinalContentLen":0,"UserMessage":"","FinalContent":"","ActiveSkills":[],"AttemptedSkills":[],"FinalSuccessfulPath":[],"SkillContextSnapshots":[],"ToolKinds":[],"ToolExecutions":[]}
    2 agent.llm.request llm_request turn.llm.request {"Model":"","MessagesCount":0,"ToolsCount":0,"MaxTokens":0,"Temperature":0.0}
    3 agent.llm.delta llm_delta turn.llm.delta {"ContentDeltaLen":0,"ReasoningDeltaLen":0}
    4 agent.llm.response llm_response turn.llm.response {"ContentLen":0,"ToolCalls":0,"HasReasoning":false}
    5 agent.llm.retry llm_retry turn.llm.retry {"Attempt":0,"MaxRetries":0,"Reason":"","Error":"","Backoff":0}
    6 agent.context.compress context_compress turn.context.compress {"Reason":"","DroppedMessages":0,"RemainingMessages":0}
    7 agent.session.summarize session_summarize turn.session.summarize {"SummarizedMessages":0,"KeptMessages":0,"SummaryLen":0,"OmittedOversized":false}
    8 agent.tool.exec_start tool_exec_start turn.tool.start {"Tool":"","Arguments":null}
    9 agent.tool.exec_end tool_exec_end turn.tool.end {"Tool":"","Duration":0,"ForLLMLen":0,"ForUserLen":0,"IsError":false,"Async":false}
    10 agent.tool.exec_skipped tool_exec_skipped turn.tool.skipped {"Tool":"","Reason":""}
    11 agent.steering.injected steering_injected turn.steering.injected {"Count":0,"TotalContentLen":0}
    12 agent.follow_up.queued follow_up_queued turn.follow_up.queued {"SourceTool":"","ContentLen":0,"Channel":"","ChatID":""}
    13 agent.interrupt.received interrupt_received turn.interrupt.received {"Kind":"","Role":"","ContentLen":0,"QueueDepth":0,"HintLen":0}
    14 agent.subturn.spawn subturn_spawn subturn.spawn {"AgentID":"","Label":"","ParentTurnID":""}
    15 agent.subturn.end subturn_end subturn.end {"AgentID":"","Status":""}
    16 agent.subturn.result_delivered subturn_result_delivered subturn.result_delivered {"TargetChannel":"","TargetChatID":"","ContentLen":0}
    17 agent.subturn.orphan subturn_orphan subturn.orphan {"ParentTurnID":"","ChildTurnID":"","Reason":""}
    18 agent.error error turn.error {"Stage":"","Message":""}
    "#);
}

#[test]
fn a_kind_is_found_by_name_and_number() {
    for kind in HookEventKind::ALL {
        assert_eq!(HookEventKind::from_name(kind.name()), Some(*kind));
        assert_eq!(HookEventKind::from_name(kind.legacy_name()), Some(*kind));
        assert_eq!(HookEventKind::from_number(kind.number().into()), Some(*kind));
    }
    assert_eq!(HookEventKind::from_number(19), None);
    assert_eq!(HookEventKind::from_name("agent.turn"), None);
}

#[test]
fn failures_have_a_higher_severity() {
    let usual: Vec<_> = payloads().iter().map(|payload| payload.severity()).collect();
    let count = |severity| usual.iter().filter(|found| **found == severity).count();
    assert_eq!(
        (count(EventSeverity::Info), count(EventSeverity::Warn), count(EventSeverity::Error)),
        (14, 3, 2)
    );
    let check = |payload: HookEventPayload, expect| assert_eq!(payload.severity(), expect);
    let end = |status: &str| TurnEnd { status: status.into(), ..TurnEnd::default() }.into();
    check(end(TurnEnd::COMPLETED), EventSeverity::Info);
    check(end(TurnEnd::ERROR), EventSeverity::Error);
    check(end(TurnEnd::ABORTED), EventSeverity::Warn);
    check(ToolExecEnd { is_error: true, ..ToolExecEnd::default() }.into(), EventSeverity::Warn);
}

#[test]
fn both_forms_carry_the_same_data() {
    let end = TurnEnd {
        status: TurnEnd::COMPLETED.into(),
        workspace: "/src/app".into(),
        iterations: 2,
        duration: 1_500_000_000,
        final_content_len: 4,
        user_message: "list".into(),
        final_content: "done".into(),
        tool_kinds: vec!["bash".into()],
        tool_executions: vec![ToolExecution {
            name: "bash".into(),
            success: true,
            ..ToolExecution::default()
        }],
        ..TurnEnd::default()
    };
    let end = occurrence(end);
    let lines = [
        CallLine::notification(end.to_runtime_event(3).unwrap()).encode().unwrap(),
        CallLine::notification(end.to_legacy_event(LegacyKind::Name).unwrap()).encode().unwrap(),
        CallLine::notification(end.to_legacy_event(LegacyKind::Number).unwrap()).encode().unwrap(),
    ];
    assert_snapshot!(lines.concat(), @r#"
    {"jsonrpc":"2.0","method":"hook.runtime_event","params":{"id":"evt-3","kind":"agent.turn.end","time":"2026-11-22T09:00:00.5Z","source":{"component":"agent","name":"main"},"scope":{"agent_id":"main","session_key":"0199","turn_id":"main-turn-1","channel":"cli","chat_id":"direct","chat_type":"direct","sender_id":"ada"},"correlation":{"trace_id":"turn.end"},"severity":"info","payload":{"Status":"completed","Workspace":"/src/app","Iterations":2,"Duration":1500000000,"FinalContentLen":4,"UserMessage":"list","FinalContent":"done","ActiveSkills":[],"AttemptedSkills":[],"FinalSuccessfulPath":[],"SkillContextSnapshots":[],"ToolKinds":["bash"],"ToolExecutions":[{"name":"bash","success":true}]},"attrs":{"agent_source":"runTurn","iteration":1}}}
    {"jsonrpc":"2.0","method":"hook.event","params":{"Kind":"turn_end","Time":"2026-11-22T09:00:00.5Z","Meta":{"AgentID":"main","TurnID":"main-turn-1","ParentTurnID":"","SessionKey":"0199","Iteration":1,"TracePath":"turn.end","Source":"runTurn"},"Context":{"inbound":{"channel":"cli","chat_id":"direct","chat_type":"direct","sender_id":"ada"},"scope":{"version":1,"agent_id":"main","channel":"cli","account":"","dimensions":["chat"],"values":{"chat":"direct"}}},"Payload":{"Status":"completed","Workspace":"/src/app","Iterations":2,"Duration":1500000000,"FinalContentLen":4,"UserMessage":"list","FinalContent":"done","ActiveSkills":[],"AttemptedSkills":[],"FinalSuccessfulPath":[],"SkillContextSnapshots":[],"ToolKinds":["bash"],"ToolExecutions":[{"name":"bash","success":true}]}}}
    {"jsonrpc":"2.0","method":"hook.event","params":{"Kind":1,"Time":"2026-11-22T09:00:00.5Z","Meta":{"AgentID":"main","TurnID":"main-turn-1","ParentTurnID":"","SessionKey":"0199","Iteration":1,"TracePath":"turn.end","Source":"runTurn"},"Context":{"inbound":{"channel":"cli","chat_id":"direct","chat_type":"direct","sender_id":"ada"},"scope":{"version":1,"agent_id":"main","channel":"cli","account":"","dimensions":["chat"],"values":{"chat":"direct"}}},"Payload":{"Status":"completed","Workspace":"/src/app","Iterations":2,"Duration":1500000000,"FinalContentLen":4,"UserMessage":"list","FinalContent":"done","ActiveSkills":[],"AttemptedSkills":[],"FinalSuccessfulPath":[],"SkillContextSnapshots":[],"ToolKinds":["bash"],"ToolExecutions":[{"name":"bash","success":true}]}}}
    "#);
}

#[test]
fn unknown_values_are_omitted() {
    let bare = TurnEvent {
        context: None,
        meta: TurnMeta {
            iteration: 0,
            source: String::new(),
            parent_turn_id: "main-turn-0".into(),
            ..meta("turn.special")
        },
        ..occurrence(SteeringInjected { count: 1, total_content_len: 5 })
    };
    let line = CallLine::notification(bare.to_runtime_event(1).unwrap()).encode().unwrap();
    assert_snapshot!(line.trim_end(), @r#"{"jsonrpc":"2.0","method":"hook.runtime_event","params":{"id":"evt-1","kind":"agent.steering.injected","time":"2026-11-22T09:00:00.5Z","source":{"component":"agent","name":"main"},"scope":{"agent_id":"main","session_key":"0199","turn_id":"main-turn-1"},"correlation":{"trace_id":"turn.special","parent_turn_id":"main-turn-0"},"severity":"info","payload":{"Count":1,"TotalContentLen":5}}}"#);
}
