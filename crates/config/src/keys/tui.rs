//! `[tui]`: the appearance and behavior of the interactive mode.

use serde::{Deserialize, Serialize};

use super::ValueKind::{Choice, Text};
use super::layer::first_value;
use super::row::RowValue as _;
use super::{ConfigFile, ConfigKey, ConfigLayer, ConfigRow, KeyScope};
use crate::origin::{SettingOrigin, SourcedValue};

keys! {
    /// The appearance and behavior of the interactive mode.
    Tui as TuiSettings {
        /// The theme: `auto`, `dark`, `light`, or the `name` in a `theme.json`. haft searches `$HAFT_HOME/themes` and the
        /// extensions that are themes. See [themes.md](themes.md).
        theme: String = "tui.theme" {
            kind: Text("a name"),
            default: "auto".to_owned(),
            unset: "`dark` or `light`, to match the terminal's background",
            brief: "The colors: `auto` matches the terminal's background; or `dark`, `light`, or the name of a theme.",
        }
        /// The part of the terminal to draw on. `alternate`: the alternate screen; the end of the conversation remains
        /// visible after the exit. `inline`: below the shell's output; the conversation stays in the scrollback, so the
        /// terminal can scroll, search and select it. The flag is `--inline`. `linear`: plain lines without redrawing, for
        /// screen readers. The flag is `--linear`. haft always uses `linear` if `TERM` is `dumb` or not set. See
        /// [tui.md](tui.md).
        screen: TuiScreen = "tui.screen" {
            kind: Choice(TuiScreen::NAMES),
            default: TuiScreen::Alternate,
            brief: "The part of the terminal to draw on: the alternate screen; the rows below the shell's output, where the conversation stays in the scrollback; or plain lines without redrawing, for screen readers.",
        }
        /// Mouse support: the wheel scrolls and the mouse selects. `off` leaves the mouse to the terminal.
        mouse: TuiSwitch = "tui.mouse" {
            kind: Choice(TuiSwitch::NAMES),
            default: TuiSwitch::On,
            brief: "Mouse support: the wheel scrolls and the mouse selects. `off` leaves the mouse to the terminal.",
        }
        /// Images: `auto` shows them if the terminal can, `off` never does.
        images: TuiImages = "tui.images" {
            kind: Choice(TuiImages::NAMES),
            default: TuiImages::Auto,
            brief: "Images: `auto` shows them if the terminal can, `off` never does.",
        }
        /// The model's thinking: in one row (`folded`), or complete (`shown`).
        thinking: TuiShown = "tui.thinking" {
            kind: Choice(TuiShown::NAMES),
            default: TuiShown::Folded,
            brief: "The model's thinking: in one row, or complete.",
        }
        /// The terminal's bell: rings when haft waits for your answer, and when the work is done.
        bell: TuiSwitch = "tui.bell" {
            kind: Choice(TuiSwitch::NAMES),
            default: TuiSwitch::Off,
            brief: "The terminal's bell: rings when haft waits for your answer, and when the work is done.",
        }
        /// A desktop notification, from terminals that support it (OSC 9), when work of 30 s or more is done.
        notify: TuiSwitch = "tui.notify" {
            kind: Choice(TuiSwitch::NAMES),
            default: TuiSwitch::On,
            brief: "A desktop notification, from terminals that support it, when work of 30 s or more is done.",
        }
    }
}

choices! {
    /// The part of the terminal that the interactive mode uses.
    TuiScreen {
        /// A separate screen.
        Alternate = "alternate",
        /// The rows below the terminal's existing content; the conversation is printed there and stays.
        Inline = "inline",
        /// Lines that are printed and never redrawn.
        Linear = "linear",
    }
}

choices! {
    /// The form in which the model's thinking is shown.
    TuiShown {
        /// One row.
        Folded = "folded",
        /// In full.
        Shown = "shown",
    }
}

choices! {
    /// The condition for showing images.
    TuiImages {
        /// On every terminal that can show images.
        Auto = "auto",
        /// Never.
        Off = "off",
    }
}

choices! {
    /// A switch.
    TuiSwitch {
        /// The feature is on.
        On = "on",
        /// The feature is off.
        Off = "off",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::file::ParsedConfigFile;

    #[test]
    fn unset_keys_have_defaults() {
        let file =
            ParsedConfigFile::parse(Path::new("c"), "[tui]\nscreen = 'linear'\nmouse = 'off'").unwrap();
        let settings = TuiSettings::from_layers(&[file.layer()], "", |file| Some(&file.tui));
        assert_eq!(settings.screen.value, TuiScreen::Linear);
        let rows = settings.rows().into_iter();
        let shown = rows.map(|row| format!("{} {} {}", row.key, row.value.unwrap_or_default(), row.origin));
        insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"), @r#"
        tui.theme "auto" default
        tui.screen "linear" c:2
        tui.mouse "off" c:3
        tui.images "auto" default
        tui.thinking "folded" default
        tui.bell "off" default
        tui.notify "on" default
        "#);
    }

    #[test]
    fn rejects_invalid_values() {
        for (text, expect) in [
            ("[tui]\nscreen = 'full'", "c:2: `tui.screen` must be `alternate`, `inline` or `linear`"),
            ("tui = 1", "c:1: `tui` must be a table"),
            ("[tui]\ntheem = 'x'", "c:2: unknown key `tui.theem`; did you mean `tui.theme`?"),
            ("[tui]\napprove = 'bash'", "c:2: `tools.approve` must be a list of tools"),
        ] {
            assert_eq!(ParsedConfigFile::parse(Path::new("c"), text).unwrap_err().to_string(), expect);
        }
    }

    #[test]
    fn only_the_user_can_set_tui_keys() {
        assert!(Tui::KEYS.iter().all(|key| key.reach == KeyScope::User));
    }
}
