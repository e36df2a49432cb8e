//! Commands that the interface runs itself: `/help`, `/cost`, `/copy`, `/quit`.

use std::fmt::Write as _;

use haft_protocol::message::TokenUsage;

use crate::keys::{Keymap, Section};

use super::super::Effect;
use super::super::completion_catalog::{SKILL, command_source};
use super::super::state::AppState;

pub(super) fn quit(state: &mut AppState, _args: &str) {
    state.out.push_effect(Effect::Quit);
}

pub(super) fn copy(state: &mut AppState, _args: &str) {
    match state.stack.conversation.transcript().last_answer().map(str::to_owned) {
        Some(text) => state.out.push_effect(Effect::Copy(text)),
        None => state.flash("nothing to copy: the model has not answered yet"),
    }
}

pub(super) fn cost(state: &mut AppState, _args: &str) {
    let session = &state.session;
    let usage = &session.usage;
    let TokenUsage { input, output, cache_read, cache_write, .. } = *usage;
    if session.context == 0 && [input, output, cache_read, cache_write] == [0; 4] {
        return state.show_info("no tokens used yet");
    }
    let window = match session.window {
        Some(window) => format!(" of {window}"),
        None => String::new(),
    };
    let rows = [
        ("context", format!("{}{window} tokens", session.context)),
        ("input", format!("{} tokens", usage.input)),
        ("input, read from the cache", format!("{} tokens", usage.cache_read)),
        ("input, written to the cache", format!("{} tokens", usage.cache_write)),
        ("output", format!("{} tokens", usage.output)),
        ("cost", format!("${:.4} (models with known prices only)", usage.cost_usd)),
    ];
    let mut text = format!(
        "`{}/{}`, since the start of the session:\n\n| item | amount |\n|---|---|\n",
        session.provider, session.model
    );
    for (item, value) in rows {
        let _ = writeln!(text, "| {item} | {value} |");
    }
    state.show_page("Session usage", text);
}

pub(super) fn help(state: &mut AppState, _args: &str) {
    let mut text = render_command_help(state);
    text.push_str(
        "\n`!command` runs a shell command and sends the output to the model; `!!command` does not send the output. \
         `@` inserts the path of a file.\n\n",
    );
    if state.linear.enabled {
        text.push_str("## Input\n\n");
        text.push_str(super::super::linear::HELP);
    } else {
        text.push_str(&render_key_help(&state.keymap));
    }
    state.show_page("Help", text);
}

/// Returns the commands by source, in their stored order: built-in, extensions, templates, skills.
fn render_command_help(state: &AppState) -> String {
    let mut text = format!("## Commands of haft\n\n{}", super::markdown());
    let mut last = "";
    for info in &state.stack.composer.completions().external_commands {
        let heading = match command_source(info).as_str() {
            _ if info.extension.is_some() => "Commands of extensions",
            SKILL => "Skills",
            _ => "Templates",
        };
        if std::mem::replace(&mut last, heading) != heading {
            let _ = write!(text, "\n## {heading}\n\n| command | source | description |\n|---|---|---|\n");
        }
        let about = info.description.replace(['|', '\n'], " ");
        let _ = writeln!(text, "| `/{}` | {} | {about} |", info.name, command_source(info));
    }
    text
}

fn render_key_help(keymap: &Keymap) -> String {
    let mut out = String::new();
    for section in Section::ALL {
        let about = section.about().split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = write!(out, "## Keys: {}\n\n{about}\n\n| keys | action |\n|---|---|\n", section.prefix());
        for (entry, chords) in keymap.rows().filter(|(entry, _)| entry.section == *section) {
            let keys = chords.iter().map(|chord| format!("`{chord}`")).collect::<Vec<_>>().join(" ");
            let _ = writeln!(out, "| {keys} | {} |", entry.help);
        }
        out.push('\n');
    }
    out
}
