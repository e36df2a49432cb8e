//! What a line weighs that is kept as it is.

use std::io::{self, Write};

use haft_protocol::content::Content;
use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::{Event, Line};
use serde::Serialize as _;

/// As many bytes as it has as a line of JSON, but for what is escaped in one, and those of the images that such a line only
/// tells the size of.
///
/// # Errors
/// When it has no JSON form, which none lacks.
pub(super) fn of(line: &Line) -> Result<usize, serde_json::Error> {
    let mut count = Count(0);
    let mut json = serde_json::Serializer::new(&mut count);
    match line {
        Line::Reply(reply) => reply.serialize(&mut json)?,
        Line::Event(event) => event.serialize(&mut json)?,
    }
    let images = match line {
        Line::Reply(_) => 0,
        Line::Event(line) => images(&line.event),
    };
    Ok(count.0 + 1 + images)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "no other event has images")]
fn images(event: &Event) -> usize {
    let content = match event {
        Event::Agent(
            AgentEvent::UserMessage { content, .. }
            | AgentEvent::ToolResult { content, .. }
            | AgentEvent::HostCallEnd { content, .. },
        ) => content,
        _ => return 0,
    };
    let image = |content: &Content| match content {
        Content::Image(image) => image.data.len(),
        Content::Text { .. } => 0,
    };
    content.iter().map(image).sum()
}

/// Counts what is written, and keeps nothing of it.
struct Count(usize);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
