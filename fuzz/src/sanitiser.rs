//! Text for a terminal, judged by a terminal's own parser.

use haft_core::sanitize::{Sanitizer, sanitize, sanitize_line};

use crate::pieces;

/// What is printed holds nothing that a terminal obeys, harmless text stays as it is, and neither doing it again nor
/// the pieces a text comes in make a difference. `data` is the text; what is no UTF-8 in it is replaced.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let safe = sanitize(&text);
    only_prints(&safe);
    assert_eq!(sanitize(&safe), safe, "again");
    assert!(!text.chars().all(harmless) || safe == text, "harmless text was changed");

    let line = sanitize_line(&text);
    assert!(!line.contains(['\n', '\t']), "one line");
    only_prints(&line);

    let mut sanitizer = Sanitizer::default();
    let by_char: String = text.chars().map(|char| sanitizer.push(char.encode_utf8(&mut [0; 4]))).collect();
    assert_eq!(by_char, safe, "character by character");

    let mut sanitizer = Sanitizer::default();
    let in_pieces: String = uneven(&text).into_iter().map(|piece| sanitizer.push(piece)).collect();
    assert_eq!(in_pieces, safe, "in uneven pieces");
}

/// ASCII without control characters, and letters of a few scripts that no terminal treats as anything else.
fn harmless(char: char) -> bool {
    matches!(char, '\n' | '\t' | ' '..='~' | 'À'..='ɏ' | 'Α'..='Ρ' | 'а'..='я' | 'א'..='ת' | '一'..='龠')
}

/// [`pieces::uneven`], cut where characters begin.
fn uneven(text: &str) -> Vec<&str> {
    let mut cut = 0;
    let mut rest = text;
    let mut found = Vec::new();
    for piece in pieces::uneven(text.as_bytes()) {
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
    let mut screen = Screen::default();
    let mut terminal = vte::Parser::new();
    terminal.advance(&mut screen, text.as_bytes());
    assert_eq!(screen.obeyed, None, "a terminal obeys {text:?}");
    let before = screen.printed;
    terminal.advance(&mut screen, b"x");
    assert_eq!(screen.printed, before + 1, "a terminal waits for more behind {text:?}");
}

/// Counts what is printed and remembers what was anything else.
#[derive(Default)]
struct Screen {
    printed: usize,
    obeyed: Option<String>,
}

impl Screen {
    fn obey(&mut self, what: String) {
        self.obeyed.get_or_insert(what);
    }
}

impl vte::Perform for Screen {
    fn print(&mut self, _: char) {
        self.printed += 1;
    }

    fn execute(&mut self, byte: u8) {
        if !matches!(byte, b'\n' | b'\t') {
            self.obey(format!("control {byte:#04x}"));
        }
    }

    fn csi_dispatch(&mut self, _: &vte::Params, _: &[u8], _: bool, action: char) {
        self.obey(format!("control sequence {action:?}"));
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, byte: u8) {
        self.obey(format!("escape {byte:#04x}"));
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], _: bool) {
        self.obey(format!("operating system command of {} parameters", params.len()));
    }

    fn hook(&mut self, _: &vte::Params, _: &[u8], _: bool, action: char) {
        self.obey(format!("device control string {action:?}"));
    }

    fn put(&mut self, byte: u8) {
        self.obey(format!("device control {byte:#04x}"));
    }

    fn unhook(&mut self) {
        self.obey("the end of a device control string".to_owned());
    }
}
