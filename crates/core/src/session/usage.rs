//! What the answers in a file used: one pass that looks at the end of every line only.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};

use haft_protocol::message::Usage;
use memchr::memmem;
use serde::Deserialize;

/// How much is read at a time.
const CHUNK: usize = 256 * 1024;

/// How long the end of a line is that tells of its answer.
const TAIL: usize = 2048;

/// What an answer is told with. Inside of a text its quotes would be escaped.
const FIELD: &[u8] = br#","answer":"#;

/// Adds up all answers, those of all branches.
pub(super) fn of(file: &File) -> io::Result<Usage> {
    let mut reader = BufReader::with_capacity(CHUNK, file);
    let (mut total, mut line) = (Usage::default(), Vec::new());
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(total);
        }
        let whole = line.strip_suffix(b"\n");
        if let Some(used) = whole.and_then(of_line) {
            total += used;
        }
    }
}

/// What the answer of one entry used; none for an entry without one.
fn of_line(line: &[u8]) -> Option<Usage> {
    #[derive(Deserialize)]
    struct Answer {
        usage: Usage,
    }
    let tail = line.get(line.len().saturating_sub(TAIL)..)?;
    let at = memmem::rfind(tail, FIELD)?;
    let mut values =
        serde_json::Deserializer::from_slice(tail.get(at + FIELD.len()..)?).into_iter::<Answer>();
    let answer = values.next()?.ok()?;
    // A tool's details may hold such a field, too, but never as the last one of the entry.
    let rest = tail.get(at + FIELD.len() + values.byte_offset()..)?;
    (rest == b"}" || rest.starts_with(br#","settings":"#)).then_some(answer.usage)
}

#[cfg(test)]
mod tests {
    use haft_protocol::RawJson;
    use haft_protocol::content::Content;
    use haft_protocol::ids::ToolCallId;
    use haft_protocol::message::{AssistantMessage, Message, Stop, Time, ToolMessage};

    use super::*;
    use crate::session::entry::{Answer, Compaction, Entry, EntryBody, Said, Settings};
    use crate::session::{EntryId, line};

    #[track_caller]
    fn check(body: impl Into<EntryBody>, expect: Option<u64>) {
        let entry = Entry { id: EntryId::new(), parent: None, time: Time("t".into()), body: body.into() };
        let line = line::of_entry(&entry).unwrap();
        assert_eq!(of_line(line.strip_suffix(b"\n").unwrap()).map(|usage| usage.input), expect);
    }

    fn answer() -> Answer {
        let usage = Usage { input: 7, ..Usage::default() };
        Answer { provider: "p".into(), model: "m".into(), stop: Stop::End, usage }
    }

    #[test]
    fn an_answer_stands_at_the_end_of_its_line() {
        let message = || AssistantMessage { content: Vec::new(), time: Time("t".into()), native: None };
        let said = Message::Assistant(message());
        check(Said { message: said.clone(), answer: Some(answer()) }, Some(7));
        check(Said { message: said, answer: None }, None);
        let compaction = Compaction {
            summary: "s".into(),
            first_kept: None,
            tokens_before: 1,
            files_read: Vec::new(),
            files_modified: Vec::new(),
            by: None,
            answer: Some(answer()),
            used: Some(Usage::default()),
            settings: Settings::default(),
        };
        check(compaction, Some(7));
    }

    #[test]
    fn what_a_tool_says_of_answers_is_none() {
        let text = serde_json::to_string(&serde_json::json!({"x": 1, "answer": answer()})).unwrap();
        let result = ToolMessage {
            call_id: ToolCallId::new("t"),
            name: "n".into(),
            content: vec![Content::text(&*text)],
            is_error: false,
            extension: None,
            details: RawJson::parse(&text).ok(),
            time: Time("t".into()),
        };
        check(Said { message: Message::Tool(result), answer: None }, None);
        check(Message::User { content: vec![Content::text(text)], time: Time("t".into()) }, None);
    }
}
