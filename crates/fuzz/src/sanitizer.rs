//! The oracle of the sanitizer. A terminal's parser judges the text for a terminal; the oracle also checks the text for
//! a model.

use haft_core::sanitize::{ModelSafeText, Sanitizer, sanitize, sanitize_line, strip_hidden_chars};

use crate::pieces;

/// Checks the sanitized text. `data` is the text; bytes that are not UTF-8 are replaced.
///
/// * A terminal only prints the output.
/// * Harmless text stays unchanged.
/// * A second pass changes nothing.
/// * Splitting the text into pieces makes no difference.
///
/// # Panics
/// If the sanitizer breaks one of these promises.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let safe = sanitize(&text);
    check_prints_only(&safe);
    assert_eq!(sanitize(&safe), safe, "a second pass changes the text");
    assert!(!text.chars().all(is_harmless) || safe == text, "harmless text was changed");

    assert!(!safe.chars().any(is_hidden), "{safe:?} has hidden characters");
    check_model_text(&text);

    let line = sanitize_line(&text);
    assert!(!line.contains(['\n', '\t']), "more than one line");
    check_prints_only(&line);

    let mut sanitizer = Sanitizer::default();
    let by_char: String = text.chars().map(|char| sanitizer.push(char.encode_utf8(&mut [0; 4]))).collect();
    assert_eq!(by_char, safe, "other output for single characters");

    let mut sanitizer = Sanitizer::default();
    let in_pieces: String =
        uneven_text_pieces(&text).into_iter().map(|piece| sanitizer.push(piece)).collect();
    assert_eq!(in_pieces, safe, "other output for uneven pieces");
}

/// Checks the text for a model. It has no characters that can carry a hidden message. All other characters stay, and
/// the removed ones are counted.
fn check_model_text(text: &str) {
    let ModelSafeText { text: seen, hidden, .. } = strip_hidden_chars(text);
    assert_eq!(
        seen.chars().count() + hidden,
        text.chars().count(),
        "the number of removed characters is wrong"
    );
    let mut chars = text.chars();
    assert!(seen.chars().all(|kept| chars.any(|char| char == kept)), "{seen:?} is not a part of {text:?}");
    assert!(!seen.chars().any(is_tag), "{seen:?} has tag characters");
    let pairs = seen.chars().zip(seen.chars().skip(1));
    assert!(
        !pairs.into_iter().any(|(a, b)| is_variation_selector(a) && is_variation_selector(b)),
        "{seen:?} has adjacent variation selectors"
    );
    assert!(
        text.chars().any(|char| is_tag(char) || is_variation_selector(char)) || hidden == 0,
        "plain text was changed"
    );
}

/// True for direction marks and for zero-width characters that no script needs.
fn is_hidden(char: char) -> bool {
    let marks = ['\u{61c}', '\u{ad}', '\u{200b}', '\u{200e}', '\u{200f}', '\u{feff}', '\u{3164}'];
    marks.contains(&char) || matches!(u32::from(char), 0x2028..=0x202e | 0x2060..=0x206f | 0xe0000..=0xe007f)
}

/// True for the invisible tag characters, which can spell ASCII text, and for the rest of their plane's first block.
fn is_tag(char: char) -> bool {
    u32::from(char) >> 12 == 0xe0
}

fn is_variation_selector(char: char) -> bool {
    u32::from(char) >> 4 == 0xfe0
}

/// True for ASCII without control characters, and for letters of a few scripts that every terminal only prints.
fn is_harmless(char: char) -> bool {
    matches!(char, '\n' | '\t' | ' '..='~' | 'À'..='ɏ' | 'Α'..='Ρ' | 'а'..='я' | 'א'..='ת' | '一'..='龠')
}

/// Cuts the text as [`pieces::uneven_pieces`] does, but only at the beginning of characters.
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

/// Checks that a terminal only prints the text, and that it prints further text after it.
fn check_prints_only(text: &str) {
    let mut screen = TerminalProbe::default();
    let mut terminal = vte::Parser::new();
    terminal.advance(&mut screen, text.as_bytes());
    assert_eq!(screen.control, None, "a terminal executes a control function of {text:?}");
    let before = screen.printed;
    terminal.advance(&mut screen, b"x");
    assert_eq!(screen.printed, before + 1, "a terminal does not print the text after {text:?}");
}

/// A terminal that counts the printed characters and records the first control function.
#[derive(Default)]
struct TerminalProbe {
    printed: usize,
    control: Option<String>,
}

impl TerminalProbe {
    fn record_control(&mut self, what: String) {
        self.control.get_or_insert(what);
    }
}

impl vte::Perform for TerminalProbe {
    fn print(&mut self, _: char) {
        self.printed += 1;
    }

    fn execute(&mut self, byte: u8) {
        if !matches!(byte, b'\n' | b'\t') {
            self.record_control(format!("control {byte:#04x}"));
        }
    }

    fn csi_dispatch(&mut self, _: &vte::Params, _: &[u8], _: bool, action: char) {
        self.record_control(format!("control sequence {action:?}"));
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, byte: u8) {
        self.record_control(format!("escape {byte:#04x}"));
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], _: bool) {
        self.record_control(format!("operating system command of {} parameters", params.len()));
    }

    fn hook(&mut self, _: &vte::Params, _: &[u8], _: bool, action: char) {
        self.record_control(format!("device control string {action:?}"));
    }

    fn put(&mut self, byte: u8) {
        self.record_control(format!("device control {byte:#04x}"));
    }

    fn unhook(&mut self) {
        self.record_control("the end of a device control string".to_owned());
    }
}
