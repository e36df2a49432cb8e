//! Notes: rows about events beside the messages.

use haft_protocol::event::CompactReason;

use super::row::{LayoutConstraints, TranscriptRow, owner_label};
use crate::clean::{CleanLine, CleanText, span};
use crate::theme::Role;
use crate::wrap::{RowPrefixes, WrapMode, wrap, wrap_lines};

/// The merge behavior of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoteTag {
    /// Never merged.
    Plain,
    /// Replaced by the next attempt.
    Retry,
    /// Merged with the next gap.
    Gap(u64),
    /// Replaced by the note about the end of the compaction.
    Compacting,
    /// Not repeated for the same failure.
    Failure,
}

#[derive(Debug)]
pub(super) struct NoteItem {
    pub(super) tag: NoteTag,
    /// The mark, in two columns.
    pub(super) mark: &'static str,
    pub(super) role: Role,
    pub(super) owner: Option<CleanLine>,
    pub(super) text: CleanText,
    pub(super) more: Option<CleanText>,
}

impl NoteItem {
    fn new(mark: &'static str, role: Role, text: &str) -> Self {
        let text = CleanText::new(text.trim_end());
        Self { tag: NoteTag::Plain, mark, role, owner: None, text, more: None }
    }

    pub(super) fn muted(text: &str) -> Self {
        Self::new("· ", Role::Muted, text)
    }

    pub(super) fn info(text: &str) -> Self {
        Self::new("· ", Role::Note, text)
    }

    pub(super) fn warning(text: &str) -> Self {
        Self::new("! ", Role::Warning, text)
    }

    pub(super) fn error(text: &str) -> Self {
        Self::new("✗ ", Role::Error, text)
    }

    #[must_use]
    pub(super) fn with_owner(self, extension: &str) -> Self {
        Self { owner: Some(CleanLine::new(extension)), ..self }
    }

    pub(super) fn lost_events(lost: u64) -> Self {
        let what = if lost == 1 { "event was" } else { "events were" };
        let text = format!("{lost} {what} dropped because they arrived too fast");
        Self { tag: NoteTag::Gap(lost), ..Self::muted(&text) }
    }

    pub(super) fn compacting(reason: CompactReason) -> Self {
        let why = match reason {
            CompactReason::Manual => "",
            CompactReason::Threshold => ", because it is nearly full",
            CompactReason::Overflow => ", because it is too long for the model",
        };
        Self { tag: NoteTag::Compacting, ..Self::muted(&format!("compacting the context{why} …")) }
    }

    pub(super) fn visit_texts(&self, see: &mut dyn FnMut(&str)) {
        if let Some(owner) = &self.owner {
            see(owner.as_str());
        }
        see(self.text.as_str());
        if let Some(more) = &self.more {
            see(more.as_str());
        }
    }

    pub(super) fn rows(&self, room: LayoutConstraints<'_>) -> Vec<TranscriptRow> {
        let style = room.theme.style(self.role);
        let mut lines: Vec<_> = self.text.lines().map(|line| vec![span(line, style)]).collect();
        if let (Some(extension), Some(first)) = (&self.owner, lines.first_mut()) {
            first.splice(..0, [owner_label(extension, room.theme), span(" ", style)]);
        }
        let rows = wrap_lines(lines, room.width, RowPrefixes::with_mark(self.mark, style), WrapMode::Words);
        let mut rows: Vec<_> =
            rows.into_iter().map(|line| TranscriptRow { frame: 2, ..TranscriptRow::new(line) }).collect();
        if !room.open && self.more.is_some() {
            let hint = span("  … (ctrl+o)", room.theme.style(Role::Muted));
            rows.push(TranscriptRow::new(
                wrap(&[hint], room.width, &RowPrefixes::default(), WrapMode::Columns).swap_remove(0),
            ));
        }
        rows
    }
}
