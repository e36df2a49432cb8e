//! `haft session tree`: the branches of a session.

use std::collections::HashMap;

use haft_core::sanitize::sanitize_line;
use haft_core::session::entry::{EntryBody, SessionEntry};
use haft_core::session::store::SessionFile;
use haft_core::session::{EntryId, labels};
use haft_protocol::content::written_text;
use haft_protocol::message::{Message, text_of, tool_calls_of};

use super::text::{first_line, read_entries, truncate};
use crate::console::{list_width, print};

/// The number of shown digits of an entry's id.
const DIGITS: usize = 8;

pub(super) fn run(found: &SessionFile) -> anyhow::Result<()> {
    print(&render_tree(&read_entries(found)?, list_width()))
}

/// Renders a line for each visible entry. Entries that follow each other are in one column; branches are indented.
fn render_tree(entries: &[SessionEntry], width: usize) -> String {
    let labels = labels(entries);
    let (nodes, leaf) = tree_nodes(entries, &labels);
    let mut ways: HashMap<Option<EntryId>, Vec<&TreeNode>> = HashMap::new();
    for node in &nodes {
        ways.entry(node.parent).or_default().push(node);
    }
    let mut lines = Vec::new();
    // The nodes to draw, next one last: the node, the prefix of its line, and the prefix of the lines below it.
    let mut open: Vec<(&TreeNode, String, String)> = Vec::new();
    push_children(&mut open, ways.get(&None), "");
    while let Some((node, before, below)) = open.pop() {
        let id: String = node.id.to_string().chars().take(DIGITS).collect();
        let label = labels.get(&node.id).map(|label| format!("  [{label}]")).unwrap_or_default();
        let here = if leaf == Some(node.id) { "  <- here" } else { "" };
        let marks = sanitize_line(&format!("{label}{here}"));
        let line =
            truncate(&format!("{before}{id}  {}", node.text), width.saturating_sub(marks.chars().count()));
        lines.push(format!("{line}{marks}"));
        push_children(&mut open, ways.get(&Some(node.id)), &below);
    }
    if lines.is_empty() { "the session has no messages yet".to_owned() } else { lines.join("\n") }
}

/// Pushes the children of a node so that they are drawn next.
fn push_children<'a>(
    open: &mut Vec<(&'a TreeNode, String, String)>,
    ways: Option<&Vec<&'a TreeNode>>,
    below: &str,
) {
    let Some(ways) = ways else { return };
    if let [only] = ways.as_slice() {
        return open.push((only, below.to_owned(), below.to_owned()));
    }
    for (at, node) in ways.iter().enumerate().rev() {
        let (branch, under) = if at + 1 == ways.len() { ("`- ", "   ") } else { ("|- ", "|  ") };
        open.push((node, format!("{below}{branch}"), format!("{below}{under}")));
    }
}

/// A visible entry.
struct TreeNode {
    id: EntryId,
    /// The nearest visible ancestor.
    parent: Option<EntryId>,
    text: String,
}

/// Returns the visible nodes, and the one that the session continues from.
fn tree_nodes(
    entries: &[SessionEntry],
    labels: &HashMap<EntryId, String>,
) -> (Vec<TreeNode>, Option<EntryId>) {
    // Maps every entry to itself or its nearest visible ancestor.
    let mut stands: HashMap<EntryId, Option<EntryId>> = HashMap::new();
    let mut nodes = Vec::new();
    for entry in entries {
        let parent = entry.parent.and_then(|parent| stands.get(&parent).copied().flatten());
        let text =
            entry_text(&entry.body).or_else(|| labels.get(&entry.id).map(|_| entry.body.kind().to_owned()));
        let drawn = text.map(|text| {
            nodes.push(TreeNode { id: entry.id, parent, text: sanitize_line(&text) });
            entry.id
        });
        stands.insert(entry.id, drawn.or(parent));
    }
    let leaf = entries.last().and_then(|entry| stands.get(&entry.id).copied().flatten());
    (nodes, leaf)
}

/// Returns the text of an entry; `None` for entries that are visible only with a label.
fn entry_text(body: &EntryBody) -> Option<String> {
    match body {
        EntryBody::MessageEntry(said) => match &said.message {
            Message::User { content, .. } => Some(format!("> {}", first_line(&written_text(content)))),
            Message::Assistant(message) => {
                let text = first_line(&text_of(&message.content));
                let calls: Vec<_> = tool_calls_of(&message.content).map(|call| call.name.as_str()).collect();
                let calls = if calls.is_empty() { String::new() } else { format!("({})", calls.join(", ")) };
                Some(format!("{text} {calls}").trim().to_owned())
            }
            Message::Tool(_) => None,
        },
        EntryBody::Compaction(_) => Some("~ summary".to_owned()),
        EntryBody::BranchSummary(_) => Some("~ summary of another attempt".to_owned()),
        EntryBody::ModelChange(_)
        | EntryBody::ThinkingChange(_)
        | EntryBody::ToolsChange(_)
        | EntryBody::ToolStart(_)
        | EntryBody::Custom(_)
        | EntryBody::CustomMessage(_)
        | EntryBody::Label(_)
        | EntryBody::Tags(_)
        | EntryBody::Name(_)
        | EntryBody::Unknown(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use haft_core::session::entry::Label;
    use haft_protocol::content::ContentBlock;
    use haft_protocol::message::{AssistantMessage, Rfc3339Time};

    use super::*;

    fn entry(id: u128, parent: Option<u128>, body: impl Into<EntryBody>) -> SessionEntry {
        // The visible digits come first.
        let name = |id: u128| EntryId::from(id << 96);
        SessionEntry::new(name(id), parent.map(name), Rfc3339Time("t".into()), body.into())
    }

    fn user(text: &str) -> EntryBody {
        Message::User { content: vec![ContentBlock::text(text)], time: Rfc3339Time("t".into()) }.into()
    }

    fn answer(text: &str) -> EntryBody {
        let content = vec![haft_protocol::message::AssistantBlock::Text { text: text.into() }];
        Message::Assistant(AssistantMessage::new(content, Rfc3339Time("t".into()))).into()
    }

    fn label(target: u128, label: Option<&str>) -> EntryBody {
        Label { target: EntryId::from(target << 96), label: label.map(str::to_owned) }.into()
    }

    #[test]
    fn draws_linear_list_and_branches() {
        let entries = [
            entry(1, None, user("fix it\nplease")),
            entry(2, Some(1), answer("I will")),
            entry(3, Some(2), user("by A")),
            entry(4, Some(3), answer("did A")),
            entry(5, Some(2), user("by B")),
            entry(6, Some(5), answer("B?\x1b[2J")),
            entry(7, Some(6), user("yes")),
            entry(8, Some(6), user("no, and this is a longer text than fits in the columns")),
            entry(9, Some(8), label(4, Some("good"))),
            entry(10, Some(9), label(2, Some("gone"))),
            entry(11, Some(10), label(2, None)),
        ];
        insta::assert_snapshot!(render_tree(&entries, 60), @"
        00000001  > fix it
        00000002  I will
        |- 00000003  > by A
        |  00000004  did A  [good]
        `- 00000005  > by B
           00000006  B?
           |- 00000007  > yes
           `- 00000008  > no, and this is a longer text th…  <- here
        ");
    }

    #[test]
    fn draws_long_session_without_recursion() {
        let entries: Vec<SessionEntry> =
            (1..20_000).map(|id| entry(id, (id > 1).then(|| id - 1), user("on"))).collect();
        assert_eq!(render_tree(&entries, 80).lines().count(), 19_999);
        assert_eq!(render_tree(&[], 80), "the session has no messages yet");
    }
}
