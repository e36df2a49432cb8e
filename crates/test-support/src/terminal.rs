//! The effect of bytes on a terminal: the oracle for all output of haft.

mod own_output;

use std::fmt;

pub use own_output::{OutputKind, forbidden_actions};

/// Texts that affect a terminal or deceive a reader, each with a description.
pub const ATTACKS: &[(&str, &str)] = &[
    ("color", "\x1b[31mred\x1b[0m"),
    ("clear the screen", "\x1b[2J\x1b[1;1H$ "),
    ("another screen", "\x1b[?1049h"),
    ("write over the line above", "\x1b[1A\x1b[2KAllow? [y]"),
    ("title", "\x1b]0;owned\x07"),
    ("clipboard", "\x1b]52;c;cm0gLXJmIC8=\x1b\\"),
    ("link", "\x1b]8;;http://127.0.0.1/\x1b\\docs\x1b]8;;\x1b\\"),
    ("device control", "\x1bP+q544e\x1b\\"),
    ("answer back", "\x1b[c\x1b[6n\x1bZ"),
    ("application command", "\x1b_Gf=100;AAAA\x1b\\"),
    ("privacy message", "\x1b^hidden\x1b\\"),
    ("start of string", "\x1bXhidden\x1b\\"),
    ("reset", "\x1bc"),
    ("character set", "\x1b(0lqqk\x0e"),
    ("8-bit control sequence", "\u{9b}31mred"),
    ("8-bit title", "\u{9d}0;owned\u{9c}"),
    ("8-bit device control", "\u{90}+q544e\u{9c}"),
    ("8-bit application command", "\u{9f}Gf=100\u{9c}\u{98}\u{9e}"),
    ("8-bit lines", "a\u{84}b\u{85}c\u{8d}d"),
    ("backspace", "rm -rf /\x08\x08\x08\x08\x08\x08\x08\x08ls"),
    ("carriage return", "rm -rf /\rls      "),
    ("bell", "\x07\x07\x07"),
    ("delete", "a\x7f\x7fb"),
    ("form feed and vertical tab", "a\x0cb\x0bc"),
    ("NUL", "a\0b"),
    ("end of the transmission", "a\x04b\x05c"),
    ("sequence in a sequence", "\x1b[3\x1b[31m1mred"),
    ("sequence in a string", "\x1b]0;\x1b[31mtitle\x07red"),
    ("string in a string", "\x1b]0;a\x1b]52;c;aGk=\x07b\x07"),
    ("cut sequence", "a\x1b[31"),
    ("cut string", "a\x1b]0;never ended"),
    ("cut escape", "a\x1b"),
    ("cancelled sequence", "\x1b[3\x18[31m\x1a]0;x\x07"),
    ("sequence over two lines", "\x1b[3\n1mred\x1b]0;a\nb\x07"),
    ("sequence with a letter in it", "\x1b[3é1m\x1béc"),
    ("direction override", "photo\u{202e}gpj.exe\u{202c}"),
    ("direction isolate", "a\u{2066}b\u{2067}c\u{2068}d\u{2069}\u{200f}\u{200e}\u{61c}"),
    ("zero width", "r\u{200b}m\u{200d}\u{200c}\u{2060}\u{feff}\u{ad} -rf"),
    ("blank letters", "a\u{3164}\u{ffa0}\u{115f}\u{1160}b"),
    ("other ends of lines", "a\u{2028}b\u{2029}c"),
    ("tags", "fog\u{e0001}\u{e0064}\u{e0065}\u{e006c}\u{e007f}"),
    ("selectors", "fog😀\u{fe01}\u{fe0f}\u{e0100}\u{e01ef}"),
    ("not a character", "a\u{fffd}\u{ffff}b"),
];

/// Returns the actions of a terminal apart from showing characters and starting lines, in the order of the bytes, and
/// an unfinished sequence. Returns nothing for harmless bytes.
pub fn terminal_actions(bytes: &[u8]) -> Vec<String> {
    let (mut parser, mut deeds) = (vte::Parser::new(), ActionRecorder::default());
    parser.advance(&mut deeds, bytes);
    if bytes.contains(&0x7f) {
        deeds.other.push("execute 0x7f".to_owned());
    }
    let shown = deeds.shown;
    parser.advance(&mut deeds, b"X");
    if deeds.shown == shown {
        deeds.other.push("swallow the following text".to_owned());
    }
    deeds.other
}

/// True if a text holds characters that are invisible and that no adjacent letter needs.
pub fn is_deceptive(text: &str) -> bool {
    let needed = |before: char| !(before.is_ascii() || before == '\u{fffd}');
    let mut before = ' ';
    text.chars().any(|c| {
        let behind = std::mem::replace(&mut before, c);
        match u32::from(c) {
            0x200c | 0x200d => !needed(behind),
            0xe0100..=0xe01ef => !needed(behind) || behind > '\u{3ffff}',
            0xad | 0x61c | 0x200b | 0x200e | 0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfeff => {
                true
            }
            code => (0xe0000..=0xe0fff).contains(&code),
        }
    })
}

#[derive(Default)]
struct ActionRecorder {
    shown: usize,
    other: Vec<String>,
}

impl vte::Perform for ActionRecorder {
    fn print(&mut self, _: char) {
        self.shown += 1;
    }

    fn execute(&mut self, byte: u8) {
        if byte != b'\n' && byte != b'\t' {
            self.other.push(format!("execute {byte:#04x}"));
        }
    }

    fn csi_dispatch(&mut self, _: &vte::Params, _: &[u8], _: bool, action: char) {
        self.other.push(format!("control sequence {action}"));
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, byte: u8) {
        self.other.push(format!("escape {:?}", char::from(byte)));
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], _: bool) {
        let first = params.first().copied().unwrap_or_default();
        self.other.push(format!("command {}", String::from_utf8_lossy(first)));
    }

    fn hook(&mut self, _: &vte::Params, _: &[u8], _: bool, action: char) {
        self.other.push(format!("device control {action}"));
    }
}

/// An endless generator of hostile texts, which are the same for the same seed. Most characters are parts of sequences;
/// some are arbitrary characters or one of the [`ATTACKS`].
#[derive(Debug, Clone)]
pub struct HostileTexts {
    state: u64,
}

/// Pieces of sequences and deceptions.
const PIECES: &[char] = &[
    '\x1b',
    '\x1b',
    '\x1b',
    '\u{9b}',
    '\u{9d}',
    '\u{90}',
    '\u{98}',
    '\u{9e}',
    '\u{9f}',
    '\u{9c}',
    '\u{85}',
    '\u{8d}',
    '[',
    ']',
    'P',
    'X',
    '^',
    '_',
    '\\',
    '(',
    '#',
    ';',
    '?',
    ':',
    '0',
    '1',
    '5',
    '2',
    '8',
    'm',
    'J',
    'H',
    'c',
    'h',
    'q',
    ' ',
    '!',
    '\n',
    '\t',
    '\r',
    '\x08',
    '\x07',
    '\0',
    '\x0b',
    '\x0c',
    '\x0e',
    '\x0f',
    '\x18',
    '\x1a',
    '\x7f',
    'é',
    '日',
    '😀',
    'ر',
    '\u{fffd}',
    '\u{ad}',
    '\u{61c}',
    '\u{200b}',
    '\u{200c}',
    '\u{200d}',
    '\u{200e}',
    '\u{200f}',
    '\u{202a}',
    '\u{202e}',
    '\u{2028}',
    '\u{2066}',
    '\u{2069}',
    '\u{3164}',
    '\u{fe0f}',
    '\u{feff}',
    '\u{e0041}',
    '\u{e007f}',
    '\u{e0100}',
];

impl HostileTexts {
    /// Creates a generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed | 1 }
    }

    /// Returns a number below `bound`. The generator is xorshift64*, which is fast and random enough for choosing
    /// characters.
    fn random_below(&mut self, bound: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let mixed = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(mixed).unwrap_or_default() % bound.max(1)
    }

    fn push(&mut self, text: &mut String) {
        match self.random_below(32) {
            0 => {
                let attack = self.random_below(ATTACKS.len());
                text.push_str(ATTACKS.get(attack).map_or("", |(_, attack)| attack));
            }
            1..=3 => text.push(char::from_u32(self.random_below(0x11_0000) as u32).unwrap_or('\u{fffd}')),
            4..=6 => text.push(char::from_u32(self.random_below(0x100) as u32).unwrap_or('\u{fffd}')),
            _ => {
                let piece = self.random_below(PIECES.len());
                text.push(PIECES.get(piece).copied().unwrap_or('\x1b'));
            }
        }
    }

    /// Replaces `text` with the next text.
    pub fn next_into(&mut self, text: &mut String) {
        text.clear();
        for _ in 0..self.random_below(24) {
            self.push(text);
        }
    }

    /// Returns the next bytes as text, in which invalid UTF-8 is replaced by `U+FFFD`. Most are a text with bytes
    /// inserted, removed or changed; some are arbitrary bytes.
    pub fn next_lossy(&mut self) -> String {
        let mut text = String::new();
        self.next_into(&mut text);
        let mut bytes = text.into_bytes();
        if self.random_below(8) == 0 {
            bytes.iter_mut().for_each(|byte| *byte = self.random_byte());
        }
        for _ in 0..self.random_below(4) {
            let (at, byte) = (self.random_below(bytes.len() + 1), self.random_byte());
            match (self.random_below(3), bytes.get_mut(at)) {
                (1, Some(place)) => *place = byte,
                (2, Some(_)) => drop(bytes.remove(at)),
                _ => bytes.insert(at, byte),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn random_byte(&mut self) -> u8 {
        u8::try_from(self.random_below(0x100)).unwrap_or_default()
    }
}

/// A path on which a text reaches a terminal, as bytes.
pub type TextSink<'a> = (&'a str, &'a dyn Fn(&str) -> Vec<u8>);

/// The result of [`survey`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SurveyReport {
    /// The number of tested texts, over all sinks.
    pub texts: u64,
    /// The first failures: the sink, the text, and the terminal's actions.
    pub broken: Vec<(String, String, Vec<String>)>,
    /// The number of all failures.
    pub failures: u64,
}

/// The largest number of failures that a [`SurveyReport`] quotes.
const QUOTED: usize = 10;

/// Sends each of the [`ATTACKS`] through every sink, and `random` hostile texts through one sink after the other.
pub fn survey(random: u64, seed: u64, sinks: &[TextSink<'_>]) -> SurveyReport {
    let mut report = SurveyReport::default();
    for (_, attack) in ATTACKS {
        sinks.iter().for_each(|sink| report.check(sink, attack));
    }
    let (mut hostile, mut text) = (HostileTexts::new(seed), String::new());
    let turns = sinks.iter().cycle().zip(0..random);
    for (sink, _) in turns {
        hostile.next_into(&mut text);
        report.check(sink, &text);
    }
    report
}

impl SurveyReport {
    fn check(&mut self, (name, sink): &TextSink<'_>, text: &str) {
        self.texts += 1;
        let bytes = sink(text);
        let mut deeds = terminal_actions(&bytes);
        deeds.extend(is_deceptive(&String::from_utf8_lossy(&bytes)).then(|| "deceive the reader".to_owned()));
        if !deeds.is_empty() {
            self.failures += 1;
            if self.broken.len() < QUOTED {
                self.broken.push(((*name).to_owned(), text.to_owned(), deeds));
            }
        }
    }
}

impl fmt::Display for SurveyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} texts, {} with an effect", self.texts, self.failures)?;
        for (sink, text, deeds) in &self.broken {
            write!(f, "\n{sink}: {text:?}: {}", deeds.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oracle_detects_every_attack() {
        for (name, attack) in ATTACKS {
            let seen = !terminal_actions(attack.as_bytes()).is_empty() || is_deceptive(attack);
            assert_eq!(seen, *name != "not a character", "{name}");
        }
        assert_eq!(terminal_actions("a\tb\nc é 日本 😀".as_bytes()), Vec::<String>::new());
    }

    #[test]
    fn survey_finds_leaking_sink() {
        let leak = |text: &str| text.as_bytes().to_vec();
        let report = survey(1_000, 1, &[("leak", &leak)]);
        assert!(report.failures > 500, "{report}");
        assert_eq!(report.broken.len(), QUOTED);
        let shut = |_: &str| Vec::new();
        assert_eq!(survey(1_000, 1, &[("shut", &shut)]).failures, 0);
    }
}
