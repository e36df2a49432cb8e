//! Escape sequences and control characters, told from text.

/// Where the last piece ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Sequence {
    /// Between sequences.
    #[default]
    Text,
    /// Behind ESC.
    Escape,
    /// Behind ESC and one or more intermediate characters, before the final one.
    EscapeTail,
    /// In a control sequence, before its final character.
    Control,
    /// In a string that a terminal would keep to itself (title, clipboard, device control).
    String,
    /// In such a string, behind an ESC that may begin its end.
    StringEscape,
}

impl Sequence {
    /// Whether this character is text: no control character but newline and tab, and no part of a sequence.
    pub(super) fn is_text(&mut self, c: char) -> bool {
        // Newline, CAN and SUB end every sequence: a broken one cannot swallow the lines that follow.
        if matches!(c, '\n' | '\u{18}' | '\u{1a}') {
            *self = Self::Text;
            return c == '\n';
        }
        match self {
            Self::Text => {}
            Self::Escape => return self.behind_escape(c),
            Self::EscapeTail if matches!(c, ' '..='/') => return false,
            Self::Control if matches!(c, ' '..='?') => return false,
            Self::EscapeTail | Self::Control if matches!(c, '0'..='~') => {
                *self = Self::Text;
                return false;
            }
            // What does not belong to a sequence ends it and is judged as text.
            Self::EscapeTail | Self::Control => *self = Self::Text,
            Self::String => {
                self.in_string(c);
                return false;
            }
            Self::StringEscape => {
                // ESC \ ends the string; ESC with anything else ends it too and begins a sequence of its own.
                *self = Self::Text;
                return if c == '\\' { false } else { self.behind_escape(c) };
            }
        }
        self.outside(c)
    }

    fn behind_escape(&mut self, c: char) -> bool {
        *self = match c {
            '\u{1b}' => Self::Escape,
            '[' => Self::Control,
            ']' | 'P' | 'X' | '^' | '_' => Self::String,
            ' '..='/' => Self::EscapeTail,
            '0'..='~' => Self::Text,
            _ => {
                *self = Self::Text;
                return self.outside(c);
            }
        };
        false
    }

    fn in_string(&mut self, c: char) {
        match c {
            '\u{1b}' => *self = Self::StringEscape,
            '\u{7}' | '\u{9c}' => *self = Self::Text,
            _ => {}
        }
    }

    fn outside(&mut self, c: char) -> bool {
        match c {
            '\u{1b}' => *self = Self::Escape,
            '\u{9b}' => *self = Self::Control,
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => *self = Self::String,
            _ => return c == '\t' || !c.is_control(),
        }
        false
    }
}
