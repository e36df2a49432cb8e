//! The writer: complete lines, and an error if the reader is gone.

use haft_protocol::event::AgentEvent;
use haft_rpc::{EventWriter, WriteError};

#[tokio::test]
async fn event_is_written_as_a_line() {
    let mut writer = EventWriter::new(Vec::new());
    writer.write(&AgentEvent::TextDelta { delta: "two\nlines".into() }).await.unwrap();
    writer.write(&AgentEvent::Done).await.unwrap();
    let text = String::from_utf8(writer.into_inner()).unwrap();
    assert_eq!(text, "{\"type\":\"text_delta\",\"delta\":\"two\\nlines\"}\n{\"type\":\"done\"}\n");
}

#[tokio::test]
async fn closed_output_is_an_error() {
    let (output, reader) = tokio::io::duplex(16);
    drop(reader);
    let mut writer = EventWriter::new(output);
    assert!(matches!(writer.write(&AgentEvent::Done).await, Err(WriteError::Output(_))));
}
