//! Splits the bytes of an answer into events and meters each of them before it is parsed.

use std::collections::VecDeque;

use haft_core::json_shape::{ShapeLimits, check_shape};
use haft_protocol::defense::{Defense, is_up};

use super::AnswerError;
use crate::limits::{MAX_EVENT, MAX_EVENT_DEPTH, MAX_EVENT_VALUES, MAX_EVENTS};

/// The rules by which lines become events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventFraming {
    /// Server-sent events: the `data` lines up to an empty line (HTML standard, section 9.2).
    EventStream,
    /// Each line that is not empty is an event.
    JsonLines,
}

/// The reader of one answer.
#[derive(Debug)]
pub(crate) struct EventReader {
    framing: EventFraming,
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The data of the event that has not ended yet; `None` before its first line.
    data: Option<String>,
    /// True if the last byte was a carriage return, which may begin a `\r\n`.
    after_return: bool,
    /// The events so far.
    count: usize,
    events: VecDeque<String>,
}

impl EventReader {
    pub(crate) fn new(framing: EventFraming) -> Self {
        Self { framing, line: Vec::new(), data: None, after_return: false, count: 0, events: VecDeque::new() }
    }

    pub(crate) fn event_framing(&self) -> EventFraming {
        self.framing
    }

    /// Returns the next complete event.
    pub(crate) fn next_event(&mut self) -> Option<String> {
        self.events.pop_front()
    }

    /// Reads a chunk of the answer.
    ///
    /// # Errors
    /// [`AnswerError::Invalid`] if an event or the answer is too large. Events before it can still be taken.
    pub(crate) fn read(&mut self, chunk: &[u8]) -> Result<(), AnswerError> {
        for part in chunk.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let pending = self.line.len() + self.data.as_ref().map_or(0, String::len);
            check_length(pending + part.len())?;
            if self.framing == EventFraming::JsonLines {
                // JSON may contain a carriage return between two values.
                self.line.extend_from_slice(part);
                if part.ends_with(b"\n") {
                    self.end_json_line()?;
                }
                continue;
            }
            let second_half =
                std::mem::replace(&mut self.after_return, part.ends_with(b"\r")) && part == b"\n";
            match part.strip_suffix(b"\n").or_else(|| part.strip_suffix(b"\r")) {
                Some(_) if second_half => {}
                Some(rest) => {
                    self.line.extend_from_slice(rest);
                    self.end_event_line()?;
                }
                None => self.line.extend_from_slice(part),
            }
        }
        Ok(())
    }

    /// Ends the answer. The rest after the last newline counts as a line of JSON, because a server may end without a
    /// newline.
    ///
    /// # Errors
    /// The same as [`EventReader::read`].
    pub(crate) fn finish(&mut self) -> Result<(), AnswerError> {
        match self.framing {
            EventFraming::JsonLines => self.end_json_line(),
            EventFraming::EventStream => Ok(()),
        }
    }

    fn end_json_line(&mut self) -> Result<(), AnswerError> {
        let line = std::mem::take(&mut self.line);
        self.add(String::from_utf8_lossy(&line).into_owned())
    }

    fn end_event_line(&mut self) -> Result<(), AnswerError> {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        // A byte order mark may precede the first line.
        let text = text.trim_start_matches('\u{feff}');
        if text.is_empty() {
            return self.data.take().map_or(Ok(()), |data| self.add(data));
        }
        // Other fields (`event`, `id`, `retry`) and comments are not needed: the data has its own type.
        if let Some(value) = text.strip_prefix("data").filter(|rest| rest.is_empty() || rest.starts_with(':'))
        {
            let value = value.strip_prefix(':').unwrap_or(value);
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
        Ok(())
    }

    fn add(&mut self, event: String) -> Result<(), AnswerError> {
        if event.trim().is_empty() {
            return Ok(());
        }
        self.count += 1;
        if is_up(Defense::AnswerBudget) {
            check_length(event.len())?;
            if self.count > MAX_EVENTS {
                return Err(limit_error(format_args!("the answer has more than {MAX_EVENTS} events")));
            }
            let limits = ShapeLimits { depth: MAX_EVENT_DEPTH, values: MAX_EVENT_VALUES };
            check_shape(event.as_bytes(), limits)
                .map_err(|excess| limit_error(format_args!("an event {excess}")))?;
        }
        self.events.push_back(event);
        Ok(())
    }
}

fn check_length(bytes: usize) -> Result<(), AnswerError> {
    if bytes > MAX_EVENT && is_up(Defense::AnswerBudget) {
        let most = MAX_EVENT / (1024 * 1024);
        return Err(limit_error(format_args!("an event is longer than {most} MiB")));
    }
    Ok(())
}

pub(super) fn limit_error(limit: std::fmt::Arguments<'_>) -> AnswerError {
    AnswerError::Invalid(format!("{limit}; send the prompt again, or choose another model"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all<'a>(framing: EventFraming, mut chunks: impl Iterator<Item = &'a str>) -> String {
        let mut reader = EventReader::new(framing);
        match chunks.find_map(|chunk| reader.read(chunk.as_bytes()).err()) {
            Some(AnswerError::Invalid(reason)) => reason,
            Some(error) => panic!("{error:?}"),
            None => String::new(),
        }
    }

    #[test]
    fn splits_events_and_lines_at_every_cut() {
        let stream = "\u{feff}: comment\r\nevent: x\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n\ndata:2\rid: 7\r\rdata: [DONE]\n\n";
        let lines = "{\"a\":\r1}\r\n\n2\n3";
        for cut in 1..stream.len() {
            for (framing, text, expect) in [
                (EventFraming::EventStream, stream, ["{\"a\":\n1}", "2", "[DONE]"]),
                (EventFraming::JsonLines, lines, ["{\"a\":\r1}\r\n", "2\n", "3"]),
            ] {
                let mut reader = EventReader::new(framing);
                text.as_bytes().chunks(cut).for_each(|chunk| reader.read(chunk).unwrap());
                reader.finish().unwrap();
                let events: Vec<String> = std::iter::from_fn(|| reader.next_event()).collect();
                assert_eq!(events, expect, "{cut}");
            }
        }
    }

    #[test]
    fn event_without_its_empty_line_is_not_read() {
        let mut reader = EventReader::new(EventFraming::EventStream);
        reader.read(b"data: 1\n").unwrap();
        reader.finish().unwrap();
        assert_eq!(reader.next_event(), None);
    }

    #[test]
    fn rejects_event_without_end() {
        let endless = std::iter::once("data: ").chain(std::iter::repeat_n("a", MAX_EVENT + 1));
        let error = read_all(EventFraming::EventStream, endless);
        assert!(error.contains("an event is longer than 4 MiB"), "{error}");
    }

    #[test]
    fn limits_the_number_of_events() {
        assert_eq!(read_all(EventFraming::JsonLines, std::iter::repeat_n("{}\n", MAX_EVENTS)), "");
        let error = read_all(EventFraming::JsonLines, std::iter::repeat_n("{}\n", MAX_EVENTS + 1));
        assert!(error.contains("the answer has more than 262144 events"), "{error}");
    }

    #[test]
    fn limits_depth_and_values_of_an_event() {
        let nested = |depth: usize| format!("{}{}\n", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(read_all(EventFraming::JsonLines, [nested(MAX_EVENT_DEPTH).as_str()].into_iter()), "");
        let error = read_all(EventFraming::JsonLines, [nested(MAX_EVENT_DEPTH + 1).as_str()].into_iter());
        assert!(error.contains("nested more than 100 levels"), "{error}");
        let text = format!("\"{}\"\n", "[\\\"".repeat(MAX_EVENT_DEPTH + 1));
        assert_eq!(read_all(EventFraming::JsonLines, [text.as_str()].into_iter()), "", "brackets in a text");
        let many = format!("[{}1]\n", "1,".repeat(MAX_EVENT_VALUES));
        let error = read_all(EventFraming::JsonLines, [many.as_str()].into_iter());
        assert!(error.contains("an event has more than 50000 values"), "{error}");
    }
}
