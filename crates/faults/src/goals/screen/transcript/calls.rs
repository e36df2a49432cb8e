//! Tool calls: their names, arguments, output, results and changes by others.

use anyhow::Result;
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image};
use haft_protocol::event::AgentEvent as E;
use haft_protocol::ids::ToolCallId;
use serde_json::json;

use super::super::around::extension_name;
use super::super::stage::HeadlessInterface;
use super::super::{ScreenSink, sink};

pub(super) const CALLS: &[ScreenSink] = &[
    sink("command and result", 2, run_command),
    sink("names, arguments and results", 3, show_call),
    sink("output", 2, show_progress),
    sink("diffs", 3, show_diff),
    sink("owners", 2, show_call_owners),
    sink("kinds of images", 1, image),
    sink("refusals", 2, refuse_call),
    sink("skipped", 1, skip_call),
    sink("rewritten", 3, rewrite_call),
    sink("rewritten by two", 3, show_conflict),
];

pub(super) const UNFOLDED: &[ScreenSink] =
    &[sink("names, arguments and results", 4, unfold_call), sink("diffs", 3, show_diff)];

/// The calls in line output: the results after the calls have ended.
pub(in super::super) const PRINTED: &[ScreenSink] = &[
    sink("command and result", 2, run_command),
    sink("names, arguments and results", 3, show_call),
    sink("diffs", 3, show_diff),
    sink("owners", 2, show_call_owners),
    sink("kinds of images", 1, image),
    sink("refusals", 2, refuse_call),
    sink("skipped", 1, skip_call),
    sink("rewritten by two", 3, show_conflict),
];

pub(super) const WRITTEN: &[ScreenSink] =
    &[sink("names", 1, stream_names), sink("arguments in pieces", 1, stream_arguments)];

pub(super) const HOSTED: &[ScreenSink] = &[sink("extension, tool, arguments, result", 4, show_hosted_call)];

fn id(stage: &mut HeadlessInterface) -> ToolCallId {
    ToolCallId::new(format!("t{}", stage.next_call()))
}

fn raw_json(value: &serde_json::Value) -> Result<RawJson> {
    Ok(RawJson::from_value(value)?)
}

/// The outcome of a call.
struct CallOutcome<'t> {
    content: Vec<ContentBlock>,
    owner: Option<&'t str>,
    instead: Option<&'t str>,
    details: Option<RawJson>,
}

impl CallOutcome<'_> {
    fn text(text: &str) -> Self {
        Self { content: vec![ContentBlock::text(text)], owner: None, instead: None, details: None }
    }
}

fn begin(stage: &mut HeadlessInterface, name: &str, args: &serde_json::Value) -> Result<ToolCallId> {
    let (id, args, name) = (id(stage), raw_json(args)?, name.to_owned());
    stage.event(E::ToolCall { id: id.clone(), name: name.clone(), args: args.clone() });
    stage.event(E::ToolStart { id: id.clone(), name, args, label: None });
    Ok(id)
}

fn end(stage: &mut HeadlessInterface, id: ToolCallId, name: &str, came: CallOutcome<'_>) {
    let CallOutcome { content, owner, instead, details } = came;
    let (extension, synthetic_by) = (owner.map(extension_name), instead.map(str::to_owned));
    let name = name.to_owned();
    stage.event(E::ToolEnd { id: id.clone(), name: name.clone(), duration_ms: 1_200 });
    let is_error = stage.next_call().is_multiple_of(2);
    stage.event(E::ToolResult { id, name, is_error, content, extension, synthetic_by, details, entry: None });
}

fn run_command(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [command, output] = texts else { return Ok(()) };
    let id = begin(stage, "bash", &json!({ "command": command }))?;
    end(stage, id, "bash", CallOutcome::text(output));
    Ok(())
}

pub(super) fn show_call(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [name, path, output, ..] = texts else { return Ok(()) };
    let id = begin(stage, name, &json!({ "path": path, "pattern": path }))?;
    end(stage, id, name, CallOutcome::text(output));
    if let [_, _, _, pattern] = texts {
        let id = begin(stage, "grep", &json!({ "pattern": pattern, "path": "x" }))?;
        end(stage, id, "grep", CallOutcome::text(pattern));
    }
    Ok(())
}

fn unfold_call(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    // Each frame toggles the folding, so both states are drawn.
    stage.keys("ctrl+o")?;
    show_call(stage, texts)
}

fn show_progress(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let id = begin(stage, "bash", &json!({ "command": "x" }))?;
    for text in texts {
        let (first, second) = text.split_at(text.char_indices().nth(2).map_or(0, |(at, _)| at));
        for text in [first, second, "\n"] {
            stage.event(E::ToolProgress {
                id: id.clone(),
                text: text.to_owned(),
                replaces: false,
                details: None,
            });
        }
    }
    Ok(())
}

fn show_diff(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [path, old, new] = texts else { return Ok(()) };
    let unified = format!("--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n same\n-{old}\n+{new}\n");
    let details =
        raw_json(&json!({ "diff": { "path": path, "unified": unified, "added": 1, "removed": 1 } }))?;
    let id = begin(stage, "edit", &json!({ "path": path }))?;
    end(stage, id, "edit", CallOutcome { details: Some(details), ..CallOutcome::text("done") });
    Ok(())
}

fn show_call_owners(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [owner, instead] = texts else { return Ok(()) };
    let call = begin(stage, "todo", &json!({}))?;
    end(stage, call, "todo", CallOutcome { owner: Some(owner), ..CallOutcome::text("done") });
    let call = begin(stage, "todo", &json!({}))?;
    end(stage, call, "todo", CallOutcome { instead: Some(instead), ..CallOutcome::text("done") });
    Ok(())
}

fn image(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    for text in texts {
        let image = ContentBlock::Image(Image { mime_type: text.clone(), data: "aGk=".into() });
        let id = begin(stage, "read", &json!({ "path": "x" }))?;
        end(stage, id, "read", CallOutcome { content: vec![image], ..CallOutcome::text("") });
    }
    Ok(())
}

fn refuse_call(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [by, reason] = texts else { return Ok(()) };
    let id = begin(stage, "bash", &json!({ "command": "x" }))?;
    stage.event(E::ToolBlocked { id, by: by.clone(), reason: reason.clone() });
    Ok(())
}

fn skip_call(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    for reason in texts {
        let id = begin(stage, "bash", &json!({ "command": "x" }))?;
        stage.event(E::ToolSkipped { id, name: reason.clone(), reason: reason.clone() });
    }
    Ok(())
}

fn rewrite_call(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [by, tool, changed] = texts else { return Ok(()) };
    let id = id(stage);
    let args = raw_json(&json!({ "command": changed }))?;
    stage.event(E::ToolCall { id: id.clone(), name: "bash".into(), args: args.clone() });
    let (by, tool, changed) = (by.clone(), Some(tool.clone()), vec![format!("/{changed}")]);
    stage.event(E::ToolRewritten { id, by, tool, args, changed });
    Ok(())
}

fn show_conflict(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [path, first, second] = texts else { return Ok(()) };
    let id = begin(stage, "bash", &json!({ "command": "x" }))?;
    stage.event(E::ToolRewriteConflict { id, path: path.clone(), by: [first.clone(), second.clone()] });
    Ok(())
}

fn stream_names(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    for name in texts {
        let id = id(stage);
        stage.event(E::ToolUseStart { id, name: name.clone() });
    }
    Ok(())
}

/// Incomplete arguments are not shown.
fn stream_arguments(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    for text in texts {
        let call = id(stage);
        stage.event(E::ToolUseStart { id: call.clone(), name: "bash".into() });
        stage.event(E::ToolUseArgs { id: call.clone(), delta: text.clone() });
        stage.event(E::ToolUseEnd { id: call.clone() });
        let args = raw_json(&json!({ "command": text }))?;
        stage.event(E::ToolCall { id: call, name: "bash".into(), args });
    }
    Ok(())
}

fn show_hosted_call(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [extension, tool, path, output] = texts else { return Ok(()) };
    let (extension, call) = (extension_name(extension), id(stage));
    let args = raw_json(&json!({ "command": path, "path": path }))?;
    stage.event(E::HostCallStart {
        id: call.clone(),
        extension: extension.clone(),
        name: tool.clone(),
        args,
    });
    stage.event(E::HostCallEnd {
        id: call,
        extension,
        name: tool.clone(),
        is_error: true,
        code: None,
        content: vec![ContentBlock::text(output.clone())],
        details: None,
    });
    Ok(())
}
