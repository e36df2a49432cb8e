//! Sessions of pi: a tree of entries since version 2, a list before.

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
use super::maker::{EntryBuilder, parse_time, time_from_millis};

const OWNER: &str = "pi";

/// The fields of every kind of entry.
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

/// Data that pi keeps beside a summary.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PiSummaryFiles {
    read_files: Vec<String>,
    modified_files: Vec<String>,
}

pub(super) fn read(bytes: &[u8]) -> ParsedSession {
    let mut reader = PiReader {
        maker: EntryBuilder::new(),
        created: None,
        ids: HashMap::new(),
        order: Vec::new(),
        last: None,
    };
    for (number, row) in super::parse_rows(bytes) {
        reader.maker.line = number;
        match row {
            Ok((line, row)) => reader.read_row(line, row),
            Err(why) => reader.maker.add_problem(format!("passed over: {why}")),
        }
    }
    ParsedSession::from_builder(reader.maker, reader.created)
}

struct PiReader {
    maker: EntryBuilder,
    created: Option<Rfc3339Time>,
    ids: HashMap<String, EntryId>,
    /// The same by place, for version 1, which has no ids.
    order: Vec<Option<EntryId>>,
    last: Option<EntryId>,
}

impl PiReader {
    fn read_row(&mut self, line: &str, row: PiRow) {
        if let Some(time) = row.timestamp.as_ref().and_then(parse_row_time) {
            self.maker.time = time;
        }
        if row.kind == "session" {
            return self.read_header(line, row);
        }
        self.maker.leaf = self.resolve_parent(&row);
        let before = self.maker.leaf;
        let id = row.id.clone();
        self.add_entry(line, row);
        // An entry that became several is followed at the last of them; one that became none, at its parent.
        let became = self.maker.leaf;
        self.last = became;
        self.order.push(became.filter(|_| became != before));
        if let (Some(id), Some(became)) = (id, became) {
            self.ids.insert(id, became);
        }
    }

    fn resolve_parent(&mut self, row: &PiRow) -> Option<EntryId> {
        match (&row.id, &row.parent_id) {
            // The first entry stands behind what is said of the session itself.
            (Some(_), None) if self.ids.is_empty() => self.last,
            (Some(_), None) => None,
            (_, Some(parent)) => match self.ids.get(parent) {
                Some(parent) => Some(*parent),
                None => {
                    self.maker.add_problem(format!(
                        "its parent {parent:?} is not there; it follows the entry before it"
                    ));
                    self.last
                }
            },
            (None, None) => self.last,
        }
    }

    fn read_header(&mut self, line: &str, row: PiRow) {
        if self.created.is_some() {
            return self.maker.add_problem("a second header is passed over");
        }
        self.created = Some(self.maker.time.clone());
        self.order.push(None);
        if let Ok(header) = RawJson::parse(line) {
            self.maker.add_import_record(OWNER, header);
        }
        // Version 1 has them here.
        if let (Some(provider), Some(model)) = (row.provider, row.model_id) {
            self.maker.add(ModelChange { provider, model });
        }
        if let Some(level) = row.thinking_level {
            self.maker.add(ThinkingChange { level });
        }
        self.last = self.maker.leaf;
    }

    fn add_entry(&mut self, line: &str, row: PiRow) {
        let kind = row.kind.clone();
        if self.add_known(row).is_none() {
            self.maker.add_problem(format!("an entry of the type {kind:?} is kept, and not understood"));
            if let Ok(data) = RawJson::parse(line) {
                self.maker.add_custom(OWNER, &kind, data);
            }
        }
    }

    /// Adds what an entry is; `None` where it is not of a known type, or lacks what that type has.
    fn add_known(&mut self, row: PiRow) -> Option<()> {
        match row.kind.as_str() {
            "message" => message::add(&mut self.maker, &row.message?)?,
            "model_change" => {
                self.maker.add(ModelChange { provider: row.provider?, model: row.model_id? });
            }
            "thinking_level_change" => _ = self.maker.add(ThinkingChange { level: row.thinking_level? }),
            "compaction" => self.add_compaction(row)?,
            "branch_summary" => {
                let from = row.from_id.and_then(|from| self.ids.get(&from).copied());
                // It can come from the root, which is no entry.
                let from = from.or(self.last).unwrap_or_default();
                self.maker.add(BranchSummary { summary: row.summary?, from, answer: None });
            }
            "custom" => {
                _ = self.maker.add_custom(
                    OWNER,
                    &row.custom_type?,
                    row.data.unwrap_or_else(RawJson::empty_object),
                )
            }
            "custom_message" => {
                let content = parse_contents(&mut self.maker, &row.content?);
                let (kind, display) = (row.custom_type?, row.display.unwrap_or(true));
                self.maker.add(CustomMessage { owner: OWNER.to_owned(), kind, content, display });
            }
            "label" => {
                let target = *self.ids.get(&row.target_id?)?;
                self.maker.add(Label { target, label: row.label });
            }
            "session_info" => _ = self.maker.add(Name { name: row.name.unwrap_or_default() }),
            _ => return None,
        }
        Some(())
    }

    fn add_compaction(&mut self, row: PiRow) -> Option<()> {
        let by_index = row.first_kept_entry_index.and_then(|at| self.order.get(at).copied().flatten());
        let first_kept = row.first_kept_entry_id.and_then(|id| self.ids.get(&id).copied()).or(by_index);
        let files: PiSummaryFiles = row.details.and_then(|details| details.read().ok()).unwrap_or_default();
        self.maker.add(Compaction {
            summary: row.summary?,
            first_kept,
            tokens_before: row.tokens_before.unwrap_or_default() as u64,
            files_read: files.read_files,
            files_modified: files.modified_files,
            by: row.from_hook.then(|| OWNER.to_owned()),
            answer: None,
            used: None,
            settings: Default::default(),
        });
        Some(())
    }
}

/// RFC 3339, or milliseconds since 1970.
fn parse_row_time(raw: &RawJson) -> Option<Rfc3339Time> {
    match raw.read::<String>() {
        Ok(text) => parse_time(&text),
        Err(_) => raw.read::<f64>().ok().and_then(time_from_millis),
    }
}

fn parse_contents(maker: &mut EntryBuilder, raw: &RawJson) -> Vec<ContentBlock> {
    match raw.read::<String>() {
        Ok(text) => vec![ContentBlock::Text { text }],
        Err(_) => message::parse_blocks(maker, raw)
            .into_iter()
            .filter_map(|block| block.into_content(maker))
            .collect(),
    }
}
