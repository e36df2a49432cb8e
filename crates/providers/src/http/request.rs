//! haft's request in the wire library's terms.

use haft_core::model::{ModelError, ModelErrorKind, ModelRequest, Reasoning};
use haft_core::tool::ToolSpec;
use rig_core::completion::{self, CompletionRequest, Effort, OnUnsupported, ToolDefinition};
use rig_core::message::{Message, ToolName};
use serde_json::{Value, json};

use super::endpoint::Endpoint;
use super::{Setup, history};
use crate::catalogue;

/// Builds the request.
///
/// # Errors
/// When there is nothing to send, or a tool's schema cannot be read.
pub(super) fn build(setup: &Setup, request: &ModelRequest) -> Result<CompletionRequest, ModelError> {
    let messages = history::convert(&request.messages, &setup.origin());
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
    built.max_tokens = setup.max_output_tokens;
    // What a model cannot do, and a stop reason that an unknown server invents, must not fail the whole request.
    built.options.on_unsupported = Some(OnUnsupported::Ignore);
    built.options.reasoning = reasoning(setup, request.reasoning);
    match setup.endpoint {
        Endpoint::Messages(_) => built.max_tokens = Some(claude_output(setup)),
        Endpoint::Chat(_) => built.accept_unknown_finish_reasons = true,
        // haft keeps the conversation; the provider must not.
        Endpoint::Responses(_) => built.additional_params = Some(json!({"store": false})),
    }
    Ok(built)
}

/// What an Anthropic answer is limited to when neither the user nor the catalogue says; every Claude model takes it.
const UNKNOWN_CLAUDE_OUTPUT: u64 = 8_192;

/// The longest answer of a Claude model, which Anthropic wants to be told, also where another provider serves it.
fn claude_output(setup: &Setup) -> u64 {
    let known = || catalogue::spec("anthropic", &setup.model)?.max_output_tokens.map(u64::from);
    setup.max_output_tokens.or_else(known).unwrap_or(UNKNOWN_CLAUDE_OUTPUT)
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

/// Tokens of thought per level, for models that count tokens instead of levels.
const BUDGETS: [(Reasoning, u32); 3] =
    [(Reasoning::Low, 4_096), (Reasoning::Medium, 12_288), (Reasoning::High, 24_576)];

fn reasoning(setup: &Setup, wanted: Reasoning) -> Option<completion::Reasoning> {
    let budget = || {
        let reasoning = &setup.spec()?.reasoning;
        let range = reasoning.budget.as_ref().filter(|_| reasoning.levels.is_empty())?;
        let (_, tokens) = BUDGETS.iter().find(|(level, _)| *level == wanted)?;
        let tokens = (*tokens).clamp(*range.start(), *range.end());
        // An answer must be left room beside the thought.
        let room = setup.max_output_tokens.map_or(u64::from(u32::MAX), |most| most / 2);
        Some(completion::Reasoning::Budget { tokens: tokens.min(u32::try_from(room).unwrap_or(u32::MAX)) })
    };
    match wanted {
        Reasoning::Default => None,
        Reasoning::Off => Some(completion::Reasoning::Off),
        Reasoning::Low => budget().or(Some(Effort::Low.into())),
        Reasoning::Medium => budget().or(Some(Effort::Medium.into())),
        Reasoning::High => budget().or(Some(Effort::High.into())),
    }
}
