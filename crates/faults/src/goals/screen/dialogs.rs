//! Dialogs.

use anyhow::Result;
use haft_protocol::RawJson;
use haft_protocol::content::{CallPreview, FileDiff, ToolCall};
use haft_protocol::ids::ToolCallId;
use haft_protocol::rpc::{RpcEvent, UiAnswer, UiEnd, UiKind, UiRequest};
use haft_tui::app::{BackendReply, TrustReview, UiEvent};
use serde_json::json;

use super::around::extension_name;
use super::stage::HeadlessInterface;
use super::transcript::setting;
use super::{ScreenScene, lists, scene, sink};

/// The whole width, because an extension's name is truncated before its text.
const SIZE: (u16, u16) = (100, 24);

pub(super) const SCENES: &[ScreenScene] = &[
    scene("yes or no", SIZE, &[sink("owner, title, message, default", 4, confirm)]),
    scene("an approval of a call", SIZE, &[sink("owner, title, message, tool, arguments", 6, ask_approval)]),
    scene("a choice", SIZE, &[sink("owner, title, message, choices, default", 7, select)]),
    scene("a text", SIZE, &[sink("owner, title, message, typed text", 4, ask_input)]),
    scene("a failing gate", SIZE, &[sink("title, message, choices", 4, ask_gate)]),
    scene("trust", SIZE, &[sink("project and items", 3, trust)]),
    scene("a provider's key", SIZE, &[sink("provider", 1, key)]),
    scene("a setting's value", SIZE, &[sink("value, origin, typed text", 3, value)]),
];

fn open_dialog(
    stage: &mut HeadlessInterface,
    kind: UiKind,
    texts: &[String],
    rest: impl FnOnce(&mut UiRequest),
) {
    let [owner, title, message, ..] = texts else { return };
    // The previous dialog has ended.
    stage.rpc_event(RpcEvent::UiDone { id: "q".to_owned(), why: UiEnd::Timeout });
    let mut request = UiRequest {
        id: "q".to_owned(),
        extension: Some(extension_name(owner)),
        kind,
        title: title.clone(),
        message: message.clone(),
        options: Vec::new(),
        call: None,
        preview: None,
        placeholder: None,
        prefill: None,
        timeout_ms: Some(60_000),
        default: UiAnswer::Cancelled,
    };
    rest(&mut request);
    stage.rpc_event(RpcEvent::UiRequest(Box::new(request)));
}

fn confirm(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    open_dialog(stage, UiKind::Confirm, texts, |request| {
        request.default = UiAnswer::Value(texts.last().cloned().unwrap_or_default());
    });
    Ok(())
}

fn ask_approval(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [.., tool, name, value] = texts else { return Ok(()) };
    let args = json!({ name.as_str(): value, "command": value, "list": [value, 1] });
    let call = ToolCall { id: ToolCallId::new("1"), name: tool.clone(), args: RawJson::from_value(&args)? };
    open_dialog(stage, UiKind::Approve, texts, |request| request.call = Some(call.clone()));
    let error = CallPreview::Error(value.clone());
    let diff = CallPreview::Diff(FileDiff::new(
        name.clone(),
        format!("--- a/{name}\n+++ b/{name}\n@@ -1,2 +1,2 @@\n same\n-{name}\n+{value}\n"),
        1,
        1,
    ));
    for preview in [error, diff] {
        open_dialog(stage, UiKind::Approve, texts, |request| {
            (request.call, request.preview) = (Some(call.clone()), Some(Box::new(preview)));
        });
    }
    Ok(())
}

fn select(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let Some((default, options)) = texts.get(3..).and_then(<[String]>::split_last) else { return Ok(()) };
    open_dialog(stage, UiKind::Select, texts, |request| {
        request.options = options.to_vec();
        request.default = UiAnswer::Value(default.clone());
    });
    Ok(())
}

fn ask_input(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    open_dialog(stage, UiKind::Input, texts, |_| {});
    stage.draw();
    texts.last().into_iter().for_each(|text| stage.update(UiEvent::Paste(text.clone())));
    Ok(())
}

fn ask_gate(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [title, message, options @ ..] = texts else { return Ok(()) };
    let texts = ["x".to_owned(), title.clone(), message.clone()];
    open_dialog(stage, UiKind::GateFailing, &texts, |request| request.options = options.to_vec());
    Ok(())
}

/// Closes the previous dialog.
fn leave_dialog(stage: &mut HeadlessInterface) -> Result<()> {
    stage.draw();
    stage.write("")?;
    // A question about a call asks for a second press.
    stage.keys("esc esc")?;
    stage.write("")
}

fn trust(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    leave_dialog(stage)?;
    let Some((project, items)) = texts.split_first() else { return Ok(()) };
    let (project, items, digest) = (project.clone(), items.to_vec(), "d".to_owned());
    stage.answer(BackendReply::Trust(Ok(TrustReview { project, granted: false, items, digest })));
    Ok(())
}

fn key(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    leave_dialog(stage)?;
    texts.iter().try_for_each(|text| stage.command(&format!("/login x{text}")))
}

fn value(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    leave_dialog(stage)?;
    let [value, origin, typed] = texts else { return Ok(()) };
    stage.answer(setting("x", "y"));
    stage.command("/settings model")?;
    let row = haft_tui::app::SettingRow { origin: origin.clone(), ..lists::setting_row("model", value, &[]) };
    stage.answer(BackendReply::Settings(vec![row]));
    stage.draw();
    stage.update(UiEvent::Paste(typed.clone()));
    Ok(())
}
