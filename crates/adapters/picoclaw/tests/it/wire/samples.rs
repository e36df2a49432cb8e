//! Requests and events as the host builds them.

use std::sync::Arc;

use haft_adapter_picoclaw::wire::*;
use haft_protocol::RawJson;
use serde::Serialize;

use super::json;

pub(crate) fn meta(trace_path: &str) -> TurnMeta {
    TurnMeta {
        agent_id: "main".into(),
        turn_id: "main-turn-1".into(),
        session_key: "0199".into(),
        iteration: 1,
        trace_path: trace_path.into(),
        source: "runTurn".into(),
        ..TurnMeta::default()
    }
}

pub(crate) fn context() -> Option<Arc<TurnContext>> {
    let inbound = InboundMessage {
        channel: "cli".into(),
        chat_id: "direct".into(),
        chat_type: "direct".into(),
        sender_id: "ada".into(),
        ..InboundMessage::default()
    };
    let scope = SessionScope {
        version: 1,
        agent_id: "main".into(),
        channel: "cli".into(),
        account: String::new(),
        dimensions: vec!["chat".into()],
        values: [("chat".into(), "direct".into())].into(),
    };
    Some(Arc::new(TurnContext { inbound: Some(inbound), route: None, scope: Some(scope) }))
}

pub(crate) fn message(role: &str, content: &str) -> HookMessage {
    HookMessage { role: role.into(), content: content.into(), ..HookMessage::default() }
}

/// Creates a tool of this name.
pub(crate) fn tool(name: &str) -> ToolDefinition {
    let function = FunctionDefinition {
        name: name.into(),
        description: format!("{name}!"),
        parameters: json(r#"{"type":"object"}"#),
    };
    ToolDefinition { function, ..ToolDefinition::default() }
}

pub(crate) fn before_llm() -> BeforeLlm {
    let call = HookToolCall::new("toolu_1", "read", &json(r#"{"path":"a.png"}"#));
    BeforeLlm {
        meta: meta(BeforeLlm::TRACE_PATH),
        context: context(),
        model: "claude".into(),
        messages: vec![
            message("system", "You are haft."),
            message("user", "what is it?"),
            HookMessage {
                tool_calls: vec![call],
                reasoning_content: "look".into(),
                ..message("assistant", "")
            },
            HookMessage {
                tool_call_id: "toolu_1".into(),
                media: vec!["data:image/png;base64,iVBORw0KGgo=".into()],
                ..message("tool", "a\u{2028}picture")
            },
        ],
        tools: vec![tool("read"), tool("bash")],
        options: LlmOptions { max_tokens: Some(8192), temperature: Some(0.5), ..LlmOptions::default() },
        graceful_terminal: false,
        channel: "cli".into(),
        chat_id: "direct".into(),
    }
}

pub(crate) fn after_llm() -> AfterLlm {
    let response = LlmResponse {
        content: "I look.".into(),
        reasoning_content: "hm".into(),
        tool_calls: vec![
            HookToolCall::new("toolu_1", "bash", &json(r#"{"command":"ls"}"#)),
            HookToolCall::new("toolu_2", "read", &json(r#"{"path":"a"}"#)),
        ],
        finish_reason: "tool_calls".into(),
        usage: Some(UsageInfo { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }),
        ..LlmResponse::default()
    };
    AfterLlm {
        meta: meta(AfterLlm::TRACE_PATH),
        context: context(),
        model: "claude".into(),
        response,
        channel: "cli".into(),
        chat_id: "direct".into(),
    }
}

pub(crate) fn before_tool() -> BeforeTool {
    BeforeTool {
        meta: meta(BeforeTool::TRACE_PATH),
        context: context(),
        tool: "bash".into(),
        arguments: json(r#"{"command":"ls","n":9007199254740993}"#),
        channel: "cli".into(),
        chat_id: "direct".into(),
        ..BeforeTool::default()
    }
}

pub(crate) fn after_tool() -> AfterTool {
    let result = HookToolResult {
        for_llm: "a.png".into(),
        for_user: "one file".into(),
        media: vec!["a.png".into()],
        artifact_tags: vec!["[image:/src/a.png]".into()],
        ..HookToolResult::default()
    };
    AfterTool {
        meta: meta(AfterTool::TRACE_PATH),
        context: context(),
        tool: "bash".into(),
        arguments: json(r#"{"command":"ls"}"#),
        result,
        duration: 15_000_000,
        channel: "cli".into(),
        chat_id: "direct".into(),
    }
}

pub(crate) fn approve_tool() -> ApproveTool {
    ApproveTool {
        meta: meta(ApproveTool::TRACE_PATH),
        context: context(),
        tool: "bash".into(),
        arguments: json("{}"),
        channel: "cli".into(),
        chat_id: "direct".into(),
        resolved_paths: Vec::new(),
    }
}

pub(crate) fn occurrence(payload: impl Into<HookEventPayload>) -> TurnEvent {
    TurnEvent {
        time: "2026-11-22T09:00:00.5Z".into(),
        meta: meta(""),
        context: context(),
        payload: payload.into(),
    }
}

/// One line of every method.
pub(crate) fn lines() -> Vec<CallLine> {
    let start =
        occurrence(ToolExecStart { tool: "bash".into(), arguments: Some(json(r#"{"command":"ls"}"#)) });
    let name =
        HookHello::new("gate", vec![HookMode::Observe, HookMode::Llm, HookMode::Tool, HookMode::Approve]);
    vec![
        CallLine::request(1, name),
        CallLine::request(2, before_llm()),
        CallLine::request(3, after_llm()),
        CallLine::request(4, before_tool()),
        CallLine::request(5, after_tool()),
        CallLine::request(6, approve_tool()),
        CallLine::notification(start.to_legacy_event(LegacyKind::Name).unwrap()),
        CallLine::notification(start.to_legacy_event(LegacyKind::Number).unwrap()),
        CallLine::notification(start.to_runtime_event(12).unwrap()),
    ]
}

/// Replies built from these types, by the id of the request.
pub(crate) fn replies() -> Vec<HookReply> {
    let changed = PartialRequest { tools: Some(vec![tool("weather")]), ..PartialRequest::default() };
    let answer = PartialResponse { content: Some("***".into()), ..PartialResponse::default() };
    let result = PartialResult { for_llm: Some("***".into()), ..PartialResult::default() };
    let call = PartialCall { arguments: Some(json(r#"{"command":"ls -1"}"#)), ..PartialCall::default() };
    let action = HookAction::Modify;
    let changed = LlmReply { action, request: Some(changed), ..LlmReply::default() };
    let response = Some(ChangedResponse { response: Some(answer) });
    let result = Some(ChangedResult { result: Some(result) });
    let reason = "not here".to_owned();
    let fog = Some(HookToolResult { for_llm: "fog".into(), ..HookToolResult::default() });
    let abort = LlmReply { action: HookAction::AbortTurn, reason: "late".into(), request: None };
    vec![
        reply(1, &HelloReply { ok: Some(true), name: "gate".into() }),
        reply(2, &LlmReply::default()),
        reply(2, &changed),
        reply(2, &abort),
        reply(3, &ResponseReply { action, response, ..ResponseReply::default() }),
        reply(4, &ToolReply { action, call: Some(call), ..ToolReply::default() }),
        reply(4, &ToolReply { action: HookAction::DenyTool, reason: reason.clone(), ..ToolReply::default() }),
        reply(4, &ToolReply { action: HookAction::Respond, result: fog, ..ToolReply::default() }),
        reply(5, &ResultReply { action, result, ..ResultReply::default() }),
        reply(6, &ApprovalReply { approved: true, reason: String::new() }),
        reply(6, &ApprovalReply { approved: false, reason }),
        HookReply {
            id: 6,
            outcome: Err(RpcError { code: -32000, message: "no disk".into() }),
            repaired: false,
        },
    ]
}

fn reply<T: Serialize>(id: u64, result: &T) -> HookReply {
    HookReply { id, outcome: Ok(RawJson::from_value(result).unwrap()), repaired: false }
}
