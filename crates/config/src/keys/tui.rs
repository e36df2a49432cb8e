//! `[tui]`: how the interactive mode looks and behaves.

use serde::{Deserialize, Serialize};

use super::ValueKind::{Choice, List, Text};
use super::layer::first;
use super::row::RowValue as _;
use super::{ConfigFile, ConfigKey, ConfigLayer, ConfigRow, KeyScope};
use crate::origin::{SettingOrigin, SourcedValue};

keys! {
    /// How the interactive mode looks and behaves.
    Tui as TuiSettings {
        /// The theme: `dark`, `light`, or the `name` in a `theme.json` in `$HAFT_HOME/themes` or of an extension that is one.
        /// See [themes.md](themes.md).
        theme: String = "tui.theme" {
            kind: Text("a name"),
            default: "auto".to_owned(),
            unset: "`dark` or `light`, as the terminal's background is",
            brief: "The colours: `auto` as the terminal's background is, `dark`, `light`, or the name of a theme.",
        }
        /// Where the interactive mode is drawn. `alternate`: on a screen of its own, which is gone afterwards but for the end
        /// of the conversation. `inline`: below what the terminal shows; what was said is printed and stays, and the terminal
        /// scrolls, searches and selects it; also with `--inline`. `linear`: line by line, nothing is drawn over, as screen
        /// readers want it, and as it is where a terminal can do nothing else (`TERM` is `dumb` or not set) and with
        /// `--linear`.
        screen: TuiScreen = "tui.screen" {
            kind: Choice(TuiScreen::NAMES),
            default: TuiScreen::Alternate,
            brief: "A screen of its own; or below what the terminal shows, where the conversation is printed and stays; or lines that are printed and never drawn anew, for screen readers.",
        }
        /// Whether the wheel scrolls and the mouse selects. `off` leaves the mouse to the terminal.
        mouse: TuiSwitch = "tui.mouse" {
            kind: Choice(TuiSwitch::NAMES),
            default: TuiSwitch::On,
            brief: "Whether the wheel scrolls and the mouse selects; without it, both are the terminal's.",
        }
        /// Whether images are shown where the terminal can show them.
        images: TuiImages = "tui.images" {
            kind: Choice(TuiImages::NAMES),
            default: TuiImages::Auto,
            brief: "Whether images are shown where the terminal can.",
        }
        /// Whether what the model thinks is shown whole, or folded into one row.
        thinking: TuiShown = "tui.thinking" {
            kind: Choice(TuiShown::NAMES),
            default: TuiShown::Folded,
            brief: "Whether what the model thinks is shown in full.",
        }
        /// Tools that you are asked about before each call of theirs; `"*"` for all.
        approve: Vec<String> = "tui.approve" {
            kind: List("tools"),
            default: Vec::<String>::new(),
            brief: "The tools that are asked about before they run, with commas between them; `*` for all, `none` for none. In the file it is a list: `[\"bash\", \"edit\"]`, `[\"*\"]`, `[]`.",
        }
        /// Whether the terminal's bell rings when haft waits for you, and when it is done.
        bell: TuiSwitch = "tui.bell" {
            kind: Choice(TuiSwitch::NAMES),
            default: TuiSwitch::Off,
            brief: "Whether the terminal's bell rings when something is asked, and when the work is done.",
        }
    }
}

choices! {
    /// The part of the terminal that the interactive mode uses.
    TuiScreen {
        /// A screen of its own.
        Alternate = "alternate",
        /// The rows below what the terminal shows; the conversation is printed there and stays.
        Inline = "inline",
        /// Lines that are printed and never drawn anew.
        Linear = "linear",
    }
}

choices! {
    /// The form in which the model's thinking is shown.
    TuiShown {
        /// In one row.
        Folded = "folded",
        /// Whole.
        Shown = "shown",
    }
}

choices! {
    /// The terminals on which images are shown.
    TuiImages {
        /// All that can show them.
        Auto = "auto",
        /// None.
        Off = "off",
    }
}

choices! {
    /// A switch.
    TuiSwitch {
        /// It is on.
        On = "on",
        /// It is off.
        Off = "off",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::file::ParsedConfigFile;

    #[test]
    fn what_nobody_sets_has_a_value() {
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
            assert_eq!(ParsedConfigFile::parse(Path::new("c"), text).unwrap_err().to_string(), expect);
        }
    }

    #[test]
    fn all_of_it_is_the_users_alone() {
        assert!(Tui::KEYS.iter().all(|key| key.reach == KeyScope::User));
    }
}
