//! Commands that the interface runs itself: `/help`, `/status`, `/context`, `/diff`, `/cost`, `/copy`, `/quit`.

use std::fmt::Write as _;

use haft_protocol::message::TokenUsage;

use crate::diff::Diff;
use crate::keys::{Keymap, Section};

use super::super::completion_catalog::{SKILL, command_source};
use super::super::session::CurrentSession;
use super::super::state::AppState;
use super::super::{BackendRequest, ContextUse, Effect, WorkingTreeDiff};

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

pub(super) fn status(state: &mut AppState, _args: &str) {
    let session = &state.session;
    let model = match session.has_no_model() {
        true => "none; /login connects one".to_owned(),
        false => format!("{}/{}", session.provider, session.model),
    };
    let approve = state.settings.tools_to_approve();
    let asks = match approve.as_slice() {
        [] => "no tool asks before each call".to_owned(),
        tools => format!("asks before each call of {}", tools.join(", ")),
    };
    let extensions: Vec<String> =
        session.extensions.iter().map(|info| format!("{} {}", info.name, info.state)).collect();
    let queued = state.queue.waiting_messages().count();
    let rows = [
        ("version", Some(format!("haft {}", state.version))),
        ("model", Some(model)),
        ("thinking", Some(session.thinking.name().to_owned())),
        ("session", state.out.session().map(str::to_owned)),
        ("name", session.name.clone()),
        ("directory", Some(session.cwd.clone())),
        ("git branch", state.status.branch().map(str::to_owned)),
        ("sandbox", state.status.sandbox_label().map(str::to_owned)),
        ("approvals", Some(asks)),
        ("project", Some(if state.is_trusted { "trusted" } else { "not trusted" }.to_owned())),
        ("context", Some(context_text(session))),
        ("cost", Some(format!("${:.4}", session.usage.cost_usd))),
        ("queued messages", (queued > 0).then(|| queued.to_string())),
        ("extensions", Some(if extensions.is_empty() { "none".to_owned() } else { extensions.join(", ") })),
        (
            "not used",
            (!state.untrusted.is_empty())
                .then(|| format!("{}; /trust shows why", state.untrusted.join(", "))),
        ),
    ];
    let rows = rows.into_iter().filter_map(|(label, value)| Some((label, value?.replace(['|', '\n'], " "))));
    let rows = rows.map(|(label, value)| format!("| {label} | {value} |\n")).collect::<String>();
    state.show_page("Status", format!("| | |\n|---|---|\n{rows}"));
}

fn context_text(session: &CurrentSession) -> String {
    match (session.window, session.context_percent()) {
        (Some(window), Some(percent)) => format!("{} of {window} tokens ({percent} %)", session.context),
        _ => format!("{} tokens", session.context),
    }
}

pub(super) fn request_context(state: &mut AppState, _args: &str) {
    state.out.ask_backend(BackendRequest::ContextUse);
}

pub(super) fn request_diff(state: &mut AppState, _args: &str) {
    state.out.ask_backend(BackendRequest::Diff);
}

pub(super) fn request_usage(state: &mut AppState, _args: &str) {
    state.out.ask_backend(BackendRequest::Usage);
}

/// Shows the changes of files, each file with its lines.
pub(in crate::app) fn show_diff(state: &mut AppState, changes: &WorkingTreeDiff) {
    let diffs = Diff::parse_git_output(&changes.text, changes.is_cut);
    if diffs.is_empty() {
        return state.show_info("no file has changed since this session was opened");
    }
    let sum = |count: fn(&Diff) -> u64| diffs.iter().map(count).sum::<u64>();
    let (added, removed) = (sum(|diff| diff.added), sum(|diff| diff.removed));
    let files = if diffs.len() == 1 { "1 file".to_owned() } else { format!("{} files", diffs.len()) };
    let title = format!("Changes since this session was opened: {files}, +{added} −{removed}");
    match state.linear.enabled {
        // A fence that is not common in files.
        true => state.show_page(&title, format!("~~~~~~~~diff\n{}\n~~~~~~~~\n", changes.text)),
        false => state.show_diff_page(&title, diffs),
    }
}

/// Shows the parts of the context as bars.
pub(in crate::app) fn show_context(state: &mut AppState, used: &ContextUse) {
    /// The columns of a full bar.
    const BAR: u64 = 30;
    let free = used.window.map(|window| ("free", window.saturating_sub(used.tokens)));
    let whole = used.window.unwrap_or(used.tokens).max(1);
    let mut text = format!("{}\n\n```text\n", context_text(&state.session));
    for (label, tokens) in used.parts.iter().copied().chain(free) {
        let columns = (tokens.saturating_mul(BAR) / whole).min(BAR);
        let bar = "█".repeat(usize::try_from(columns).unwrap_or_default());
        let percent = tokens.saturating_mul(100) / whole;
        let _ = writeln!(text, "{label:<24} {tokens:>9} {percent:>3} %  {bar}");
    }
    text.push_str("```\n\nThe parts are estimates. `/compact` summarizes the older messages.\n");
    state.show_page("Context", text);
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
