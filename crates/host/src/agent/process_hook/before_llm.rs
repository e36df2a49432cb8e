//! The hook before the model is called.

use std::sync::Arc;

use async_trait::async_trait;
use haft_core::hooks::{BeforeModelRequest, OutgoingRequest, Refusal, RequestDecision, RequestEdit};
use haft_core::model::{RequestOptions, Thinking};
use haft_core::sanitize::for_model;
use haft_core::tool::{ToolOwner, ToolSpec};
use haft_protocol::hook::{
    BeforeLlm, FunctionDefinition, InterceptPoint, LlmDecision, LlmEdit, LlmOptions, ToolDefinition,
};
use haft_protocol::message::Time;
use tokio_util::sync::CancellationToken;

use super::before_tool::aborted;
use super::messages;
use super::part::HookPart;
use super::{CHANNEL, CHAT};

const POINT: InterceptPoint = InterceptPoint::BeforeLlm;

#[async_trait]
impl BeforeModelRequest for HookPart {
    async fn before_model_request(
        &self,
        cancel: &CancellationToken,
        request: &OutgoingRequest,
    ) -> RequestDecision {
        let question = BeforeLlm {
            meta: self.turns.meta(BeforeLlm::TRACE_PATH),
            context: self.turns.context(),
            model: request.model.model.clone(),
            messages: messages::told(&request.system, &request.messages),
            tools: request.tools.iter().map(definition).collect(),
            options: options(request),
            graceful_terminal: request.last,
            channel: CHANNEL.to_owned(),
            chat_id: CHAT.to_owned(),
        };
        let by = self.by();
        match self.query(cancel, POINT, question).await {
            Ok(LlmDecision::Continue) | Err(_) => RequestDecision::Send,
            Ok(LlmDecision::Modify(edit)) => {
                let edit = accepted(edit, request, &by, |detail| self.fault(POINT, detail));
                RequestDecision::Edit { by, edit }
            }
            Ok(LlmDecision::AbortTurn { reason }) => {
                RequestDecision::Refuse(Refusal::of_turn(by, aborted(&reason)))
            }
            Ok(LlmDecision::HardAbort { reason }) => {
                RequestDecision::Refuse(Refusal::discarding(by, aborted(&reason)))
            }
        }
    }

    fn edit_refused(&self, detail: &str) {
        self.fault(POINT, detail);
    }

    fn name(&self) -> &str {
        self.entry.name().as_str()
    }
}

/// The changes of a hook that make sense; the rest is reported.
fn accepted(edit: LlmEdit, request: &OutgoingRequest, by: &str, report: impl Fn(&str)) -> RequestEdit {
    let LlmEdit { model, messages, add_tools, options } = edit;
    let now = Time(format!("{:.3}", jiff::Timestamp::now()));
    let messages = messages.and_then(|edits| {
        let edited = messages::edited(edits, &request.messages, &now);
        edited.inspect_err(|detail| report(&format!("{detail}, so no message was changed"))).ok()
    });
    let thinking = options.as_ref().and_then(|options| {
        let level = options.thinking_level.as_deref()?.parse::<Thinking>();
        level.inspect_err(|error| report(&format!("thinking_level: {error}"))).ok()
    });
    let options =
        options.map(|LlmOptions { max_tokens, temperature, .. }| RequestOptions { max_tokens, temperature });
    let owner = ToolOwner::Extension(by.to_owned());
    let add_tools = add_tools.into_iter().map(|tool| spec(tool, owner.clone())).collect();
    RequestEdit { model, messages, add_tools, options, thinking }
}

fn definition(tool: &Arc<ToolSpec>) -> ToolDefinition {
    let function = FunctionDefinition {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: tool.schema.clone(),
    };
    ToolDefinition { function, ..ToolDefinition::default() }
}

fn options(request: &OutgoingRequest) -> LlmOptions {
    let RequestOptions { max_tokens, temperature } = request.options;
    let thinking_level = (request.thinking != Thinking::Default).then(|| request.thinking.name().to_owned());
    LlmOptions { max_tokens, temperature, thinking_level, ..LlmOptions::default() }
}

fn spec(tool: ToolDefinition, owner: ToolOwner) -> ToolSpec {
    let FunctionDefinition { name, description, parameters } = tool.function;
    let description = for_model(&description).text.into_owned();
    ToolSpec { owner, ..ToolSpec::new(name, description).with_schema(parameters) }
}
