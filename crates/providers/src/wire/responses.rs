//! OpenAI Responses, `POST /responses` (<https://platform.openai.com/docs/api-reference/responses/create>).
//!
//! The provider stores nothing (`store: false`). Each request contains the whole conversation, and models return their
//! thinking encrypted, so that the next request can send it back.
//!
//! No request asks for a summary of the thinking, because OpenAI rejects that of organizations that are not verified.

mod decode;
mod item;
mod native;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use haft_core::model::{OutputSchema, ToolChoice};
use haft_core::tool::ToolSpec;
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image};
use haft_protocol::message::ToolMessage;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::json::{write_element, write_open_object};
use super::output::OpenAiSchema;
use super::turn::{NO_OUTPUT, unsupported_image};
use super::{AnswerDecoder, ConversationTurn, OutputMethod, ThinkingOption, WireFormat, WireRequest};
use native::StoredFields;

/// The format of OpenAI Responses.
#[derive(Debug)]
pub(crate) struct OpenAiResponses;

/// The types of images that the API accepts.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The part of an answer that is sent only on request: thinking, for a conversation that the provider does not store.
const ENCRYPTED_THINKING: &str = "reasoning.encrypted_content";

/// The smallest limit of an answer that the API accepts, in tokens.
const LEAST_OUTPUT: u64 = 16;

/// The maximum length of a call's id, in characters.
const MAX_CALL_ID: usize = 64;

#[derive(Serialize)]
struct ResponsesRequestHead<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<FunctionTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ResponsesToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextOptions<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ResponsesReasoning>,
}

#[derive(Serialize)]
struct FunctionTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a RawJson,
    /// Without this field, the API tries strict mode, which accepts only some schemas.
    strict: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResponsesToolChoice<'a> {
    Mode(&'static str),
    Function {
        #[serde(rename = "type")]
        kind: &'static str,
        name: &'a str,
    },
}

#[derive(Serialize)]
struct TextOptions<'a> {
    format: TextFormat<'a>,
}

#[derive(Serialize)]
struct TextFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    schema: RawJson,
    strict: bool,
}

#[derive(Serialize)]
struct ResponsesReasoning {
    effort: &'static str,
}

/// An item of the conversation.
#[derive(Serialize)]
#[serde(untagged)]
enum InputItem<'a> {
    Typed(TypedItem<'a>),
    /// An item of an earlier answer, with the fields that only the API understands.
    Restored {
        #[serde(flatten)]
        item: TypedItem<'a>,
        #[serde(flatten)]
        fields: StoredFields<'a>,
    },
    /// An item as the API sent it.
    Raw(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TypedItem<'a> {
    Message {
        role: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<&'static str>,
        content: ItemContent<'a>,
    },
    Reasoning {
        summary: Vec<ItemPart<'a>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<ItemPart<'a>>,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: &'a str,
        /// A text that contains JSON.
        arguments: Cow<'a, str>,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: ItemContent<'a>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum ItemContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ItemPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ItemPart<'a> {
    InputText {
        text: Cow<'a, str>,
    },
    InputImage {
        detail: &'static str,
        #[serde(serialize_with = "write_data_url")]
        image_url: &'a Image,
    },
    OutputText {
        text: &'a str,
        annotations: [(); 0],
    },
    Refusal {
        refusal: &'a str,
    },
    SummaryText {
        text: &'a str,
    },
    ReasoningText {
        text: &'a str,
    },
}

fn write_data_url<S: Serializer>(image: &&Image, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("data:{};base64,{}", image.mime_type, image.data.as_str()))
}

impl WireFormat for OpenAiResponses {
    fn path(&self, base: &str, _model: &str) -> String {
        format!("{}/responses", base.trim_end_matches('/'))
    }

    fn output_method(&self, _request: &WireRequest<'_>) -> OutputMethod {
        OutputMethod::Native
    }

    fn find_unsupported(&self, request: &WireRequest<'_>) -> Option<&'static str> {
        (!request.stop.is_empty()).then_some(
            "the Responses API has no stop words; leave them out or use Chat Completions (openai-chat)",
        )
    }

    fn write_head(&self, request: &WireRequest<'_>, out: &mut Vec<u8>) {
        let system = request.system.trim();
        let head = ResponsesRequestHead {
            model: request.model,
            stream: true,
            store: false,
            // A model that cannot think rejects the request for its thinking.
            include: (!request.quirks.never_thinks).then_some([ENCRYPTED_THINKING]),
            instructions: (!system.is_empty()).then_some(system),
            tools: request.tools.iter().map(|tool| define_tool(tool)).collect(),
            max_output_tokens: request.max_tokens.map(|most| most.max(LEAST_OUTPUT)),
            temperature: request.temperature,
            top_p: request.top_p,
            tool_choice: request.tool_choice.map(call_demand),
            text: request.output.map(|output| TextOptions { format: text_format(output) }),
            reasoning: effort_level(request).map(|effort| ResponsesReasoning { effort }),
        };
        write_open_object(out, &head);
        out.extend_from_slice(b",\"input\":[");
    }

    fn write_turn(&self, turn: &ConversationTurn<'_>, out: &mut Vec<u8>) {
        match turn {
            ConversationTurn::User(content) => {
                let parts = content_parts(content);
                if !parts.is_empty() {
                    let content = ItemContent::Parts(parts);
                    write_element(out, &TypedItem::Message { role: "user", status: None, content });
                }
            }
            ConversationTurn::Assistant { message, native } => {
                native::assistant_items(message, *native).iter().for_each(|item| write_element(out, item));
            }
            ConversationTurn::Results(results) => {
                results.iter().for_each(|result| write_element(out, &call_output(result)));
            }
        }
    }

    fn decoder(&self) -> Box<dyn AnswerDecoder> {
        Box::<decode::ResponsesDecoder>::default()
    }
}

fn call_demand(choice: &ToolChoice) -> ResponsesToolChoice<'_> {
    match choice {
        ToolChoice::Auto => ResponsesToolChoice::Mode("auto"),
        ToolChoice::None => ResponsesToolChoice::Mode("none"),
        ToolChoice::Required => ResponsesToolChoice::Mode("required"),
        ToolChoice::Tool(name) => ResponsesToolChoice::Function { kind: "function", name },
    }
}

fn text_format(output: &OutputSchema) -> TextFormat<'_> {
    let OpenAiSchema { schema, is_strict } = OpenAiSchema::new(output.json_schema());
    TextFormat { kind: "json_schema", name: output.name(), schema, strict: is_strict }
}

fn define_tool(tool: &ToolSpec) -> FunctionTool<'_> {
    FunctionTool {
        kind: "function",
        name: &tool.name,
        description: &tool.description,
        parameters: &tool.schema,
        strict: false,
    }
}

/// Returns the effort; `None` for the model's default. The API has no thinking budgets.
fn effort_level(request: &WireRequest<'_>) -> Option<&'static str> {
    match request.thinking.filter(|_| !request.quirks.never_thinks)? {
        ThinkingOption::Off => Some("none"),
        ThinkingOption::Effort(effort) => Some(effort),
        ThinkingOption::Budget(_) => None,
    }
}

/// Returns the parts that have content.
fn content_parts(content: &[ContentBlock]) -> Vec<ItemPart<'_>> {
    let parts = content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => {
            (!text.trim().is_empty()).then(|| ItemPart::InputText { text: text.into() })
        }
        ContentBlock::Image(image) if IMAGE_TYPES.contains(&image.mime_type.as_str()) => {
            Some(ItemPart::InputImage { detail: "auto", image_url: image })
        }
        ContentBlock::Image(image) => Some(ItemPart::InputText { text: unsupported_image(image).into() }),
    });
    parts.collect()
}

/// Returns the result of a call. A single text is sent without a list, because some servers accept no lists.
fn call_output(result: &ToolMessage) -> TypedItem<'_> {
    let mut parts = content_parts(&result.content);
    let output = match parts.pop() {
        None => ItemContent::Text(NO_OUTPUT.into()),
        Some(ItemPart::InputText { text }) if parts.is_empty() => ItemContent::Text(text),
        Some(last) => {
            parts.push(last);
            ItemContent::Parts(parts)
        }
    };
    TypedItem::FunctionCallOutput { call_id: call_id(result.call_id.as_str()), output }
}

/// Returns the id of a call in a form that the API accepts: letters, digits, `_` and `-`, at most 64 of them. Ids of
/// other providers may have any form. Two different ids stay different.
fn call_id(id: &str) -> Cow<'_, str> {
    let is_valid = |character: &char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    if id.len() <= MAX_CALL_ID && id.chars().all(|character| is_valid(&character)) {
        return id.into();
    }
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(id);
    let readable: String = id.chars().filter(is_valid).take(MAX_CALL_ID / 2).collect();
    format!("{readable}_{hash:016x}").into()
}
