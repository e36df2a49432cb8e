//! Questions and events as the host would build them.

use haft_protocol::RawJson;
use haft_protocol::hook::*;
use serde::Serialize;

use crate::samples::json;

pub(crate) fn meta(trace_path: &str) -> Meta {
    Meta {
        agent_id: "main".into(),
        turn_id: "main-turn-1".into(),
        session_key: "0199".into(),
        iteration: 1,
        trace_path: trace_path.into(),
        source: "runTurn".into(),
        ..Meta::default()
    }
}

pub(crate) fn context() -> Option<Box<TurnContext>> {
    let inbound = Inbound {
        channel: "cli".into(),
        chat_id: "direct".into(),
        chat_type: "direct".into(),
        sender_id: "ada".into(),
        ..Inbound::default()
    };
    let scope = Scope {
        version: 1,
        agent_id: "main".into(),
        channel: "cli".into(),
        account: String::new(),
        dimensions: vec!["chat".into()],
        values: [("chat".into(), "direct".into())].into(),
    };
    Some(Box::new(TurnContext { inbound: Some(inbound), route: None, scope: Some(scope) }))
}

pub(crate) fn message(role: &str, content: &str) -> Message {
    Message { role: role.into(), content: content.into(), ..Message::default() }
}

/// A tool of this name.
pub(crate) fn tool(name: &str) -> ToolDefinition {
    let function = FunctionDefinition {
        name: name.into(),
        description: format!("{name}!"),
        parameters: json(r#"{"type":"object"}"#),
    };
    ToolDefinition { function, ..ToolDefinition::default() }
}

pub(crate) fn before_llm() -> BeforeLlm {
    let call = ToolCall::new("toolu_1", "read", &json(r#"{"path":"a.png"}"#));
    BeforeLlm {
        meta: meta(BeforeLlm::TRACE_PATH),
        context: context(),
        model: "claude".into(),
        messages: vec![
            message("system", "You are haft."),
            message("user", "what is it?"),
            Message { tool_calls: vec![call], reasoning_content: "look".into(), ..message("assistant", "") },
            Message {
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
            ToolCall::new("toolu_1", "bash", &json(r#"{"command":"ls"}"#)),
            ToolCall::new("toolu_2", "read", &json(r#"{"path":"a"}"#)),
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
    let result = ToolResult {
        for_llm: "a.png".into(),
        for_user: "one file".into(),
        media: vec!["a.png".into()],
        artifact_tags: vec!["[image:/src/a.png]".into()],
        ..ToolResult::default()
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
    }
}

pub(crate) fn occurrence(payload: impl Into<Payload>) -> Occurrence {
    Occurrence {
        time: "2026-11-22T09:00:00.5Z".into(),
        meta: meta(""),
        context: context(),
        payload: payload.into(),
    }
}

/// A line of every method.
pub(crate) fn lines() -> Vec<Line> {
    let start =
        occurrence(ToolExecStart { tool: "bash".into(), arguments: Some(json(r#"{"command":"ls"}"#)) });
    let name = Hello::new("gate", vec![Mode::Observe, Mode::Llm, Mode::Tool, Mode::Approve]);
    vec![
        Line::request(1, name),
        Line::request(2, before_llm()),
        Line::request(3, after_llm()),
        Line::request(4, before_tool()),
        Line::request(5, after_tool()),
        Line::request(6, approve_tool()),
        Line::notification(start.legacy(LegacyKind::Name).unwrap()),
        Line::notification(start.legacy(LegacyKind::Number).unwrap()),
        Line::notification(start.runtime(12).unwrap()),
    ]
}

/// Replies as somebody would write them who has these types, by the id of the question.
pub(crate) fn replies() -> Vec<Reply> {
    let changed = PartialRequest { tools: Some(vec![tool("weather")]), ..PartialRequest::default() };
    let answer = PartialResponse { content: Some("***".into()), ..PartialResponse::default() };
    let result = PartialResult { for_llm: Some("***".into()), ..PartialResult::default() };
    let call = PartialCall { arguments: Some(json(r#"{"command":"ls -1"}"#)), ..PartialCall::default() };
    let action = Action::Modify;
    let changed = LlmReply { action, request: Some(changed), ..LlmReply::default() };
    let response = Some(ChangedResponse { response: Some(answer) });
    let result = Some(ChangedResult { result: Some(result) });
    let reason = "not here".to_owned();
    let fog = Some(ToolResult { for_llm: "fog".into(), ..ToolResult::default() });
    let abort = LlmReply { action: Action::AbortTurn, reason: "late".into(), request: None };
    vec![
        reply(1, &HelloReply { ok: Some(true), name: "gate".into() }),
        reply(2, &LlmReply::default()),
        reply(2, &changed),
        reply(2, &abort),
        reply(3, &ResponseReply { action, response, ..ResponseReply::default() }),
        reply(4, &ToolReply { action, call: Some(call), ..ToolReply::default() }),
        reply(4, &ToolReply { action: Action::DenyTool, reason: reason.clone(), ..ToolReply::default() }),
        reply(4, &ToolReply { action: Action::Respond, result: fog, ..ToolReply::default() }),
        reply(5, &ResultReply { action, result, ..ResultReply::default() }),
        reply(6, &ApprovalReply { approved: true, reason: String::new() }),
        reply(6, &ApprovalReply { approved: false, reason }),
        Reply { id: 6, outcome: Err(RpcError { code: -32000, message: "no disk".into() }), mended: false },
    ]
}

fn reply<T: Serialize>(id: u64, result: &T) -> Reply {
    Reply { id, outcome: Ok(RawJson::from_value(result).unwrap()), mended: false }
}
