//! Text from outside (models, extensions, tools, files) made safe for a terminal.
//!
//! A terminal obeys what it is sent: escape sequences move the cursor, retitle windows, write the clipboard;
//! direction marks and invisible characters make a line read as something it is not. All of that is removed.
//! Letters of every script, combining marks and emoji stay.

/// Makes a whole text safe: escape sequences, control characters except newline and tab, direction overrides
/// and invisible characters are removed.
pub fn sanitize(text: &str) -> String {
    Sanitizer::default().push(text)
}

/// As [`sanitize`], for one line: newlines and tabs become spaces.
pub fn sanitize_line(text: &str) -> String {
    sanitize(text).replace(['\n', '\t'], " ")
}

/// [`sanitize`] for a text that comes in pieces; a sequence that is cut in two by the pieces is removed too.
#[derive(Debug, Clone, Default)]
pub struct Sanitizer {
    state: State,
}

/// Where the last piece ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
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

impl Sanitizer {
    /// The safe part of the next piece.
    pub fn push(&mut self, piece: &str) -> String {
        piece.chars().filter(|&c| self.keeps(c)).collect()
    }

    fn keeps(&mut self, c: char) -> bool {
        // Newline, CAN and SUB end every sequence: a broken one cannot swallow the lines that follow.
        if matches!(c, '\n' | '\u{18}' | '\u{1a}') {
            self.state = State::Text;
            return c == '\n';
        }
        match self.state {
            State::Text => {}
            State::Escape => return self.behind_escape(c),
            State::EscapeTail if matches!(c, ' '..='/') => return false,
            State::Control if matches!(c, ' '..='?') => return false,
            State::EscapeTail | State::Control if matches!(c, '0'..='~') => {
                self.state = State::Text;
                return false;
            }
            // What does not belong to a sequence ends it and is judged as text.
            State::EscapeTail | State::Control => self.state = State::Text,
            State::String => {
                self.in_string(c);
                return false;
            }
            State::StringEscape => {
                // ESC \ ends the string; ESC with anything else ends it too and begins a sequence of its own.
                self.state = State::Text;
                return if c == '\\' { false } else { self.behind_escape(c) };
            }
        }
        self.text(c)
    }

    fn behind_escape(&mut self, c: char) -> bool {
        self.state = match c {
            '\u{1b}' => State::Escape,
            '[' => State::Control,
            ']' | 'P' | 'X' | '^' | '_' => State::String,
            ' '..='/' => State::EscapeTail,
            '0'..='~' => State::Text,
            _ => {
                self.state = State::Text;
                return self.text(c);
            }
        };
        false
    }

    fn in_string(&mut self, c: char) {
        match c {
            '\u{1b}' => self.state = State::StringEscape,
            '\u{7}' | '\u{9c}' => self.state = State::Text,
            _ => {}
        }
    }

    fn text(&mut self, c: char) -> bool {
        match c {
            '\u{1b}' => self.state = State::Escape,
            '\u{9b}' => self.state = State::Control,
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => self.state = State::String,
            _ => return c == '\t' || !(c.is_control() || is_invisible(c)),
        }
        false
    }
}

/// Characters that change how their neighbours are shown, or are not shown at all. Variation selectors stay: emoji and
/// some scripts need them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{feff}'              // soft hyphen, grapheme joiner, byte order mark
        | '\u{61c}' | '\u{200e}' | '\u{200f}'           // direction marks
        | '\u{202a}'..='\u{202e}'                       // direction embeddings and overrides
        | '\u{2066}'..='\u{2069}'                       // direction isolates
        | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' // zero width
        | '\u{206a}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' // deprecated formats, annotations
        | '\u{2028}' | '\u{2029}'                       // line and paragraph separators
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' // Hangul fillers, which are blank
        | '\u{17b4}' | '\u{17b5}' | '\u{180e}'          // Khmer vowels without a form, vowel separator
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' // formats of shorthand and music
        | '\u{e0000}'..='\u{e00ff}') // tags: a hidden copy of ASCII
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(input: &str, expect: &str) {
        assert_eq!(sanitize(input), expect, "{input:?}");
        // The pieces it comes in make no difference.
        let mut sanitizer = Sanitizer::default();
        let pieces: String = input.chars().map(|c| sanitizer.push(&c.to_string())).collect();
        assert_eq!(pieces, expect, "{input:?} in pieces");
        assert_eq!(sanitize(expect), expect, "{expect:?} again");
    }

    #[test]
    fn text_stays() {
        check("a\tb\nc", "a\tb\nc");
        check(
            "gr\u{fc}n \u{65e5}\u{672c} \u{5e9}\u{5dc}\u{5d5}\u{5dd} e\u{301}",
            "gr\u{fc}n \u{65e5}\u{672c} \u{5e9}\u{5dc}\u{5d5}\u{5dd} e\u{301}",
        );
        check("\u{1f600}\u{2764}\u{fe0f}", "\u{1f600}\u{2764}\u{fe0f}");
        check("[31m is not an escape", "[31m is not an escape");
    }

    #[test]
    fn control_sequences_go() {
        check("\x1b[31mred\x1b[0m", "red");
        check("a\x1b[2J\x1b[1;1Hb", "ab");
        check("a\x1b[?1049hb", "ab");
        check("a\u{9b}31mb", "ab");
        check("a\x1bcb", "ab");
        check("a\x1b(Bb", "ab");
        check("a\x1b#8b", "ab");
        check("a\x1b\x1b[31mb", "ab");
        check("a\x1b[31", "a");
        check("a\x1b", "a");
    }

    #[test]
    fn strings_go_with_their_content() {
        check("a\x1b]0;title\x07b", "ab");
        check("a\x1b]52;c;aGk=\x1b\\b", "ab");
        check("a\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\b", "alinkb");
        check("a\x1bPq#0\x1b\\b", "ab");
        check("a\x1b_G\x1b\\b", "ab");
        check("a\x1b^pm\u{9c}b", "ab");
        check("a\u{9d}0;x\u{9c}b", "ab");
        check("a\x1b]0;x\x1b[31mb", "ab");
    }

    #[test]
    fn a_broken_sequence_does_not_swallow_the_next_line() {
        check("a\x1b]0;never ended\nb", "a\nb");
        check("a\x1bPnever ended\nb", "a\nb");
        check("a\x1b[3\nb", "a\nb");
        check("a\x1b[3\u{18}b", "ab");
        check("a\x1b[3\u{e9}b", "a\u{e9}b");
        check("a\x1b\u{e9}b", "a\u{e9}b");
    }

    #[test]
    fn control_characters_go() {
        check("a\rb\x08c\x07d\0e\x7ff\x0bg\x0ch", "abcdefgh");
        check("a\u{85}b\u{8d}c", "abc");
    }

    #[test]
    fn what_lies_about_the_text_goes() {
        check("exe\u{202e}gpj.\u{202c}", "exegpj.");
        check("a\u{2066}b\u{2069}c\u{200f}d\u{61c}", "abcd");
        check("r\u{200b}m\u{200d} \u{2060}-\u{feff}r\u{ad}f", "rm -rf");
        check("a\u{e0041}\u{e007f}b", "ab");
        check("a\u{2028}b", "ab");
    }

    #[test]
    fn blanks_that_are_letters_go() {
        check("a\u{3164}b\u{ffa0}c\u{115f}\u{1160}d\u{34f}e", "abcde");
        check("a\u{e0001}\u{e0080}b\u{2065}c\u{1d173}d", "abcd");
    }

    /// What a terminal would obey or not show, told in another way than the sanitiser does.
    fn harmless(c: char) -> bool {
        let code = u32::from(c);
        let control = code < 0x20 && c != '\n' && c != '\t' || (0x7f..=0x9f).contains(&code);
        let direction = [0x61c, 0x200e, 0x200f].contains(&code)
            || (0x202a..=0x202e).contains(&code)
            || (0x2066..=0x2069).contains(&code);
        let hidden = [0xad, 0xfeff, 0x3164].contains(&code) || (0xe0000..=0xe007f).contains(&code);
        !(control || direction || hidden)
    }

    /// Text that is mostly made of what sequences are made of.
    fn hostile() -> impl Strategy<Value = String> {
        let special = "[\u{0}-\u{20}\u{7f}-\u{a0}\u{1b}\u{1b}\u{9b}\u{9d}\\[\\]PX^_;0-9m?\\\\\u{7}\u{18}é😀\u{ad}\u{61c}\u{200e}-\u{202e}\u{2066}-\u{2069}\u{feff}\u{e0041}]";
        proptest::collection::vec(prop_oneof![4 => special, 1 => any::<char>().prop_map(String::from)], 0..40)
            .prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_obeys_is_left(text in hostile()) {
            let safe = sanitize(&text);
            prop_assert!(safe.chars().all(harmless), "{:?}", safe);
            prop_assert_eq!(sanitize(&safe), safe.clone(), "again");
            let line = sanitize_line(&text);
            prop_assert!(line.chars().all(|c| harmless(c) && c != '\n' && c != '\t'), "{:?}", line);
        }

        #[test]
        fn every_split_gives_the_same(text in hostile(), at in 0..200_usize) {
            let (before, after) = text.split_at(text.floor_char_boundary(at.min(text.len())));
            let mut sanitizer = Sanitizer::default();
            let pieces = sanitizer.push(before) + &sanitizer.push(after);
            prop_assert_eq!(pieces, sanitize(&text));
        }
    }

    #[test]
    fn one_line_stays_one_line() {
        assert_eq!(sanitize_line("a\nb\tc\x1b[0m"), "a b c");
    }
}
