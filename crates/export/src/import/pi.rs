//! Import of sessions of pi: a tree of entries since version 2, a list before.

mod message;

use std::collections::HashMap;

use haft_core::session::EntryId;
use haft_core::session::entry::{
    BranchSummary, Compaction, CustomMessage, Label, ModelChange, Name, ThinkingChange,
};
use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::message::Rfc3339Time;
use serde::Deserialize;

use super::ParsedSession;
use super::builder::{EntryBuilder, parse_time, time_from_millis};

const OWNER: &str = "pi";

/// The fields of all kinds of entries.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PiRow {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    parent_id: Option<String>,
    timestamp: Option<RawJson>,
    message: Option<RawJson>,
    provider: Option<String>,
    model_id: Option<String>,
    thinking_level: Option<String>,
    summary: Option<String>,
    first_kept_entry_id: Option<String>,
    first_kept_entry_index: Option<usize>,
    tokens_before: Option<f64>,
    #[serde(default)]
    from_hook: bool,
    details: Option<RawJson>,
    from_id: Option<String>,
    custom_type: Option<String>,
    data: Option<RawJson>,
    content: Option<RawJson>,
    display: Option<bool>,
    target_id: Option<String>,
    label: Option<String>,
    name: Option<String>,
}

/// The file lists that pi keeps with a summary.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PiSummaryFiles {
    read_files: Vec<String>,
    modified_files: Vec<String>,
}

pub(super) fn read(bytes: &[u8]) -> ParsedSession {
    let mut reader = PiReader {
        builder: EntryBuilder::new(),
        created: None,
        ids: HashMap::new(),
        order: Vec::new(),
        last: None,
    };
    for (number, row) in super::parse_rows(bytes) {
        reader.builder.line = number;
        match row {
            Ok((line, row)) => reader.read_row(line, row),
            Err(why) => reader.builder.add_problem(format!("skipped: {why}")),
        }
    }
    ParsedSession::from_builder(reader.builder, reader.created)
}

struct PiReader {
    builder: EntryBuilder,
    created: Option<Rfc3339Time>,
    ids: HashMap<String, EntryId>,
    /// The entries by position, for version 1, which has no ids.
    order: Vec<Option<EntryId>>,
    last: Option<EntryId>,
}

impl PiReader {
    fn read_row(&mut self, line: &str, row: PiRow) {
        if let Some(time) = row.timestamp.as_ref().and_then(parse_row_time) {
            self.builder.time = time;
        }
        if row.kind == "session" {
            return self.read_header(line, row);
        }
        self.builder.leaf = self.resolve_parent(&row);
        let before = self.builder.leaf;
        let id = row.id.clone();
        self.add_entry(line, row);
        // An entry that became several is continued at the last one; one that became none, at its parent.
        let became = self.builder.leaf;
        self.last = became;
        self.order.push(became.filter(|_| became != before));
        if let (Some(id), Some(became)) = (id, became) {
            self.ids.insert(id, became);
        }
    }

    fn resolve_parent(&mut self, row: &PiRow) -> Option<EntryId> {
        match (&row.id, &row.parent_id) {
            // The first entry follows the entries made from the header.
            (Some(_), None) if self.ids.is_empty() => self.last,
            (Some(_), None) => None,
            (_, Some(parent)) => match self.ids.get(parent) {
                Some(parent) => Some(*parent),
                None => {
                    self.builder.add_problem(format!(
                        "the parent {parent:?} is missing; the entry is attached to the previous one"
                    ));
                    self.last
                }
            },
            (None, None) => self.last,
        }
    }

    fn read_header(&mut self, line: &str, row: PiRow) {
        if self.created.is_some() {
            return self.builder.add_problem("skipped a second header");
        }
        self.created = Some(self.builder.time.clone());
        self.order.push(None);
        if let Ok(header) = RawJson::parse(line) {
            self.builder.add_import_record(OWNER, header);
        }
        // Version 1 has the settings in the header.
        if let (Some(provider), Some(model)) = (row.provider, row.model_id) {
            self.builder.add(ModelChange { provider, model });
        }
        if let Some(level) = row.thinking_level {
            self.builder.add(ThinkingChange { level });
        }
        self.last = self.builder.leaf;
    }

    fn add_entry(&mut self, line: &str, row: PiRow) {
        let kind = row.kind.clone();
        if self.add_known(row).is_none() {
            self.builder
                .add_problem(format!("an entry of type {kind:?} was not recognized and is kept unchanged"));
            if let Ok(data) = RawJson::parse(line) {
                self.builder.add_custom(OWNER, &kind, data);
            }
        }
    }

    /// Adds an entry. Returns `None` if its type is not known or a required field is missing.
    fn add_known(&mut self, row: PiRow) -> Option<()> {
        match row.kind.as_str() {
            "message" => message::add(&mut self.builder, &row.message?)?,
            "model_change" => {
                self.builder.add(ModelChange { provider: row.provider?, model: row.model_id? });
            }
            "thinking_level_change" => _ = self.builder.add(ThinkingChange { level: row.thinking_level? }),
            "compaction" => self.add_compaction(row)?,
            "branch_summary" => {
                let from = row.from_id.and_then(|from| self.ids.get(&from).copied());
                // The branch may begin at the root, which is not an entry.
                let from = from.or(self.last).unwrap_or_default();
                self.builder.add(BranchSummary::new(row.summary?, from));
            }
            "custom" => {
                _ = self.builder.add_custom(
                    OWNER,
                    &row.custom_type?,
                    row.data.unwrap_or_else(RawJson::empty_object),
                )
            }
            "custom_message" => {
                let content = parse_contents(&mut self.builder, &row.content?);
                let (kind, display) = (row.custom_type?, row.display.unwrap_or(true));
                let owner = OWNER.to_owned();
                self.builder.add(
                    CustomMessage::new(owner, kind, content).with_display(display).with_details(row.details),
                );
            }
            "label" => {
                let target = *self.ids.get(&row.target_id?)?;
                self.builder.add(Label { target, label: row.label });
            }
            "session_info" => _ = self.builder.add(Name { name: row.name.unwrap_or_default() }),
            _ => return None,
        }
        Some(())
    }

    fn add_compaction(&mut self, row: PiRow) -> Option<()> {
        let by_index = row.first_kept_entry_index.and_then(|at| self.order.get(at).copied().flatten());
        let first_kept = row.first_kept_entry_id.and_then(|id| self.ids.get(&id).copied()).or(by_index);
        let files: PiSummaryFiles = row.details.and_then(|details| details.read().ok()).unwrap_or_default();
        let tokens_before = row.tokens_before.unwrap_or_default() as u64;
        let mut compaction = Compaction::new(row.summary?, tokens_before)
            .with_first_kept(first_kept)
            .with_files_read(files.read_files)
            .with_files_modified(files.modified_files);
        compaction.by = row.from_hook.then(|| OWNER.to_owned());
        self.builder.add(compaction);
        Some(())
    }
}

/// Parses a time in RFC 3339 format or in milliseconds since 1970.
fn parse_row_time(raw: &RawJson) -> Option<Rfc3339Time> {
    match raw.read::<String>() {
        Ok(text) => parse_time(&text),
        Err(_) => raw.read::<f64>().ok().and_then(time_from_millis),
    }
}

fn parse_contents(builder: &mut EntryBuilder, raw: &RawJson) -> Vec<ContentBlock> {
    match raw.read::<String>() {
        Ok(text) => vec![ContentBlock::Text { text }],
        Err(_) => message::parse_blocks(builder, raw)
            .into_iter()
            .filter_map(|block| block.into_content(builder))
            .collect(),
    }
}
