//! Splits the bytes of an answer into events and meters each of them.

use rig_core::error::ProviderError;
use rig_core::http_client::framing::SseFramer;
use rig_core::wire::WireFrame;

use super::answer_meter::AnswerMeter;
use super::call_ids::CallIds;

/// The reader of one answer.
#[derive(Debug)]
pub(super) struct AnswerReader {
    framer: AnswerFramer,
    /// The line that has not ended yet. The framers of the wire library would search it again with every chunk.
    line: Vec<u8>,
    meter: AnswerMeter,
}

/// The rules by which lines become events.
#[derive(Debug)]
pub(super) enum AnswerFramer {
    /// An event is a group of lines that ends with an empty line.
    EventStream(SseFramer),
    /// An event is a line that is not empty.
    JsonLines,
}

impl AnswerReader {
    pub(super) fn new(framer: AnswerFramer) -> Self {
        Self { framer, line: Vec::new(), meter: AnswerMeter::default() }
    }

    /// Reads a chunk, and adds every complete event to `frames`.
    ///
    /// # Errors
    /// An error for the user if an event or the answer is too large; `frames` then has the events before it.
    pub(super) fn read(
        &mut self,
        chunk: &[u8],
        call_ids: &CallIds,
        frames: &mut Vec<WireFrame>,
    ) -> Result<(), ProviderError> {
        for part in chunk.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            AnswerMeter::check_length(self.pending_bytes() + part.len())?;
            self.line.extend_from_slice(part);
            // JSON may contain a carriage return between two values.
            let ends_at_return = matches!(self.framer, AnswerFramer::EventStream(_)) && part.ends_with(b"\r");
            if part.ends_with(b"\n") || ends_at_return {
                self.end_line(call_ids, frames)?;
            }
        }
        Ok(())
    }

    /// Ends the answer. The rest after the last newline counts as a line of JSON, because a server may end without a
    /// newline.
    ///
    /// # Errors
    /// The same as [`AnswerReader::read`].
    pub(super) fn finish(
        &mut self,
        call_ids: &CallIds,
        frames: &mut Vec<WireFrame>,
    ) -> Result<(), ProviderError> {
        match self.framer {
            AnswerFramer::JsonLines => self.end_line(call_ids, frames),
            AnswerFramer::EventStream(_) => Ok(()),
        }
    }

    /// Returns the bytes of the event that is not complete.
    fn pending_bytes(&self) -> usize {
        let before = if let AnswerFramer::EventStream(framer) = &self.framer { framer.pending() } else { 0 };
        before.saturating_add(self.line.len())
    }

    fn end_line(&mut self, call_ids: &CallIds, frames: &mut Vec<WireFrame>) -> Result<(), ProviderError> {
        let line = std::mem::take(&mut self.line);
        let events: Vec<String> = match &mut self.framer {
            AnswerFramer::EventStream(framer) => framer.push(&line).map(|event| event.data).collect(),
            AnswerFramer::JsonLines => vec![String::from_utf8_lossy(&line).into_owned()],
        };
        for event in events.into_iter().filter(|event| !event.trim().is_empty()) {
            call_ids.record_ids(&self.meter.count_event(&event)?);
            frames.push(WireFrame::Text(event));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{MAX_EVENT, MAX_EVENTS};

    fn read_all(framer: AnswerFramer, mut chunks: impl Iterator<Item = &'static str>) -> String {
        let mut reader = AnswerReader::new(framer);
        let failed = chunks
            .find_map(|chunk| reader.read(chunk.as_bytes(), &CallIds::default(), &mut Vec::new()).err());
        failed.map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn splits_events_and_lines_at_every_cut() {
        let stream =
            ": comment\r\nevent: x\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n\ndata: 2\n\ndata: [DONE]\n\n";
        let lines = "{\"a\":\r1}\r\n\n2\n3";
        for cut in 1..stream.len() {
            for (framer, text, expect) in [
                (AnswerFramer::EventStream(SseFramer::new()), stream, ["{\"a\":\n1}", "2", "[DONE]"]),
                (AnswerFramer::JsonLines, lines, ["{\"a\":\r1}\r\n", "2\n", "3"]),
            ] {
                let (ids, mut frames) = (CallIds::default(), Vec::new());
                let mut reader = AnswerReader::new(framer);
                text.as_bytes().chunks(cut).for_each(|chunk| reader.read(chunk, &ids, &mut frames).unwrap());
                reader.finish(&ids, &mut frames).unwrap();
                assert_eq!(frames.iter().map(WireFrame::as_str).collect::<Vec<_>>(), expect, "{cut}");
            }
        }
    }

    #[test]
    fn chunks_of_one_byte_cost_linear_time() {
        let endless = std::iter::once("data: ").chain(std::iter::repeat_n("a", MAX_EVENT + 1));
        let error = read_all(AnswerFramer::EventStream(SseFramer::new()), endless);
        assert!(error.contains("an event is longer than 4 MiB"), "{error}");
    }

    #[test]
    fn limits_the_number_of_events() {
        let error = read_all(AnswerFramer::JsonLines, std::iter::repeat_n("{}\n", MAX_EVENTS));
        assert_eq!(error, "");
        let error = read_all(AnswerFramer::JsonLines, std::iter::repeat_n("{}\n", MAX_EVENTS + 1));
        assert!(error.contains("the answer has more than 262144 events"), "{error}");
    }
}
