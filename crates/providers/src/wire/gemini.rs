//! Gemini, `POST /v1beta/models/MODEL:streamGenerateContent` (<https://ai.google.dev/api/generate-content>).
//!
//! Gemini 3 differs from older models: it has ids of calls, images in results, and it rejects calls without a signature
//! (<https://ai.google.dev/gemini-api/docs/thought-signatures>).

mod decode;
mod native;
#[cfg(test)]
mod tests;
mod thinking;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use haft_core::model::ToolChoice;
use haft_core::tool::ToolSpec;
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image};
use haft_protocol::message::ToolMessage;
use serde::Serialize;
use serde_json::value::RawValue;

use super::json::{write_element, write_open_object};
use super::output::AcceptedSchema;
use super::turn::{NO_OUTPUT, called_tools, unsupported_image};
use super::{AnswerDecoder, ConversationTurn, OutputMethod, WireFormat, WireRequest};
use thinking::{ThinkingConfig, thinking_config};

/// The format of Gemini for one model.
#[derive(Debug)]
pub(crate) struct GeminiContent {
    /// True for Gemini 3 and later.
    is_gemini_3: bool,
}

/// The types of images that the API accepts in the user's messages.
const IMAGE_TYPES: [&str; 5] = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];

/// The types of images that the API accepts in results.
const RESULT_IMAGE_TYPES: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];

/// The text of a result that has only images.
const ATTACHED_IMAGE: &str = "(see attached image)";

/// The text before the images of results for models that accept no images in results.
const ATTACHED_IMAGES: &str = "Attached image(s) from tool result:";

/// The longest id of a call that is sent.
const MAX_ID: usize = 64;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiRequestHead<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<SystemInstruction<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolDeclarations<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    generation_config: GenerationConfig<'a>,
}

#[derive(Serialize)]
struct SystemInstruction<'a> {
    parts: [GeminiPart<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolDeclarations<'a> {
    function_declarations: Vec<FunctionDeclaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionDeclaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a RawJson,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    function_calling_config: CallingMode<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallingMode<'a> {
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_function_names: Option<[&'a str; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

#[derive(Serialize)]
struct GeminiMessage<'a> {
    role: &'static str,
    parts: Vec<GeminiPart<'a>>,
}

/// A part of a message.
#[derive(Serialize)]
#[serde(untagged)]
enum GeminiPart<'a> {
    Typed(TypedPart<'a>),
    /// A part as the API sent it.
    Raw(Box<RawValue>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TypedPart<'a> {
    #[serde(flatten)]
    data: PartData<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum PartData<'a> {
    Text(Cow<'a, str>),
    InlineData(InlineData<'a>),
    FunctionCall(GeminiCall<'a>),
    FunctionResponse(FunctionResponse<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct GeminiCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Cow<'a, str>>,
    name: &'a str,
    args: Cow<'a, RawJson>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Cow<'a, str>>,
    name: &'a str,
    response: ResponseText,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<GeminiPart<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum ResponseText {
    Result(String),
    Error(String),
}

impl<'a> From<PartData<'a>> for GeminiPart<'a> {
    fn from(data: PartData<'a>) -> Self {
        Self::Typed(TypedPart { data, thought: false, thought_signature: None })
    }
}

impl GeminiContent {
    pub(crate) fn new(model: &str) -> Self {
        Self { is_gemini_3: thinking::is_gemini_3(model) }
    }

    /// Returns the id of a call as the model accepts it; `None` for models without ids.
    fn call_id<'a>(&self, id: &'a str) -> Option<Cow<'a, str>> {
        self.is_gemini_3.then(|| valid_id(id))
    }

    /// Returns the parts of results, and the images that the model accepts only in a message of the user.
    fn result_parts<'a>(&self, results: &[&'a ToolMessage]) -> (Vec<GeminiPart<'a>>, Vec<GeminiPart<'a>>) {
        let (mut parts, mut attached) = (Vec::new(), Vec::new());
        for result in results.iter().filter(|result| !result.name.is_empty()) {
            let mut images = Vec::new();
            let mut texts = Vec::new();
            for block in &result.content {
                match block {
                    ContentBlock::Text { text } if text.trim().is_empty() => {}
                    ContentBlock::Text { text } => texts.push(Cow::Borrowed(text.as_str())),
                    ContentBlock::Image(image) if RESULT_IMAGE_TYPES.contains(&image.mime_type.as_str()) => {
                        images.push(image_part(image));
                    }
                    ContentBlock::Image(image) => texts.push(unsupported_image(image).into()),
                }
            }
            let text = match (texts.is_empty(), images.is_empty()) {
                (false, _) => texts.join("\n"),
                (true, false) => ATTACHED_IMAGE.to_owned(),
                (true, true) => NO_OUTPUT.to_owned(),
            };
            if !self.is_gemini_3 {
                attached.append(&mut images);
            }
            let response = FunctionResponse {
                id: self.call_id(result.call_id.as_str()),
                name: &result.name,
                response: if result.is_error {
                    ResponseText::Error(text)
                } else {
                    ResponseText::Result(text)
                },
                parts: images,
            };
            parts.push(PartData::FunctionResponse(response).into());
        }
        (parts, attached)
    }
}

fn calling_mode(choice: &ToolChoice) -> CallingMode<'_> {
    let (mode, name) = match choice {
        ToolChoice::Auto => ("AUTO", None),
        ToolChoice::None => ("NONE", None),
        ToolChoice::Required => ("ANY", None),
        ToolChoice::Tool(name) => ("ANY", Some(name.as_str())),
    };
    CallingMode { mode, allowed_function_names: name.map(|name| [name]) }
}

impl WireFormat for GeminiContent {
    fn path(&self, base: &str, model: &str) -> String {
        let base = base.trim_end_matches('/');
        let model = model.strip_prefix("models/").unwrap_or(model);
        // The answer is a list of JSON objects without `alt=sse`.
        format!("{base}/v1beta/models/{model}:streamGenerateContent?alt=sse")
    }

    /// Before Gemini 3, a request with functions cannot ask for JSON.
    fn output_method(&self, request: &WireRequest<'_>) -> OutputMethod {
        let has_functions = || !request.tools.is_empty() || !called_tools(request.messages).is_empty();
        match self.is_gemini_3 || !has_functions() {
            true => OutputMethod::Native,
            false => OutputMethod::ToolCall,
        }
    }

    fn write_head(&self, request: &WireRequest<'_>, out: &mut Vec<u8>) {
        let mut declarations: Vec<FunctionDeclaration<'_>> =
            request.tools.iter().map(|tool| declare_tool(tool)).collect();
        let withdrawn =
            if declarations.is_empty() { called_tools(request.messages) } else { BTreeSet::new() };
        let no_arguments = RawJson::empty_object_schema();
        declarations.extend(withdrawn.iter().map(|name| FunctionDeclaration {
            name,
            description: "Cannot be called any more.",
            parameters_json_schema: &no_arguments,
        }));
        let tools = (!declarations.is_empty()).then_some(declarations);
        let choice = if withdrawn.is_empty() { request.tool_choice } else { Some(&ToolChoice::None) };
        let system = (!request.system.trim().is_empty())
            .then(|| SystemInstruction { parts: [PartData::Text(request.system.into()).into()] });
        let head = GeminiRequestHead {
            system_instruction: system,
            tools: tools
                .into_iter()
                .map(|function_declarations| ToolDeclarations { function_declarations })
                .collect(),
            tool_config: choice.map(|choice| ToolConfig { function_calling_config: calling_mode(choice) }),
            generation_config: GenerationConfig {
                temperature: request.temperature,
                top_p: request.top_p,
                stop_sequences: request.stop,
                response_mime_type: request.output.map(|_| "application/json"),
                response_json_schema: request
                    .output
                    .map(|output| AcceptedSchema::new(output.json_schema()).schema),
                max_output_tokens: request.max_tokens,
                thinking_config: request
                    .thinking
                    .and_then(|thinking| thinking_config(request.model, thinking)),
            },
        };
        write_open_object(out, &head);
        out.extend_from_slice(b",\"contents\":[");
    }

    fn write_turn(&self, turn: &ConversationTurn<'_>, out: &mut Vec<u8>) {
        match turn {
            ConversationTurn::User(content) => write_content("user", user_parts(content), out),
            ConversationTurn::Assistant { message, native } => {
                write_content("model", native::assistant_parts(self, message, *native), out);
            }
            // Text next to results makes the model's answers worse, so images have a message of their own.
            ConversationTurn::Results(results) => {
                let (parts, mut attached) = self.result_parts(results);
                write_content("user", parts, out);
                if !attached.is_empty() {
                    attached.insert(0, PartData::Text(ATTACHED_IMAGES.into()).into());
                    write_content("user", attached, out);
                }
            }
        }
    }

    fn decoder(&self) -> Box<dyn AnswerDecoder> {
        Box::<decode::ContentDecoder>::default()
    }
}

fn declare_tool(tool: &ToolSpec) -> FunctionDeclaration<'_> {
    FunctionDeclaration {
        name: &tool.name,
        description: &tool.description,
        parameters_json_schema: &tool.schema,
    }
}

/// Writes a message, unless it has no parts, because the API rejects those.
fn write_content(role: &'static str, parts: Vec<GeminiPart<'_>>, out: &mut Vec<u8>) {
    if !parts.is_empty() {
        write_element(out, &GeminiMessage { role, parts });
    }
}

fn user_parts(content: &[ContentBlock]) -> Vec<GeminiPart<'_>> {
    let parts = content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => (!text.trim().is_empty()).then(|| PartData::Text(text.into()).into()),
        ContentBlock::Image(image) if IMAGE_TYPES.contains(&image.mime_type.as_str()) => {
            Some(image_part(image))
        }
        ContentBlock::Image(image) => Some(PartData::Text(unsupported_image(image).into()).into()),
    });
    parts.collect()
}

fn image_part(image: &Image) -> GeminiPart<'_> {
    PartData::InlineData(InlineData { mime_type: &image.mime_type, data: image.data.as_str() }).into()
}

/// Returns an id with the characters and the length that the API accepts. A hash keeps changed ids distinct.
fn valid_id(id: &str) -> Cow<'_, str> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !id.is_empty() && id.len() <= MAX_ID && id.bytes().all(is_valid) {
        return Cow::Borrowed(id);
    }
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    let hash = format!("_{:016x}", hasher.finish());
    let kept = id.chars().map(|c| if u8::try_from(c).is_ok_and(is_valid) { c } else { '_' });
    Cow::Owned(kept.take(MAX_ID - hash.len()).chain(hash.chars()).collect())
}
