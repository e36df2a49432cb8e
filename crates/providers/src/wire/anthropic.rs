//! Anthropic Messages, `POST /v1/messages` (<https://docs.anthropic.com/en/api/messages>).
//!
//! Three cache breakpoints: the last tool, the system prompt, and the last block of the conversation.

mod decode;
mod native;

use std::borrow::Cow;
use std::collections::BTreeSet;

use haft_core::model::{OutputSchema, ToolChoice};
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image};
use haft_protocol::message::ToolMessage;
use serde::Serialize;

use super::json::{write_element, write_open_object};
use super::output::AcceptedSchema;
use super::turn::{NO_OUTPUT, called_tools, unsupported_image};
use super::{AnswerDecoder, ConversationTurn, OutputMethod, ThinkingOption, WireFormat, WireRequest};

/// The format of Anthropic Messages.
#[derive(Debug)]
pub(crate) struct AnthropicMessages;

/// The version of the API that this module follows.
const VERSION: &str = "2023-06-01";

/// The beta in which a request can drop thinking that was made with other tools or another system prompt, instead of
/// being rejected.
const THINKING_BINDING: &str = "thinking-binding-controls-2026-08-01";

/// The types of images that the API accepts.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The limit of an answer if neither the user nor the catalog sets one; every Claude model accepts it.
const UNKNOWN_OUTPUT: u64 = 8_192;

#[derive(Serialize)]
struct MessagesRequestHead<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<AnthropicBlock<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<AnthropicTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<AnthropicToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingParam<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
}

/// An object with only a type.
#[derive(Debug, Clone, Copy, Serialize)]
struct TypeTag {
    #[serde(rename = "type")]
    kind: &'static str,
}

const EPHEMERAL: TypeTag = TypeTag { kind: "ephemeral" };

#[derive(Serialize)]
struct AnthropicTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawJson,
    /// Asks for the arguments while they are written.
    eager_input_streaming: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<TypeTag>,
}

#[derive(Serialize)]
struct ThinkingParam<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_binding: Option<BlockBinding>,
}

#[derive(Serialize)]
struct BlockBinding {
    prefix_mismatch_behavior: &'static str,
}

#[derive(Serialize)]
struct AnthropicToolChoice<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

#[derive(Serialize)]
struct OutputConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<OutputFormat>,
}

#[derive(Serialize)]
struct OutputFormat {
    #[serde(rename = "type")]
    kind: &'static str,
    schema: RawJson,
}

#[derive(Serialize)]
struct MessageParam<'a> {
    role: &'static str,
    content: Vec<AnthropicBlock<'a>>,
}

/// A block of content.
#[derive(Serialize)]
#[serde(untagged)]
enum AnthropicBlock<'a> {
    Typed(TypedBlock<'a>),
    /// A block as the API sent it.
    Raw(&'a serde_json::value::RawValue),
    Marked {
        #[serde(flatten)]
        block: TypedBlock<'a>,
        cache_control: TypeTag,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TypedBlock<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Thinking {
        thinking: &'a str,
        signature: String,
    },
    Image {
        source: ImageSource<'a>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Cow<'a, RawJson>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: Vec<TypedBlock<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
struct ImageSource<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'a str,
    data: &'a str,
}

impl WireFormat for AnthropicMessages {
    fn path(&self, base: &str, _model: &str) -> String {
        let base = base.trim_end_matches('/');
        let version = if base.ends_with("/v1") { "" } else { "/v1" };
        format!("{base}{version}/messages")
    }

    fn headers(&self, request: &WireRequest<'_>) -> Vec<(&'static str, &'static str)> {
        let beta = drops_bound_thinking(request).then_some(("anthropic-beta", THINKING_BINDING));
        [("anthropic-version", VERSION)].into_iter().chain(beta).collect()
    }

    fn output_method(&self, request: &WireRequest<'_>) -> OutputMethod {
        let is_closed =
            |output: &OutputSchema| AcceptedSchema::without_limits(output.json_schema()).is_closed;
        match request.quirks.output_schemas && request.output.is_none_or(is_closed) {
            true => OutputMethod::Native,
            false => OutputMethod::ToolCall,
        }
    }

    fn can_demand_calls(&self, request: &WireRequest<'_>) -> bool {
        thinking_param(request).is_none_or(|thinking| !matches!(thinking.kind, "enabled" | "adaptive"))
    }

    fn find_unsupported(&self, request: &WireRequest<'_>) -> Option<&'static str> {
        // Newer models answer both with status 400.
        if request.temperature.is_some() && request.top_p.is_some() {
            return Some("Claude does not accept temperature and top_p together; set one of both");
        }
        let demanded = matches!(request.tool_choice, Some(ToolChoice::Required | ToolChoice::Tool(_)));
        (demanded && !self.can_demand_calls(request))
            .then_some("Claude cannot be made to call a tool while it thinks; turn thinking off or the tool choice to auto")
    }

    fn write_head(&self, request: &WireRequest<'_>, out: &mut Vec<u8>) {
        let mut tools: Vec<AnthropicTool<'_>> = request.tools.iter().map(|tool| define_tool(tool)).collect();
        let called = if tools.is_empty() { called_tools(request.messages) } else { BTreeSet::new() };
        let no_arguments = RawJson::empty_object_schema();
        tools.extend(called.iter().map(|name| define_withdrawn_tool(name, &no_arguments)));
        if let Some(last) = tools.last_mut() {
            last.cache_control = Some(EPHEMERAL);
        }
        let system = (!request.system.trim().is_empty()).then(|| AnthropicBlock::Marked {
            block: TypedBlock::Text { text: request.system.into() },
            cache_control: EPHEMERAL,
        });
        let head = MessagesRequestHead {
            model: request.model,
            max_tokens: request.max_tokens.unwrap_or(UNKNOWN_OUTPUT),
            stream: true,
            system: system.into_iter().collect(),
            tools,
            tool_choice: match called.is_empty() {
                true => request.tool_choice.map(call_demand),
                false => Some(call_demand(&ToolChoice::None)),
            },
            temperature: request.temperature,
            top_p: request.top_p,
            stop_sequences: request.stop,
            thinking: thinking_param(request),
            output_config: output_config(request),
        };
        write_open_object(out, &head);
        out.extend_from_slice(b",\"messages\":[");
    }

    fn write_turn(&self, turn: &ConversationTurn<'_>, out: &mut Vec<u8>) {
        write_message(turn, false, out);
    }

    fn write_last_turn(&self, turn: &ConversationTurn<'_>, out: &mut Vec<u8>) {
        write_message(turn, true, out);
    }

    fn decoder(&self) -> Box<dyn AnswerDecoder> {
        Box::<decode::MessagesDecoder>::default()
    }
}

fn define_tool(tool: &haft_core::tool::ToolSpec) -> AnthropicTool<'_> {
    AnthropicTool {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.schema,
        eager_input_streaming: true,
        cache_control: None,
    }
}

fn define_withdrawn_tool<'a>(name: &'a str, schema: &'a RawJson) -> AnthropicTool<'a> {
    AnthropicTool {
        name,
        description: "Cannot be called any more.",
        input_schema: schema,
        eager_input_streaming: true,
        cache_control: None,
    }
}

fn thinking_param<'a>(request: &'a WireRequest<'_>) -> Option<ThinkingParam<'a>> {
    let quirks = &request.quirks;
    let kind = match request.thinking {
        Some(ThinkingOption::Off) => quirks.thinking_off.as_deref().unwrap_or("disabled"),
        Some(ThinkingOption::Budget(_)) => "enabled",
        Some(ThinkingOption::Effort(_)) if quirks.effort_without_adaptive => return None,
        Some(ThinkingOption::Effort(_)) => "adaptive",
        None if quirks.binds_thinking => "adaptive",
        None => return None,
    };
    let budget_tokens = match request.thinking {
        Some(ThinkingOption::Budget(tokens)) => Some(tokens),
        Some(ThinkingOption::Off | ThinkingOption::Effort(_)) | None => None,
    };
    let binding = BlockBinding { prefix_mismatch_behavior: "drop_block" };
    Some(ThinkingParam {
        kind,
        budget_tokens,
        block_binding: drops_bound_thinking(request).then_some(binding),
    })
}

/// True if the request thinks adaptively with a model that binds its thinking. Only this mode can drop a block.
fn drops_bound_thinking(request: &WireRequest<'_>) -> bool {
    request.quirks.binds_thinking
        && matches!(request.thinking, None | Some(ThinkingOption::Effort(_)))
        && !request.quirks.effort_without_adaptive
}

fn call_demand(choice: &ToolChoice) -> AnthropicToolChoice<'_> {
    let (kind, name) = match choice {
        ToolChoice::Auto => ("auto", None),
        ToolChoice::None => ("none", None),
        ToolChoice::Required => ("any", None),
        ToolChoice::Tool(name) => ("tool", Some(name.as_str())),
    };
    AnthropicToolChoice { kind, name }
}

fn output_config(request: &WireRequest<'_>) -> Option<OutputConfig> {
    let effort = effort_level(request);
    let format = request.output.map(|output| OutputFormat {
        kind: "json_schema",
        schema: AcceptedSchema::without_limits(output.json_schema()).schema,
    });
    (effort.is_some() || format.is_some()).then_some(OutputConfig { effort, format })
}

fn effort_level(request: &WireRequest<'_>) -> Option<&'static str> {
    match request.thinking {
        // No Claude model has this level.
        Some(ThinkingOption::Effort("minimal")) => Some("low"),
        Some(ThinkingOption::Effort(effort)) => Some(effort),
        Some(ThinkingOption::Off | ThinkingOption::Budget(_)) | None => None,
    }
}

fn write_message(turn: &ConversationTurn<'_>, last: bool, out: &mut Vec<u8>) {
    let (role, mut content) = match turn {
        ConversationTurn::User(content) => ("user", user_blocks(content)),
        ConversationTurn::Assistant { message, native } => {
            ("assistant", native::assistant_blocks(message, *native))
        }
        ConversationTurn::Results(results) => {
            ("user", results.iter().map(|result| AnthropicBlock::Typed(tool_result(result))).collect())
        }
    };
    if last && role == "user" {
        content = mark_last(content);
    }
    if !content.is_empty() {
        write_element(out, &MessageParam { role, content });
    }
}

/// Sets the cache breakpoint at the last block.
fn mark_last(mut content: Vec<AnthropicBlock<'_>>) -> Vec<AnthropicBlock<'_>> {
    let last = content.pop().map(|block| match block {
        AnthropicBlock::Typed(block) => AnthropicBlock::Marked { block, cache_control: EPHEMERAL },
        other @ (AnthropicBlock::Raw(_) | AnthropicBlock::Marked { .. }) => other,
    });
    content.extend(last);
    content
}

fn user_blocks(content: &[ContentBlock]) -> Vec<AnthropicBlock<'_>> {
    content_blocks(content).into_iter().map(AnthropicBlock::Typed).collect()
}

/// Returns the blocks that have content, because the API rejects empty texts.
fn content_blocks(content: &[ContentBlock]) -> Vec<TypedBlock<'_>> {
    let blocks = content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => {
            (!text.trim().is_empty()).then(|| TypedBlock::Text { text: text.into() })
        }
        ContentBlock::Image(image) => Some(image_block(image)),
    });
    blocks.collect()
}

fn image_block(image: &Image) -> TypedBlock<'_> {
    if !IMAGE_TYPES.contains(&image.mime_type.as_str()) {
        return TypedBlock::Text { text: unsupported_image(image).into() };
    }
    let source = ImageSource { kind: "base64", media_type: &image.mime_type, data: image.data.as_str() };
    TypedBlock::Image { source }
}

fn tool_result(result: &ToolMessage) -> TypedBlock<'_> {
    let mut content = content_blocks(&result.content);
    // The API accepts only text in the result of a failed call.
    if result.is_error {
        content.retain(|block| matches!(block, TypedBlock::Text { .. }));
    }
    if content.is_empty() {
        content.push(TypedBlock::Text { text: NO_OUTPUT.into() });
    }
    TypedBlock::ToolResult { tool_use_id: result.call_id.as_str(), content, is_error: result.is_error }
}
