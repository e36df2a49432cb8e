//! Choosing a session on a terminal.

use std::io;
use std::time::SystemTime;

use ::console::{Key, Term};
use anyhow::Context as _;
use haft_core::session::store::SessionFile;
#[cfg(unix)]
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::session::{SessionRow, id_digits, truncate};

/// The number of sessions that are seen at a time.
const VISIBLE: usize = 15;

/// The mark of the chosen line.
const MARK: &str = "> ";
const NO_MARK: &str = "  ";

/// The text before what is typed.
const QUESTION: &str = "Session (type to search, Esc to leave): ";

/// Lets the person choose by arrow keys and by typing a part of the text; none if they leave with Esc or Ctrl-C. Drawn
/// on standard error, and wiped at the end. The cursor is never hidden, so that nothing that ends haft meanwhile leaves
/// the terminal without one.
pub(super) fn pick_session(rows: &[SessionRow]) -> anyhow::Result<Option<SessionFile>> {
    let term = Term::buffered_stderr();
    let (height, width) = term.size();
    let (height, width) = (usize::from(height), usize::from(width));
    let digits = id_digits(rows.iter().map(|row| &row.found));
    let now = SystemTime::now();
    // A line that fills its row would be two.
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
    let chosen =
        run_picker(&term, &mut picker).context("cannot ask which session is meant; name one with -r ID");
    drop(keys);
    let chosen = chosen?;
    Ok(chosen.and_then(|at| rows.get(at)).map(|row| row.found.clone()))
}

/// Draws, reads a key, and wipes what was drawn, until one is chosen or the person leaves.
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

/// The terminal, while what is typed is neither shown nor obeyed: Ctrl-C between two keys is a key like those before it.
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

/// One that can be chosen.
struct PickerItem {
    line: String,
    /// The text that is searched: the id and the text, in small letters.
    search_text: String,
}

/// The content of the screen.
struct SessionPicker {
    sessions: Vec<PickerItem>,
    /// The number of lines that are shown at a time.
    visible: usize,
    /// The columns of the terminal.
    width: usize,
    typed: String,
    /// Which of those that match the mark is at.
    at: usize,
}

/// The effect of a key.
#[derive(Debug, PartialEq, Eq)]
enum PickerAction {
    Continue,
    /// This session, counted among all.
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
            lines.push(truncate(&format!("{NO_MARK}nothing matches"), self.width.saturating_sub(1)));
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
    fn what_is_typed_is_a_part_of_the_text_and_of_nothing_else() {
        let mut picker = picker(&["first thing", "Second thing", "the third"], 9);
        assert_eq!(press(&mut picker, &typed("sec")), PickerAction::Continue);
        assert_eq!(picker.render().0, ["> just now  Second thing"]);
        assert_eq!(picker.handle_key(&Key::Enter), PickerAction::Selected(1));
        // Letters in this order but not together, and the time that all lines have.
        for absent in ["snd", "just"] {
            picker.typed = absent.to_owned();
            assert_eq!(picker.render().0, ["  nothing matches"]);
            assert_eq!(picker.handle_key(&Key::Enter), PickerAction::Continue);
        }
        picker.typed = "x".to_owned();
        press(&mut picker, &[Key::Backspace, Key::ArrowDown]);
        assert_eq!(
            (picker.matching_items().len(), picker.handle_key(&Key::Enter)),
            (3, PickerAction::Selected(1))
        );
        assert!(picker.render().1.ends_with("to leave):"), "{}", picker.render().1);
    }

    #[test]
    fn the_mark_is_always_seen() {
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
    fn esc_and_ctrl_c_leave() {
        assert_eq!(picker(&["a"], 1).handle_key(&Key::Escape), PickerAction::Cancelled);
        assert_eq!(picker(&["a"], 1).handle_key(&Key::CtrlC), PickerAction::Cancelled);
    }
}
