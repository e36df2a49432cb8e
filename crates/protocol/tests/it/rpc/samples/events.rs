//! Every event, in its session.

use haft_protocol::content::{CallPreview, FileDiff, ToolCall};
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::SetWorkingCall;
use haft_protocol::ids::{ExtensionName, ToolCallId};
use haft_protocol::rpc::*;

use super::{panel, todo};
use crate::samples::{json, styled_text};

pub(crate) fn events() -> Vec<EventLine> {
    let agent = crate::events::events().into_iter().map(ClientEvent::from);
    let own = own().into_iter().map(ClientEvent::from);
    agent.chain(own).map(|event| EventLine { session: session(&event), event }).collect()
}

/// Returns the session of an event; `None` for events about all sessions.
fn session(event: &ClientEvent) -> Option<String> {
    let of_all = matches!(event, ClientEvent::Agent(AgentEvent::TrustRequired { .. }));
    (!of_all).then(|| "0199".to_owned())
}

fn own() -> Vec<RpcEvent> {
    let mut own = dialogs();
    own.extend(panels());
    own.extend([
        RpcEvent::CompactDone { summary: "half is done".into() },
        RpcEvent::SessionOpened { ephemeral: true, path: None },
        RpcEvent::SessionOpened { ephemeral: false, path: Some("/s/0199.jsonl".into()) },
        RpcEvent::SessionSwitched { extension: ExtensionName::new("handoff") },
        RpcEvent::SessionClosed { reason: SessionEnd::Requested },
        RpcEvent::SessionClosed { reason: SessionEnd::Shutdown },
        RpcEvent::SessionClosed { reason: SessionEnd::Failed },
    ]);
    own
}

fn dialogs() -> Vec<RpcEvent> {
    let ask = |id: &str, kind, default| UiRequest {
        id: id.into(),
        extension: None,
        kind,
        title: "Delete?".into(),
        message: "3 files".into(),
        options: Vec::new(),
        placeholder: None,
        prefill: None,
        call: None,
        preview: None,
        timeout_ms: Some(60_000),
        default,
    };
    let options = || ["restart", "continue_without", "stop"].map(str::to_owned).to_vec();
    let failing = ask("ui-4", UiKind::GateFailing, UiAnswer::Value("stop".into()));
    let choice = ask("ui-2", UiKind::Select, UiAnswer::Cancelled);
    let approval = ask("ui-5", UiKind::Approve, UiAnswer::Confirmed(false));
    let over = [UiEnd::Answered, UiEnd::Timeout, UiEnd::Cancelled, UiEnd::Shutdown];
    let mut dialogs = vec![
        RpcEvent::UiRequest(Box::new(ask("ui-1", UiKind::Confirm, UiAnswer::Confirmed(false)))),
        RpcEvent::UiRequest(Box::new(UiRequest { options: vec!["main".into(), "dev".into()], ..choice })),
        RpcEvent::UiRequest(Box::new(UiRequest {
            placeholder: Some("a name".into()),
            ..ask("ui-3", UiKind::Input, UiAnswer::Cancelled)
        })),
        RpcEvent::UiRequest(Box::new(UiRequest {
            prefill: Some("one\ntwo".into()),
            ..ask("ui-7", UiKind::Editor, UiAnswer::Cancelled)
        })),
        RpcEvent::UiRequest(Box::new(UiRequest {
            extension: Some(todo()),
            options: options(),
            timeout_ms: None,
            ..failing
        })),
        RpcEvent::UiRequest(Box::new(UiRequest {
            title: "Run bash?".into(),
            timeout_ms: None,
            message: String::new(),
            call: Some(call()),
            ..approval
        })),
    ];
    dialogs.extend(previews().map(|(name, args, preview)| {
        RpcEvent::UiRequest(Box::new(UiRequest {
            title: format!("Run {name}?"),
            timeout_ms: None,
            message: String::new(),
            call: Some(ToolCall { id: ToolCallId::new("toolu_1"), name: name.into(), args: json(args) }),
            preview: Some(Box::new(preview)),
            ..ask("ui-6", UiKind::Approve, UiAnswer::Confirmed(false))
        }))
    }));
    dialogs.extend(over.map(|why| RpcEvent::UiDone { id: "ui-1".into(), why }));
    dialogs
}

/// Calls with their previews.
fn previews() -> [(&'static str, &'static str, CallPreview); 2] {
    let diff = FileDiff::new("a.txt", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n", 1, 1);
    let unread = "a.txt has not been read yet; read it before changing it".to_owned();
    [
        (
            "edit",
            r#"{"path":"a.txt","edits":[{"old_text":"old","new_text":"new"}]}"#,
            CallPreview::Diff(diff),
        ),
        ("write", r#"{"path":"a.txt","content":"new\n"}"#, CallPreview::Error(unread)),
    ]
}

fn call() -> ToolCall {
    ToolCall { id: ToolCallId::new("toolu_1"), name: "bash".into(), args: json(r#"{"command":"rm a.png"}"#) }
}

fn panels() -> Vec<RpcEvent> {
    let content = |title: &str| PanelContent {
        panel_id: panel(),
        title: title.into(),
        lines: vec!["□ milk".into()],
        footer: "esc".into(),
    };
    let status = |text: Option<&str>, styled| {
        let text = text.map(str::to_owned);
        RpcEvent::ExtStatus { extension: todo(), key: "open".into(), text, styled }
    };
    vec![
        RpcEvent::PanelOpen { extension: todo(), panel: content("Todos") },
        RpcEvent::PanelRender { extension: todo(), panel: content("") },
        RpcEvent::PanelClose { extension: todo(), panel_id: panel() },
        RpcEvent::Insert { extension: todo(), text: "/todo ".into() },
        RpcEvent::SetTitle { extension: todo(), text: "3 open".into() },
        RpcEvent::SetWorking {
            extension: todo(),
            working: SetWorkingCall { text: Some("Shopping".into()), ..SetWorkingCall::default() },
        },
        RpcEvent::SetEditor { extension: todo(), text: "/todo done milk".into() },
        status(Some("3 open"), Vec::new()),
        status(Some("3 open"), styled_text()),
        status(None, Vec::new()),
        RpcEvent::RegistrationsChanged { extension: todo() },
    ]
}
