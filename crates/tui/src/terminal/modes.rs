//! What the terminal is told to be like while haft has it, and how that is taken back.

/// What of a terminal is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Modes {
    /// A screen of its own, that goes with haft.
    pub(super) alternate: bool,
    /// Clicks and the wheel come as input.
    pub(super) mouse: bool,
    /// Sequences that not every terminal knows may be sent.
    pub(super) modern: bool,
}

/// Each part: whether it is used, how it begins, how it is made sure of once it has begun, how it ends. They end in the
/// opposite order.
type Part = (bool, &'static str, &'static str, &'static str);

/// A screen of its own, empty.
const SCREEN: &str = "\x1b[?1049h\x1b[2J\x1b[H";

const PASTES: &str = "\x1b[?2004h";

const MOUSE: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";

impl Modes {
    fn parts(self) -> [Part; 5] {
        [
            // The title is kept and given back, since titles are set.
            (self.modern, "\x1b[22;2t", "", "\x1b[23;2t"),
            (self.alternate, SCREEN, SCREEN, "\x1b[?1049l"),
            (true, PASTES, PASTES, "\x1b[?2004l"),
            // Keys that look alike are told apart: esc from what begins with it, ctrl+i from tab. Each screen of the
            // terminal has its own stack of this, so it is inside.
            (self.modern, "\x1b[>1u", "\x1b[=1u", "\x1b[<1u"),
            (self.mouse, MOUSE, MOUSE, "\x1b[?1006l\x1b[?1002l\x1b[?1000l"),
        ]
    }

    /// How the terminal is taken.
    pub(super) fn enter(self) -> String {
        self.parts().into_iter().filter(|(used, ..)| *used).map(|(_, enter, ..)| enter).collect()
    }

    /// How it is made sure that the terminal is as it was taken, whatever somebody else made of it meanwhile. What the
    /// terminal keeps on a stack is not put there a second time: it is taken from there once.
    pub(super) fn enter_again(self) -> String {
        self.parts().into_iter().filter(|(used, ..)| *used).map(|(_, _, again, _)| again).collect()
    }

    /// How it is given back, whatever it is in the middle of.
    pub(super) fn leave(self) -> String {
        let leave: String =
            self.parts().into_iter().rev().filter(|(used, ..)| *used).map(|(.., leave)| leave).collect();
        // A frame may be half written: it is over, nothing is coloured, and the cursor is seen.
        format!("\x1b[?2026l\x1b[m{leave}\x1b[?25h")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_switched_on_is_switched_off() {
        let modes = Modes { alternate: true, mouse: true, modern: true };
        let (enter, leave) = (modes.enter(), modes.leave());
        for number in ["1049", "2004", "1000", "1002", "1006"] {
            assert!(enter.contains(&format!("\x1b[?{number}h")), "{number}");
            assert!(leave.contains(&format!("\x1b[?{number}l")), "{number}");
        }
        assert!(leave.find("\x1b[<1u") < leave.find("\x1b[?1049l"), "{leave:?}");
        assert!(leave.ends_with("\x1b[?25h"));
    }

    #[test]
    fn what_the_terminal_keeps_on_a_stack_is_put_there_once() {
        let again = Modes { alternate: true, mouse: true, modern: true }.enter_again();
        for pushed in ["\x1b[>1u", "\x1b[22;2t"] {
            assert!(!again.contains(pushed), "{again:?}");
        }
        for set in ["\x1b[=1u", "\x1b[?1049h", "\x1b[?2004h", "\x1b[?1006h"] {
            assert!(again.contains(set), "{again:?}");
        }
    }

    #[test]
    fn an_old_terminal_is_told_nothing_that_it_would_show() {
        let modes = Modes { alternate: false, mouse: false, modern: false };
        assert_eq!(modes.enter(), "\x1b[?2004h");
        assert_eq!(modes.leave(), "\x1b[?2026l\x1b[m\x1b[?2004l\x1b[?25h");
    }
}
