//! `[tui]`: how the interactive mode looks and behaves.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Key, Reach};
use crate::file::ReadFile;
use crate::rows::Row;
use crate::settings::SettingOrigin;

keys! {
    /// How the interactive mode looks and behaves.
    #[derive(Serialize)]
    Tui {
        /// The theme: `dark`, `light`, or the `name` in a `theme.json` in `$HAFT_HOME/themes` or of an extension that is one.
        /// See [themes.md](themes.md).
        theme: Option<String> = "tui.theme" {
            takes: "a name",
            default: "`auto`: `dark` or `light`, as the terminal's background is",
            reach: User,
        }
        /// Where the interactive mode is drawn. `alternate`: on a screen of its own, which is gone afterwards but for the end
        /// of the conversation. `inline`: below what the terminal shows; what was said is printed and stays, and the terminal
        /// scrolls, searches and selects it; also with `--inline`. `linear`: line by line, nothing is drawn over, as screen
        /// readers want it, and as it is where a terminal can do nothing else (`TERM` is `dumb` or not set) and with
        /// `--linear`.
        screen: Option<TuiScreen> = "tui.screen" {
            takes: "`alternate`, `inline` or `linear`",
            default: "`alternate`",
            reach: User,
        }
        /// Whether the wheel scrolls and the mouse selects. `off` leaves the mouse to the terminal.
        mouse: Option<TuiSwitch> = "tui.mouse" {
            takes: "`on` or `off`",
            default: "`on`",
            reach: User,
        }
        /// Whether images are shown where the terminal can show them.
        images: Option<TuiImages> = "tui.images" {
            takes: "`auto` or `off`",
            default: "`auto`",
            reach: User,
        }
        /// Whether what the model thinks is shown whole, or folded into one row.
        thinking: Option<TuiShown> = "tui.thinking" {
            takes: "`folded` or `shown`",
            default: "`folded`",
            reach: User,
        }
        /// Tools that you are asked about before each call of theirs; `"*"` for all.
        approve: Option<Vec<String>> = "tui.approve" {
            takes: "a list of tools",
            default: "none",
            reach: User,
        }
        /// Whether the terminal's bell rings when haft waits for you, and when it is done.
        bell: Option<TuiSwitch> = "tui.bell" {
            takes: "`on` or `off`",
            default: "`off`",
            reach: User,
        }
    }
}

/// Where the interactive mode is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TuiScreen {
    /// On a screen of its own.
    Alternate,
    /// Below what the terminal shows; what was said is printed there and stays.
    Inline,
    /// Line by line.
    Linear,
}

/// How what the model thinks is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TuiShown {
    /// In one row.
    Folded,
    /// Whole.
    Shown,
}

/// Whether images are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TuiImages {
    /// Where the terminal can show them.
    Auto,
    /// Nowhere.
    Off,
}

/// Whether something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TuiSwitch {
    /// It is.
    On,
    /// It is not.
    Off,
}

impl Tui {
    /// What holds where nobody sets it, by key.
    fn defaults() -> BTreeMap<&'static str, Value> {
        BTreeMap::from([
            ("tui.theme", "auto".into()),
            ("tui.screen", "alternate".into()),
            ("tui.mouse", "on".into()),
            ("tui.images", "auto".into()),
            ("tui.thinking", "folded".into()),
            ("tui.approve", Value::Array(Vec::new())),
            ("tui.bell", "off".into()),
        ])
    }
}

/// What holds: what the user's file sets, and haft's own choice where it sets nothing.
pub(crate) fn rows(file: &ReadFile) -> Vec<Row> {
    let set = serde_json::to_value(&file.content.tui).unwrap_or_default();
    let mut defaults = Tui::defaults();
    let row = |key: &'static Key| {
        let name = key.path.rsplit('.').next().unwrap_or_default();
        let value = set.get(name).filter(|value| !value.is_null()).cloned();
        let origin = value.as_ref().map_or(SettingOrigin::Default, |_| file.source.origin(key.path));
        let value = value.or_else(|| defaults.remove(key.path));
        Row { key: key.path.into(), value, default: key.default, origin, only_projects: false }
    };
    Tui::KEYS.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_nobody_sets_has_a_value() {
        let rows = rows(&ReadFile::parse(Path::new("c"), "[tui]\nscreen = 'linear'\nmouse = 'off'").unwrap());
        let shown = rows
            .iter()
            .map(|row| format!("{} {} {}", row.key, row.value.clone().unwrap_or_default(), row.origin));
        insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"), @r#"
        tui.theme "auto" default
        tui.screen "linear" c:2
        tui.mouse "off" c:3
        tui.images "auto" default
        tui.thinking "folded" default
        tui.approve [] default
        tui.bell "off" default
        "#);
    }

    #[test]
    fn a_value_that_cannot_be_is_a_mistake() {
        for (text, expect) in [
            ("[tui]\nscreen = 'full'", "c:2: `tui.screen` must be `alternate`, `inline` or `linear`"),
            ("tui = 1", "c:1: `tui` must be a table"),
            ("[tui]\ntheem = 'x'", "c:2: unknown key `tui.theem`; did you mean `tui.theme`?"),
            ("[tui]\napprove = 'bash'", "c:2: `tui.approve` must be a list of tools"),
        ] {
            assert_eq!(ReadFile::parse(Path::new("c"), text).unwrap_err().to_string(), expect);
        }
    }

    #[test]
    fn all_of_it_is_the_users_alone() {
        assert!(Tui::KEYS.iter().all(|key| key.reach == Reach::User));
    }
}
