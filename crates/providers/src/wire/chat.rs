//! OpenAI Chat Completions, `POST /chat/completions` (<https://platform.openai.com/docs/api-reference/chat>), and its
//! dialects.

mod call_ids;
mod calls;
mod decode;
mod details;
mod json;
mod model;
mod native;
mod server;
#[cfg(test)]
mod tests;
mod usage;

use std::borrow::Cow;
use std::collections::BTreeSet;

use haft_core::model::{OutputSchema, ToolChoice};
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image, ToolCall};
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message, ToolMessage};
use serde::{Serialize, Serializer};

use super::json::{write_element, write_open_object};
use super::output::OpenAiSchema;
use super::turn::{NO_OUTPUT, unsupported_image};
use super::{AnswerDecoder, ConversationTurn, OutputMethod, WireFormat, WireRequest};
use call_ids::CallIdRule;
use model::ChatModel;
use native::{FilledDetail, NativeAnswer, RawFields, ThinkingField, joined_thinking};
use server::{ChatServer, ReasoningOptions, ThinkingSwitch};

pub(crate) use model::CatalogEntry;

/// The format of Chat Completions, for one model of one server.
#[derive(Debug)]
pub(crate) struct ChatCompletions {
    server: ChatServer,
    model: ChatModel,
}

impl ChatCompletions {
    /// Creates the format. `host` is the host of the API's address, `entry` the model's entry in the catalog.
    pub(crate) fn new(provider: &str, host: &str, model: &str, entry: CatalogEntry) -> Self {
        let server = ChatServer::by_provider(provider);
        Self { server, model: ChatModel::new(server, host, model, entry) }
    }
}

/// The types of images that servers accept.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The text in place of an image that follows the results, because a result cannot have images.
const ATTACHED_IMAGE: &str = "(see attached image)";

/// The text before the images of results.
const ATTACHED_IMAGES: &str = "Attached image(s) from tool result:";

/// The answer between results and a user's message, for models that reject a user's message after results.
const NO_ANSWER: &str = "(interrupted)";

/// The same before the images of results.
const IMAGES_FOLLOW: &str = "(the images follow)";

#[derive(Serialize)]
struct ChatRequestHead<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingSwitch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningOptions>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<FunctionEnvelope<FunctionDefinition<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ChatToolChoice<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ChatToolChoice<'a> {
    Mode(&'static str),
    Function(FunctionEnvelope<FunctionName<'a>>),
}

#[derive(Serialize)]
struct FunctionName<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    json_schema: NamedSchema<'a>,
}

#[derive(Serialize)]
struct NamedSchema<'a> {
    name: &'a str,
    schema: RawJson,
    strict: bool,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// A function, in the envelope of definitions and calls.
#[derive(Serialize)]
struct FunctionEnvelope<F> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: F,
}

#[derive(Serialize)]
struct FunctionDefinition<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawJson,
}

#[derive(Default, Serialize)]
struct ChatMessage<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<MessageContent<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_text: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<FilledDetail<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ChatCall<'a>>,
}

#[derive(Serialize)]
struct ChatCall<'a> {
    id: Cow<'a, str>,
    #[serde(flatten)]
    call: FunctionEnvelope<CalledFunction<'a>>,
    #[serde(flatten)]
    extras: Option<&'a RawFields>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum MessageContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<MessagePart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum MessagePart<'a> {
    Text {
        text: Cow<'a, str>,
    },
    ImageUrl {
        image_url: ImageUrl<'a>,
    },
    /// Mistral.
    Thinking {
        thinking: [TextPart<'a>; 1],
    },
}

#[derive(Serialize)]
struct TextPart<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    #[serde(serialize_with = "data_url")]
    url: &'a Image,
}

fn data_url<S: Serializer>(image: &&Image, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("data:{};base64,{}", image.mime_type, image.data.as_str()))
}

impl WireFormat for ChatCompletions {
    fn path(&self, base: &str, _model: &str) -> String {
        format!("{}/chat/completions", base.trim_end_matches('/'))
    }

    fn accepts_thinking(&self) -> bool {
        self.server.is_known()
    }

    fn output_method(&self, request: &WireRequest<'_>) -> OutputMethod {
        match self.server.takes_schemas(!request.tools.is_empty()) {
            true => OutputMethod::Native,
            false => OutputMethod::ToolCall,
        }
    }

    fn write_head(&self, request: &WireRequest<'_>, out: &mut Vec<u8>) {
        let mut tools: Vec<_> = request.tools.iter().map(|tool| define_tool(tool)).collect();
        let called = if tools.is_empty() { called_tools(request.messages) } else { BTreeSet::new() };
        let no_arguments = RawJson::empty_object_schema();
        tools.extend(called.iter().map(|name| define_withdrawn_tool(name, &no_arguments)));
        let thinking = self.model.thinking_fields(request);
        let completion = self.model.counts_thinking();
        let head = ChatRequestHead {
            model: request.model,
            stream: true,
            stream_options: self.server.usage_option.then_some(StreamOptions { include_usage: true }),
            max_tokens: request.max_tokens.filter(|_| !completion),
            max_completion_tokens: request.max_tokens.filter(|_| completion),
            temperature: request.temperature,
            top_p: request.top_p,
            stop: request.stop,
            response_format: request.output.map(response_format),
            reasoning_effort: thinking.reasoning_effort,
            thinking: thinking.thinking,
            reasoning: thinking.reasoning,
            tools,
            tool_choice: match called.is_empty() {
                true => request.tool_choice.map(call_demand),
                false => Some(ChatToolChoice::Mode("none")),
            },
        };
        write_open_object(out, &head);
        out.extend_from_slice(b",\"messages\":[");
        if !request.system.trim().is_empty() {
            let content = Some(MessageContent::Text(request.system.into()));
            write_element(out, &ChatMessage { role: "system", content, ..ChatMessage::default() });
        }
    }

    fn write_turn(&self, turn: &ConversationTurn<'_>, out: &mut Vec<u8>) {
        match turn {
            ConversationTurn::User(content) => self.write_user(content, out),
            ConversationTurn::Assistant { message, native } => self.write_answer(message, *native, out),
            ConversationTurn::Results(results) => self.write_results(results, out),
        }
    }

    fn write_unanswered(&self, out: &mut Vec<u8>) {
        self.write_answer_after_results(NO_ANSWER, out);
    }

    fn decoder(&self) -> Box<dyn AnswerDecoder> {
        Box::<decode::ChatDecoder>::default()
    }
}

fn call_demand(choice: &ToolChoice) -> ChatToolChoice<'_> {
    match choice {
        ToolChoice::Auto => ChatToolChoice::Mode("auto"),
        ToolChoice::None => ChatToolChoice::Mode("none"),
        ToolChoice::Required => ChatToolChoice::Mode("required"),
        ToolChoice::Tool(name) => {
            ChatToolChoice::Function(FunctionEnvelope { kind: "function", function: FunctionName { name } })
        }
    }
}

fn response_format(output: &OutputSchema) -> ResponseFormat<'_> {
    let OpenAiSchema { schema, is_strict } = OpenAiSchema::new(output.json_schema());
    let json_schema = NamedSchema { name: output.name(), schema, strict: is_strict };
    ResponseFormat { kind: "json_schema", json_schema }
}

fn define_tool(tool: &haft_core::tool::ToolSpec) -> FunctionEnvelope<FunctionDefinition<'_>> {
    let (name, description) = (&tool.name, &tool.description);
    FunctionEnvelope {
        kind: "function",
        function: FunctionDefinition { name, description, parameters: &tool.schema },
    }
}

/// Returns the names of all tools in the conversation. Some providers behind gateways require their definitions even if
/// none can be called.
fn called_tools(messages: &[Message]) -> BTreeSet<&str> {
    let answers = messages.iter().filter_map(|message| match message {
        Message::Assistant(answer) => Some(answer),
        Message::User { .. } | Message::Tool(_) => None,
    });
    let names = answers.flat_map(AssistantMessage::tool_calls).map(|call| call.name.as_str());
    names.filter(|name| !name.is_empty()).collect()
}

fn define_withdrawn_tool<'a>(name: &'a str, schema: &'a RawJson) -> FunctionEnvelope<FunctionDefinition<'a>> {
    let description = "Cannot be called any more.";
    FunctionEnvelope {
        kind: "function",
        function: FunctionDefinition { name, description, parameters: schema },
    }
}

impl ChatCompletions {
    fn write_user(&self, content: &[ContentBlock], out: &mut Vec<u8>) {
        let parts = content.iter().filter_map(|block| match block {
            ContentBlock::Text { text } => (!text.trim().is_empty()).then(|| MessagePart::text(text)),
            ContentBlock::Image(image) => Some(self.image_part(image)),
        });
        if let Some(content) = join_parts(parts.collect(), "\n") {
            write_element(
                out,
                &ChatMessage { role: "user", content: Some(content), ..ChatMessage::default() },
            );
        }
    }

    fn image_part<'a>(&self, image: &'a Image) -> MessagePart<'a> {
        match IMAGE_TYPES.contains(&image.mime_type.as_str()) && self.model.reads_images() {
            true => MessagePart::ImageUrl { image_url: ImageUrl { url: image } },
            false => MessagePart::Text { text: unsupported_image(image).into() },
        }
    }

    /// Writes the results of a step, which must follow the calls directly, and then their images.
    fn write_results(&self, results: &[&ToolMessage], out: &mut Vec<u8>) {
        let mut images = Vec::new();
        // A call without a name is not sent.
        for result in results.iter().filter(|result| !result.name.is_empty()) {
            let mut parts: Vec<MessagePart<'_>> = Vec::new();
            for block in &result.content {
                match block {
                    ContentBlock::Text { text } if text.trim().is_empty() => {}
                    ContentBlock::Text { text } => parts.push(MessagePart::text(text)),
                    ContentBlock::Image(image) => match self.image_part(image) {
                        image @ MessagePart::ImageUrl { .. } if !self.server.result_images => {
                            images.push(image);
                            parts.push(MessagePart::text(ATTACHED_IMAGE));
                        }
                        part @ (MessagePart::Text { .. }
                        | MessagePart::ImageUrl { .. }
                        | MessagePart::Thinking { .. }) => parts.push(part),
                    },
                }
            }
            write_element(
                out,
                &ChatMessage {
                    role: "tool",
                    tool_call_id: Some(self.call_ids().apply(result.call_id.as_str())),
                    content: Some(join_parts(parts, "\n").unwrap_or(MessageContent::Text(NO_OUTPUT.into()))),
                    ..ChatMessage::default()
                },
            );
        }
        if !images.is_empty() {
            self.write_answer_after_results(IMAGES_FOLLOW, out);
            images.insert(0, MessagePart::text(ATTACHED_IMAGES));
            let content = Some(MessageContent::Parts(images));
            write_element(out, &ChatMessage { role: "user", content, ..ChatMessage::default() });
        }
    }

    fn write_answer_after_results(&self, text: &str, out: &mut Vec<u8>) {
        if self.model.needs_answers() {
            let content = Some(MessageContent::Text(text.into()));
            write_element(out, &ChatMessage { role: "assistant", content, ..ChatMessage::default() });
        }
    }

    fn call_ids(&self) -> CallIdRule {
        self.model.call_ids
    }

    fn write_answer(&self, message: &AssistantMessage, native: Option<&RawJson>, out: &mut Vec<u8>) {
        let thinking = joined_thinking(message);
        let native: Option<NativeAnswer> =
            native.and_then(|native| serde_json::from_str(native.as_str()).ok());
        let details = native.as_ref().map(|native| native.fill_details(&thinking));
        // The details of other thinking would be rejected.
        let native = native.as_ref().filter(|_| details.as_ref().is_some_and(Option::is_some));
        let field = native.and_then(|native| native.field);
        let mut written = ChatMessage {
            role: "assistant",
            content: answer_content(message, native.is_some(), field),
            reasoning_details: details.flatten().unwrap_or_default(),
            tool_calls: self.write_calls(message, native),
            ..ChatMessage::default()
        };
        match field.filter(|_| !thinking.is_empty()) {
            Some(ThinkingField::ReasoningContent) => written.reasoning_content = Some(&thinking),
            Some(ThinkingField::Reasoning) => written.reasoning = Some(&thinking),
            Some(ThinkingField::ReasoningText) => written.reasoning_text = Some(&thinking),
            Some(ThinkingField::Content) | None => {}
        }
        if self.model.requires_reasoning_content() {
            written.reasoning_content.get_or_insert("");
        }
        if written.content.is_some() || !written.tool_calls.is_empty() {
            write_element(out, &written);
        }
    }

    fn write_calls<'a>(
        &self,
        message: &'a AssistantMessage,
        native: Option<&'a NativeAnswer>,
    ) -> Vec<ChatCall<'a>> {
        let calls = message.tool_calls().enumerate().filter(|(_, call)| !call.name.is_empty());
        let written = calls.map(|(position, call)| ChatCall {
            id: self.call_ids().apply(call.id.as_str()),
            call: FunctionEnvelope {
                kind: "function",
                function: CalledFunction { name: &call.name, arguments: argument_text(call) },
            },
            extras: native.and_then(|native| native.calls.get(&position)),
        });
        written.collect()
    }
}

/// Returns the arguments of a call as text, or no arguments if they are not an object.
fn argument_text(call: &ToolCall) -> &str {
    if call.args.is_object() { call.args.as_str() } else { "{}" }
}

/// Returns the content of an answer. The thinking of another model is sent as text.
fn answer_content(
    message: &AssistantMessage,
    own: bool,
    field: Option<ThinkingField>,
) -> Option<MessageContent<'_>> {
    let parts = message.content.iter().filter_map(|block| match block {
        AssistantBlock::Thinking { text } if field == Some(ThinkingField::Content) => {
            Some(MessagePart::Thinking { thinking: [TextPart { kind: "text", text }] })
        }
        AssistantBlock::Thinking { text } if !own => {
            (!text.trim().is_empty()).then(|| MessagePart::text(text))
        }
        AssistantBlock::Text { text } if own => Some(MessagePart::text(text)),
        AssistantBlock::Text { text } => (!text.trim().is_empty()).then(|| MessagePart::text(text)),
        AssistantBlock::Thinking { .. } | AssistantBlock::ToolCall(_) => None,
    });
    // The pieces of one text, if they are of this model.
    join_parts(parts.collect(), if own { "" } else { "\n" })
}

impl<'a> MessagePart<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text { text: text.into() }
    }
}

/// Returns texts as one text, because some servers accept nothing else, or the parts if there are others; `None`
/// without content.
fn join_parts<'a>(mut parts: Vec<MessagePart<'a>>, separator: &str) -> Option<MessageContent<'a>> {
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| match part {
            MessagePart::Text { text } => Some(&**text),
            MessagePart::ImageUrl { .. } | MessagePart::Thinking { .. } => None,
        })
        .collect();
    match (texts.as_deref(), parts.len()) {
        (None, _) => Some(MessageContent::Parts(parts)),
        (Some(_), 1) => match parts.pop() {
            Some(MessagePart::Text { text }) if !text.trim().is_empty() => Some(MessageContent::Text(text)),
            _ => None,
        },
        (Some(texts), _) => {
            let text = texts.join(separator);
            (!text.trim().is_empty()).then_some(MessageContent::Text(text.into()))
        }
    }
}
