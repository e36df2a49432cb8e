//! A tiny extension without IO: its first frames, and its responses.
//!
//! Its tests in `tests/frames.rs` compare whole conversations with snapshots. They need only
//! `haft-protocol` and `insta`: no host, process or runtime.

use haft_protocol::content::ContentBlock;
use haft_protocol::ext::{
    ExtensionFrame, Hello, HostFrame, Intercept, InterceptHook, InterceptToolCall, Ready, RegisterTool,
    ShutdownAck, Subscribe, ToolCallDecision, ToolCallFrame, ToolResultFrame,
};

/// Returns the frames that the extension sends first.
pub fn opening() -> Vec<ExtensionFrame> {
    vec![
        Hello {
            name: "words".into(),
            version: "1.0.0".into(),
            capabilities: vec!["tools".into()],
            ..Hello::default()
        }
        .into(),
        RegisterTool {
            name: "count_words".into(),
            description: "Counts the words of its arguments.".into(),
            ..RegisterTool::default()
        }
        .into(),
        Subscribe { intercept: vec!["tool_call".into()], ..Subscribe::default() }.into(),
        Ready {}.into(),
    ]
}

/// Returns the response of the extension to one frame of the host.
pub fn answer(frame: HostFrame) -> Option<ExtensionFrame> {
    match frame {
        HostFrame::ToolCall(call) => Some(count(call).into()),
        HostFrame::EventIntercept(question) => match question.intercept {
            Intercept::ToolCall(call) => Some(InterceptToolCall::respond(decide(&call), question.id).into()),
            // Only `tool_call` is subscribed, so the host asks about nothing else.
            Intercept::TurnStart(_)
            | Intercept::AssistantMessage(_)
            | Intercept::BeforeAgentStart(_)
            | Intercept::BeforeCompact(_)
            | Intercept::SessionStart(_)
            | Intercept::SessionShutdown(_)
            | Intercept::AgentStart(_)
            | Intercept::AgentEnd(_)
            | Intercept::TurnEnd(_)
            | Intercept::MessageStart(_)
            | Intercept::ToolEnd(_)
            | Intercept::ToolResult(_)
            | Intercept::Input(_)
            | Intercept::BeforeSettle(_)
            | Intercept::Context(_)
            | Intercept::MessageEnd(_)
            | Intercept::BeforeProviderRequest(_)
            | Intercept::UserBash(_)
            | Intercept::Approve(_)
            | Intercept::BeforeSwitch(_)
            | Intercept::BeforeFork(_)
            | Intercept::BeforeTree(_)
            | Intercept::Resources(_)
            | Intercept::ProjectTrust(_) => None,
        },
        HostFrame::Shutdown(_) => Some(ShutdownAck {}.into()),
        // Not announced, so the host does not send it.
        HostFrame::Ping(_)
        | HostFrame::Cancel(_)
        | HostFrame::ToolCancel(_)
        | HostFrame::ToolResult(_)
        | HostFrame::RegisterRejected(_)
        | HostFrame::EventGap(_)
        | HostFrame::HostResult(_)
        | HostFrame::Progress(_)
        | HostFrame::State(_)
        | HostFrame::Entries(_)
        | HostFrame::HelloAck(_)
        | HostFrame::CommandInvoked(_)
        | HostFrame::ExtCall(_)
        | HostFrame::CommandCompletions(_)
        | HostFrame::Event(_)
        | HostFrame::PanelKey(_)
        | HostFrame::PanelResize(_)
        | HostFrame::PanelClose(_) => None,
    }
}

fn count(call: ToolCallFrame) -> ToolResultFrame {
    let words = call.args.as_str().split_whitespace().count();
    ToolResultFrame {
        id: call.id,
        content: vec![ContentBlock::text(format!("{words} words")).into()],
        is_error: false,
        details: None,
        terminate: false,
    }
}

fn decide(call: &InterceptToolCall) -> ToolCallDecision {
    match call.tool_args.as_str().contains("rm -rf") {
        true => ToolCallDecision::Block { reason: "not with me".into() },
        false => ToolCallDecision::Allow,
    }
}
