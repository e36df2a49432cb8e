//! Text for a terminal, checked with a terminal's own parser, and text for a model.

use haft_core::sanitize::{ModelSafeText, Sanitizer, sanitize, sanitize_line, strip_hidden_chars};

use crate::pieces;

/// Checks that the output holds no control sequences and that harmless text is unchanged. Sanitizing twice or in pieces
/// must give the same result. `data` is the text; invalid UTF-8 is replaced.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let safe = sanitize(&text);
    check_prints_only(&safe);
    assert_eq!(sanitize(&safe), safe, "sanitizing again changed the text");
    assert!(!text.chars().all(is_harmless) || safe == text, "harmless text was changed");

    assert!(!safe.chars().any(is_invisible), "{safe:?} contains hidden characters");
    check_visible_text(&text);

    let line = sanitize_line(&text);
    assert!(!line.contains(['\n', '\t']), "a line break or tab remains");
    check_prints_only(&line);

    let mut sanitizer = Sanitizer::default();
    let by_char: String = text.chars().map(|char| sanitizer.push(char.encode_utf8(&mut [0; 4]))).collect();
    assert_eq!(by_char, safe, "character by character");

    let mut sanitizer = Sanitizer::default();
    let in_pieces: String = cut_unevenly(&text).into_iter().map(|piece| sanitizer.push(piece)).collect();
    assert_eq!(in_pieces, safe, "in uneven pieces");
}

/// Checks that text for a model holds no hidden characters, that all other text remains, and that removed characters
/// are counted.
fn check_visible_text(text: &str) {
    let ForModel { text: seen, hidden } = for_model(text);
    assert_eq!(seen.chars().count() + hidden, text.chars().count(), "the count of removed characters");
    let mut chars = text.chars();
    assert!(seen.chars().all(|kept| chars.any(|char| char == kept)), "{seen:?} was not in {text:?}");
    assert!(!seen.chars().any(is_tag), "{seen:?} contains tag characters");
    let pairs = seen.chars().zip(seen.chars().skip(1));
    assert!(
        !pairs.into_iter().any(|(a, b)| is_variation_selector(a) && is_variation_selector(b)),
        "{seen:?} contains adjacent variation selectors"
    );
    assert!(
        text.chars().any(|char| is_tag(char) || is_variation_selector(char)) || hidden == 0,
        "plain text was changed"
    );
}

/// True for direction marks and for characters of zero width that no letter needs.
fn is_invisible(char: char) -> bool {
    let marks = ['\u{61c}', '\u{ad}', '\u{200b}', '\u{200e}', '\u{200f}', '\u{feff}', '\u{3164}'];
    marks.contains(&char) || matches!(u32::from(char), 0x2028..=0x202e | 0x2060..=0x206f | 0xe0000..=0xe007f)
}

/// True for tag characters, an invisible copy of ASCII.
fn is_tag(char: char) -> bool {
    u32::from(char) >> 12 == 0xe0
}

fn is_variation_selector(char: char) -> bool {
    u32::from(char) >> 4 == 0xfe0
}

/// True for ASCII without control characters, and for letters of a few scripts that every terminal prints unchanged.
fn is_harmless(char: char) -> bool {
    matches!(char, '\n' | '\t' | ' '..='~' | 'À'..='ɏ' | 'Α'..='Ρ' | 'а'..='я' | 'א'..='ת' | '一'..='龠')
}

/// Cuts text with [`pieces::cut_unevenly`], moved to character boundaries.
fn cut_unevenly(text: &str) -> Vec<&str> {
    let mut cut = 0;
    let mut rest = text;
    let mut found = Vec::new();
    for piece in pieces::cut_unevenly(text.as_bytes()) {
        cut += piece.len();
        let (head, tail) = rest.split_at(rest.floor_char_boundary(cut - (text.len() - rest.len())));
        found.push(head);
        rest = tail;
    }
    found.push(rest);
    found
}

/// Checks that a terminal only prints the text and is in its initial state afterwards.
fn check_prints_only(text: &str) {
    let mut recorder = ControlRecorder::default();
    let mut terminal = vte::Parser::new();
    terminal.advance(&mut recorder, text.as_bytes());
    assert_eq!(recorder.control, None, "a terminal interprets {text:?}");
    let before = recorder.printed;
    terminal.advance(&mut recorder, b"x");
    assert_eq!(recorder.printed, before + 1, "a terminal expects more input after {text:?}");
}

/// Terminal state that counts printed characters and records the first control.
#[derive(Default)]
struct ControlRecorder {
    printed: usize,
    control: Option<String>,
}

impl ControlRecorder {
    fn record(&mut self, what: String) {
        self.control.get_or_insert(what);
    }
}

impl vte::Perform for ControlRecorder {
    fn print(&mut self, _: char) {
        self.printed += 1;
    }

    fn execute(&mut self, byte: u8) {
        if !matches!(byte, b'\n' | b'\t') {
            self.record(format!("control {byte:#04x}"));
        }
    }

    fn csi_dispatch(&mut self, _: &vte::Params, _: &[u8], _: bool, action: char) {
        self.record(format!("control sequence {action:?}"));
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, byte: u8) {
        self.record(format!("escape {byte:#04x}"));
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], _: bool) {
        self.record(format!("operating system command of {} parameters", params.len()));
    }

    fn hook(&mut self, _: &vte::Params, _: &[u8], _: bool, action: char) {
        self.record(format!("device control string {action:?}"));
    }

    fn put(&mut self, byte: u8) {
        self.record(format!("device control {byte:#04x}"));
    }

    fn unhook(&mut self) {
        self.record("the end of a device control string".to_owned());
    }
}
