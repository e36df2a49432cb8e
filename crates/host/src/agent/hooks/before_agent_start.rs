//! The hook before the agent works on a prompt for one extension.

use async_trait::async_trait;
use haft_core::hooks::{AgentStart, AgentStartAdditions, BeforeAgentStart, PromptSection};
use haft_core::image;
use haft_core::sanitize::strip_hidden_chars;
use haft_core::session::entry::CustomMessage;
use haft_protocol::content::{ContentBlock, joined_text};
use haft_protocol::ext::{BeforeAgentStartDecision, InterceptBeforeAgentStart, StartMessage};
use tokio_util::sync::CancellationToken;

use crate::agent::managed_extension::ManagedExtension;
use crate::extension::frontend::LabeledText;

#[async_trait]
impl BeforeAgentStart for ManagedExtension {
    async fn before_agent_start(
        &self,
        cancel: &CancellationToken,
        start: &AgentStart,
    ) -> AgentStartAdditions {
        let question = InterceptBeforeAgentStart {
            prompt: joined_text(&start.prompt),
            system_prompt: start.system_prompt.clone(),
        };
        let Ok(decision) = self.query(cancel, question).await else {
            return AgentStartAdditions::default();
        };
        let BeforeAgentStartDecision { section, system_prompt, messages } = decision;
        let section = match system_prompt {
            Some(whole) if section.is_empty() => appended_section(self, &whole, &start.system_prompt),
            Some(_) | None => section,
        };
        let messages = messages.into_iter().map(|message| custom_message(self, message));
        let messages = messages.collect::<Result<_, _>>().unwrap_or_else(|error| {
            let error = format!("before_agent_start intercept: the messages are not added: {error}");
            self.report_hook_error(&error);
            Vec::new()
        });
        AgentStartAdditions::default()
            .with_sections(clean_section(self, &section).into_iter().collect())
            .with_messages(messages)
    }

    fn name(&self) -> &str {
        Self::name(self).as_str()
    }
}

/// Returns the section without invisible characters, or `None` if it is empty.
fn clean_section(entry: &ManagedExtension, section: &str) -> Option<PromptSection> {
    let read = strip_hidden_chars(section);
    report_hidden(entry, read.hidden, "the section of the system prompt");
    (!read.text.trim().is_empty()).then(|| PromptSection::of_extension(entry.name().clone(), read.text))
}

/// Returns the section that a whole prompt adds to the prompt in the request. The prompt contains sections of
/// other extensions, so nothing may be removed from it.
fn appended_section(entry: &ManagedExtension, whole: &str, asked: &str) -> String {
    if let Some(added) = whole.strip_prefix(asked) {
        return added.trim().to_owned();
    }
    entry.report_hook_error(
        "before_agent_start intercept: the system_prompt does not begin with the prompt in the request; send \
         append_system_prompt instead",
    );
    String::new()
}

/// Adds the origin to a message, and checks its images.
fn custom_message(entry: &ManagedExtension, message: StartMessage) -> Result<CustomMessage, String> {
    let StartMessage { kind, content, images, display, details } = message;
    let LabeledText { text, hidden } = LabeledText::new(entry.name(), "", &content);
    report_hidden(entry, hidden, "a message of the extension");
    let unusable = |error| format!("an image cannot be used: {error}");
    let images = images.into_iter().map(|given| image::from_base64(given.data).map_err(unusable));
    let text = std::iter::once(Ok(ContentBlock::text(text)));
    let content =
        text.chain(images.map(|image| image.map(ContentBlock::Image))).collect::<Result<_, String>>()?;
    Ok(CustomMessage::new(entry.name().to_string(), kind, content)
        .with_display(display)
        .with_details(details))
}

fn report_hidden(entry: &ManagedExtension, hidden: usize, what: &str) {
    if let Some(extension) = entry.handle() {
        extension.reporter().report_hidden_text(hidden, what);
    }
}
