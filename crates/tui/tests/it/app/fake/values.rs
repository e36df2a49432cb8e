//! Values that several tests use.

use haft_protocol::content;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::Rfc3339Time;
use haft_tui::app::settings::list_settings;
use haft_tui::app::{LoginProvider, SettingRow};

pub(super) fn queue(steering: Vec<String>) -> AgentEvent {
    AgentEvent::QueueUpdate { steering, follow_up: Vec::new(), next_turn: Vec::new() }
}

pub(super) fn row(name: &str, value: &str, choices: &[&str]) -> SettingRow {
    let choices = choices.iter().map(|&choice| choice.to_owned()).collect();
    SettingRow {
        name: name.to_owned(),
        value: value.to_owned(),
        origin: "the user's file".to_owned(),
        choices,
        about: list_settings()
            .find(|key| key.path == name)
            .map_or("What it is for.".to_owned(), |key| key.plain_summary()),
    }
}

pub(crate) fn time() -> Rfc3339Time {
    Rfc3339Time("2026-01-02T03:04:05Z".to_owned())
}

pub(crate) fn extension(name: &str) -> ExtensionName {
    ExtensionName::new(name)
}

pub(crate) fn image() -> content::Image {
    content::Image { mime_type: "image/png".to_owned(), data: "aGk=".into() }
}

/// Returns a provider with a key, one without, and a server on this machine.
pub(super) fn providers() -> Vec<LoginProvider> {
    let provider = |name: &str, key: Option<&str>, server: Option<&str>, model: &str| LoginProvider {
        name: name.to_owned(),
        key: key.map(str::to_owned),
        stored: key.is_some(),
        is_local: server.is_some(),
        server: server.map(str::to_owned),
        model: Some(format!("{name}/{model}")),
    };
    vec![
        provider("anthropic", Some("auth.json"), None, "claude-opus"),
        provider("openai", None, None, "gpt-5"),
        provider("ollama", None, Some("port 11434"), "qwen3"),
    ]
}
