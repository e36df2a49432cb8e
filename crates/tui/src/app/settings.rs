//! The settings of the interface itself, as one table.

use std::collections::BTreeMap;

use crate::transcript::Transcript;

/// A setting of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Its name in the file of settings.
    pub name: &'static str,
    /// What it can be; empty where that is any text.
    pub choices: &'static [&'static str],
    /// What it is where nobody says otherwise.
    pub default: &'static str,
    /// What it is for, as a sentence.
    pub help: &'static str,
    /// Whether it counts only from the next start on.
    pub at_start: bool,
}

/// The colours.
pub const THEME: &str = "tui.theme";
/// Which part of the terminal is used.
pub const SCREEN: &str = "tui.screen";
/// Whether the mouse is used.
pub const MOUSE: &str = "tui.mouse";
/// Whether images are shown.
pub const IMAGES: &str = "tui.images";
/// Whether thinking is shown in full.
pub const THINKING: &str = "tui.thinking";
/// Which tools the person is asked about.
pub const APPROVE: &str = "tui.approve";
/// Whether the terminal draws attention to itself.
pub const BELL: &str = "tui.bell";

/// Every setting of the interface.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: THEME,
        choices: &[],
        default: "auto",
        help: "The colours: `auto` as the terminal's background is, `dark`, `light`, or the name of a theme.",
        at_start: false,
    },
    Setting {
        name: SCREEN,
        choices: &["alternate", "inline", "linear"],
        default: "alternate",
        help: "A screen of its own; or below what the terminal shows, where the conversation is printed and stays; or lines that are printed and never drawn anew, for screen readers.",
        at_start: true,
    },
    Setting {
        name: MOUSE,
        choices: &["on", "off"],
        default: "on",
        help: "Whether the wheel scrolls and the mouse selects; without it, both are the terminal's.",
        at_start: true,
    },
    Setting {
        name: IMAGES,
        choices: &["auto", "off"],
        default: "auto",
        help: "Whether images are shown where the terminal can.",
        at_start: false,
    },
    Setting {
        name: THINKING,
        choices: &["folded", "shown"],
        default: "folded",
        help: "Whether what the model thinks is shown in full.",
        at_start: false,
    },
    Setting {
        name: APPROVE,
        choices: &[],
        default: "none",
        help: "The tools that are asked about before they run, with commas between them; `*` for all, `none` for none. In the file it is a list: `[\"bash\", \"edit\"]`, `[\"*\"]`, `[]`.",
        at_start: false,
    },
    Setting {
        name: BELL,
        choices: &["on", "off"],
        default: "off",
        help: "Whether the terminal's bell rings when something is asked, and when the work is done.",
        at_start: false,
    },
];

/// A value that a setting cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} cannot be {value:?}; write one of {}", choices.join(", "))]
#[non_exhaustive]
pub struct SettingError {
    /// The setting.
    pub name: &'static str,
    /// What was written.
    pub value: String,
    /// What it can be.
    pub choices: &'static [&'static str],
}

/// Which part of the terminal is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Screen {
    /// A screen of its own.
    #[default]
    Alternate,
    /// The terminal's own: what is over is printed and stays, the rest is drawn below it.
    Inline,
    /// Lines that are never drawn anew.
    Linear,
}

/// What the settings of the interface are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Those that somebody wrote.
    values: BTreeMap<&'static str, String>,
}

impl Settings {
    /// Takes a setting. Whether it is one of the interface's.
    ///
    /// # Errors
    /// [`SettingError`] for a value that it cannot have; it stays as it was.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool, SettingError> {
        let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else { return Ok(false) };
        let value = value.trim();
        if !setting.choices.is_empty() && !setting.choices.contains(&value) {
            let (name, choices) = (setting.name, setting.choices);
            return Err(SettingError { name, value: value.to_owned(), choices });
        }
        self.values.insert(setting.name, value.to_owned());
        Ok(true)
    }

    /// What a setting of the table is; empty for any other.
    pub fn get(&self, name: &str) -> &str {
        let default =
            || SETTINGS.iter().find(|setting| setting.name == name).map_or("", |known| known.default);
        self.values.get(name).map_or_else(default, String::as_str)
    }

    /// Which part of the terminal is used.
    pub fn screen(&self) -> Screen {
        match self.get(SCREEN) {
            "inline" => Screen::Inline,
            "linear" => Screen::Linear,
            _ => Screen::Alternate,
        }
    }

    /// Whether the mouse is used.
    pub fn mouse(&self) -> bool {
        self.get(MOUSE) == "on"
    }

    /// Whether images are shown where the terminal can.
    pub fn images(&self) -> bool {
        self.get(IMAGES) == "auto"
    }

    /// Whether what the model thinks is shown in full.
    pub fn thinking(&self) -> bool {
        self.get(THINKING) == "shown"
    }

    /// A transcript with nothing in it, which shows what these settings say.
    pub(super) fn transcript(&self) -> Transcript {
        let mut transcript = Transcript::default();
        if self.thinking() {
            transcript.toggle_thinking();
        }
        transcript
    }

    /// Whether the bell rings.
    pub fn bell(&self) -> bool {
        self.get(BELL) == "on"
    }

    /// The tools that the person is asked about, as `hello` names them.
    pub fn approve(&self) -> Vec<String> {
        let names = self.get(APPROVE).split(',').map(str::trim);
        names.filter(|name| !name.is_empty() && *name != "none").map(str::to_owned).collect()
    }
}

/// The table as Markdown.
pub fn markdown() -> String {
    let mut out = "| setting | is | does |\n|---|---|---|\n".to_owned();
    for setting in SETTINGS {
        let choices = match setting.choices {
            [] => format!("`{}` or other text", setting.default),
            choices => {
                let rest = choices.iter().filter(|choice| **choice != setting.default);
                let rest = rest.map(|choice| format!(", `{choice}`")).collect::<String>();
                format!("`{}`{rest}", setting.default)
            }
        };
        let later = if setting.at_start { " Counts from the next start on." } else { "" };
        out.push_str(&format!("| `{}` | {choices} | {}{later} |\n", setting.name, setting.help));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_what_was_said_last_and_can_be() {
        let mut settings = Settings::default();
        assert_eq!(
            (settings.screen(), settings.mouse(), settings.approve()),
            (Screen::Alternate, true, vec![])
        );
        assert_eq!(settings.set("tui.screen", "linear"), Ok(true));
        assert_eq!(settings.set("tui.approve", "bash, edit"), Ok(true));
        assert_eq!(settings.set("model", "x"), Ok(false));
        let error = settings.set("tui.mouse", "maybe").unwrap_err();
        assert_eq!(error.to_string(), "tui.mouse cannot be \"maybe\"; write one of on, off");
        assert_eq!(settings.screen(), Screen::Linear);
        assert_eq!(settings.approve(), ["bash", "edit"]);
    }

    #[test]
    fn every_setting_has_a_row() {
        let text = markdown();
        assert!(SETTINGS.iter().all(|setting| text.contains(setting.name)));
        for setting in SETTINGS {
            assert!(setting.choices.is_empty() || setting.choices.contains(&setting.default));
        }
    }
}
