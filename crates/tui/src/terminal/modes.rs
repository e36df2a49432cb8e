//! Terminal modes while haft owns the terminal, and their reversal.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TerminalModes {
    /// Inline mode: output stays on the normal screen after the exit.
    pub(super) inline: bool,
    /// The alternate screen, temporary or until the exit.
    pub(super) alternate: bool,
    /// Clicks and the wheel arrive as input.
    pub(super) mouse: bool,
    /// Sequences that not every terminal knows may be sent.
    pub(super) modern: bool,
}

/// The Kitty keyboard protocol distinguishes similar keys: esc from the beginning of a sequence, ctrl+i from tab.
/// Each screen has its own stack, so each screen enables it.
const KEYBOARD: (&str, &str, &str) = ("\x1b[>1u", "\x1b[=1u", "\x1b[<1u");

/// The alternate screen, cleared.
const SCREEN: &str = "\x1b[?1049h\x1b[2J\x1b[H";

const PASTES: &str = "\x1b[?2004h";

const MOUSE: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";

/// A mode: its condition, and the sequences that begin, ensure and end it. Modes end in reverse order.
type ModeSequences = (bool, &'static str, &'static str, &'static str);

impl TerminalModes {
    fn sequences(self) -> [ModeSequences; 7] {
        [
            // The title is saved and restored, because haft sets titles.
            (self.modern, "\x1b[22;2t", "", "\x1b[23;2t"),
            // The rows at and below the cursor were drawn and do not belong to the printed output.
            (self.inline, "", "", "\r\x1b[J"),
            (self.inline && self.modern, KEYBOARD.0, KEYBOARD.1, KEYBOARD.2),
            (self.alternate, SCREEN, SCREEN, "\x1b[?1049l"),
            (true, PASTES, PASTES, "\x1b[?2004l"),
            (self.alternate && self.modern, KEYBOARD.0, KEYBOARD.1, KEYBOARD.2),
            (self.mouse, MOUSE, MOUSE, "\x1b[?1006l\x1b[?1002l\x1b[?1000l"),
        ]
    }

    pub(super) fn enter_sequence(self) -> String {
        self.sequences().into_iter().filter(|(used, ..)| *used).map(|(_, enter, ..)| enter).collect()
    }

    /// Returns the text that restores these modes after another program may have changed them. Modes on a stack are
    /// not pushed a second time, because they are popped only once.
    pub(super) fn reenter_sequence(self) -> String {
        self.sequences().into_iter().filter(|(used, ..)| *used).map(|(_, _, again, _)| again).collect()
    }

    /// Returns the text that switches to other modes.
    pub(super) fn switch_sequence(self, to: Self) -> String {
        let parts = || self.sequences().into_iter().zip(to.sequences());
        let left = parts().rev().filter(|((used, ..), (wanted, ..))| *used && !wanted);
        let entered = parts().filter(|((used, ..), (wanted, ..))| !used && *wanted);
        left.map(|((.., leave), _)| leave).chain(entered.map(|(_, (_, enter, ..))| enter)).collect()
    }

    /// Returns the text that restores the terminal in any state.
    pub(super) fn leave_sequence(self) -> String {
        let leave: String =
            self.sequences().into_iter().rev().filter(|(used, ..)| *used).map(|(.., leave)| leave).collect();
        // A frame may be incomplete: end the update, reset the style, show the cursor.
        format!("\x1b[?2026l\x1b[m{leave}\x1b[?25h")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enabled_modes_are_disabled() {
        let modes = TerminalModes { inline: false, alternate: true, mouse: true, modern: true };
        let (enter, leave) = (modes.enter_sequence(), modes.leave_sequence());
        for number in ["1049", "2004", "1000", "1002", "1006"] {
            assert!(enter.contains(&format!("\x1b[?{number}h")), "{number}");
            assert!(leave.contains(&format!("\x1b[?{number}l")), "{number}");
        }
        assert!(leave.find("\x1b[<1u") < leave.find("\x1b[?1049l"), "{leave:?}");
        assert!(leave.ends_with("\x1b[?25h"));
    }

    #[test]
    fn stacked_modes_are_pushed_once() {
        let again =
            TerminalModes { inline: false, alternate: true, mouse: true, modern: true }.reenter_sequence();
        for pushed in ["\x1b[>1u", "\x1b[22;2t"] {
            assert!(!again.contains(pushed), "{again:?}");
        }
        for set in ["\x1b[=1u", "\x1b[?1049h", "\x1b[?2004h", "\x1b[?1006h"] {
            assert!(again.contains(set), "{again:?}");
        }
    }

    #[test]
    fn legacy_terminal_gets_no_unknown_sequences() {
        let modes = TerminalModes { inline: false, alternate: false, mouse: false, modern: false };
        assert_eq!(modes.enter_sequence(), "\x1b[?2004h");
        assert_eq!(modes.leave_sequence(), "\x1b[?2026l\x1b[m\x1b[?2004l\x1b[?25h");
    }
    #[test]
    fn switches_from_inline_to_alternate_screen_and_back() {
        let own = TerminalModes { inline: true, alternate: false, mouse: false, modern: true };
        let other = TerminalModes { alternate: true, ..own };
        assert_eq!(own.enter_sequence(), "\x1b[22;2t\x1b[>1u\x1b[?2004h");
        assert_eq!(own.switch_sequence(other), "\x1b[?1049h\x1b[2J\x1b[H\x1b[>1u");
        assert_eq!(other.switch_sequence(own), "\x1b[<1u\x1b[?1049l");
        assert_eq!(own.switch_sequence(own), "");
        let leave = "\x1b[?2026l\x1b[m\x1b[<1u\x1b[?2004l\x1b[?1049l\x1b[<1u\r\x1b[J\x1b[23;2t\x1b[?25h";
        assert_eq!(other.leave_sequence(), leave);
    }
}
