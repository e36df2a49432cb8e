//! One answer while it arrives: converts the wire library's events to haft's.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use futures::StreamExt;
use haft_core::model::{ModelEvent, ModelResponse, wrap_invalid_args};
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, NativeMessage, StopCause, TokenUsage};
use rig_core::completion::{self, CompletionResponse};
use rig_core::error::ProviderError;
use rig_core::message::{self as rig, AssistantContent, StopReason};
use rig_core::streaming::{CompletionStream, Item, Part, PartKind, StreamEvent};

use super::HttpSetup;
use super::call_ids::CallIds;
use crate::limits::MAX_BLOCKS;

pub(super) struct ResponseStream {
    /// The stream; [`None`] once the answer is complete.
    stream: Option<CompletionStream>,
    call_ids: Arc<CallIds>,
    calls: HashMap<Part, StreamedCall>,
    blocks: BTreeMap<Part, AssistantBlock>,
    /// The number of blocks that have begun.
    begun: usize,
    pending: VecDeque<ModelEvent>,
    setup: Arc<HttpSetup>,
}

struct StreamedCall {
    id: ToolCallId,
    args: String,
}

#[derive(Debug)]
pub(super) enum AttemptError {
    Failed(ProviderError),
    /// The provider ended the answer with a refusal or an error.
    Refused(String),
}

impl ResponseStream {
    pub(super) fn new(stream: CompletionStream, call_ids: Arc<CallIds>, setup: Arc<HttpSetup>) -> Self {
        Self {
            stream: Some(stream),
            call_ids,
            calls: HashMap::new(),
            blocks: BTreeMap::new(),
            begun: 0,
            pending: VecDeque::new(),
            setup,
        }
    }

    /// Returns the next event; [`None`] after [`ModelEvent::Done`].
    pub(super) async fn next(&mut self) -> Option<Result<ModelEvent, AttemptError>> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(Ok(event));
            }
            match self.stream.as_mut()?.next().await {
                Some(Ok(Item::Event(event))) => {
                    self.begun += usize::from(matches!(event, StreamEvent::Start { .. }));
                    if self.begun > MAX_BLOCKS {
                        return Some(Err(AttemptError::Failed(too_many_blocks())));
                    }
                    self.handle_event(event);
                }
                Some(Ok(Item::Unknown(_))) => {}
                Some(Err(error)) => return Some(Err(AttemptError::Failed(error))),
                None => {
                    let response = self.stream.take()?.finish().await;
                    return Some(match response {
                        Ok(response) => self.complete(&response),
                        Err(error) => Err(AttemptError::Failed(error)),
                    });
                }
            }
        }
    }

    fn handle_event(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Start { part, kind: PartKind::ToolCall, name } => {
                let id = self.call_ids.next();
                let name = name.map(|name| name.as_str().to_owned()).unwrap_or_default();
                self.calls.insert(part, StreamedCall { id: id.clone(), args: String::new() });
                self.pending.push_back(ModelEvent::ToolCallStart { id, name });
            }
            StreamEvent::Start { .. } => {}
            StreamEvent::Text { text, .. } => self.pending.push_back(ModelEvent::Text(text)),
            StreamEvent::Reasoning { text, .. } => self.pending.push_back(ModelEvent::Thinking(text)),
            StreamEvent::Arguments { part, json } => self.add_arguments(part, json),
            StreamEvent::End { part, content } => self.end(part, content),
        }
    }

    fn add_arguments(&mut self, part: Part, delta: String) {
        let Some(call) = self.calls.get_mut(&part) else { return };
        call.args.push_str(&delta);
        self.pending.push_back(ModelEvent::ToolCallArgs { id: call.id.clone(), delta });
    }

    fn end(&mut self, part: Part, content: AssistantContent) {
        match content {
            AssistantContent::ToolCall(call) => self.end_call(part, &call),
            AssistantContent::Text(said) if !said.text.is_empty() => {
                self.blocks.insert(part, AssistantBlock::Text { text: said.text });
            }
            AssistantContent::Reasoning(thought) if !thought.text.is_empty() => {
                self.blocks.insert(part, AssistantBlock::Thinking { text: thought.text });
            }
            AssistantContent::Text(_) | AssistantContent::Reasoning(_) => {}
            // Content without a block type in haft stays in the provider's native form of the message.
            AssistantContent::Image(_) | AssistantContent::Opaque(_) | _ => {}
        }
    }

    fn end_call(&mut self, part: Part, ended: &rig::ToolCall) {
        let unstreamed = self.calls.get(&part).is_some_and(|call| call.args.trim().is_empty());
        if unstreamed && !ended.function.arguments.is_empty() {
            self.add_arguments(part, ended.function.arguments_value().to_string());
        }
        let Some(call) = self.calls.remove(&part) else { return };
        self.pending.push_back(ModelEvent::ToolCallEnd { id: call.id.clone() });
        let name = ended.function.name.as_str().to_owned();
        let call = ToolCall { id: call.id, name, args: parse_arguments(&call.args) };
        self.blocks.insert(part, AssistantBlock::ToolCall(call));
    }

    fn complete(&mut self, response: &CompletionResponse) -> Result<ModelEvent, AttemptError> {
        let stop = stop(response.stop())?;
        Ok(ModelEvent::Done(ModelResponse {
            content: std::mem::take(&mut self.blocks).into_values().collect(),
            stop,
            usage: usage(&response.usage, &self.setup),
            native: native_message(response, &self.setup.origin()),
        }))
    }
}

fn too_many_blocks() -> ProviderError {
    ProviderError::Response(format!(
        "the answer has more than {MAX_BLOCKS} texts and tool calls; send the prompt again, or choose another model"
    ))
}

fn stop(reason: StopReason) -> Result<StopCause, AttemptError> {
    match reason {
        StopReason::Stop => Ok(StopCause::End),
        StopReason::ToolUse => Ok(StopCause::ToolUse),
        StopReason::Length => Ok(StopCause::Length),
        StopReason::Error(reason) | StopReason::Aborted(reason) => Err(AttemptError::Refused(reason)),
        other => Err(AttemptError::Refused(format!("{other:?}"))),
    }
}

/// Returns the model's arguments unchanged if they are valid.
fn parse_arguments(text: &str) -> RawJson {
    if text.trim().is_empty() {
        return RawJson::empty_object();
    }
    RawJson::parse(text).ok().filter(RawJson::is_object).unwrap_or_else(|| wrap_invalid_args(text))
}

fn usage(usage: &completion::Usage, setup: &HttpSetup) -> TokenUsage {
    let cache_read = usage.cached_input_tokens.unwrap_or(0);
    let cache_write = usage.cache_creation_input_tokens.unwrap_or(0);
    let all = usage.input_tokens.unwrap_or(0);
    let counted = TokenUsage {
        input: all.saturating_sub(cache_read).saturating_sub(cache_write),
        output: usage.output_tokens.unwrap_or(0),
        cache_read,
        cache_write,
        cost_usd: 0.0,
    };
    TokenUsage { cost_usd: setup.cost(&counted, usage.cost.as_ref().map(|cost| cost.total)), ..counted }
}

fn native_message(response: &CompletionResponse, origin: &str) -> Option<NativeMessage> {
    let Some(rig::Message::Assistant(message)) = response.message() else { return None };
    Some(NativeMessage { origin: origin.to_owned(), data: RawJson::from_value(&message).ok()? })
}
