//! `Chord`: a key with its modifiers.

use std::fmt;
use std::str::FromStr;

/// A key with its modifiers, as written in the keybindings file: `ctrl+o`, `alt+enter`, `f1`, `Q`.
///
/// ```
/// use haft_tui::keys::Chord;
///
/// let chord: Chord = "Alt+Ctrl+left".parse()?;
/// assert_eq!(chord.to_string(), "ctrl+alt+left");
/// assert_eq!("shift+q".parse::<Chord>()?, "Q".parse()?);
/// # Ok::<(), haft_tui::keys::ChordError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chord {
    key: ChordKey,
    modifiers: Modifiers,
}

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChordKey {
    /// A key that types a character. The character includes the effect of shift.
    Char(char),
    /// Return.
    Enter,
    /// Tab. With shift: back tab.
    Tab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Insert.
    Insert,
    /// Escape.
    Esc,
    /// Up arrow.
    Up,
    /// Down arrow.
    Down,
    /// Left arrow.
    Left,
    /// Right arrow.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// F1 to F24.
    F(u8),
}

/// The modifiers of a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Modifiers {
    /// Control.
    pub ctrl: bool,
    /// Alt, or Option.
    pub alt: bool,
    /// Shift. Never set with a character, which already includes shift.
    pub shift: bool,
    /// Super: the Windows key, or Command. Few terminals report it.
    pub cmd: bool,
}

const LAST_F: u8 = 24;

/// The named keys: first the canonical names, then the aliases.
const NAMES: &[(&str, ChordKey)] = &[
    ("enter", ChordKey::Enter),
    ("tab", ChordKey::Tab),
    ("backspace", ChordKey::Backspace),
    ("delete", ChordKey::Delete),
    ("insert", ChordKey::Insert),
    ("esc", ChordKey::Esc),
    ("up", ChordKey::Up),
    ("down", ChordKey::Down),
    ("left", ChordKey::Left),
    ("right", ChordKey::Right),
    ("home", ChordKey::Home),
    ("end", ChordKey::End),
    ("pageup", ChordKey::PageUp),
    ("pagedown", ChordKey::PageDown),
    ("space", ChordKey::Char(' ')),
    ("plus", ChordKey::Char('+')),
    ("return", ChordKey::Enter),
    ("del", ChordKey::Delete),
    ("ins", ChordKey::Insert),
    ("escape", ChordKey::Esc),
    ("pgup", ChordKey::PageUp),
    ("pgdn", ChordKey::PageDown),
];

/// The error for a text that is not a chord.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChordError {
    /// Unknown key.
    #[error(
        "`{name}` is not a key; write one character, `f1` to `f24`, or a name such as `enter`, `pageup` or `space`"
    )]
    Key {
        /// The unknown name.
        name: String,
    },
    /// Unknown modifier.
    #[error("`{name}` is not a modifier; write `ctrl`, `alt`, `shift` or `cmd`")]
    Modifier {
        /// The unknown name.
        name: String,
    },
    /// Repeated modifier.
    #[error("`{name}` is repeated; write it once")]
    Twice {
        /// The repeated modifier.
        name: &'static str,
    },
}

impl Chord {
    /// Makes a chord. A letter with shift becomes the capital letter; for other characters, shift is dropped.
    pub fn new(code: ChordKey, modifiers: Modifiers) -> Self {
        let ChordKey::Char(c) = code else { return Self { key: code, modifiers } };
        let c = if modifiers.shift { c.to_ascii_uppercase() } else { c };
        Self { key: ChordKey::Char(c), modifiers: Modifiers { shift: false, ..modifiers } }
    }

    /// The key.
    pub fn key(self) -> ChordKey {
        self.key
    }

    /// Returns the modifiers.
    pub fn modifiers(self) -> Modifiers {
        self.modifiers
    }

    /// Returns the character that the key types, if any.
    pub fn typed_char(self) -> Option<char> {
        let ChordKey::Char(c) = self.key else { return None };
        (self.modifiers == Modifiers::default()).then_some(c)
    }

    /// Returns the key for an extension's panel in the protocol's names, with the typed character. `None` for keys
    /// that panels do not support.
    pub fn panel_key(self) -> Option<(&'static str, Option<char>)> {
        if let Some(c) = self.typed_char() {
            return Some(("rune", Some(c)));
        }
        let known = !matches!(self.key, ChordKey::Char(_) | ChordKey::Insert | ChordKey::F(_));
        (known && self.modifiers == Modifiers::default()).then(|| (key_name(self.key), None))
    }
}

fn key_name(code: ChordKey) -> &'static str {
    NAMES.iter().find(|(_, named)| *named == code).map_or("", |(name, _)| name)
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Modifiers { ctrl, alt, shift, cmd } = self.modifiers;
        // A capital letter with other modifiers is written with shift, because `ctrl+A` would be read as `ctrl+a`.
        let capital = matches!(self.key, ChordKey::Char(c) if c.is_ascii_uppercase()) && (ctrl || alt || cmd);
        let held = [(ctrl, "ctrl+"), (alt, "alt+"), (shift || capital, "shift+"), (cmd, "cmd+")];
        held.iter().filter(|(is, _)| *is).try_for_each(|(_, name)| f.write_str(name))?;
        if let ChordKey::F(number) = self.key {
            return write!(f, "f{number}");
        }
        match (self.key, key_name(self.key)) {
            (ChordKey::Char(c), _) if capital => write!(f, "{}", c.to_ascii_lowercase()),
            (ChordKey::Char(c), "") => write!(f, "{c}"),
            (_, name) => f.write_str(name),
        }
    }
}

impl FromStr for Chord {
    type Err = ChordError;

    fn from_str(text: &str) -> Result<Self, ChordError> {
        // The plus key may be written as `+`.
        let plus = text.strip_suffix('+').filter(|before| before.is_empty() || before.ends_with('+'));
        let (held, key) = match plus {
            Some(before) => (before.strip_suffix('+'), "plus"),
            None => text.rsplit_once('+').map_or((None, text), |(held, key)| (Some(held), key)),
        };
        let mut modifiers = Modifiers::default();
        for name in held.into_iter().flat_map(|held| held.split('+')) {
            add_modifier(&mut modifiers, name)?;
        }
        let code = parse_key(key, modifiers).ok_or_else(|| ChordError::Key { name: key.to_owned() })?;
        Ok(Self::new(code, modifiers))
    }
}

fn add_modifier(modifiers: &mut Modifiers, name: &str) -> Result<(), ChordError> {
    let (held, name) = match name.trim().to_ascii_lowercase().as_str() {
        "ctrl" | "control" => (&mut modifiers.ctrl, "ctrl"),
        "alt" | "option" | "meta" => (&mut modifiers.alt, "alt"),
        "shift" => (&mut modifiers.shift, "shift"),
        "cmd" | "super" | "win" => (&mut modifiers.cmd, "cmd"),
        _ => return Err(ChordError::Modifier { name: name.to_owned() }),
    };
    match std::mem::replace(held, true) {
        true => Err(ChordError::Twice { name }),
        false => Ok(()),
    }
}

fn parse_key(key: &str, modifiers: Modifiers) -> Option<ChordKey> {
    let key = key.trim();
    let mut chars = key.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        // With modifiers, case does not matter and shift is explicit.
        let c = if modifiers == Modifiers::default() { c } else { c.to_ascii_lowercase() };
        return (!c.is_control()).then_some(ChordKey::Char(c));
    }
    let key = key.to_ascii_lowercase();
    let number = key.strip_prefix('f').and_then(|number| number.parse().ok());
    let function = number.filter(|number| (1..=LAST_F).contains(number)).map(ChordKey::F);
    function.or_else(|| NAMES.iter().find(|(name, _)| *name == key).map(|(_, code)| *code))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<&str, &str>) {
        let got = text.parse::<Chord>().map(|chord| chord.to_string()).map_err(|error| error.to_string());
        assert_eq!(got.as_deref().map_err(|error| error.split(';').next().unwrap()), expect, "{text}");
    }

    #[test]
    fn parses_and_formats_chords() {
        for same in [
            "ctrl+o",
            "alt+enter",
            "shift+tab",
            "f1",
            "f24",
            "a",
            "Q",
            "ctrl+alt+left",
            "space",
            "plus",
            "ctrl+_",
        ] {
            check(same, Ok(same));
        }
        check("Ctrl+O", Ok("ctrl+o"));
        check("shift+q", Ok("Q"));
        check("shift+ctrl+z", Ok("ctrl+shift+z"));
        check("option+escape", Ok("alt+esc"));
        check("+", Ok("plus"));
        check("ctrl++", Ok("ctrl+plus"));
        check("ctrl + x", Ok("ctrl+x"));
        check("alt+<", Ok("alt+<"));
    }

    #[test]
    fn names_error_in_invalid_chord() {
        check("", Err("`` is not a key"));
        check("ctrl+", Err("`` is not a key"));
        check("f25", Err("`f25` is not a key"));
        check("ctrl+entre", Err("`entre` is not a key"));
        check("crtl+o", Err("`crtl` is not a modifier"));
        check("ctrl+ctrl+o", Err("`ctrl` is repeated"));
    }

    #[test]
    fn panel_keys_use_protocol_names() {
        let told = |text: &str| text.parse::<Chord>().unwrap().panel_key();
        assert_eq!(told("Q"), Some(("rune", Some('Q'))));
        assert_eq!(told("space"), Some(("rune", Some(' '))));
        assert_eq!(told("pageup"), Some(("pageup", None)));
        assert_eq!(told("esc"), Some(("esc", None)));
        assert_eq!((told("ctrl+c"), told("shift+up"), told("f1")), (None, None, None));
    }

    proptest! {
        #[test]
        fn parses_formatted_chords(c in any::<char>(), held in any::<[bool; 4]>()) {
            let [ctrl, alt, shift, cmd] = held;
            let chord = Chord::new(ChordKey::Char(c), Modifiers { ctrl, alt, shift, cmd });
            prop_assume!(!c.is_control() && !c.is_whitespace() || c == ' ');
            prop_assert_eq!(chord.to_string().parse::<Chord>(), Ok(chord));
        }
    }
}
