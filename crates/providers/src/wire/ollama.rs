//! Ollama, `POST /api/chat` (<https://docs.ollama.com/api/chat>).

mod decode;
#[cfg(test)]
mod tests;
mod think_tags;

use std::borrow::Cow;

use haft_core::model::ToolChoice;
use haft_core::tool::ToolSpec;
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image};
use haft_protocol::message::{AssistantBlock, AssistantMessage, ToolMessage};
use serde::Serialize;

use super::json::{write_element, write_open_object};
use super::output::AcceptedSchema;
use super::turn::{NO_OUTPUT, object_arguments, unsupported_image};
use super::{
    AnswerDecoder, ConversationTurn, EventFraming, OutputMethod, ThinkingOption, WireFormat, WireRequest,
};

/// The format of Ollama's own API.
#[derive(Debug)]
pub(crate) struct OllamaChat;

/// The types of images that the server can decode.
const IMAGE_TYPES: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];

/// The text of a result that has only images.
const ATTACHED_IMAGE: &str = "(see attached image)";

/// The text before the images of results, because only messages of the user have images.
const ATTACHED_IMAGES: &str = "Attached image(s) from tool result:";

#[derive(Serialize)]
struct OllamaRequestHead<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<OllamaThinking>,
    #[serde(skip_serializing_if = "ModelOptions::is_empty")]
    options: ModelOptions<'a>,
    /// The schema of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<RawJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<OllamaTool<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum OllamaThinking {
    Off(bool),
    Level(&'static str),
}

#[derive(Serialize)]
struct ModelOptions<'a> {
    /// The window. Ollama drops what exceeds it, and its default is much smaller than the window of most models.
    #[serde(skip_serializing_if = "Option::is_none")]
    num_ctx: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'a [String],
}

impl ModelOptions<'_> {
    fn is_empty(&self) -> bool {
        let Self { num_ctx, num_predict, temperature, top_p, stop } = self;
        (num_ctx, num_predict, temperature, top_p) == (&None, &None, &None, &None) && stop.is_empty()
    }
}

#[derive(Serialize)]
struct OllamaTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: OllamaFunction<'a>,
}

#[derive(Serialize)]
struct OllamaFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawJson,
}

#[derive(Default, Serialize)]
struct OllamaMessage<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    thinking: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<OllamaCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct OllamaCall<'a> {
    id: &'a str,
    function: OllamaCalledFunction<'a>,
}

#[derive(Serialize)]
struct OllamaCalledFunction<'a> {
    name: &'a str,
    arguments: Cow<'a, RawJson>,
}

impl WireFormat for OllamaChat {
    fn path(&self, base: &str, _model: &str) -> String {
        format!("{}/api/chat", base.trim_end_matches('/'))
    }

    fn framing(&self) -> EventFraming {
        EventFraming::JsonLines
    }

    /// A model that must follow a schema cannot call a tool.
    fn output_method(&self, request: &WireRequest<'_>) -> OutputMethod {
        match request.tools.is_empty() {
            true => OutputMethod::Native,
            false => OutputMethod::ToolCall,
        }
    }

    fn can_demand_calls(&self, _request: &WireRequest<'_>) -> bool {
        false
    }

    fn find_unsupported(&self, request: &WireRequest<'_>) -> Option<&'static str> {
        matches!(request.tool_choice, Some(ToolChoice::Required | ToolChoice::Tool(_)))
            .then_some("Ollama's API cannot demand a tool call; set the tool choice to auto")
    }

    fn write_head(&self, request: &WireRequest<'_>, out: &mut Vec<u8>) {
        let head = OllamaRequestHead {
            model: request.model,
            stream: true,
            think: request.thinking.and_then(thinking_value),
            options: ModelOptions {
                num_ctx: request.window,
                num_predict: request.max_tokens,
                temperature: request.temperature,
                top_p: request.top_p,
                stop: request.stop,
            },
            format: request.output.map(|output| AcceptedSchema::new(output.json_schema()).schema),
            tools: match request.tool_choice {
                // The nearest that the API has.
                Some(ToolChoice::None) => Vec::new(),
                Some(ToolChoice::Auto | ToolChoice::Required | ToolChoice::Tool(_)) | None => {
                    request.tools.iter().map(|tool| define_tool(tool)).collect()
                }
            },
        };
        write_open_object(out, &head);
        out.extend_from_slice(b",\"messages\":[");
        if !request.system.trim().is_empty() {
            let content = request.system.into();
            write_element(out, &OllamaMessage { role: "system", content, ..OllamaMessage::default() });
        }
    }

    fn write_turn(&self, turn: &ConversationTurn<'_>, out: &mut Vec<u8>) {
        match turn {
            ConversationTurn::User(content) => {
                let JoinedContent { text, images } = JoinedContent::read(content);
                if !text.is_empty() || !images.is_empty() {
                    let message =
                        OllamaMessage { role: "user", content: text, images, ..OllamaMessage::default() };
                    write_element(out, &message);
                }
            }
            ConversationTurn::Assistant { message, native } => {
                let message = assistant_message(message, native.is_some());
                if !(message.content.is_empty()
                    && message.thinking.is_empty()
                    && message.tool_calls.is_empty())
                {
                    write_element(out, &message);
                }
            }
            ConversationTurn::Results(results) => write_results(results, out),
        }
    }

    fn decoder(&self) -> Box<dyn AnswerDecoder> {
        Box::<decode::OllamaDecoder>::default()
    }
}

/// Returns the thinking option; the server rejects levels that it does not know.
fn thinking_value(option: ThinkingOption) -> Option<OllamaThinking> {
    match option {
        ThinkingOption::Off => Some(OllamaThinking::Off(false)),
        ThinkingOption::Effort("minimal") => Some(OllamaThinking::Level("low")),
        ThinkingOption::Effort("xhigh") => Some(OllamaThinking::Level("high")),
        ThinkingOption::Effort(level) => Some(OllamaThinking::Level(level)),
        ThinkingOption::Budget(_) => None,
    }
}

fn define_tool(tool: &ToolSpec) -> OllamaTool<'_> {
    let function =
        OllamaFunction { name: &tool.name, description: &tool.description, parameters: &tool.schema };
    OllamaTool { kind: "function", function }
}

/// The text and the images of a message, which the API has in separate fields.
struct JoinedContent<'a> {
    text: Cow<'a, str>,
    images: Vec<&'a str>,
}

impl<'a> JoinedContent<'a> {
    fn read(content: &'a [ContentBlock]) -> Self {
        let mut images = Vec::new();
        let texts = content.iter().filter_map(|block| match block {
            ContentBlock::Text { text } => (!text.trim().is_empty()).then_some(Cow::Borrowed(text.as_str())),
            ContentBlock::Image(image) => match image_data(image) {
                Some(data) => {
                    images.push(data);
                    None
                }
                None => Some(unsupported_image(image).into()),
            },
        });
        let text = join(texts);
        Self { text, images }
    }
}

fn image_data(image: &Image) -> Option<&str> {
    IMAGE_TYPES.contains(&image.mime_type.as_str()).then(|| image.data.as_str())
}

/// Joins texts with newlines.
fn join<'a>(texts: impl Iterator<Item = Cow<'a, str>>) -> Cow<'a, str> {
    texts
        .reduce(|mut joined, text| {
            let whole = joined.to_mut();
            whole.push('\n');
            whole.push_str(&text);
            joined
        })
        .unwrap_or_default()
}

/// Returns an answer; `own` if the same model wrote it. Thinking of another model is sent as text, because only models that think
/// get the field.
fn assistant_message(message: &AssistantMessage, own: bool) -> OllamaMessage<'_> {
    let blocks = || message.content.iter();
    let text = blocks().filter_map(|block| match block {
        AssistantBlock::Text { text } => Some(text.as_str()),
        AssistantBlock::Thinking { text } => (!own).then_some(text.as_str()),
        AssistantBlock::ToolCall(_) => None,
    });
    let thinking = blocks().filter_map(|block| match block {
        AssistantBlock::Thinking { text } => own.then_some(text.as_str()),
        AssistantBlock::Text { .. } | AssistantBlock::ToolCall(_) => None,
    });
    let calls = message.tool_calls().filter(|call| !call.name.is_empty());
    OllamaMessage {
        role: "assistant",
        content: join(text.filter(|text| !text.trim().is_empty()).map(Cow::Borrowed)),
        thinking: join(thinking.map(Cow::Borrowed)),
        tool_calls: calls
            .map(|call| OllamaCall {
                id: call.id.as_str(),
                function: OllamaCalledFunction { name: &call.name, arguments: object_arguments(call) },
            })
            .collect(),
        ..OllamaMessage::default()
    }
}

/// Writes results, and then their images in a message of the user.
fn write_results(results: &[&ToolMessage], out: &mut Vec<u8>) {
    let mut attached = Vec::new();
    for result in results.iter().filter(|result| !result.name.is_empty()) {
        let JoinedContent { text, mut images } = JoinedContent::read(&result.content);
        let content = match (text.is_empty(), images.is_empty()) {
            (false, _) => text,
            (true, false) => ATTACHED_IMAGE.into(),
            (true, true) => NO_OUTPUT.into(),
        };
        attached.append(&mut images);
        let message = OllamaMessage {
            role: "tool",
            content,
            tool_name: Some(&result.name),
            tool_call_id: Some(result.call_id.as_str()),
            ..OllamaMessage::default()
        };
        write_element(out, &message);
    }
    if !attached.is_empty() {
        let content = ATTACHED_IMAGES.into();
        write_element(
            out,
            &OllamaMessage { role: "user", content, images: attached, ..OllamaMessage::default() },
        );
    }
}
