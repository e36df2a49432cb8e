//! Shared code of the formats' tests: reads events without HTTP, and writes a conversation with every construct.

use std::sync::Arc;

use haft_core::model::ModelEvent;
use haft_core::tool::{ToolOwner, ToolSpec};
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image, ToolCall};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{
    AssistantBlock, AssistantMessage, Message, NativeMessage, Rfc3339Time, ToolMessage,
};
use serde_json::Value;

use super::{
    AnswerBuilder, AnswerDecoder, AnswerError, ModelQuirks, RequestBody, TurnCache, WireFormat, WireRequest,
};

/// The origin of messages that the same model wrote.
pub(super) const ORIGIN: &str = "test/model";

/// Decodes events one by one, and describes the answer on one line for each part of it.
pub(super) fn decode_answer(mut decoder: Box<dyn AnswerDecoder>, events: &[&str]) -> String {
    let mut answer = AnswerBuilder::default();
    match read(&mut *decoder, &mut answer, events) {
        Ok(()) => describe_answer(&mut answer),
        Err(AnswerError::Response(error)) => {
            format!("error {:?} {:?} {}", error.status, error.code, error.body)
        }
        Err(error) => format!("{error:?}"),
    }
}

fn read(
    decoder: &mut dyn AnswerDecoder,
    answer: &mut AnswerBuilder,
    events: &[&str],
) -> Result<(), AnswerError> {
    events.iter().try_for_each(|event| decoder.read_event(event, answer))?;
    decoder.finish(answer)
}

fn describe_answer(answer: &mut AnswerBuilder) -> String {
    let usage = answer.usage;
    let mut lines = vec![format!(
        "{:?}, {} in, {} out, {} cached",
        answer.stop, usage.input, usage.output, usage.cache_read
    )];
    let (mut begun, mut ended, mut streamed) = (0, 0, String::new());
    while let Some(event) = answer.next_event() {
        match event {
            ModelEvent::ToolCallStart { .. } => begun += 1,
            ModelEvent::ToolCallEnd { .. } => ended += 1,
            ModelEvent::Text(delta) | ModelEvent::Thinking(delta) => streamed.push_str(&delta),
            ModelEvent::ToolCallArgs { delta, .. } => streamed.push_str(&delta),
            ModelEvent::Retry { .. }
            | ModelEvent::Fallback { .. }
            | ModelEvent::Answering(_)
            | ModelEvent::Done(_)
            | _ => panic!("no event of a decoder: {event:?}"),
        }
    }
    let native = answer.native.take();
    let (mut calls, mut said) = (0, String::new());
    for block in answer.take_blocks() {
        lines.push(match block {
            AssistantBlock::Text { text } => {
                said.push_str(&text);
                format!("text {text:?}")
            }
            AssistantBlock::Thinking { text } => {
                said.push_str(&text);
                format!("thinking {text:?}")
            }
            AssistantBlock::ToolCall(ToolCall { id, name, args }) => {
                calls += 1;
                let is_generated = id.as_str().starts_with("call_") && id.as_str().len() == 21;
                let id = if is_generated { "(generated)" } else { id.as_str() };
                format!("call {id} {name} {args}")
            }
        });
    }
    assert_eq!((begun, ended), (calls, calls), "each call begins and ends");
    assert!(calls > 0 || streamed == said, "{streamed:?} was streamed for {said:?}");
    lines.extend(native.map(|native| format!("native {native}")));
    lines.join("\n")
}

/// Writes a request, and reads its JSON.
pub(super) fn encode_request(format: &dyn WireFormat, request: &WireRequest<'_>) -> Value {
    let body = RequestBody::write(format, request, ORIGIN, &mut TurnCache::default()).expect("some content");
    serde_json::from_slice(&body.pieces.concat()).expect("the body is JSON")
}

pub(super) fn request<'a>(messages: &'a [Message], tools: &'a [Arc<ToolSpec>]) -> WireRequest<'a> {
    WireRequest {
        model: "model",
        system: "Be brief.",
        messages,
        tools,
        max_tokens: None,
        temperature: None,
        top_p: None,
        stop: &[],
        tool_choice: None,
        output: None,
        thinking: None,
        window: None,
        quirks: ModelQuirks::default(),
    }
}

pub(super) fn tool() -> Arc<ToolSpec> {
    Arc::new(
        ToolSpec::new("read", "Reads a file.")
            .with_schema(
                RawJson::parse(r#"{"type":"object","properties":{"path":{"type":"string"}}}"#).unwrap(),
            )
            .with_owner(ToolOwner::BuiltIn),
    )
}

pub(super) fn user_message(content: Vec<ContentBlock>) -> Message {
    Message::User { content, time: time() }
}

pub(super) fn assistant_message(content: Vec<AssistantBlock>, native: Option<&str>) -> Message {
    let native = native.map(|data| NativeMessage::new(ORIGIN.to_owned(), RawJson::parse(data).unwrap()));
    Message::Assistant(AssistantMessage::new(content, time()).with_native(native))
}

pub(super) fn result_message(id: &str, content: Vec<ContentBlock>, is_error: bool) -> Message {
    Message::Tool(ToolMessage::new(ToolCallId::new(id), "read", content, time()).with_is_error(is_error))
}

pub(super) fn text_block(text: &str) -> AssistantBlock {
    AssistantBlock::Text { text: text.into() }
}

pub(super) fn thinking_block(text: &str) -> AssistantBlock {
    AssistantBlock::Thinking { text: text.into() }
}

pub(super) fn call_block(id: &str, args: &str) -> AssistantBlock {
    AssistantBlock::ToolCall(ToolCall {
        id: ToolCallId::new(id),
        name: "read".into(),
        args: RawJson::parse(args).unwrap(),
    })
}

pub(super) fn image(kind: &str) -> ContentBlock {
    ContentBlock::Image(Image { mime_type: kind.into(), data: "aW1hZ2U=".into() })
}

/// Returns a conversation with every construct: images, parallel calls, results without content and with images, an
/// answer of another model, and messages without content.
pub(super) fn build_conversation() -> Vec<Message> {
    vec![
        user_message(vec![ContentBlock::text("What is this?"), image("image/png"), image("image/gif")]),
        user_message(vec![ContentBlock::text("  ")]),
        assistant_message(
            vec![
                thinking_block("Hm."),
                text_block("Looking."),
                call_block("call_a", r#"{"path":"a"}"#),
                call_block("toolu/b:ü", "\"invalid\""),
                call_block(&"c".repeat(80), "{}"),
            ],
            None,
        ),
        result_message("call_a", vec![ContentBlock::text("first"), ContentBlock::text("second")], false),
        result_message("toolu/b:ü", vec![ContentBlock::text("")], true),
        result_message(&"c".repeat(80), vec![image("image/jpeg")], false),
        assistant_message(vec![text_block(" ")], None),
        user_message(vec![ContentBlock::text("Thanks.")]),
    ]
}

pub(super) fn time() -> Rfc3339Time {
    Rfc3339Time("2026-01-01T00:00:00Z".into())
}
