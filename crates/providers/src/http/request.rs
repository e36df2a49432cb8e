//! Prepares a request: applies the settings of the model, and encodes it.

use std::borrow::Cow;
use std::sync::PoisonError;

use haft_core::model::{
    ModelError, ModelErrorKind, ModelFacts, ModelId, ModelRequest, ProviderRequest, RequestOptions,
    RequestReview, ReviewedRequest, ThinkingLevel,
};
use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::message::{Message, ToolMessage};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio_util::sync::CancellationToken;

use super::HttpSetup;
use super::answer_stream::EncodedRequest;
use super::final_answer::FinalAnswerTool;
use crate::catalog::{self, ModelSpec, SamplingRule};
use crate::config::ApiDialect;
use crate::wire::{ModelQuirks, RequestBody, ThinkingOption, WireRequest};

/// Encodes a request.
///
/// # Errors
/// If there is nothing to send.
pub(super) fn encode(setup: &HttpSetup, request: &ModelRequest) -> Result<EncodedRequest, ModelError> {
    let most = longest_answer(setup, &request.options);
    let thinking = thinking_option(setup, request.thinking, most);
    let messages = readable_messages(setup, &request.messages);
    let takes_sampling = takes_temperature(setup, thinking);
    let mut wire = WireRequest {
        model: &setup.model,
        system: &request.system,
        messages: &messages,
        tools: &request.tools,
        max_tokens: most.or_else(|| claude_output(setup)),
        temperature: request.options.temperature.filter(|_| takes_sampling),
        top_p: request.options.top_p.filter(|_| takes_sampling),
        stop: &request.options.stop,
        tool_choice: request.options.tool_choice.as_ref().filter(|_| !request.tools.is_empty()),
        output: request.output_schema.as_deref(),
        thinking: thinking.filter(|_| accepts_thinking(setup)),
        window: setup.own_facts.window,
        quirks: model_quirks(setup),
    };
    let format = &*setup.endpoint.format;
    if let Some(reason) = format.find_unsupported(&wire) {
        return Err(ModelError::new(ModelErrorKind::Rejected, reason));
    }
    let answer_tool = FinalAnswerTool::for_request(format, &mut wire);
    if let Some(tool) = &answer_tool {
        tool.add_to(&mut wire);
    }
    let mut turns = setup.turns.lock().unwrap_or_else(PoisonError::into_inner);
    let body = RequestBody::write(format, &wire, &setup.origin(), &mut turns);
    let nothing = "there is no message to answer; say something";
    let body = body.ok_or_else(|| ModelError::new(ModelErrorKind::Rejected, nothing))?;
    let (url, headers) = (setup.endpoint.request_url(), format.headers(&wire));
    let answer_tool = answer_tool.map(|tool| tool.name().to_owned());
    Ok(EncodedRequest { url, headers, added_headers: HeaderMap::new(), body, answer_tool })
}

/// Has the hooks of a request review its body, which becomes a JSON value only if there are hooks.
pub(super) async fn apply_review(
    setup: &HttpSetup,
    cancel: &CancellationToken,
    review: &RequestReview,
    mut request: EncodedRequest,
) -> EncodedRequest {
    if review.is_empty() {
        return request;
    }
    let payload = String::from_utf8(request.body.pieces.concat()).ok();
    // Beyond the limits for JSON in haft, the body is sent as it is.
    let Some(payload) = payload.and_then(|text| RawJson::parse(&text).ok()) else {
        tracing::warn!("the request is not shown to hooks: it is nested too deeply or has too many values");
        return request;
    };
    let model = ModelId { provider: setup.provider.clone(), model: setup.model.clone() };
    let ReviewedRequest { payload, headers, .. } =
        review.ask_hooks(cancel, ProviderRequest::new(model, payload)).await;
    if let Some(payload) = payload {
        request.body = RequestBody::from_text(payload.as_str());
    }
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value.trim()))
        {
            request.added_headers.insert(name, value);
        }
    }
    request
}

/// Returns the messages, with texts in place of images for a model that does not read images and rejects them.
fn readable_messages<'a>(setup: &HttpSetup, messages: &'a [Message]) -> Cow<'a, [Message]> {
    let is_image = |block: &ContentBlock| matches!(block, ContentBlock::Image(_));
    let has_image = messages.iter().filter_map(message_content).any(|content| content.iter().any(is_image));
    let known = || setup.own_facts.images.or(option_spec(setup).map(|spec| spec.images));
    if !has_image || known() != Some(false) {
        return messages.into();
    }
    let mut messages = messages.to_vec();
    for message in &mut messages {
        if let Message::User { content, .. } | Message::Tool(ToolMessage { content, .. }) = message {
            for image in content.iter_mut().filter(|block| is_image(block)) {
                *image = ContentBlock::text("(an image that this model cannot read)");
            }
        }
    }
    messages.into()
}

fn message_content(message: &Message) -> Option<&[ContentBlock]> {
    match message {
        Message::User { content, .. } | Message::Tool(ToolMessage { content, .. }) => Some(content),
        Message::Assistant(_) => None,
    }
}

/// Returns the catalog's entry for the options of requests. Many servers offer OpenAI's models under the same names.
fn option_spec(setup: &HttpSetup) -> Option<Cow<'_, ModelSpec>> {
    let of_openai = || {
        let name = setup.model.rsplit('/').next().unwrap_or(&setup.model);
        let spec = || catalog::find_spec("openai", name).map(Cow::Owned);
        (setup.dialect == ApiDialect::OpenAiResponses).then(spec).flatten()
    };
    setup.catalog_spec().map(Cow::Borrowed).or_else(of_openai)
}

fn model_quirks(setup: &HttpSetup) -> ModelQuirks {
    let own_levels = setup.own_facts.thinking.as_ref();
    let none_wanted =
        own_levels.is_some_and(|levels| levels.iter().all(|level| *level <= ThinkingLevel::Off));
    let Some(spec) = option_spec(setup) else {
        let output_schemas = takes_schemas(setup);
        return ModelQuirks { never_thinks: none_wanted, output_schemas, ..ModelQuirks::default() };
    };
    ModelQuirks {
        never_thinks: none_wanted || spec.thinking.is_none(),
        effort_without_adaptive: !spec.notes.adaptive_thinking,
        thinking_off: spec.notes.thinking_off.clone(),
        output_schemas: takes_schemas(setup),
        binds_thinking: spec.notes.binds_thinking && setup.provider == "anthropic",
    }
}

/// True for Anthropic's own models from Claude 4.5 on, which take the schema of an answer.
fn takes_schemas(setup: &HttpSetup) -> bool {
    const WITHOUT: [&str; 7] = [
        "claude-2",
        "claude-3",
        "claude-opus-4-0",
        "claude-opus-4-1",
        "claude-opus-4-2025",
        "claude-sonnet-4-0",
        "claude-sonnet-4-2025",
    ];
    setup.provider == "anthropic" && !WITHOUT.iter().any(|prefix| setup.model.starts_with(prefix))
}

/// Returns the maximum length of a Claude answer, which Anthropic requires in requests, also through other providers.
fn claude_output(setup: &HttpSetup) -> Option<u64> {
    if setup.dialect != ApiDialect::AnthropicMessages {
        return None;
    }
    let known = || catalog::model_facts("anthropic", &setup.model).max_output;
    setup.own_facts.max_output.or_else(known)
}

/// Returns the maximum length of the answer, if it is limited: the request's limit, or else the user's limit, at most
/// the model's limit.
fn longest_answer(setup: &HttpSetup, options: &RequestOptions) -> Option<u64> {
    let wanted = options.max_tokens.map(|wanted| match setup.known_facts().max_output {
        Some(known) => wanted.min(known),
        None => wanted,
    });
    wanted.or(setup.max_output_tokens)
}

/// True if the model accepts a temperature. Many models do not accept one while they think, and some never do.
fn takes_temperature(setup: &HttpSetup, thinking: Option<ThinkingOption>) -> bool {
    let spec = option_spec(setup);
    let notes = spec.as_ref().map(|spec| &spec.notes);
    let thinks = match thinking {
        Some(ThinkingOption::Off) => false,
        Some(ThinkingOption::Effort(_) | ThinkingOption::Budget(_)) => true,
        None => notes.is_some_and(|notes| notes.default_effort.is_some()),
    };
    let sampling = notes.and_then(|notes| notes.sampling);
    let only_unthinking =
        sampling == Some(SamplingRule::ReasoningOff) || setup.dialect == ApiDialect::AnthropicMessages;
    sampling != Some(SamplingRule::Never) && !(thinks && only_unthinking)
}

/// Thinking budgets in tokens per level, for models with budgets instead of levels.
const BUDGETS: [(ThinkingLevel, u32); 5] = [
    (ThinkingLevel::Minimal, 1_024),
    (ThinkingLevel::Low, 4_096),
    (ThinkingLevel::Medium, 12_288),
    (ThinkingLevel::High, 24_576),
    (ThinkingLevel::XHigh, 49_152),
];

/// Returns the thinking option: the supported level nearest to the wanted one; `None` for the model's default, for a
/// model that cannot think, and for one that cannot stop thinking.
fn thinking_option(setup: &HttpSetup, wanted: ThinkingLevel, most: Option<u64>) -> Option<ThinkingOption> {
    if wanted == ThinkingLevel::Default {
        return None;
    }
    let facts = setup.known_facts().or(ModelFacts::default().with_thinking(dialect_levels(setup)));
    if facts.thinking.as_ref().is_some_and(|levels| levels.iter().all(|level| *level <= ThinkingLevel::Off)) {
        return None;
    }
    let level = facts.clamp_thinking(wanted);
    let spec = option_spec(setup);
    if level == ThinkingLevel::Off {
        let never = spec.is_some_and(|spec| !spec.can_disable_thinking());
        return (!never).then_some(ThinkingOption::Off);
    }
    let support = spec.as_ref().and_then(|spec| spec.thinking.as_ref());
    match support.and_then(|support| support.budget.filter(|_| support.counts_tokens())) {
        Some(range) => thinking_budget(most, range, level),
        None => {
            // A model that is not in the catalog gets the level's own name.
            let effort = support.and_then(|support| support.effort_name(level));
            effort.or_else(|| Some(level.name())).map(ThinkingOption::Effort)
        }
    }
}

/// True if the server may accept thinking options. An unknown server of Chat Completions gets them only for a model
/// with levels that the user configured.
fn accepts_thinking(setup: &HttpSetup) -> bool {
    setup.endpoint.format.accepts_thinking()
        || setup.own_facts.thinking.as_ref().is_some_and(|levels| levels.len() >= 2)
}

/// Returns the levels of a model without a catalog entry of its provider: those of the API, or of OpenAI's model.
fn dialect_levels(setup: &HttpSetup) -> Option<Vec<ThinkingLevel>> {
    match setup.dialect {
        ApiDialect::Ollama => {
            Some(vec![ThinkingLevel::Off, ThinkingLevel::Low, ThinkingLevel::Medium, ThinkingLevel::High])
        }
        ApiDialect::AnthropicMessages
        | ApiDialect::OpenAiChat
        | ApiDialect::OpenAiResponses
        | ApiDialect::Gemini => option_spec(setup).and_then(|spec| spec.thinking_levels()),
    }
}

/// Returns the thinking budget; `None` if the answer has no room for the model's minimum budget, because the provider
/// would reject a smaller one.
fn thinking_budget(
    max_output_tokens: Option<u64>,
    (least, most): (u32, u32),
    level: ThinkingLevel,
) -> Option<ThinkingOption> {
    let (_, tokens) = BUDGETS.iter().find(|(listed, _)| *listed == level)?;
    // Half of the output is reserved for the answer.
    let room = max_output_tokens.map_or(u32::MAX, |most| u32::try_from(most / 2).unwrap_or(u32::MAX));
    let tokens = (*tokens).clamp(least, most.max(least)).min(room);
    (least..=most).contains(&tokens).then_some(ThinkingOption::Budget(tokens))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ModelConfig;
    use crate::http::HttpModel;

    #[track_caller]
    fn check(provider: &str, model: &str, max_output_tokens: u64, expect: Option<u32>) {
        let config = ModelConfig {
            max_output_tokens: Some(max_output_tokens),
            ..ModelConfig::new(ApiDialect::AnthropicMessages, provider, model)
        };
        let model = HttpModel::new(config).unwrap();
        let expect = expect.map(ThinkingOption::Budget);
        assert_eq!(thinking_option(&model.setup, ThinkingLevel::Low, Some(max_output_tokens)), expect);
    }

    #[test]
    fn omits_budget_below_the_minimum() {
        check("anthropic", "claude-haiku-4-5", 2_047, None);
        check("anthropic", "claude-haiku-4-5", 2_048, Some(1_024));
        check("anthropic", "claude-haiku-4-5", 100_000, Some(4_096));
        check("openrouter", "google/gemini-2.5-pro", 255, None);
        check("openrouter", "google/gemini-2.5-pro", 256, Some(128));
    }
}
