//! Conversion of crossterm's key events.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::{Chord, ChordKey, Modifiers};

/// Converts a pressed or repeated key. `None` for released keys and unsupported keys.
///
/// Legacy terminals send the same byte for some chords, and those get one name here. For example, crossterm reports
/// `ctrl+_` as `ctrl+7` and `ctrl+\` as `ctrl+4`.
pub fn from_crossterm(event: KeyEvent) -> Option<Chord> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let held = |modifier| event.modifiers.contains(modifier);
    let modifiers = Modifiers {
        ctrl: held(KeyModifiers::CONTROL),
        alt: held(KeyModifiers::ALT) || held(KeyModifiers::META),
        shift: held(KeyModifiers::SHIFT),
        cmd: held(KeyModifiers::SUPER),
    };
    let (code, modifiers) = match convert_key(event.code)? {
        // Terminals report back tab as a key of its own, with shift or without.
        (ChordKey::Tab, true) => (ChordKey::Tab, Modifiers { shift: true, ..modifiers }),
        (ChordKey::Char(c), _) if modifiers.ctrl => convert_control(c, modifiers),
        (code, _) => (code, modifiers),
    };
    Some(Chord::new(code, modifiers))
}

fn convert_key(code: KeyCode) -> Option<(ChordKey, bool)> {
    let code = match code {
        KeyCode::Char(c) => ChordKey::Char(c),
        KeyCode::Enter => ChordKey::Enter,
        KeyCode::Tab => ChordKey::Tab,
        KeyCode::BackTab => return Some((ChordKey::Tab, true)),
        KeyCode::Backspace => ChordKey::Backspace,
        KeyCode::Delete => ChordKey::Delete,
        KeyCode::Insert => ChordKey::Insert,
        KeyCode::Esc => ChordKey::Esc,
        KeyCode::Up => ChordKey::Up,
        KeyCode::Down => ChordKey::Down,
        KeyCode::Left => ChordKey::Left,
        KeyCode::Right => ChordKey::Right,
        KeyCode::Home => ChordKey::Home,
        KeyCode::End => ChordKey::End,
        KeyCode::PageUp => ChordKey::PageUp,
        KeyCode::PageDown => ChordKey::PageDown,
        KeyCode::F(number) => ChordKey::F(number),
        KeyCode::Null => return None,
        KeyCode::CapsLock | KeyCode::ScrollLock | KeyCode::NumLock | KeyCode::PrintScreen => return None,
        KeyCode::Pause | KeyCode::Menu | KeyCode::KeypadBegin => return None,
        KeyCode::Media(_) | KeyCode::Modifier(_) => return None,
    };
    Some((code, false))
}

fn convert_control(c: char, modifiers: Modifiers) -> (ChordKey, Modifiers) {
    // On Windows, AltGr is reported as ctrl+alt and types text.
    if cfg!(windows) && modifiers.alt && !c.is_ascii_alphanumeric() {
        return (ChordKey::Char(c), Modifiers { ctrl: false, alt: false, ..modifiers });
    }
    let c = match c {
        '4' => '\\',
        '5' => ']',
        '6' => '^',
        '7' => '_',
        c => c,
    };
    (ChordKey::Char(c), modifiers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: KeyCode, modifiers: KeyModifiers, expect: &str) {
        let chord = from_crossterm(KeyEvent::new(code, modifiers)).map(|chord| chord.to_string());
        assert_eq!(chord.unwrap_or_default(), expect, "{code:?} {modifiers:?}");
    }

    #[test]
    fn converts_events_to_chords() {
        check(KeyCode::Char('o'), KeyModifiers::CONTROL, "ctrl+o");
        check(KeyCode::Char('A'), KeyModifiers::SHIFT, "A");
        check(KeyCode::Char('a'), KeyModifiers::SHIFT, "A");
        check(KeyCode::Char('a'), KeyModifiers::SHIFT | KeyModifiers::CONTROL, "ctrl+shift+a");
        check(KeyCode::Char('?'), KeyModifiers::SHIFT, "?");
        check(KeyCode::Char('7'), KeyModifiers::CONTROL, "ctrl+_");
        check(KeyCode::Char(' '), KeyModifiers::CONTROL, "ctrl+space");
        check(KeyCode::BackTab, KeyModifiers::NONE, "shift+tab");
        check(KeyCode::BackTab, KeyModifiers::SHIFT, "shift+tab");
        check(KeyCode::Enter, KeyModifiers::ALT, "alt+enter");
        check(KeyCode::F(12), KeyModifiers::NONE, "f12");
        check(KeyCode::Null, KeyModifiers::NONE, "");
        check(KeyCode::CapsLock, KeyModifiers::NONE, "");
    }

    #[test]
    fn ignores_key_release() {
        let event = |kind| KeyEvent::new_with_kind(KeyCode::Char('a'), KeyModifiers::NONE, kind);
        assert_eq!(from_crossterm(event(KeyEventKind::Release)), None);
        assert_eq!(from_crossterm(event(KeyEventKind::Repeat)).and_then(Chord::typed_char), Some('a'));
    }
}
