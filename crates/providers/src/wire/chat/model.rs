//! Facts about the model that change its requests.

use super::super::{ThinkingOption, WireRequest};
use super::call_ids::CallIdRule;
use super::server::{ChatServer, ThinkingFields, openai_thinks};

/// The catalog's and the user's facts about a model.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CatalogEntry {
    pub(crate) reads_images: Option<bool>,
    pub(crate) thinks: Option<bool>,
    /// OpenAI: the model thinks by default, but cannot call tools while it thinks.
    pub(crate) tools_need_thinking_off: bool,
}

/// A model of a server.
#[derive(Debug)]
pub(super) struct ChatModel {
    server: ChatServer,
    name: String,
    at_deepseek: bool,
    /// The rule for the ids of calls.
    pub(super) call_ids: CallIdRule,
    entry: CatalogEntry,
}

impl ChatModel {
    pub(super) fn new(server: ChatServer, host: &str, model: &str, entry: CatalogEntry) -> Self {
        let call_ids = if is_mistral(model) {
            CallIdRule::Mistral
        } else if server.is_openai() {
            CallIdRule::Short
        } else if model.contains("claude") {
            CallIdRule::Claude
        } else {
            CallIdRule::Any
        };
        let at_deepseek = server.only_text() || host == "deepseek.com" || host.ends_with(".deepseek.com");
        Self { server, name: model.to_owned(), at_deepseek, call_ids, entry }
    }

    /// True if the model reads images.
    pub(super) fn reads_images(&self) -> bool {
        !self.server.only_text()
            && self.entry.reads_images.unwrap_or_else(|| self.server.reads_images(&self.name))
    }

    /// True if the limit of an answer is `max_completion_tokens`, which includes thinking. A model of OpenAI that
    /// thinks rejects `max_tokens`; other servers may know nothing else.
    pub(super) fn counts_thinking(&self) -> bool {
        self.server.is_openai() && !self.name.contains('/') && self.can_think() == Some(true)
    }

    /// Returns the fields that control thinking.
    pub(super) fn thinking_fields(&self, request: &WireRequest<'_>) -> ThinkingFields {
        let option = match request.thinking {
            Some(_) if self.server.is_openai() && self.can_think() == Some(false) => None,
            None if self.entry.tools_need_thinking_off && !request.tools.is_empty() => {
                Some(ThinkingOption::Off)
            }
            option => option,
        };
        option.map(|option| self.server.thinking_fields(option, &self.name)).unwrap_or_default()
    }

    fn can_think(&self) -> Option<bool> {
        self.entry.thinks.or_else(|| openai_thinks(&self.name))
    }

    /// True if every answer in a request must have `reasoning_content`, even if it is empty: models of DeepSeek, Kimi
    /// K3, and MiMo.
    pub(super) fn requires_reasoning_content(&self) -> bool {
        let name = self.name.rsplit('/').next().unwrap_or_default();
        self.at_deepseek
            || self.server == ChatServer::by_provider("xiaomimimo")
            || name == "kimi-k3"
            || self.name == "moonshotai/kimi-k2.6"
    }

    /// True if the results of a step must have an answer before the next message of the user.
    pub(super) fn needs_answers(&self) -> bool {
        is_mistral(&self.name)
    }
}

/// True for a model of Mistral, at any server. Its templates check the order of messages and the ids of calls.
fn is_mistral(model: &str) -> bool {
    const FAMILIES: [&str; 7] =
        ["mistral", "ministral", "mixtral", "devstral", "codestral", "magistral", "pixtral"];
    let model = model.to_ascii_lowercase();
    FAMILIES.iter().any(|family| model.contains(family))
}
