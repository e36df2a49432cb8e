//! Text for a terminal, judged by a terminal's own parser, and text for a model.

use haft_core::sanitize::{ModelSafeText, Sanitizer, sanitize, sanitize_line, strip_hidden_chars};

use crate::pieces;

/// Checks that the output holds nothing that a terminal obeys, that harmless text stays as it is, and that neither a
/// second pass nor the pieces of a text make a difference. `data` is the text; what is no UTF-8 in it is replaced.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let safe = sanitize(&text);
    only_prints(&safe);
    assert_eq!(sanitize(&safe), safe, "again");
    assert!(!text.chars().all(is_harmless) || safe == text, "harmless text was changed");

    assert!(!safe.chars().any(is_hidden), "{safe:?} hides something");
    only_seen(&text);

    let line = sanitize_line(&text);
    assert!(!line.contains(['\n', '\t']), "one line");
    only_prints(&line);

    let mut sanitizer = Sanitizer::default();
    let by_char: String = text.chars().map(|char| sanitizer.push(char.encode_utf8(&mut [0; 4]))).collect();
    assert_eq!(by_char, safe, "character by character");

    let mut sanitizer = Sanitizer::default();
    let in_pieces: String =
        uneven_text_pieces(&text).into_iter().map(|piece| sanitizer.push(piece)).collect();
    assert_eq!(in_pieces, safe, "in uneven pieces");
}

/// Nothing that could carry a hidden message reaches a model, nothing else is taken away, and what is, is counted.
fn only_seen(text: &str) {
    let ModelSafeText { text: seen, hidden } = strip_hidden_chars(text);
    assert_eq!(seen.chars().count() + hidden, text.chars().count(), "the count of what was taken out");
    let mut chars = text.chars();
    assert!(seen.chars().all(|kept| chars.any(|char| char == kept)), "{seen:?} was not in {text:?}");
    assert!(!seen.chars().any(is_tag), "{seen:?} holds tags");
    let pairs = seen.chars().zip(seen.chars().skip(1));
    assert!(
        !pairs.into_iter().any(|(a, b)| is_variation_selector(a) && is_variation_selector(b)),
        "{seen:?} holds a row of selectors"
    );
    assert!(
        text.chars().any(|char| is_tag(char) || is_variation_selector(char)) || hidden == 0,
        "plain text was changed"
    );
}

/// Marks of direction, and what has no width and is needed by no letter.
fn is_hidden(char: char) -> bool {
    let marks = ['\u{61c}', '\u{ad}', '\u{200b}', '\u{200e}', '\u{200f}', '\u{feff}', '\u{3164}'];
    marks.contains(&char) || matches!(u32::from(char), 0x2028..=0x202e | 0x2060..=0x206f | 0xe0000..=0xe007f)
}

/// A copy of ASCII that nobody sees, and what belongs to it.
fn is_tag(char: char) -> bool {
    u32::from(char) >> 12 == 0xe0
}

fn is_variation_selector(char: char) -> bool {
    u32::from(char) >> 4 == 0xfe0
}

/// ASCII without control characters, and letters of a few scripts that no terminal treats as anything else.
fn is_harmless(char: char) -> bool {
    matches!(char, '\n' | '\t' | ' '..='~' | 'À'..='ɏ' | 'Α'..='Ρ' | 'а'..='я' | 'א'..='ת' | '一'..='龠')
}

/// [`pieces::uneven`], cut where characters begin.
fn uneven_text_pieces(text: &str) -> Vec<&str> {
    let mut cut = 0;
    let mut rest = text;
    let mut found = Vec::new();
    for piece in pieces::uneven_pieces(text.as_bytes()) {
        cut += piece.len();
        let (head, tail) = rest.split_at(rest.floor_char_boundary(cut - (text.len() - rest.len())));
        found.push(head);
        rest = tail;
    }
    found.push(rest);
    found
}

/// A terminal does nothing with the text but print it, and is ready for more text behind it.
fn only_prints(text: &str) {
    let mut screen = TerminalProbe::default();
    let mut terminal = vte::Parser::new();
    terminal.advance(&mut screen, text.as_bytes());
    assert_eq!(screen.obeyed, None, "a terminal obeys {text:?}");
    let before = screen.printed;
    terminal.advance(&mut screen, b"x");
    assert_eq!(screen.printed, before + 1, "a terminal waits for more behind {text:?}");
}

/// Counts what is printed and remembers what was anything else.
#[derive(Default)]
struct TerminalProbe {
    printed: usize,
    obeyed: Option<String>,
}

impl TerminalProbe {
    fn record_obeyed(&mut self, what: String) {
        self.obeyed.get_or_insert(what);
    }
}

impl vte::Perform for TerminalProbe {
    fn print(&mut self, _: char) {
        self.printed += 1;
    }

    fn execute(&mut self, byte: u8) {
        if !matches!(byte, b'\n' | b'\t') {
            self.record_obeyed(format!("control {byte:#04x}"));
        }
    }

    fn csi_dispatch(&mut self, _: &vte::Params, _: &[u8], _: bool, action: char) {
        self.record_obeyed(format!("control sequence {action:?}"));
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, byte: u8) {
        self.record_obeyed(format!("escape {byte:#04x}"));
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], _: bool) {
        self.record_obeyed(format!("operating system command of {} parameters", params.len()));
    }

    fn hook(&mut self, _: &vte::Params, _: &[u8], _: bool, action: char) {
        self.record_obeyed(format!("device control string {action:?}"));
    }

    fn put(&mut self, byte: u8) {
        self.record_obeyed(format!("device control {byte:#04x}"));
    }

    fn unhook(&mut self) {
        self.record_obeyed("the end of a device control string".to_owned());
    }
}
