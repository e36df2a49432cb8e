//! Session picker on a terminal.

use std::io;
use std::time::SystemTime;

use ::console::{Key, Term};
use anyhow::Context as _;
use haft_core::session::store::SessionFile;
#[cfg(unix)]
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::session::{SessionRow, id_digits, truncate};

/// The maximum number of visible sessions.
const VISIBLE: usize = 15;

/// The marker of the selected line.
const MARK: &str = "> ";
const NO_MARK: &str = "  ";

/// The text before the search text.
const QUESTION: &str = "Session (type to search, Esc to cancel): ";

/// Lets the user choose a session with arrow keys and a search text; `None` after Esc or Ctrl-C. The picker is drawn on
/// standard error and erased at the end. The cursor stays visible, so that an abrupt end leaves a usable terminal.
pub(super) fn pick_session(rows: &[SessionRow]) -> anyhow::Result<Option<SessionFile>> {
    let term = Term::buffered_stderr();
    let (height, width) = term.size();
    let (height, width) = (usize::from(height), usize::from(width));
    let digits = id_digits(rows.iter().map(|row| &row.found));
    let now = SystemTime::now();
    // A line as wide as the terminal would wrap.
    let room = width.saturating_sub(MARK.len() + 1);
    let sessions = rows.iter().map(|row| PickerItem {
        line: row.line(now, digits, room),
        search_text: format!("{} {}", row.found.id, row.text).to_lowercase(),
    });
    let mut picker = SessionPicker {
        sessions: sessions.collect(),
        visible: VISIBLE.min(height.saturating_sub(2)).max(1),
        width,
        typed: String::new(),
        at: 0,
    };
    let keys = RawModeGuard::enable();
    let chosen = run_picker(&term, &mut picker).context("cannot show the session picker; use -r ID");
    drop(keys);
    let chosen = chosen?;
    Ok(chosen.and_then(|at| rows.get(at)).map(|row| row.found.clone()))
}

/// Draws, reads a key and erases, until the user selects a session or cancels.
fn run_picker(term: &Term, picker: &mut SessionPicker) -> io::Result<Option<usize>> {
    loop {
        let (above, question) = picker.render();
        above.iter().try_for_each(|line| term.write_line(line))?;
        term.write_str(&question)?;
        term.flush()?;
        let key = term.read_key_raw();
        term.clear_line()?;
        term.clear_last_lines(above.len())?;
        term.flush()?;
        match picker.handle_key(&key?) {
            PickerAction::Continue => {}
            PickerAction::Selected(at) => return Ok(Some(at)),
            PickerAction::Cancelled => return Ok(None),
        }
    }
}

/// Keeps the terminal without echo and signals, so that Ctrl-C is an ordinary key.
struct RawModeGuard {
    #[cfg(unix)]
    before: Option<Termios>,
}

impl RawModeGuard {
    fn enable() -> Self {
        #[cfg(unix)]
        let before = tcgetattr(io::stdin()).ok().inspect(|before| {
            let mut taken = before.clone();
            taken.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &taken);
        });
        Self {
            #[cfg(unix)]
            before,
        }
    }
}

impl Drop for RawModeGuard {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// A session in the picker.
struct PickerItem {
    line: String,
    /// The searched text: id and title, in lower case.
    search_text: String,
}

/// The state of the picker.
struct SessionPicker {
    sessions: Vec<PickerItem>,
    /// The number of visible lines.
    visible: usize,
    /// The width of the terminal in columns.
    width: usize,
    typed: String,
    /// The index of the marker among the matching sessions.
    at: usize,
}

/// The effect of a key.
#[derive(Debug, PartialEq, Eq)]
enum PickerAction {
    Continue,
    /// The selected session, by its index in the complete list.
    Selected(usize),
    Cancelled,
}

impl SessionPicker {
    fn matching_items(&self) -> Vec<usize> {
        let typed = self.typed.to_lowercase();
        let matching =
            self.sessions.iter().enumerate().filter(|(_, session)| session.search_text.contains(&typed));
        matching.map(|(index, _)| index).collect()
    }

    fn render(&self) -> (Vec<String>, String) {
        let matching = self.matching_items();
        let first = (self.at + 1).saturating_sub(self.visible);
        let seen = matching.iter().enumerate().skip(first).take(self.visible);
        let mut lines: Vec<String> = seen
            .filter_map(|(at, index)| {
                let mark = if at == self.at { MARK } else { NO_MARK };
                Some(format!("{mark}{}", self.sessions.get(*index)?.line))
            })
            .collect();
        if lines.is_empty() {
            lines.push(truncate(&format!("{NO_MARK}no matches"), self.width.saturating_sub(1)));
        }
        (lines, truncate(&format!("{QUESTION}{}", self.typed), self.width.saturating_sub(1)))
    }

    fn handle_key(&mut self, key: &Key) -> PickerAction {
        let matching = self.matching_items();
        let last = matching.len().saturating_sub(1);
        match key {
            Key::Escape | Key::CtrlC => return PickerAction::Cancelled,
            Key::Enter => {
                return matching
                    .get(self.at)
                    .map_or(PickerAction::Continue, |index| PickerAction::Selected(*index));
            }
            Key::ArrowUp => self.at = self.at.saturating_sub(1),
            Key::ArrowDown => self.at = last.min(self.at + 1),
            Key::PageUp => self.at = self.at.saturating_sub(self.visible),
            Key::PageDown => self.at = last.min(self.at + self.visible),
            Key::Home => self.at = 0,
            Key::End => self.at = last,
            Key::Backspace => {
                self.typed.pop();
                self.at = 0;
            }
            Key::Char(typed) if !typed.is_control() => {
                self.typed.push(*typed);
                self.at = 0;
            }
            Key::Char(_)
            | Key::ArrowLeft
            | Key::ArrowRight
            | Key::Tab
            | Key::BackTab
            | Key::Alt
            | Key::Del
            | Key::Shift
            | Key::Insert
            | Key::Unknown
            | Key::UnknownEscSeq(_)
            | _ => {}
        }
        PickerAction::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picker(texts: &[&str], visible: usize) -> SessionPicker {
        let session =
            |text: &&str| PickerItem { line: format!("just now  {text}"), search_text: text.to_lowercase() };
        let sessions = texts.iter().map(session).collect();
        SessionPicker { sessions, visible, width: 80, typed: String::new(), at: 0 }
    }

    fn press(picker: &mut SessionPicker, keys: &[Key]) -> PickerAction {
        keys.iter().map(|key| picker.handle_key(key)).last().unwrap()
    }

    fn typed(text: &str) -> Vec<Key> {
        text.chars().map(Key::Char).collect()
    }

    #[test]
    fn searches_in_text_only() {
        let mut picker = picker(&["first thing", "Second thing", "the third"], 9);
        assert_eq!(press(&mut picker, &typed("sec")), PickerAction::Continue);
        assert_eq!(picker.render().0, ["> just now  Second thing"]);
        assert_eq!(picker.handle_key(&Key::Enter), PickerAction::Selected(1));
        // Scattered letters and the time column do not match.
        for absent in ["snd", "just"] {
            picker.typed = absent.to_owned();
            assert_eq!(picker.render().0, ["  no matches"]);
            assert_eq!(picker.handle_key(&Key::Enter), PickerAction::Continue);
        }
        picker.typed = "x".to_owned();
        press(&mut picker, &[Key::Backspace, Key::ArrowDown]);
        assert_eq!(
            (picker.matching_items().len(), picker.handle_key(&Key::Enter)),
            (3, PickerAction::Selected(1))
        );
        assert!(picker.render().1.ends_with("to cancel):"), "{}", picker.render().1);
    }

    #[test]
    fn keeps_marker_visible() {
        let mut picker = picker(&["a", "b", "c", "d"], 2);
        press(&mut picker, &[Key::ArrowDown, Key::ArrowDown]);
        assert_eq!(picker.render().0, ["  just now  b", "> just now  c"]);
        press(&mut picker, &[Key::End, Key::ArrowDown]);
        assert_eq!(picker.render().0, ["  just now  c", "> just now  d"]);
        press(&mut picker, &[Key::PageUp]);
        assert_eq!(picker.handle_key(&Key::Enter), PickerAction::Selected(1));
        press(&mut picker, &[Key::Home, Key::ArrowUp]);
        assert_eq!(picker.handle_key(&Key::Enter), PickerAction::Selected(0));
    }

    #[test]
    fn cancels_on_esc_and_ctrl_c() {
        assert_eq!(picker(&["a"], 1).handle_key(&Key::Escape), PickerAction::Cancelled);
        assert_eq!(picker(&["a"], 1).handle_key(&Key::CtrlC), PickerAction::Cancelled);
    }
}
