//! A call: of a tool by the model, of a tool by an extension, or of a command by the person.

mod rows;

use std::time::{Duration, Instant};

use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, joined_text};
use haft_protocol::ids::ExtensionName;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::row::AttachedImage;
use crate::clean::{CleanLine, CleanText, StreamCleaner};
use crate::diff::Diff;
use crate::theme::Role;

/// The maximum width of an argument summary, in columns. No screen row is wider.
const LONGEST: usize = 400;

/// For each known tool the relevant arguments in order, each with its prefix.
const ARGUMENTS: &[(&str, &[(&str, &str)])] = &[
    ("bash", &[("command", "")]),
    ("read", &[("path", ""), ("offset", ":"), ("limit", " +")]),
    ("write", &[("path", "")]),
    ("edit", &[("path", "")]),
    ("ls", &[("path", "")]),
    ("find", &[("glob", ""), ("path", " in ")]),
    ("grep", &[("pattern", ""), ("path", " in "), ("glob", " of ")]),
    ("skill", &[("name", ""), ("file", "/")]),
    ("fetch", &[("url", ""), ("offset", ":")]),
];

/// The size of output that is kept while it streams, in bytes. The buffer may briefly hold twice as much.
const KEPT: usize = 256 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum CallOrigin {
    #[default]
    Model,
    /// A command of the person. `kept` is true if the output is sent to the model.
    Shell {
        kept: bool,
    },
    Extension(CleanLine),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum CallPhase {
    Writing,
    #[default]
    Waiting,
    Running,
    Done,
    Failed,
    Gone,
}

#[derive(Debug, Clone)]
pub(super) struct CallRemark {
    pub(super) mark: &'static str,
    pub(super) role: Role,
    pub(super) text: CleanText,
}

#[derive(Debug, Default)]
pub(super) struct CallItem {
    pub(super) origin: CallOrigin,
    pub(super) name: CleanLine,
    pub(super) sum: ArgumentSummary,
    pub(super) phase: CallPhase,
    pub(super) began: Option<Instant>,
    pub(super) took: Option<Duration>,
    pub(super) remarks: Vec<CallRemark>,
    pub(super) owner: Option<CleanLine>,
    pub(super) exit: Option<i64>,
    pub(super) output: CallOutput,
    pub(super) details: Option<RawJson>,
    pub(super) counts: Option<(u64, u64)>,
    pub(super) images: Vec<AttachedImage>,
    /// True if the remarks already contain the result.
    pub(super) result_in_remarks: bool,
}

#[derive(Deserialize)]
struct ExitDetails {
    exit_code: Option<i64>,
}

impl CallItem {
    pub(super) fn new(origin: CallOrigin, name: &str, sum: ArgumentSummary, phase: CallPhase) -> Self {
        Self { origin, name: CleanLine::new(name), sum, phase, ..Self::default() }
    }

    pub(super) fn from_shell(command: &str, kept: bool, now: Instant) -> Self {
        let mut call = Self::new(
            CallOrigin::Shell { kept },
            "shell",
            ArgumentSummary::from_text(command),
            CallPhase::Running,
        );
        call.began = Some(now);
        call
    }

    pub(super) fn is_new(&self) -> bool {
        self.phase == CallPhase::Waiting && self.sum == ArgumentSummary::default() && self.remarks.is_empty()
    }

    pub(super) fn add_remark(&mut self, mark: &'static str, role: Role, text: &str) {
        self.remarks.push(CallRemark { mark, role, text: CleanText::new(text) });
    }

    pub(super) fn set_waiting(&mut self, name: &str, args: &RawJson) {
        self.sum = ArgumentSummary::from_arguments(name, args);
        self.phase = CallPhase::Waiting;
    }

    pub(super) fn start(&mut self, name: &str, args: &RawJson, now: Instant) {
        self.sum = ArgumentSummary::from_arguments(name, args);
        self.phase = CallPhase::Running;
        self.began = Some(now);
    }

    pub(super) fn apply_rewrite(&mut self, by: &str, tool: Option<&str>, args: &RawJson, changed: &[String]) {
        let named = |path: &String| if path.is_empty() { "everything".to_owned() } else { path.clone() };
        let mut what: Vec<String> = changed.iter().map(named).collect();
        what.extend(tool.map(|tool| format!("{tool} runs instead")));
        self.add_remark("", Role::Muted, &format!("rewritten by {by}: {}", what.join(", ")));
        let name = tool.unwrap_or(self.name.as_str()).to_owned();
        self.sum = ArgumentSummary::from_arguments(&name, args);
    }

    pub(super) fn set_result(
        &mut self,
        content: &[ContentBlock],
        failed: bool,
        details: Option<&RawJson>,
        extension: Option<&ExtensionName>,
    ) {
        self.owner = extension.map(|extension| CleanLine::new(extension.as_str()));
        self.phase = if failed { CallPhase::Failed } else { CallPhase::Done };
        self.output = CallOutput::from_text(&joined_text(content));
        self.images = AttachedImage::from_content(content);
        self.exit = details
            .and_then(|details| details.read::<ExitDetails>().ok()?.exit_code)
            .filter(|code| *code != 0);
        self.counts = details.and_then(Diff::from_details).map(|diff| (diff.added, diff.removed));
        self.details = details.filter(|_| self.counts.is_some()).cloned();
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.phase, CallPhase::Done | CallPhase::Failed | CallPhase::Gone)
    }

    pub(super) fn mark_over(&mut self) {
        if !self.is_over() {
            self.phase = CallPhase::Gone;
        }
    }

    pub(super) fn visit_texts(&self, see: &mut dyn FnMut(&str)) {
        see(self.name.as_str());
        see(self.sum.whole.as_ref().map_or(self.sum.line.as_str(), CleanText::as_str));
        self.remarks.iter().for_each(|remark| see(remark.text.as_str()));
        see(self.output.as_str());
        if let Some(details) = &self.details {
            see(details.as_str());
        }
    }

    pub(super) fn clipboard_text(&self) -> String {
        let what = self.sum.whole.as_ref().map_or(self.sum.line.as_str(), CleanText::as_str);
        let output = self.output.as_str().trim_end();
        let called = match self.origin {
            CallOrigin::Shell { .. } => what.to_owned(),
            CallOrigin::Model | CallOrigin::Extension(_) => format!("{} {what}", self.name),
        };
        if output.is_empty() { called } else { format!("{}\n{output}", called.trim_end()) }
    }
}

/// A summary of arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ArgumentSummary {
    pub(super) line: CleanLine,
    pub(super) whole: Option<CleanText>,
}

impl ArgumentSummary {
    pub(super) fn from_arguments(tool: &str, args: &RawJson) -> Self {
        let fields = ARGUMENTS.iter().find(|(name, _)| *name == tool).map(|(_, fields)| *fields);
        match fields.and_then(|fields| pick_fields(fields, args)) {
            Some(text) => Self::from_text(&text),
            None if args.as_str() == "{}" => Self::default(),
            None => Self::from_text(args.as_str()),
        }
    }

    pub(super) fn from_text(outside: &str) -> Self {
        let trimmed = outside.trim();
        let whole = CleanText::new(trimmed);
        let line = whole.lines().next().unwrap_or_default();
        if whole.lines().nth(1).is_none() && line.columns() <= LONGEST {
            return Self { line, whole: None };
        }
        let first = CleanLine::new(&format!("{line} …"));
        Self { line: first.truncate_to_width(LONGEST), whole: Some(whole) }
    }
}

fn pick_fields(fields: &[(&str, &str)], args: &RawJson) -> Option<String> {
    let args: Map<String, Value> = args.read().ok()?;
    let mut text = String::new();
    for (field, before) in fields {
        let value = match args.get(*field) {
            Some(Value::String(value)) => value.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => continue,
        };
        text.push_str(before);
        text.push_str(&value);
    }
    (!text.is_empty()).then_some(text)
}

/// The output of a tool or a command, or the end of it.
#[derive(Debug, Default)]
pub(super) struct CallOutput {
    cleaner: StreamCleaner,
    text: CleanText,
    /// True if the beginning was discarded.
    cut: bool,
}

impl CallOutput {
    pub(super) fn from_text(outside: &str) -> Self {
        Self { text: CleanText::new(outside), ..Self::default() }
    }

    pub(super) fn push(&mut self, piece: &str) {
        let clean = self.cleaner.push(piece);
        self.text.push(&clean);
        let text = self.text.as_str();
        if text.len() <= 2 * KEPT {
            return;
        }
        let end = text.as_bytes().get(text.len() - KEPT..).unwrap_or_default();
        let newline = end.iter().position(|byte| *byte == b'\n');
        let from = text.len() - KEPT + newline.map_or(0, |at| at + 1);
        let from = (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        self.text = CleanText::new(text.get(from..).unwrap_or_default());
        self.cut = true;
    }

    pub(super) fn as_str(&self) -> &str {
        self.text.as_str()
    }

    pub(super) fn line_count(&self) -> usize {
        self.trimmed_text().lines().count()
    }

    pub(super) fn first_lines(&self, most: usize) -> Vec<CleanLine> {
        self.trimmed_text().lines().take(most).map(CleanLine::from_clean_part).collect()
    }

    pub(super) fn last_lines(&self, most: usize) -> Vec<CleanLine> {
        let mut lines: Vec<CleanLine> =
            self.trimmed_text().lines().rev().take(most).map(CleanLine::from_clean_part).collect();
        lines.reverse();
        lines
    }

    /// Returns the text without leading and trailing empty lines.
    fn trimmed_text(&self) -> &str {
        self.as_str().trim_start_matches('\n').trim_end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_end_of_long_output() {
        let mut output = CallOutput::default();
        let line = format!("{}\n", "é".repeat(500));
        for _ in 0..1_000 {
            output.push(&line);
        }
        assert!(output.cut);
        assert!(output.as_str().len() <= 2 * KEPT);
        assert!(output.as_str().starts_with('é'));
        assert_eq!(output.last_lines(2), [CleanLine::new(line.trim()), CleanLine::new(line.trim())]);
        output.push("no newline");
        assert_eq!(output.last_lines(1), [CleanLine::new("no newline")]);
    }

    #[test]
    fn ignores_surrounding_empty_lines() {
        let output = CallOutput::from_text("\n\n a\nb\n\n\n");
        assert_eq!(output.line_count(), 2);
        assert_eq!(output.first_lines(1), [CleanLine::new(" a")]);
        assert_eq!(CallOutput::from_text("\n \n").line_count(), 0);
    }

    #[track_caller]
    fn check(tool: &str, args: &str, line: &str) {
        let sum = ArgumentSummary::from_arguments(tool, &RawJson::parse(args).unwrap());
        assert_eq!((sum.line.as_str(), sum.whole), (line, None));
    }

    #[test]
    fn summarizes_arguments_of_known_tools() {
        check("bash", r#"{"command":"cargo test -p x","timeout":9}"#, "cargo test -p x");
        check("read", r#"{"path":"src/lib.rs"}"#, "src/lib.rs");
        check("read", r#"{"path":"src/lib.rs","offset":10,"limit":5}"#, "src/lib.rs:10 +5");
        check("write", r#"{"path":"a","content":"long"}"#, "a");
        check("edit", r#"{"path":"a","edits":[]}"#, "a");
        check("ls", "{}", "");
        check("find", r#"{"glob":"*.rs","path":"src"}"#, "*.rs in src");
        check("grep", r#"{"pattern":"fn","path":"src","glob":"*.rs"}"#, "fn in src of *.rs");
        check("skill", r#"{"name":"pdf","file":"a.md"}"#, "pdf/a.md");
        check("fetch", r#"{"url":"https://a.example/b","offset":90}"#, "https://a.example/b:90");
    }

    #[test]
    fn shows_arguments_of_other_tools_as_json() {
        check("todo_add", r#"{"text":"milk"}"#, r#"{"text":"milk"}"#);
        check("todo", "{}", "");
        check("bash", r#"{"cmd":1}"#, r#"{"cmd":1}"#);
        check("bash", "[1]", "[1]");
    }

    #[test]
    fn long_arguments_are_truncated_on_the_row() {
        let sum = ArgumentSummary::from_text("cat <<E\nx\nE\n");
        assert_eq!(sum.line.as_str(), "cat <<E …");
        assert_eq!(sum.whole, Some(CleanText::new("cat <<E\nx\nE")));
        assert_eq!(ArgumentSummary::from_text(&"x".repeat(LONGEST + 1)).line.columns(), LONGEST);
    }
}
