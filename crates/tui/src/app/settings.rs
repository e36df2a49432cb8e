//! The settings of the interface: the keys of `[tui]`, `tools.approve`, and their values.

use std::collections::BTreeMap;

use haft_config::{ConfigKey, Tools, Tui, list_items, value_text};

use crate::transcript::Transcript;

pub use haft_config::TuiScreen as Screen;

/// The setting of the color theme.
pub const THEME: &str = "tui.theme";
/// The setting of the screen mode.
pub const SCREEN: &str = "tui.screen";
/// The setting of the mouse.
pub const MOUSE: &str = "tui.mouse";
/// The setting of images.
pub const IMAGES: &str = "tui.images";
/// The setting of the display of thinking.
pub const THINKING: &str = "tui.thinking";
/// The setting of the tools that need approval.
pub const APPROVE: &str = "tools.approve";
/// The setting of desktop notifications.
pub const NOTIFY: &str = "tui.notify";
/// The setting of the bell.
pub const BELL: &str = "tui.bell";

/// Returns every setting that the interface applies by itself.
pub fn list_settings() -> impl Iterator<Item = &'static ConfigKey> {
    Tui::KEYS.iter().chain(Tools::KEYS.iter().filter(|key| key.path == APPROVE))
}

/// The settings that take effect when haft starts again.
pub(super) const AT_START: &[&str] = &[SCREEN, MOUSE];

/// An invalid value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} cannot be {value:?}; use one of {}", choices.join(", "))]
#[non_exhaustive]
pub struct SettingError {
    /// The setting.
    pub name: &'static str,
    /// The value.
    pub value: String,
    /// The possible values.
    pub choices: &'static [&'static str],
}

/// The values of the interface's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    values: BTreeMap<&'static str, String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { values: list_settings().map(|key| (key.path, default(key))).collect() }
    }
}

fn default(key: &ConfigKey) -> String {
    key.default.map(|default| value_text(&default())).unwrap_or_default()
}

impl Settings {
    /// Sets a value. Returns false if the setting is not one of the interface.
    ///
    /// # Errors
    /// [`SettingError`] for an invalid value; the present value is kept.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool, SettingError> {
        let Some(key) = list_settings().find(|key| key.path == name) else { return Ok(false) };
        let value = value.trim();
        let choices = key.kind.choices();
        if !choices.is_empty() && !choices.contains(&value) {
            return Err(SettingError { name: key.path, value: value.to_owned(), choices });
        }
        self.values.insert(key.path, value.to_owned());
        Ok(true)
    }

    /// Returns the value of a setting; empty for an unknown one.
    pub fn get(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    /// Returns the screen mode.
    pub fn screen(&self) -> Screen {
        match self.get(SCREEN) {
            "inline" => Screen::Inline,
            "linear" => Screen::Linear,
            _ => Screen::Alternate,
        }
    }

    /// True if the mouse is used.
    pub fn is_mouse_enabled(&self) -> bool {
        self.get(MOUSE) == "on"
    }

    /// True if images are shown in terminals that support them.
    pub fn shows_images(&self) -> bool {
        self.get(IMAGES) == "auto"
    }

    /// True if thinking is shown in full.
    pub fn shows_thinking(&self) -> bool {
        self.get(THINKING) == "shown"
    }

    /// Returns an empty transcript that follows these settings.
    pub(super) fn new_transcript(&self) -> Transcript {
        let mut transcript = Transcript::default();
        if self.shows_thinking() {
            transcript.toggle_thinking();
        }
        transcript
    }

    /// True if the end of long work is shown on the desktop.
    pub fn is_notification_enabled(&self) -> bool {
        self.get(NOTIFY) == "on"
    }

    /// True if the bell rings.
    pub fn is_bell_enabled(&self) -> bool {
        self.get(BELL) == "on"
    }

    /// Returns the names of the tools that need approval.
    pub fn tools_to_approve(&self) -> Vec<String> {
        list_items(self.get(APPROVE)).map(str::to_owned).collect()
    }
}

/// Returns the table as Markdown.
pub fn markdown() -> String {
    let mut out = "| setting | values | meaning |\n|---|---|---|\n".to_owned();
    for key in list_settings() {
        let default = default(key);
        let choices = match key.kind.choices() {
            [] => format!("`{default}` or other text"),
            choices => {
                let rest = choices.iter().filter(|choice| **choice != default);
                let rest = rest.map(|choice| format!(", `{choice}`")).collect::<String>();
                format!("`{default}`{rest}")
            }
        };
        let later = if AT_START.contains(&key.path) { " Takes effect at the next start." } else { "" };
        out.push_str(&format!("| `{}` | {choices} | {}{later} |\n", key.path, key.summary()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_invalid_values_and_keeps_the_last_valid_one() {
        let mut settings = Settings::default();
        assert_eq!(
            (settings.screen(), settings.is_mouse_enabled(), settings.tools_to_approve()),
            (Screen::Alternate, true, vec![])
        );
        assert_eq!(settings.set("tui.screen", "linear"), Ok(true));
        assert_eq!(settings.set("tools.approve", "bash, edit"), Ok(true));
        assert_eq!(settings.set("model", "x"), Ok(false));
        let error = settings.set("tui.mouse", "maybe").unwrap_err();
        assert_eq!(error.to_string(), "tui.mouse cannot be \"maybe\"; use one of on, off");
        assert_eq!(settings.screen(), Screen::Linear);
        assert_eq!(settings.tools_to_approve(), ["bash", "edit"]);
    }

    #[test]
    fn all_settings_have_a_row_and_a_valid_default() {
        let (text, mut settings) = (markdown(), Settings::default());
        for key in list_settings() {
            assert!(text.contains(key.path) && key.brief.is_some(), "{}", key.path);
            let default = settings.get(key.path).to_owned();
            assert_eq!(settings.set(key.path, &default), Ok(true));
        }
    }
}
