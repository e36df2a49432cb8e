//! File changes as styled lines, from the details of a result.

use haft_core::sanitize::sanitize;
use haft_protocol::RawJson;
use haft_protocol::content::FileDiff;
use ratatui_core::text::{Line, Span};
use serde::Deserialize;

use crate::clean::{CleanLine, CleanText, span};
use crate::theme::{Role, Theme};
use crate::wrap::{RowPrefixes, WrapMode, wrap};

/// The kind of a line of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffLineKind {
    /// The header of a hunk. Its text is the enclosing context.
    Part,
    /// An added line. Its number is the one in the new text.
    Added,
    /// A removed line. Its number is the one in the old text.
    Removed,
    /// A remark about the previous line.
    Note,
    /// An unchanged line. Its number is the one in the new text.
    Context,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    /// The kind.
    pub kind: DiffLineKind,
    /// Counted from 1, if known.
    pub number: Option<usize>,
    /// The text without the sign.
    pub text: CleanText,
}

/// A diff to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// The file.
    pub path: CleanLine,
    /// The number of lines that were added.
    pub added: u64,
    /// The number of lines that were removed.
    pub removed: u64,
    /// The lines that are shown.
    pub lines: Vec<DiffLine>,
    /// True if the diff was truncated.
    pub cut: bool,
}

/// The diff in the details of `edit` and `write` results.
#[derive(Deserialize)]
struct DiffDetails {
    diff: FileDiff,
}

/// A line of a unified diff, not sanitized yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnifiedLine<'t> {
    pub(crate) kind: DiffLineKind,
    pub(crate) number: Option<usize>,
    pub(crate) text: &'t str,
}

impl Diff {
    /// Reads the diff from the details of a result. `None` if they have no diff.
    pub fn from_details(details: &RawJson) -> Option<Self> {
        let DiffDetails { diff: FileDiff { path, unified, added, removed, cut, .. } } =
            details.read().ok()?;
        // Sanitize first, because color codes may precede the signs. Tabs count from behind the sign.
        let lines = parse_unified(&sanitize(&unified)).into_iter().map(DiffLine::from).collect();
        Some(Self { path: CleanLine::new(&path), added, removed, lines, cut })
    }

    /// Reads the output of `git diff` with the usual prefixes `a/` and `b/`: one diff for each file. `is_cut` marks the
    /// last one as truncated.
    pub fn parse_git_output(text: &str, is_cut: bool) -> Vec<Self> {
        const BEGIN: &str = "diff --git ";
        let text = sanitize(text);
        let begins = |(at, _): &(usize, &str)| *at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n');
        let starts: Vec<usize> = text.match_indices(BEGIN).filter(begins).map(|(at, _)| at).collect();
        let ends = starts.iter().copied().skip(1).chain([text.len()]);
        let files = starts.iter().zip(ends).filter_map(|(start, end)| text.get(*start..end));
        let mut diffs: Vec<Self> = files.map(Self::parse_git_file).collect();
        if let Some(last) = diffs.last_mut() {
            last.cut = is_cut;
        }
        diffs
    }

    fn parse_git_file(text: &str) -> Self {
        let head = text.lines().take_while(|line| !line.starts_with("@@ "));
        let mut path = None;
        let mut lines = Vec::new();
        for line in head {
            // git ends a path with blanks by a tab.
            let named = |prefix: &str| line.strip_prefix(prefix).map(|path| path.trim_end_matches('\t'));
            let new = named("+++ b/").or_else(|| named("rename to "));
            path = new.or(path).or_else(|| named("--- a/"));
            let note = match line {
                _ if line.starts_with("new file mode") => "new file".to_owned(),
                _ if line.starts_with("deleted file mode") => "deleted".to_owned(),
                _ if line.starts_with("Binary files ") => "binary file".to_owned(),
                _ if line.starts_with("rename from ") => line.replacen("rename from", "renamed from", 1),
                _ if line.starts_with("old mode ") || line.starts_with("new mode ") => line.to_owned(),
                _ => continue,
            };
            lines.push(DiffLine { kind: DiffLineKind::Note, number: None, text: CleanText::new(&note) });
        }
        let header = text.lines().next().unwrap_or_default();
        let path = path.or_else(|| header.rsplit_once(" b/").map(|(_, path)| path)).unwrap_or(header);
        // The header of the first hunk says nothing without the enclosing context.
        let says_nothing = |line: &UnifiedLine<'_>| line.kind == DiffLineKind::Part && line.text.is_empty();
        let hunks = parse_unified(text).into_iter().skip_while(says_nothing);
        lines.extend(hunks.map(DiffLine::from));
        let count = |kind| lines.iter().filter(|line| line.kind == kind).count() as u64;
        let (added, removed) = (count(DiffLineKind::Added), count(DiffLineKind::Removed));
        Self { path: CleanLine::new(path), added, removed, lines, cut: false }
    }

    /// Formats the title, for example `src/lib.rs +3 −1`.
    pub fn title(&self, theme: &Theme) -> Line<'static> {
        let path = span(self.path.clone(), theme.style(Role::DiffHeader));
        let mut spans = vec![path, span(" ", theme.style(Role::Text))];
        let counts = [
            (format!("+{}", self.added), Role::DiffAdded),
            (format!(" −{}", self.removed), Role::DiffRemoved),
        ];
        spans.extend(counts.map(|(text, role)| span(CleanLine::new(&text), theme.style(role))));
        Line::from(spans)
    }

    /// Formats the lines for a width: number, sign, text.
    pub fn lines(&self, width: u16, theme: &Theme) -> Vec<Line<'static>> {
        let most = self.lines.iter().filter_map(|line| line.number).max();
        let digits = most.map_or(0, |most| most.to_string().len());
        let mut lines = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            if line.kind == DiffLineKind::Part && at == 0 && line.text.as_str().is_empty() {
                continue;
            }
            lines.extend(line.rows(digits, width, theme));
        }
        if self.cut {
            let note = span("… more lines not shown", theme.style(Role::Muted));
            lines.extend(wrap(&[note], width, &RowPrefixes::default(), WrapMode::Words));
        }
        lines
    }
}

impl From<UnifiedLine<'_>> for DiffLine {
    fn from(UnifiedLine { kind, number, text }: UnifiedLine<'_>) -> Self {
        Self { kind, number, text: CleanText::new(text) }
    }
}

impl DiffLine {
    fn rows(&self, digits: usize, width: u16, theme: &Theme) -> Vec<Line<'static>> {
        let (sign, role) = match self.kind {
            DiffLineKind::Part => ("⋯ ", Role::DiffHeader),
            DiffLineKind::Added => ("+ ", Role::DiffAdded),
            DiffLineKind::Removed => ("- ", Role::DiffRemoved),
            DiffLineKind::Note => ("  ", Role::Muted),
            DiffLineKind::Context => ("  ", Role::DiffContext),
        };
        let style = theme.style(role);
        let mut hang = RowPrefixes::default();
        if digits > 0 && self.kind != DiffLineKind::Part {
            let number = self.number.map(|number| number.to_string()).unwrap_or_default();
            let gutter = |text: &str| {
                span(CleanLine::new(&format!("{text:>digits$} ")), theme.style(Role::LineNumber))
            };
            hang.first.push(gutter(&number));
            hang.rest.push(gutter(""));
        }
        hang.first.push(span(sign, style));
        hang.rest.push(span("  ", style));
        let text: Vec<Span<'static>> = self.text.lines().map(|line| span(line, style)).collect();
        wrap(&text, width, &hang, WrapMode::Columns)
    }
}

/// The header `@@ -1,4 +1,5 @@ fn main()`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HunkHeader<'t> {
    old: HunkSide,
    new: HunkSide,
    within: &'t str,
}

/// The lines of one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct HunkSide {
    next: usize,
    left: usize,
}

impl<'t> HunkHeader<'t> {
    fn parse(line: &'t str) -> Option<Self> {
        let (places, within) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = places.split_once(" +")?;
        Some(Self { old: HunkSide::parse(old)?, new: HunkSide::parse(new)?, within: within.trim() })
    }

    fn is_over(&self) -> bool {
        self.old.left == 0 && self.new.left == 0
    }

    fn parse_line(&mut self, line: &'t str) -> Option<UnifiedLine<'t>> {
        let mut chars = line.chars();
        let (kind, number) = match chars.next() {
            Some('+') => (DiffLineKind::Added, self.new.next_number()?),
            Some('-') => (DiffLineKind::Removed, self.old.next_number()?),
            // Some programs omit the blank of an empty line.
            Some(' ') | None => {
                self.old.next_number()?;
                (DiffLineKind::Context, self.new.next_number()?)
            }
            Some('\\') => return Some(diff_line(DiffLineKind::Note, None, line)),
            Some(_) => return None,
        };
        Some(diff_line(kind, Some(number), chars.as_str()))
    }
}

impl HunkSide {
    fn parse(text: &str) -> Option<Self> {
        let (next, left) = text.split_once(',').unwrap_or((text, "1"));
        Some(Self { next: next.parse().ok()?, left: left.parse().ok()? })
    }

    fn next_number(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let number = self.next;
        self.next = self.next.saturating_add(1);
        Some(number)
    }
}

/// Parses a unified diff line by line. The hunk header gives the number of lines, so a removed line `-- a` is not
/// mistaken for a file name.
pub(crate) fn parse_unified(text: &str) -> Vec<UnifiedLine<'_>> {
    let mut part: Option<HunkHeader<'_>> = None;
    let mut lines = Vec::new();
    // A carriage return at the end of a line belongs to its text.
    for line in text.split_terminator('\n') {
        let within = part.as_mut().filter(|part| !part.is_over() || line.starts_with('\\'));
        if let Some(found) = within.and_then(|part| part.parse_line(line)) {
            lines.push(found);
        } else if let Some(begun) = HunkHeader::parse(line) {
            lines.push(diff_line(DiffLineKind::Part, None, begun.within));
            part = Some(begun);
        } else {
            part = None;
            lines.extend(line_outside_hunks(line));
        }
    }
    lines
}

/// Returns a line outside of hunks. File names are omitted, because the path is already known.
fn line_outside_hunks(line: &str) -> Option<UnifiedLine<'_>> {
    const HEADERS: &[&str] = &[
        "--- ",
        "+++ ",
        "diff ",
        "index ",
        "new file",
        "deleted file",
        "rename ",
        "similarity ",
        "old mode",
        "new mode",
        "Binary files",
    ];
    if HEADERS.iter().any(|header| line.starts_with(header)) {
        return None;
    }
    let mut chars = line.chars();
    Some(match chars.next() {
        Some('+') => diff_line(DiffLineKind::Added, None, chars.as_str()),
        Some('-') => diff_line(DiffLineKind::Removed, None, chars.as_str()),
        Some(' ') => diff_line(DiffLineKind::Context, None, chars.as_str()),
        _ => diff_line(DiffLineKind::Context, None, line),
    })
}

fn diff_line(kind: DiffLineKind, number: Option<usize>, text: &str) -> UnifiedLine<'_> {
    UnifiedLine { kind, number, text }
}
