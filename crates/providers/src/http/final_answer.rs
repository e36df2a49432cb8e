//! The answer as a call of a tool, for APIs that do not take the schema of an answer.

use std::sync::Arc;

use haft_core::model::{ModelEvent, ModelResponse, ToolChoice};
use haft_core::tool::ToolSpec;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, StopCause};

use crate::wire::{OutputMethod, WireFormat, WireRequest};

/// The name of the tool; with more `_` if the program has a tool of this name.
const NAME: &str = "final_answer";

const DESCRIPTION: &str =
    "Gives the final answer. Call it once, when the work is done, and write no other answer.";

/// A tool that no program has: its arguments are the answer.
#[derive(Debug)]
pub(super) struct FinalAnswerTool {
    /// The tools of the request and this one.
    tools: Vec<Arc<ToolSpec>>,
    demand: Option<ToolChoice>,
}

impl FinalAnswerTool {
    /// Returns the tool, if the model can answer this request and the format does not take the schema itself.
    ///
    /// A request without calls gets no other tools. A request that demands another call gets no schema.
    pub(super) fn for_request(format: &dyn WireFormat, request: &mut WireRequest<'_>) -> Option<Self> {
        let output = request.output?;
        let is_native = |request: &WireRequest<'_>| format.output_method(request) == OutputMethod::Native;
        if is_native(request) {
            return None;
        }
        match request.tool_choice {
            Some(ToolChoice::Auto) | None => {}
            Some(ToolChoice::None) => {
                request.tools = &[];
                request.tool_choice = None;
                // Some formats take a schema, but not together with tools.
                if is_native(request) {
                    return None;
                }
            }
            Some(ToolChoice::Required | ToolChoice::Tool(_)) => {
                request.output = None;
                return None;
            }
        }
        let mut name = NAME.to_owned();
        while request.tools.iter().any(|tool| tool.name == name) {
            name.push('_');
        }
        let demand = match request.tools.is_empty() {
            true => ToolChoice::Tool(name.clone()),
            false => ToolChoice::Required,
        };
        let spec = ToolSpec::new(name, DESCRIPTION).with_schema(output.json_schema().clone());
        let tools = request.tools.iter().cloned().chain([Arc::new(spec)]).collect();
        Some(Self { tools, demand: format.can_demand_calls(request).then_some(demand) })
    }

    pub(super) fn name(&self) -> &str {
        self.tools.last().map_or(NAME, |tool| &tool.name)
    }

    /// Offers the tool, and demands a call where the API can.
    pub(super) fn add_to<'a>(&'a self, request: &mut WireRequest<'a>) {
        request.tools = &self.tools;
        request.tool_choice = self.demand.as_ref();
        request.output = None;
    }
}

/// Turns the call of the tool into the text of an answer.
#[derive(Debug)]
pub(super) struct FinalAnswerReader {
    name: String,
    call: Option<ToolCallId>,
}

impl FinalAnswerReader {
    pub(super) fn new(name: String) -> Self {
        Self { name, call: None }
    }

    /// Returns the event of an answer without the tool; `None` if nothing is left of it.
    pub(super) fn convert_event(&mut self, event: ModelEvent) -> Option<ModelEvent> {
        match event {
            ModelEvent::ToolCallStart { id, name } if name == self.name => {
                self.call = Some(id);
                None
            }
            ModelEvent::ToolCallArgs { id, delta } if self.call.as_ref() == Some(&id) => {
                Some(ModelEvent::Text(delta))
            }
            ModelEvent::ToolCallEnd { id } if self.call.as_ref() == Some(&id) => None,
            ModelEvent::Done(response) => Some(ModelEvent::Done(self.convert_response(response))),
            other @ (ModelEvent::Text(_)
            | ModelEvent::Thinking(_)
            | ModelEvent::ToolCallStart { .. }
            | ModelEvent::ToolCallArgs { .. }
            | ModelEvent::ToolCallEnd { .. }
            | ModelEvent::Retry { .. }
            | ModelEvent::Fallback { .. }
            | ModelEvent::Answering(_)
            | _) => Some(other),
        }
    }

    /// The answer alone: text before it would not be JSON.
    fn convert_response(&self, mut response: ModelResponse) -> ModelResponse {
        let is_answer = |block: &AssistantBlock| matches!(block, AssistantBlock::ToolCall(call) if call.name == self.name);
        let Some(index) = response.content.iter().position(is_answer) else { return response };
        let AssistantBlock::ToolCall(call) = response.content.remove(index) else { return response };
        let is_call = |block: &AssistantBlock| matches!(block, AssistantBlock::ToolCall(_));
        response.content.retain(|block| is_call(block) && !is_answer(block));
        if response.content.is_empty() {
            response.content.push(AssistantBlock::Text { text: call.args.to_string() });
            response.stop = StopCause::End;
        }
        // The provider's own form of the message has the call, which has no result.
        response.native = None;
        response
    }
}
