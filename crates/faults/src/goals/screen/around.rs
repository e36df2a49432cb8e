//! The parts around the transcript: notes, queue, editor, status line, panels.

use anyhow::Result;
use haft_protocol::event::{AgentEvent, NoteLevel};
use haft_protocol::ext::StyledSpan;
use haft_protocol::ids::{ExtensionName, PanelId};
use haft_protocol::rpc::{PanelContent, RpcEvent};
use haft_tui::app::{BackendReply, UiEvent};
use serde_json::json;

use super::stage::{HeadlessInterface, SESSION};
use super::{ScreenScene, scene, sink};

pub(super) const SCENES: &[ScreenScene] = &[
    scene(
        "notes and queue",
        (60, 16),
        &[sink("notes", 3, show_notes), sink("their owners", 2, show_owners), sink("queue", 4, queue)],
    ),
    scene(
        "status",
        (200, 8),
        &[
            sink("branch", 1, set_branch),
            sink("model, directory, session's name", 3, state),
            sink("extensions that are not ready", 2, not_ready),
            sink("texts of extensions, and their names", 2, show_extension_texts),
        ],
    ),
    scene("model of a request", (60, 8), &[sink("model", 1, model)]),
    scene(
        "editor",
        (100, 30),
        &[
            sink("pasted", 1, paste_texts),
            sink("typed", 1, type_texts),
            sink("inserted by an extension", 2, insert_texts),
        ],
    ),
    scene("external editor", (60, 16), &[sink("edited", 1, edit_texts)]),
    scene("earlier prompts", (60, 12), &[sink("the last prompt", 1, recall_prompt)]),
    scene("history search", (60, 12), &[sink("query and match", 1, search)]),
    scene("search", (60, 12), &[sink("query", 1, find)]),
    scene("panel", (60, 14), &[sink("owner, title, lines, footer", 8, open_panel)]),
    scene("panel, drawn again", (60, 14), &[sink("title, lines, footer", 7, panel_again)]),
];

pub(super) fn extension_name(text: &str) -> ExtensionName {
    ExtensionName::new(text)
}

const LEVELS: [NoteLevel; 4] = [NoteLevel::Info, NoteLevel::Success, NoteLevel::Warn, NoteLevel::Error];

fn show_notes(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    for (text, level) in texts.iter().zip(LEVELS.iter().cycle()) {
        stage.event(AgentEvent::ExtNotify {
            extension: extension_name("x"),
            level: *level,
            message: text.clone(),
        });
    }
    Ok(())
}

fn show_owners(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    for text in texts {
        let message = "hi".to_owned();
        stage.event(AgentEvent::ExtNotify {
            extension: extension_name(text),
            level: NoteLevel::Info,
            message,
        });
    }
    Ok(())
}

fn queue(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let (steering, follow_up) = texts.split_at(texts.len() / 2);
    let (steering, follow_up) = (steering.to_vec(), follow_up.to_vec());
    stage.event(AgentEvent::QueueUpdate { steering, follow_up, next_turn: Vec::new() });
    Ok(())
}

fn set_branch(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.answer(BackendReply::Branch(texts.first().cloned()));
    Ok(())
}

pub(super) fn usage() -> serde_json::Value {
    json!({ "input": 1, "output": 1, "cache_read": 0, "cache_write": 0, "cost_usd": 0.1 })
}

fn state(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [model, cwd, name] = texts else { return Ok(()) };
    // The interface asks for the state again after an action.
    stage.event(AgentEvent::Done);
    let queue = json!({ "steering": [], "follow_up": [], "next_turn": [] });
    let data = json!({
        "provider": "p", "model": model, "cwd": cwd, "message_count": 0, "busy": false, "usage": usage(),
        "session": SESSION, "thinking": "high", "context": { "tokens": 9, "estimated": 0 }, "prompts": 0,
        "queue": queue, "name": name,
    });
    stage.reply("get_state", &data)?;
    stage.command("/resume")?;
    stage.reply("list_sessions", &json!({ "sessions": [session(SESSION, name)] }))?;
    stage.keys("esc")
}

/// Returns a session of a name.
pub(super) fn session(id: &str, name: &str) -> serde_json::Value {
    json!({
        "session": id, "open": true, "current": false, "busy": false, "cwd": "/w", "messages": 3,
        "created": "2026-01-02T03:04:05Z", "name": name, "usage": usage(),
    })
}

pub(super) fn extension_json(name: &str, text: &str) -> serde_json::Value {
    json!({
        "name": name, "version": text, "description": text, "state": text, "origin": text, "dir": text,
        "required": true, "gates_off": false, "log": text, "commands": [text], "tools": [text],
        "fault": { "extension": name, "code": text, "message": text },
    })
}

fn not_ready(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.event(AgentEvent::GateOff { extension: extension_name("x"), reason: String::new() });
    let [name, state] = texts else { return Ok(()) };
    let mut broken = extension_json("x", "");
    broken["name"] = name.as_str().into();
    broken["state"] = state.as_str().into();
    stage.reply("list_extensions", &json!({ "extensions": [broken] }))
}

fn show_extension_texts(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [name, text] = texts else { return Ok(()) };
    for (extension, text) in [(extension_name(name), "hi"), (extension_name("x"), text)] {
        let (key, styled) = ("k".to_owned(), vec![StyledSpan::new(text)]);
        stage.rpc_event(RpcEvent::ExtStatus { extension, key, text: Some(text.to_owned()), styled });
    }
    Ok(())
}

pub(super) fn model(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    for text in texts {
        let (provider, model) = (text.clone(), text.clone());
        let (max_tokens, temperature) = (None, None);
        stage.event(AgentEvent::ModelRequest {
            step: 1,
            provider,
            model,
            messages: 1,
            tools: 1,
            max_tokens,
            temperature,
        });
    }
    Ok(())
}

fn paste_texts(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.write("")?;
    texts.iter().for_each(|text| stage.update(UiEvent::Paste(text.clone())));
    Ok(())
}

fn type_texts(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    texts.iter().for_each(|text| stage.type_text(text));
    Ok(())
}

fn insert_texts(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [extension, text] = texts else { return Ok(()) };
    // The text is checked alone before the user types more.
    stage.rpc_event(RpcEvent::Insert { extension: extension_name(extension), text: text.clone() });
    Ok(())
}

fn edit_texts(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    texts.iter().for_each(|text| stage.update(UiEvent::Edited(Ok(text.clone()))));
    Ok(())
}

fn load_history(stage: &mut HeadlessInterface, texts: &[String]) {
    let lines: String = texts.iter().map(|text| format!("{}\n", json!({ "text": text }))).collect();
    stage.answer(BackendReply::History(Ok(lines)));
}

fn recall_prompt(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.write("")?;
    load_history(stage, texts);
    stage.keys("up")
}

fn search(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.write("")?;
    load_history(stage, texts);
    stage.keys("ctrl+r")?;
    texts.iter().for_each(|text| stage.update(UiEvent::Paste(text.clone())));
    Ok(())
}

fn find(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.write("")?;
    stage.keys("ctrl+s")?;
    texts.iter().for_each(|text| stage.update(UiEvent::Paste(text.clone())));
    Ok(())
}

fn content(texts: &[String]) -> PanelContent {
    let [title, lines @ .., footer] = texts else { return content(&[String::new(), String::new()]) };
    let (title, lines, footer) = (title.clone(), lines.to_vec(), footer.clone());
    PanelContent { panel_id: PanelId::new("p"), title, lines, footer }
}

fn open_panel(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let Some((owner, texts)) = texts.split_first() else { return Ok(()) };
    stage.rpc_event(RpcEvent::PanelOpen { extension: extension_name(owner), panel: content(texts) });
    Ok(())
}

fn panel_again(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let empty = || content(&[String::new(), String::new()]);
    stage.rpc_event(RpcEvent::PanelOpen { extension: extension_name("x"), panel: empty() });
    stage.rpc_event(RpcEvent::PanelRender { extension: extension_name("x"), panel: content(texts) });
    Ok(())
}
