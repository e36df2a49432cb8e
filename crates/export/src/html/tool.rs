//! HTML of a tool call: folded, with its arguments, its result, and interventions.

use std::fmt::Write as _;

use haft_core::session::intervention::{HookIntervention, InterventionAction};
use haft_protocol::content::{ContentBlock, joined_text};
use haft_protocol::message::ToolMessage;
use serde::Deserialize;

use super::blocks::{write_arguments, write_content_blocks, write_diff, write_pre};
use super::text::{html_text, short_text};
use super::thread::ToolCallItem;

/// The arguments that describe a call best, in order of preference.
const TELLING: &[&str] = &["command", "pattern", "query", "url", "path", "file_path", "name"];

pub(super) fn write_call(out: &mut String, call: &ToolCallItem<'_>) {
    let failed = call.result.is_some_and(|result| result.is_error);
    let class = match call.interventions.iter().any(|it| it.action.is_stop()) {
        true => "tool stopped",
        false if failed => "tool failed",
        false => "tool",
    };
    let _ = write!(
        out,
        "<details class=\"{class}\"><summary><span class=\"name\">{}</span> <code>{}</code>",
        html_text(&call.call.name),
        short_text(&call_subject(call), 100)
    );
    write_badges(out, call, failed);
    out.push_str("</summary><div class=\"inside\">");
    let shown_diff = call.result.and_then(diff_of);
    write_call_arguments(out, call, shown_diff.is_some());
    for it in &call.interventions {
        let _ = write!(out, "<p class=\"note\">{}</p>", intervention_sentence(it));
    }
    match call.result {
        Some(message) => write_result(out, message, shown_diff),
        None if call.start.is_some() => {
            out.push_str(
                "<p class=\"left-out\">The tool was started and then interrupted, so there is no result.</p>",
            );
        }
        None => out.push_str("<p class=\"left-out\">The tool did not run.</p>"),
    }
    out.push_str("</div></details>");
}

/// Writes a result whose call is missing.
pub(super) fn write_orphan_result(out: &mut String, message: &ToolMessage) {
    let class = if message.is_error { "tool failed" } else { "tool" };
    let _ = write!(
        out,
        "<details class=\"{class}\"><summary><span class=\"name\">{}</span> <span class=\"soft\">a result whose call is \
         missing</span></summary><div class=\"inside\">",
        html_text(&message.name)
    );
    write_result(out, message, diff_of(message));
    out.push_str("</div></details>");
}

/// Returns the most descriptive argument of a call.
fn call_subject(call: &ToolCallItem<'_>) -> String {
    let Ok(args) = call.call.args.read::<serde_json::Map<String, serde_json::Value>>() else {
        return String::new();
    };
    let subject = TELLING.iter().find_map(|name| args.get(*name)?.as_str());
    subject.or_else(|| args.values().find_map(|value| value.as_str())).unwrap_or_default().to_owned()
}

fn write_badges(out: &mut String, call: &ToolCallItem<'_>, failed: bool) {
    let diff = call.result.and_then(diff_of);
    if let Some(ToolDiff { added: Some(added), removed: Some(removed), .. }) = &diff {
        let _ = write!(out, " <span class=\"plus\">+{added}</span> <span class=\"minus\">−{removed}</span>");
    }
    if let Some(extension) = call.result.and_then(|result| result.extension.as_ref()) {
        let _ = write!(out, " <span class=\"badge\">by {}</span>", html_text(extension.as_str()));
    }
    for it in &call.interventions {
        let _ = write!(
            out,
            " <span class=\"badge extension\">{} {}</span>",
            it.action.verb(),
            intervention_names(it)
        );
    }
    if is_rewritten(call) && !call.interventions.iter().any(|it| it.action == InterventionAction::Rewritten) {
        out.push_str(" <span class=\"badge extension\">rewritten</span>");
    }
    if failed && !call.interventions.iter().any(|it| it.action.is_stop()) {
        out.push_str(" <span class=\"badge error\">failed</span>");
    }
    if call.result.is_none() {
        out.push_str(" <span class=\"badge error\">no result</span>");
    }
}

fn is_rewritten(call: &ToolCallItem<'_>) -> bool {
    call.start.is_some_and(|start| start.args != call.call.args)
}

/// Writes the arguments that the tool ran with, and the model's if they differ.
fn write_call_arguments(out: &mut String, call: &ToolCallItem<'_>, folded: bool) {
    if folded {
        out.push_str("<details class=\"more\"><summary>arguments</summary>");
    }
    match call.start.filter(|_| is_rewritten(call)) {
        Some(start) => {
            out.push_str("<p class=\"soft\">Arguments of the model</p>");
            write_arguments(out, &call.call.args);
            out.push_str("<p class=\"soft\">Arguments after rewriting</p>");
            write_arguments(out, &start.args);
        }
        None => write_arguments(out, &call.call.args),
    }
    if folded {
        out.push_str("</details>");
    }
}

fn write_result(out: &mut String, message: &ToolMessage, shown: Option<ToolDiff>) {
    let Some(shown) = shown else { return write_content_blocks(out, &message.content) };
    // The model's text also contains the diff.
    let text = joined_text(&message.content);
    let text = text.split("\n--- ").next().unwrap_or_default();
    write_pre(out, "", text);
    write_diff(out, &shown.unified);
    if shown.cut {
        out.push_str("<p class=\"left-out\">The diff was truncated.</p>");
    }
    let images: Vec<ContentBlock> =
        message.content.iter().filter(|block| block.as_text().is_none()).cloned().collect();
    write_content_blocks(out, &images);
}

struct ToolDiff {
    unified: String,
    added: Option<u64>,
    removed: Option<u64>,
    cut: bool,
}

fn diff_of(message: &ToolMessage) -> Option<ToolDiff> {
    #[derive(Deserialize)]
    struct ResultDetails {
        diff: serde_json::Value,
    }
    let ResultDetails { diff } = message.details.as_ref()?.read().ok()?;
    if let Some(unified) = diff.as_str() {
        return Some(ToolDiff { unified: unified.to_owned(), added: None, removed: None, cut: false });
    }
    Some(ToolDiff {
        unified: diff.get("unified")?.as_str()?.to_owned(),
        added: diff.get("added").and_then(serde_json::Value::as_u64),
        removed: diff.get("removed").and_then(serde_json::Value::as_u64),
        cut: diff.get("cut").and_then(serde_json::Value::as_bool).unwrap_or_default(),
    })
}

pub(super) fn intervention_names(it: &HookIntervention) -> String {
    html_text(&it.by.join(", "))
}

pub(super) fn intervention_sentence(it: &HookIntervention) -> String {
    let names = intervention_names(it);
    match it.action {
        InterventionAction::Blocked => format!("Blocked by {names}: the tool did not run."),
        InterventionAction::Answered => format!("Answered by {names}: the tool did not run."),
        InterventionAction::Rewritten => format!("Rewritten by {names} before it ran."),
        InterventionAction::TurnEnded if it.call_id.is_some() => {
            format!("{names} ended the turn with this call: the tool did not run.")
        }
        InterventionAction::TurnEnded => format!("{names} ended the turn before the model request."),
        InterventionAction::Edited => {
            format!("{names} changed the result: the model did not receive the original result.")
        }
        InterventionAction::Replaced => format!("{names} changed the text that was shown to the user."),
        InterventionAction::Suppressed => format!("{names} hid this message from the user."),
        InterventionAction::AnswerEdited => {
            format!("{names} changed this message: the model's own text was different.")
        }
        InterventionAction::AnswerDropped => {
            format!("{names} ended the turn and dropped the model's answer.")
        }
        InterventionAction::Discarded => format!("{names} discarded a turn: its messages are not included."),
    }
}
