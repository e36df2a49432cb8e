//! Summarizes a session's file for a list, in one pass that parses little of each line.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::sync::LazyLock;

use haft_protocol::content::joined_text;
use haft_protocol::message::{Message, Rfc3339Time, TokenUsage};
use memchr::memmem;
use serde::Deserialize;

use super::entry::EntryBody;
use super::line::{self, EntryHead};
use crate::limits::MAX_SESSION_LINE;

/// The number of bytes per read.
const CHUNK: usize = 256 * 1024;

const FIRST_TEXT_AMONG: usize = 20;

/// The number of bytes at the end of a line in which its answer field is searched.
const TAIL: usize = 2048;

/// The answer field. Inside a string its quotes would be escaped.
const FIELD: &[u8] = br#","answer":"#;

/// Created once, because this takes longer than searching a line.
static FINDER: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(FIELD));

/// A summary of the entries of a file on all branches.
#[derive(Default)]
pub(super) struct SessionDigest {
    pub(super) last: Option<Rfc3339Time>,
    pub(super) name: Option<String>,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) first_text: Option<String>,
    pub(super) messages: usize,
    pub(super) usage: TokenUsage,
}

impl SessionDigest {
    pub(super) fn read_from(file: &File) -> io::Result<Self> {
        let mut reader = BufReader::with_capacity(CHUNK, file);
        let (mut survey, mut line, mut last) = (Self::default(), Vec::new(), Vec::new());
        while read_line(&mut reader, &mut line)? {
            if line.pop() == Some(b'\n') && survey.add(&line) {
                std::mem::swap(&mut line, &mut last);
            }
            line.clear();
        }
        survey.last = parse_head(&last).map(|head| head.time);
        Ok(survey)
    }

    /// Adds a line; returns false if it is not an entry.
    fn add(&mut self, line: &[u8]) -> bool {
        let Some(kind) = line_type(line).filter(|kind| kind != line::HEADER) else { return false };
        self.usage += line_usage(&kind, line).unwrap_or_default();
        match &*kind {
            "message" => {
                self.messages += 1;
                if self.first_text.is_none() && self.messages <= FIRST_TEXT_AMONG {
                    self.first_text = user_text(line);
                }
            }
            // The newest name counts, even if it removes the name.
            "name" => self.name = parse_body(line).and_then(body_name),
            "tags" => {
                if let Some(EntryBody::Tags(change)) = parse_body(line) {
                    change.apply_to(&mut self.tags);
                }
            }
            _ => {}
        }
        true
    }
}

/// Reads the next line, or less if it is longer than [`MAX_SESSION_LINE`], without a newline then. Returns false at the
/// end of the file.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    let most = MAX_SESSION_LINE as u64 + 1;
    if reader.by_ref().take(most).read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    if line.len() as u64 == most && !line.ends_with(b"\n") {
        reader.skip_until(b'\n')?;
    }
    Ok(true)
}

/// Returns the type of an entry, if its line begins in haft's format.
fn line_type(line: &[u8]) -> Option<Cow<'_, str>> {
    let kind = line.strip_prefix(br#"{"type":""#).and_then(|rest| {
        let kind = rest.get(..memchr::memchr(b'"', rest)?)?;
        rest.get(kind.len()..)?.starts_with(br#"","id":""#).then_some(kind)
    });
    match kind {
        Some(kind) => std::str::from_utf8(kind).ok().map(Cow::Borrowed),
        None => parse_head(line).map(|head| Cow::Owned(head.kind)),
    }
}

fn parse_head(line: &[u8]) -> Option<EntryHead> {
    EntryHead::read(line::checked_text(line).ok()?).ok()
}

fn parse_body(line: &[u8]) -> Option<EntryBody> {
    line::read(line).ok().map(|reading| reading.entry.body)
}

fn body_name(body: EntryBody) -> Option<String> {
    let EntryBody::Name(name) = body else { return None };
    Some(name.name).filter(|name| !name.is_empty())
}

fn user_text(line: &[u8]) -> Option<String> {
    let EntryBody::MessageEntry(said) = parse_body(line)? else { return None };
    let Message::User { content, .. } = said.message else { return None };
    Some(joined_text(&content))
}

/// Returns the usage of the answer of an entry of a type; `None` for an entry without one.
fn line_usage(kind: &str, line: &[u8]) -> Option<TokenUsage> {
    #[derive(Deserialize)]
    struct ResponseUsage {
        usage: TokenUsage,
    }
    // In entries of other types, such a field belongs to data of an extension.
    let is_compaction = kind == "compaction";
    if !is_compaction && !matches!(kind, "message" | "branch_summary") {
        return None;
    }
    let tail = line.get(line.len().saturating_sub(TAIL)..)?;
    let at = FINDER.find_iter(tail).last()?;
    let mut values =
        serde_json::Deserializer::from_slice(tail.get(at + FIELD.len()..)?).into_iter::<ResponseUsage>();
    let answer = values.next()?.ok()?;
    // A tool's details may also contain such a field, but never as the last field of the entry.
    let rest = tail.get(at + FIELD.len() + values.byte_offset()..)?;
    (rest == b"}" || is_compaction && rest.starts_with(br#","settings":"#)).then_some(answer.usage)
}

#[cfg(test)]
mod tests {
    use haft_protocol::RawJson;
    use haft_protocol::content::ContentBlock;
    use haft_protocol::ids::ToolCallId;
    use haft_protocol::message::{AssistantMessage, Message, Rfc3339Time, StopCause, ToolMessage};

    use super::*;
    use crate::session::EntryId;
    use crate::session::entry::{
        Compaction, Custom, CustomMessage, EntryBody, MessageEntry, ResponseMetadata, SessionEntry,
        SessionSettings,
    };

    #[track_caller]
    fn check(body: impl Into<EntryBody>, expect: Option<u64>) {
        let entry = SessionEntry {
            id: EntryId::new(),
            parent: None,
            time: Rfc3339Time("t".into()),
            body: body.into(),
        };
        let line = entry.to_line().unwrap();
        let line = line.strip_suffix(b"\n").unwrap();
        assert_eq!(line_usage(entry.body.kind(), line).map(|used| used.input), expect);
    }

    fn answer() -> ResponseMetadata {
        let usage = TokenUsage::default().with_input(7);
        ResponseMetadata { provider: "p".into(), model: "m".into(), stop: StopCause::End, usage }
    }

    #[test]
    fn finds_usage_at_the_end_of_the_line() {
        let message = || AssistantMessage::new(Vec::new(), Rfc3339Time("t".into()));
        let said = Message::Assistant(message());
        check(MessageEntry { message: said.clone(), answer: Some(answer()) }, Some(7));
        check(MessageEntry { message: said, answer: None }, None);
        let compaction = Compaction {
            summary: "s".into(),
            first_kept: None,
            tokens_before: 1,
            files_read: Vec::new(),
            files_modified: Vec::new(),
            by: None,
            answer: Some(answer()),
            used: Some(TokenUsage::default()),
            settings: SessionSettings::default(),
        };
        check(compaction, Some(7));
    }

    #[test]
    fn ignores_answer_fields_in_data_of_extensions() {
        let answer = serde_json::to_string(&answer()).unwrap();
        let text = format!(r#"{{"x":1,"answer":{answer},"settings":{{}}}}"#);
        let result = ToolMessage::new(
            ToolCallId::new("t"),
            "n",
            vec![ContentBlock::text(&*text)],
            Rfc3339Time("t".into()),
        )
        .with_details(RawJson::parse(&text).ok());
        check(MessageEntry { message: Message::Tool(result), answer: None }, None);
        let (owner, kind) = ("todo".to_owned(), "list".to_owned());
        let custom = Custom { owner, kind, data: RawJson::parse(&text).unwrap(), answer: None };
        check(custom.clone(), None);
        let Custom { owner, kind, data, answer: _ } = custom;
        check(CustomMessage { owner, kind, content: Vec::new(), display: true, details: Some(data) }, None);
        check(Message::User { content: vec![ContentBlock::text(text)], time: Rfc3339Time("t".into()) }, None);
    }
}
