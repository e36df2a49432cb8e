//! Environment variables about the terminal and the user's preferences.

use std::ffi::OsString;

use super::images::ImageProtocol;
use crate::theme::{Appearance, ColorDepth};

/// The variables that concern the terminal. An empty variable counts as unset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// `TERM`.
    pub term: Option<String>,
    /// `COLORTERM`.
    pub colorterm: Option<String>,
    /// `COLORFGBG`.
    pub colorfgbg: Option<String>,
    /// True if `NO_COLOR` is set.
    pub no_color: bool,
    /// True if `TMUX` is set: haft runs inside tmux.
    pub tmux: bool,
    /// `VISUAL`.
    pub visual: Option<String>,
    /// `EDITOR`.
    pub editor: Option<String>,
    /// True if the terminal truncates long rows when it becomes narrower, as xterm and the Linux console do. Others
    /// wrap them.
    pub cuts_rows: bool,
    /// The image protocol of the terminal, derived from `TERM`, `TERM_PROGRAM`, `LC_TERMINAL` or variables of the
    /// terminal.
    pub images: Option<ImageProtocol>,
}

/// The color depth by prefix or suffix of `TERM`. The first match counts.
const DEPTHS: &[(NamePart, &str, ColorDepth)] = &[
    (NamePart::Whole, "dumb", ColorDepth::None),
    (NamePart::Begin, "vt", ColorDepth::None),
    (NamePart::End, "-mono", ColorDepth::None),
    (NamePart::End, "-m", ColorDepth::None),
    (NamePart::End, "-direct", ColorDepth::True),
    (NamePart::Begin, "xterm-kitty", ColorDepth::True),
    (NamePart::Begin, "xterm-ghostty", ColorDepth::True),
    (NamePart::Begin, "ghostty", ColorDepth::True),
    (NamePart::Begin, "alacritty", ColorDepth::True),
    (NamePart::Begin, "foot", ColorDepth::True),
    (NamePart::Begin, "wezterm", ColorDepth::True),
    (NamePart::Begin, "contour", ColorDepth::True),
    (NamePart::Begin, "rio", ColorDepth::True),
    (NamePart::End, "-256color", ColorDepth::Indexed),
    (NamePart::End, "-256", ColorDepth::Indexed),
];

/// The part of a name to compare.
#[derive(Debug, Clone, Copy)]
enum NamePart {
    Whole,
    Begin,
    End,
}

/// Terminals, by `TERM`, that print unknown sequences as text.
const SHOWS_UNKNOWN: &[&str] = &["linux", "cons25"];

impl Environment {
    /// Reads the variables of this process.
    pub fn from_process() -> Self {
        Self::from_variables(|name| std::env::var_os(name))
    }

    /// Reads the given variables.
    pub fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name: &str| {
            let value = variable(name)?.into_string().ok()?;
            (!value.is_empty()).then_some(value)
        };
        Self {
            term: text("TERM"),
            colorterm: text("COLORTERM"),
            colorfgbg: text("COLORFGBG"),
            no_color: variable("NO_COLOR").is_some_and(|value| !value.is_empty()),
            tmux: variable("TMUX").is_some_and(|value| !value.is_empty()),
            visual: text("VISUAL"),
            editor: text("EDITOR"),
            cuts_rows: text("XTERM_VERSION").is_some() || text("TERM").as_deref() == Some("linux"),
            images: ImageProtocol::detect(text),
        }
    }

    /// True if the terminal cannot move its cursor, so only line output is possible.
    pub fn is_dumb(&self) -> bool {
        match self.term.as_deref() {
            Some(term) => term == "dumb",
            // Windows consoles have no name.
            None => cfg!(not(windows)),
        }
    }

    /// Returns the color depth that the terminal supports and the user wants.
    pub fn color_depth(&self) -> ColorDepth {
        if self.no_color || self.is_dumb() {
            return ColorDepth::None;
        }
        let claims = self.colorterm.as_deref().unwrap_or_default();
        if claims.eq_ignore_ascii_case("truecolor") || claims.eq_ignore_ascii_case("24bit") {
            return ColorDepth::True;
        }
        let Some(term) = self.term.as_deref() else { return ColorDepth::True };
        let fits = |part: NamePart, text: &&str| match part {
            NamePart::Whole => term == *text,
            NamePart::Begin => term.starts_with(*text),
            NamePart::End => term.ends_with(*text),
        };
        let row = DEPTHS.iter().find(|(part, text, _)| fits(*part, text));
        row.map_or(ColorDepth::Sixteen, |(_, _, depth)| *depth)
    }

    /// Returns the appearance according to `COLORFGBG`: its last number is one of the sixteen colors.
    pub fn appearance(&self) -> Option<Appearance> {
        let number: u8 = self.colorfgbg.as_deref()?.rsplit(';').next()?.parse().ok()?;
        match number {
            0..=6 | 8 => Some(Appearance::Dark),
            7 | 9..=15 => Some(Appearance::Light),
            _ => None,
        }
    }

    /// True if the terminal ignores unknown sequences, so any sequence can be sent.
    pub(super) fn ignores_unknown(&self) -> bool {
        let term = self.term.as_deref().unwrap_or_default();
        !self.is_dumb() && !SHOWS_UNKNOWN.contains(&term)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment::from_variables(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[track_caller]
    fn check_depth(variables: &[(&str, &str)], expect: ColorDepth) {
        assert_eq!(environment(variables).color_depth(), expect, "{variables:?}");
    }

    #[test]
    fn detects_color_depth() {
        check_depth(&[("TERM", "xterm")], ColorDepth::Sixteen);
        check_depth(&[("TERM", "xterm-color")], ColorDepth::Sixteen);
        check_depth(&[("TERM", "linux")], ColorDepth::Sixteen);
        check_depth(&[("TERM", "xterm-256color")], ColorDepth::Indexed);
        check_depth(&[("TERM", "screen-256color")], ColorDepth::Indexed);
        check_depth(&[("TERM", "tmux-256color"), ("COLORTERM", "truecolor")], ColorDepth::True);
        check_depth(&[("TERM", "xterm"), ("COLORTERM", "24bit")], ColorDepth::True);
        check_depth(&[("TERM", "xterm"), ("COLORTERM", "yes")], ColorDepth::Sixteen);
        check_depth(&[("TERM", "xterm-kitty")], ColorDepth::True);
        check_depth(&[("TERM", "alacritty")], ColorDepth::True);
        check_depth(&[("TERM", "xterm-direct")], ColorDepth::True);
        check_depth(&[("TERM", "vt100")], ColorDepth::None);
        check_depth(&[("TERM", "xterm-mono")], ColorDepth::None);
        check_depth(&[("TERM", "dumb"), ("COLORTERM", "truecolor")], ColorDepth::None);
        check_depth(&[("TERM", "xterm-kitty"), ("NO_COLOR", "1")], ColorDepth::None);
        check_depth(&[("TERM", "xterm-kitty"), ("NO_COLOR", "")], ColorDepth::True);
        #[cfg(unix)]
        check_depth(&[], ColorDepth::None);
    }

    #[test]
    fn detects_appearance() {
        let check = |value, expect| {
            assert_eq!(environment(&[("COLORFGBG", value)]).appearance(), expect, "{value}");
        };
        check("15;0", Some(Appearance::Dark));
        check("0;15", Some(Appearance::Light));
        check("0;default;15", Some(Appearance::Light));
        check("7;8", Some(Appearance::Dark));
        check("0;7", Some(Appearance::Light));
        check("0;default", None);
        check("", None);
        check("1;99", None);
    }

    #[test]
    fn detects_dumb_terminals() {
        assert!(environment(&[("TERM", "dumb")]).is_dumb());
        assert!(!environment(&[("TERM", "xterm")]).is_dumb());
        assert!(!environment(&[("TERM", "linux")]).ignores_unknown());
    }
}
