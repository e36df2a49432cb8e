//! Converts haft's request to the wire library's types.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use haft_core::model::{ModelError, ModelErrorKind, ModelFacts, ModelRequest, RequestOptions, ThinkingLevel};
use haft_core::tool::ToolSpec;
use haft_protocol::message::Message as HaftMessage;
use rig_core::catalog::Sampling;
use rig_core::completion::{CompletionRequest, Effort, OnUnsupported, Reasoning, ToolDefinition};
use rig_core::message::{Message, ToolChoice, ToolName};
use serde_json::{Value, json};

use super::endpoint::{ApiEndpoint, is_unknown};
use super::{HttpSetup, history};
use crate::catalog;

/// Builds the request.
///
/// # Errors
/// If there is nothing to send, or a tool's schema cannot be read.
pub(super) fn build(setup: &HttpSetup, request: &ModelRequest) -> Result<CompletionRequest, ModelError> {
    let messages = history::convert_history(&request.messages, &setup.origin());
    let Some(last) = messages.last().cloned() else {
        return Err(ModelError::new(
            ModelErrorKind::Rejected,
            "there is no message to answer; say something",
        ));
    };
    let mut built = CompletionRequest::new(last);
    built.chat_history = messages;
    if !request.system.trim().is_empty() {
        built.chat_history.insert(0, Message::system(&request.system));
    }
    built.tools = request.tools.iter().map(|spec| tool(spec)).collect::<Result<_, _>>()?;
    let most = longest_answer(setup, &request.options);
    built.max_tokens = most;
    // An unsupported option, or an unknown stop reason of a server, must not fail the whole request.
    built.options.on_unsupported = Some(OnUnsupported::Ignore);
    built.options.reasoning = reasoning_options(setup, request.thinking, most);
    built.temperature =
        request.options.temperature.filter(|_| takes_temperature(setup, built.options.reasoning.as_ref()));
    match setup.endpoint {
        ApiEndpoint::Messages(_) => {
            built.max_tokens = Some(most.unwrap_or_else(|| claude_output(setup)));
            if built.tools.is_empty() {
                define_called_tools(&mut built, &request.messages)?;
            }
        }
        ApiEndpoint::Chat(_) => {
            built.accept_unknown_finish_reasons = true;
            built.additional_params = custom_effort_param(setup, request.thinking);
        }
        ApiEndpoint::Gemini(_) => built.accept_unknown_finish_reasons = true,
        ApiEndpoint::Ollama(_) => {
            built.accept_unknown_finish_reasons = true;
            // Ollama truncates the conversation at its own window, which is much smaller than that of most models.
            built.additional_params =
                setup.own_facts.window.map(|window| json!({"options": {"num_ctx": window}}));
        }
        // haft stores the conversation; the provider must not.
        ApiEndpoint::Responses(_) => built.additional_params = Some(json!({"store": false})),
    }
    Ok(built)
}

/// The limit of an Anthropic answer if neither the user nor the catalog sets one; every Claude model accepts it.
const UNKNOWN_CLAUDE_OUTPUT: u64 = 8_192;

/// Returns the maximum length of a Claude answer, which Anthropic requires in requests, also through other providers.
fn claude_output(setup: &HttpSetup) -> u64 {
    let known = || catalog::model_facts("anthropic", &setup.model).max_output;
    setup.own_facts.max_output.or_else(known).unwrap_or(UNKNOWN_CLAUDE_OUTPUT)
}

/// Returns the maximum length of the answer, if it is limited: the request's limit, or else the user's limit, at most
/// the model's limit.
fn longest_answer(setup: &HttpSetup, options: &RequestOptions) -> Option<u64> {
    let wanted = options.max_tokens.map(|wanted| match setup.facts().max_output {
        Some(known) => wanted.min(known),
        None => wanted,
    });
    wanted.or(setup.max_output_tokens)
}

/// True if the model accepts a temperature. Many models do not accept one while they think, and some never do.
fn takes_temperature(setup: &HttpSetup, reasoning: Option<&Reasoning>) -> bool {
    let spec = setup.spec();
    let thinks = match reasoning {
        Some(Reasoning::Off) => false,
        Some(_) => true,
        None => spec.is_some_and(|spec| spec.reasoning.default.is_some()),
    };
    let sampling = spec.and_then(|spec| spec.sampling);
    let only_unthinking =
        sampling == Some(Sampling::ReasoningOff) || matches!(setup.endpoint, ApiEndpoint::Messages(_));
    sampling != Some(Sampling::Never) && !(thinks && only_unthinking)
}

/// Defines every tool that was called, because Anthropic requires definitions even if no tool can be called any more.
fn define_called_tools(built: &mut CompletionRequest, messages: &[HaftMessage]) -> Result<(), ModelError> {
    let calls = messages.iter().flat_map(|message| match message {
        HaftMessage::Assistant(said) => said.tool_calls().map(|call| call.name.as_str()).collect(),
        HaftMessage::User { .. } | HaftMessage::Tool(_) => Vec::new(),
    });
    let called: BTreeSet<&str> = calls.filter(|name| !name.is_empty()).collect();
    let defined = |name| tool(&ToolSpec::new(name, "Cannot be called any more."));
    built.tools = called.into_iter().map(defined).collect::<Result<_, _>>()?;
    built.tool_choice = (!built.tools.is_empty()).then_some(ToolChoice::None);
    Ok(())
}

fn tool(spec: &ToolSpec) -> Result<ToolDefinition, ModelError> {
    let broken = |what: &str| {
        let message = format!("the tool {:?} cannot be offered to a model: {what}", spec.name);
        ModelError::new(ModelErrorKind::Rejected, message)
    };
    let schema: Value = spec.schema.read().map_err(|_| broken("its schema is not JSON"))?;
    let name = ToolName::new(&spec.name).map_err(|_| broken("its name is empty"))?;
    Ok(ToolDefinition::new(name, &spec.description, schema))
}

/// Thinking budgets in tokens per level, for models with budgets instead of levels.
const BUDGETS: [(ThinkingLevel, u32); 5] = [
    (ThinkingLevel::Minimal, 1_024),
    (ThinkingLevel::Low, 4_096),
    (ThinkingLevel::Medium, 12_288),
    (ThinkingLevel::High, 24_576),
    (ThinkingLevel::XHigh, 49_152),
];

/// Returns the thinking options: the supported level nearest to the wanted one; `None` for the model's default or a
/// model that cannot think.
fn reasoning_options(setup: &HttpSetup, wanted: ThinkingLevel, most: Option<u64>) -> Option<Reasoning> {
    if wanted == ThinkingLevel::Default {
        return None;
    }
    let facts =
        setup.facts().or(ModelFacts { thinking: dialect_levels(&setup.endpoint), ..ModelFacts::default() });
    if facts.thinking.as_ref().is_some_and(|levels| levels.iter().all(|level| *level <= ThinkingLevel::Off)) {
        return None;
    }
    let level = facts.clamp_thinking(wanted);
    if level == ThinkingLevel::Off {
        return Some(Reasoning::Off);
    }
    let taken = setup.spec().map(|spec| &spec.reasoning);
    match taken.filter(|taken| taken.levels.is_empty()).and_then(|taken| taken.budget.as_ref()) {
        Some(range) => thinking_budget(most, range, level),
        None => effort_for_level(taken.map(|taken| taken.levels.as_slice()), level).map(Reasoning::from),
    }
}

/// Returns the levels that the API supports for every model.
fn dialect_levels(endpoint: &ApiEndpoint) -> Option<Vec<ThinkingLevel>> {
    match endpoint {
        ApiEndpoint::Ollama(_) => {
            Some(vec![ThinkingLevel::Off, ThinkingLevel::Low, ThinkingLevel::Medium, ThinkingLevel::High])
        }
        ApiEndpoint::Messages(_)
        | ApiEndpoint::Chat(_)
        | ApiEndpoint::Responses(_)
        | ApiEndpoint::Gemini(_) => None,
    }
}

/// Returns the level for a server that is not in the catalog, with OpenAI's names; `None` unless the user configured
/// levels for the model.
fn custom_effort_param(setup: &HttpSetup, wanted: ThinkingLevel) -> Option<Value> {
    let levels = setup.own_facts.thinking.as_ref().filter(|_| is_unknown(&setup.provider))?;
    let level = if wanted == ThinkingLevel::Default || levels.len() < 2 {
        return None;
    } else {
        wanted.clamp_to(levels)
    };
    let name = if level == ThinkingLevel::Off { "none" } else { level.name() };
    Some(json!({ "reasoning_effort": name }))
}

/// Returns the level by its name in the catalog, or the level's own name if the catalog has none.
fn effort_for_level(taken: Option<&[Effort]>, level: ThinkingLevel) -> Option<Effort> {
    const ALL: [Effort; 5] = [Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::XHigh];
    let known = taken.and_then(|taken| catalog::to_effort(taken, level));
    known.or_else(|| catalog::to_effort(&ALL, level))
}

/// Returns the thinking budget; `None` if the answer has no room for the model's minimum budget, because the provider
/// would reject a smaller one.
fn thinking_budget(
    max_output_tokens: Option<u64>,
    range: &RangeInclusive<u32>,
    level: ThinkingLevel,
) -> Option<Reasoning> {
    let (_, tokens) = BUDGETS.iter().find(|(other, _)| *other == level)?;
    // Half of the output is reserved for the answer.
    let room = max_output_tokens.map_or(u32::MAX, |most| u32::try_from(most / 2).unwrap_or(u32::MAX));
    let tokens = (*tokens).clamp(*range.start(), *range.end()).min(room);
    range.contains(&tokens).then_some(Reasoning::Budget { tokens })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ApiDialect, ModelConfig};
    use crate::http::HttpModel;

    #[track_caller]
    fn check(provider: &str, model: &str, max_output_tokens: u64, expect: Option<u32>) {
        let config = ModelConfig {
            max_output_tokens: Some(max_output_tokens),
            ..ModelConfig::new(ApiDialect::AnthropicMessages, provider, model)
        };
        let model = HttpModel::new(config).unwrap();
        let expect = expect.map(|tokens| Reasoning::Budget { tokens });
        assert_eq!(reasoning_options(&model.setup, ThinkingLevel::Low, Some(max_output_tokens)), expect);
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
