//! Shows the model's answer to the user. The transcript already contains the original.

use haft_protocol::content::ToolCall;
use haft_protocol::event::{AgentEvent, NoteLevel};
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::{AssistantBlock, text_of, tool_calls_of};

use super::state::{SuppressedDeltas, TurnInput};
use crate::hooks::{BeforeAssistantMessage, MessageDecision};
use crate::model::ModelResponse;
use crate::run_context::{NoDecision, PANICKED, RunContext};
use crate::session::EntryId;
use crate::session::intervention::InterventionAction;

/// An answer on its way to the user.
pub(super) struct ResponseDisplay<'a> {
    pub(super) run: &'a RunContext,
    pub(super) response: &'a ModelResponse,
    /// The entry of the answer.
    pub(super) entry: Option<EntryId>,
    pub(super) held: SuppressedDeltas,
}

impl ResponseDisplay<'_> {
    pub(super) async fn show(&self) -> TurnInput {
        let Self { response, held, .. } = self;
        let original = text_of(&response.content);
        let mut replaced_by = Vec::new();
        let text = match self.intercept(original.clone(), &mut replaced_by).await {
            Some(InterceptedText::Text(text)) => text,
            Some(InterceptedText::Suppressed { by, reason }) => {
                self.run.record_intervention(None, InterventionAction::Suppressed, vec![by.clone()]);
                let message = if reason.is_empty() { "message suppressed".to_owned() } else { reason };
                let extension = ExtensionName::new(by);
                self.run.emitter.emit(AgentEvent::ExtNotify { extension, level: NoteLevel::Warn, message });
                self.emit_calls();
                return TurnInput::Shown;
            }
            None => return TurnInput::Cancelled,
        };
        let content = match text == original {
            true if held.thinking => without_thinking(&response.content),
            true => response.content.clone(),
            false => {
                self.run.record_intervention(None, InterventionAction::Replaced, replaced_by);
                replace_text(&response.content, &text)
            }
        };
        if held.suppresses_text() {
            self.emit_text(&content, text);
        }
        self.emit_calls();
        let (time, entry) = (self.run.agent.current_time(), self.entry.map(|entry| entry.to_string()));
        self.run.emitter.emit(AgentEvent::AssistantMessage { content, time, entry });
        TurnInput::Shown
    }

    /// Emits the held-back text that the user now sees.
    fn emit_text(&self, content: &[AssistantBlock], text: String) {
        for block in content {
            if let AssistantBlock::Thinking { text } = block {
                self.run.emitter.emit(AgentEvent::ThinkingDelta { delta: text.clone() });
            }
        }
        if !text.is_empty() {
            self.run.emitter.emit(AgentEvent::TextDelta { delta: text });
        }
    }

    /// Emits the calls, if they were held back.
    fn emit_calls(&self) {
        let calls = tool_calls_of(&self.response.content).filter(|_| self.held.deltas);
        for ToolCall { id, name, args } in calls.cloned() {
            self.run.emitter.emit(AgentEvent::ToolUseStart { id: id.clone(), name });
            self.run.emitter.emit(AgentEvent::ToolUseArgs { id: id.clone(), delta: args.to_string() });
            self.run.emitter.emit(AgentEvent::ToolUseEnd { id });
        }
    }

    /// Asks every interceptor in order and records the ones that changed the text; `None` if the run was cancelled.
    async fn intercept(&self, mut text: String, replaced_by: &mut Vec<String>) -> Option<InterceptedText> {
        if text.is_empty() {
            return Some(InterceptedText::Text(text));
        }
        for hook in self.run.agent.current_hooks::<dyn BeforeAssistantMessage>() {
            match self.run.await_decision(hook.before_assistant_message(&self.run.cancel, &text)).await {
                Ok(MessageDecision::Show) => {}
                Ok(MessageDecision::Replace { text: new }) => {
                    if new != text {
                        replaced_by.push(hook.name().to_owned());
                    }
                    text = new;
                }
                Ok(MessageDecision::Suppress { reason }) => {
                    let by = hook.name().to_owned();
                    return Some(InterceptedText::Suppressed { by, reason });
                }
                Err(NoDecision::Cancelled) => return None,
                Err(NoDecision::Panicked) => {
                    let (by, reason) = (hook.name().to_owned(), format!("message withheld: {PANICKED}"));
                    return Some(InterceptedText::Suppressed { by, reason });
                }
            }
        }
        Some(InterceptedText::Text(text))
    }
}

enum InterceptedText {
    Text(String),
    Suppressed { by: String, reason: String },
}

/// Interceptors see only text, and thinking may contain content that they would redact. Thinking is therefore not shown
/// while an interceptor exists.
fn without_thinking(content: &[AssistantBlock]) -> Vec<AssistantBlock> {
    content.iter().filter(|block| !matches!(block, AssistantBlock::Thinking { .. })).cloned().collect()
}

/// Returns the answer with one text in place of all its texts, without thinking.
fn replace_text(content: &[AssistantBlock], text: &str) -> Vec<AssistantBlock> {
    let calls = content.iter().filter(|block| matches!(block, AssistantBlock::ToolCall(_))).cloned();
    std::iter::once(AssistantBlock::Text { text: text.to_owned() }).chain(calls).collect()
}
