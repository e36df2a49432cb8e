//! Builder of entries from the lines of another program.

use std::collections::HashMap;

use haft_core::session::EntryId;
use haft_core::session::entry::{Custom, EntryBody, MessageEntry, SessionEntry, SessionSettings};
use haft_core::session::intervention::OWNER;
use haft_protocol::RawJson;
use haft_protocol::message::{Rfc3339Time, TokenUsage};
use serde::Serialize;

use super::ImportProblem;

/// Builds the entries of an imported session.
pub(super) struct EntryBuilder {
    entries: Vec<SessionEntry>,
    problems: Vec<ImportProblem>,
    pub(super) leaf: Option<EntryId>,
    /// The time of the next entry.
    pub(super) time: Rfc3339Time,
    pub(super) line: u64,
}

impl EntryBuilder {
    pub(super) fn new() -> Self {
        Self {
            entries: Vec::new(),
            problems: Vec::new(),
            leaf: None,
            time: Rfc3339Time(String::new()),
            line: 0,
        }
    }

    pub(super) fn add(&mut self, body: impl Into<EntryBody>) -> EntryId {
        let id = EntryId::new();
        self.entries.push(SessionEntry::new(id, self.leaf, self.time.clone(), body.into()));
        self.leaf = Some(id);
        id
    }

    pub(super) fn add_custom(&mut self, owner: &str, kind: &str, data: RawJson) -> EntryId {
        self.add(Custom::new(owner.to_owned(), kind.to_owned(), data))
    }

    pub(super) fn add_import_record(&mut self, format: &str, header: RawJson) {
        #[derive(Serialize)]
        struct ImportRecord<'a> {
            format: &'a str,
            header: RawJson,
        }
        if let Ok(data) = RawJson::from_value(&ImportRecord { format, header }) {
            self.add_custom(OWNER, "imported", data);
        }
    }

    pub(super) fn add_problem(&mut self, what: impl Into<String>) {
        self.problems.push(ImportProblem { line: Some(self.line), what: what.into() });
    }

    pub(super) fn last_entry(&mut self) -> Option<&mut SessionEntry> {
        self.entries.last_mut()
    }

    /// Returns the entries and problems. Completes compactions with the settings in effect and the usage, as haft
    /// itself writes them.
    pub(super) fn finish(mut self) -> (Vec<SessionEntry>, Vec<ImportProblem>) {
        let places: HashMap<EntryId, usize> =
            self.entries.iter().enumerate().map(|(at, entry)| (entry.id, at)).collect();
        let mut used = TokenUsage::default();
        for at in 0..self.entries.len() {
            let settings = match self.entries.get(at).map(|entry| &entry.body) {
                Some(EntryBody::MessageEntry(MessageEntry { answer: Some(answer), .. })) => {
                    used += answer.usage;
                    continue;
                }
                Some(EntryBody::Compaction(_)) => settings_at(&self.entries, &places, at),
                Some(_) | None => continue,
            };
            if let Some(SessionEntry { body: EntryBody::Compaction(compaction), .. }) =
                self.entries.get_mut(at)
            {
                compaction.settings = settings;
                compaction.used = Some(used);
            }
        }
        (self.entries, self.problems)
    }
}

fn settings_at(entries: &[SessionEntry], places: &HashMap<EntryId, usize>, at: usize) -> SessionSettings {
    let mut found = SessionSettings::default();
    let parent = |at: usize| entries.get(at)?.parent.and_then(|parent| places.get(&parent).copied());
    let mut next = parent(at);
    while let Some(entry) = next.and_then(|at| entries.get(at)) {
        match &entry.body {
            EntryBody::ModelChange(change) => {
                found.model.get_or_insert_with(|| change.clone());
            }
            EntryBody::ThinkingChange(change) => {
                found.thinking.get_or_insert_with(|| change.level.clone());
            }
            EntryBody::Compaction(compaction) => {
                let SessionSettings { model, thinking, tools, .. } = compaction.settings.clone();
                found.model = found.model.or(model);
                found.thinking = found.thinking.or(thinking);
                found.tools = found.tools.or(tools);
                break;
            }
            EntryBody::MessageEntry(_)
            | EntryBody::ToolsChange(_)
            | EntryBody::ToolStart(_)
            | EntryBody::BranchSummary(_)
            | EntryBody::Custom(_)
            | EntryBody::CustomMessage(_)
            | EntryBody::Label(_)
            | EntryBody::Tags(_)
            | EntryBody::Name(_)
            | EntryBody::Unknown(_) => {}
        }
        next = next.and_then(parent);
    }
    found
}

/// Parses a time in any time zone and precision, and formats it like haft. Returns `None` for other text.
pub(super) fn parse_time(text: &str) -> Option<Rfc3339Time> {
    let at: jiff::Timestamp = text.parse().ok()?;
    Some(Rfc3339Time(format!("{at:.3}")))
}

/// Converts milliseconds since 1970 to a time.
pub(super) fn time_from_millis(millis: f64) -> Option<Rfc3339Time> {
    let at = jiff::Timestamp::from_millisecond(millis as i64).ok()?;
    Some(Rfc3339Time(format!("{at:.3}")))
}
