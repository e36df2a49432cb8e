//! `haft session show`: prints a session.

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::sanitize::sanitize_line;
use haft_core::session::entry::{EntryBody, MessageEntry, ResponseMetadata, SessionEntry, SessionSettings};
use haft_core::session::intervention::HookIntervention;
use haft_core::session::store::SessionFile;
use haft_core::session::{EntryId, build_context, tag_text};
use haft_protocol::content::{joined_text, written_text};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, Message, TokenUsage, ToolMessage};
use serde_json::json;

use super::text::{SessionRow, first_line, read_entries, truncate, usage_text};
use crate::console::{json_line, list_width, prefixed_rows, print, terminal_width, write};

pub(super) fn run(found: &SessionFile, json: bool) -> anyhow::Result<()> {
    let entries = read_entries(found)?;
    let row = SessionRow::from_found(found)?;
    let calls = entries.iter().map(|entry| tool_call_count(&entry.body)).sum();
    let branch = latest_branch(entries);
    let settings = build_context(&branch).settings;
    if json {
        return write(json_line(&session_json(&row, &branch)).as_bytes());
    }
    print(&header_text(&row, &settings))?;
    print_transcript(&branch)?;
    print(&format!("\n{}", totals_line(&row, calls)))
}

/// Prints each part by itself, because a part can have the length of an image or of a file.
fn print_transcript(branch: &[Arc<SessionEntry>]) -> anyhow::Result<()> {
    let pieces = transcript_parts(branch);
    // The header shows the settings that the session began with.
    let begin =
        pieces.iter().position(|piece| piece.kind != TranscriptPartKind::Setting).unwrap_or(pieces.len());
    let mut last = None;
    for TranscriptPart { kind, text: piece } in pieces.into_iter().skip(begin) {
        // Lines of tools form one block.
        let together =
            last.is_none() || (last == Some(TranscriptPartKind::Tool) && kind == TranscriptPartKind::Tool);
        if !together {
            print("")?;
        }
        print(&piece)?;
        last = Some(kind);
    }
    Ok(())
}

/// Returns the text of each entry; with several prompts, also the usage of each.
fn transcript_parts(branch: &[Arc<SessionEntry>]) -> Vec<TranscriptPart> {
    let several = branch.iter().filter(|entry| is_prompt(&entry.body)).count() > 1;
    let bill = |used: &mut TokenUsage| {
        let used = std::mem::take(used);
        let text = (several && used != TokenUsage::default()).then(|| format!("-- {}", usage_text(&used)));
        text.map(|text| TranscriptPart { kind: TranscriptPartKind::Cost, text })
    };
    let names = tool_names(branch);
    let (mut pieces, mut used) = (Vec::new(), TokenUsage::default());
    for entry in branch {
        if is_prompt(&entry.body) {
            pieces.extend(bill(&mut used));
        }
        used += entry.body.answer().map(|answer| answer.usage).unwrap_or_default();
        pieces.extend(entry_parts(&entry.body, &names));
    }
    pieces.extend(bill(&mut used));
    pieces
}

/// Returns the number of tool calls of the model, whether they ran or not.
fn tool_call_count(body: &EntryBody) -> usize {
    let EntryBody::MessageEntry(MessageEntry { message: Message::Assistant(said), .. }) = body else {
        return 0;
    };
    said.tool_calls().count()
}

fn is_prompt(body: &EntryBody) -> bool {
    matches!(body, EntryBody::MessageEntry(said) if matches!(said.message, Message::User { .. }))
}

fn tool_names(branch: &[Arc<SessionEntry>]) -> HashMap<&ToolCallId, &str> {
    let mut tools = HashMap::new();
    for entry in branch {
        if let EntryBody::MessageEntry(MessageEntry { message: Message::Assistant(said), .. }) = &entry.body {
            tools.extend(said.tool_calls().map(|call| (&call.id, call.name.as_str())));
        }
    }
    tools
}

fn latest_branch(entries: Vec<SessionEntry>) -> Vec<Arc<SessionEntry>> {
    let mut next = entries.last().map(|entry| entry.id);
    let mut known: HashMap<EntryId, SessionEntry> =
        entries.into_iter().map(|entry| (entry.id, entry)).collect();
    let mut branch = Vec::new();
    while let Some(entry) = next.and_then(|id| known.remove(&id)) {
        next = entry.parent;
        branch.push(Arc::new(entry));
    }
    branch.reverse();
    branch
}

fn header_text(row: &SessionRow, settings: &SessionSettings) -> String {
    let SessionRow { found, summary, .. } = row;
    let mut text = String::new();
    let mut line = |what: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            text.push_str(&format!("{what:<9} {}\n", sanitize_line(&value)));
        }
    };
    line("session", Some(found.id.to_string()));
    line("name", summary.name.clone());
    let tags = summary.tags.iter().map(|(key, value)| tag_text(key, value));
    line("tags", Some(tags.collect::<Vec<_>>().join(", ")));
    line("directory", Some(summary.cwd.clone()));
    line("created", Some(summary.created.0.clone()));
    line("model", settings.model.as_ref().map(|model| format!("{}/{}", model.provider, model.model)));
    line("thinking", settings.thinking.clone());
    line("tools", settings.tools.as_ref().map(|tools| tools.join(", ")));
    line("forked", summary.forked_from.map(|origin| format!("from {}", origin.session)));
    line("file", Some(found.path.display().to_string()));
    text
}

/// A block of the transcript.
struct TranscriptPart {
    kind: TranscriptPartKind,
    text: String,
}

/// The kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TranscriptPartKind {
    Text,
    Tool,
    Setting,
    Cost,
}

/// Returns the blocks of an entry; none for entries that only programs read.
fn entry_parts(body: &EntryBody, tools: &HashMap<&ToolCallId, &str>) -> Vec<TranscriptPart> {
    match body {
        EntryBody::MessageEntry(said) => match &said.message {
            Message::User { content, .. } => vec![prefixed_part("> ", &written_text(content))],
            Message::Assistant(message) => message.content.iter().filter_map(block_part).collect(),
            Message::Tool(result) => vec![result_part(result)],
        },
        EntryBody::Compaction(compaction) => {
            vec![prefixed_part("~ ", &format!("Summary:\n{}", compaction.summary))]
        }
        EntryBody::BranchSummary(branch) => {
            vec![prefixed_part("~ ", &format!("Another attempt:\n{}", branch.summary))]
        }
        EntryBody::CustomMessage(custom) if custom.display => {
            vec![prefixed_part(
                &format!("[{}] ", sanitize_line(&custom.owner)),
                &joined_text(&custom.content),
            )]
        }
        EntryBody::ModelChange(change) => {
            let text = transcript_line(&format!("~ model {}/{}", change.provider, change.model));
            vec![TranscriptPart { kind: TranscriptPartKind::Setting, text }]
        }
        EntryBody::Custom(custom) => HookIntervention::from_custom(custom)
            .map(|it| intervention_part(&it, tools))
            .into_iter()
            .collect(),
        EntryBody::CustomMessage(_)
        | EntryBody::ThinkingChange(_)
        | EntryBody::ToolsChange(_)
        | EntryBody::ToolStart(_)
        | EntryBody::Label(_)
        | EntryBody::Tags(_)
        | EntryBody::Name(_)
        | EntryBody::Unknown(_) => Vec::new(),
    }
}

fn entry_intervention(entry: &SessionEntry) -> Option<HookIntervention> {
    if let EntryBody::Custom(custom) = &entry.body { HookIntervention::from_custom(custom) } else { None }
}

/// Returns a text with its source before every row.
fn prefixed_part(prefix: &str, text: &str) -> TranscriptPart {
    TranscriptPart {
        kind: TranscriptPartKind::Text,
        text: prefixed_rows(prefix, prefix, text.trim_end(), terminal_width()),
    }
}

/// Returns the text of the model, or a line for a call. Thinking is left out.
fn block_part(block: &AssistantBlock) -> Option<TranscriptPart> {
    match block {
        AssistantBlock::Text { text } if !text.trim().is_empty() => Some(prefixed_part("", text)),
        AssistantBlock::ToolCall(call) => {
            let text = transcript_line(&format!("→ {} {}", call.name, call.args.as_str()));
            Some(TranscriptPart { kind: TranscriptPartKind::Tool, text })
        }
        AssistantBlock::Text { .. } | AssistantBlock::Thinking { .. } => None,
    }
}

/// Returns a line about a hook's intervention.
fn intervention_part(it: &HookIntervention, tools: &HashMap<&ToolCallId, &str>) -> TranscriptPart {
    let tool = it.call_id.as_ref().and_then(|id| tools.get(id));
    let what = tool.map(|name| format!("{name}: ")).unwrap_or_default();
    let text = transcript_line(&format!("! {what}{} {}", it.action.verb(), it.by.join(", ")));
    TranscriptPart { kind: TranscriptPartKind::Tool, text }
}

fn result_part(result: &ToolMessage) -> TranscriptPart {
    let mark = if result.is_error { "✗" } else { "←" };
    let by = result.extension.as_ref().map(|extension| format!("[{extension}] ")).unwrap_or_default();
    let text = transcript_line(&format!("{mark} {by}{} {}", result.name, result_summary(result)));
    TranscriptPart { kind: TranscriptPartKind::Tool, text }
}

/// Returns the first line of a result. For a failure, the ending of the tool, which is the last line, comes first.
fn result_summary(result: &ToolMessage) -> String {
    let text = joined_text(&result.content);
    let first = first_line(&text);
    let last = text.trim_end().lines().last().unwrap_or_default();
    let is_end = result.is_error && last != first && last.starts_with('[') && last.ends_with(']');
    match (is_end, first.as_str()) {
        (false, _) => first,
        (true, "[no output]") => last.to_owned(),
        (true, _) => format!("{last} {first}"),
    }
}

fn transcript_line(text: &str) -> String {
    truncate(&sanitize_line(text), list_width())
}

/// Returns the totals of all branches.
fn totals_line(row: &SessionRow, calls: usize) -> String {
    format!(
        "-- {}, {}; {}",
        count_text(row.summary.messages, "message"),
        count_text(calls, "tool call"),
        usage_text(&row.summary.usage)
    )
}

fn count_text(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn session_json(row: &SessionRow, branch: &[Arc<SessionEntry>]) -> serde_json::Value {
    let context = build_context(branch);
    let answers: Vec<&ResponseMetadata> = branch.iter().filter_map(|entry| entry.body.answer()).collect();
    let interventions: Vec<HookIntervention> =
        branch.iter().filter_map(|entry| entry_intervention(entry)).collect();
    let mut json = super::list::row_json(row);
    if let Some(fields) = json.as_object_mut() {
        fields.insert("settings".to_owned(), json!(context.settings));
        fields.insert("leaf".to_owned(), json!(branch.last().map(|entry| entry.id)));
        fields.insert("transcript".to_owned(), json!(context.messages));
        fields.insert("answers".to_owned(), json!(answers));
        fields.insert("interventions".to_owned(), json!(interventions));
    }
    json
}

#[cfg(test)]
mod tests {
    use haft_protocol::content::ContentBlock;
    use haft_protocol::message::Rfc3339Time;

    use super::*;

    #[track_caller]
    fn check(is_error: bool, text: &str, expect: &str) {
        let result = ToolMessage::new(
            ToolCallId::new("t1"),
            "bash".to_owned(),
            vec![ContentBlock::text(text)],
            Rfc3339Time("t".to_owned()),
        )
        .with_is_error(is_error);
        assert_eq!(result_part(&result).text, expect);
    }

    #[test]
    fn summarizes_failed_tool_with_its_ending() {
        check(true, "[no output]\n[cancelled and killed]", "✗ bash [cancelled and killed]");
        check(true, "one\ntwo\n[exit code 1]", "✗ bash [exit code 1] one");
        check(true, "no such file", "✗ bash no such file");
        check(false, "one\n[note]", "← bash one");
    }
}
