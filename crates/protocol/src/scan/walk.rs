//! The quick pass: bytes in, an [`Overview`] out, and nothing in between.

use super::keys::Keys;
use super::{Overview, Plain, ScanLimits, strings};

/// Walks through one JSON text. `None` when [`scan`](super::scan) has to look: because something is wrong, or because
/// it is so rare that only it deals with it (keys with escapes, halves of surrogate pairs, exponents of three digits).
pub(crate) fn overview(text: &str, limits: ScanLimits) -> Option<Overview<'_>> {
    overview_knowing(text, limits, Plain::default())
}

/// [`overview`] without another look at what is known already.
pub(crate) fn overview_knowing(text: &str, limits: ScanLimits, known: Plain) -> Option<Overview<'_>> {
    debug_assert!(known.is_true_of(text.as_bytes()), "{known:?}");
    let mut walk = Walk {
        text,
        bytes: text.as_bytes(),
        at: 0,
        nodes: limits.nodes,
        depth: limits.depth.min(PARSER_DEPTH),
        keys: Keys::new(),
        known,
        found: Overview { tight: true, ..Overview::default() },
    };
    walk.space();
    walk.value(0)?;
    walk.space();
    (walk.at == walk.bytes.len()).then_some(walk.found)
}

/// serde_json, which reads the text afterwards, goes no deeper.
const PARSER_DEPTH: usize = 127;

/// A double has 308 digits before its point, so this many are in range, with an exponent of two digits, too.
const SAFE_DIGITS: usize = 200;

struct Walk<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// The number of values that may follow.
    nodes: usize,
    depth: usize,
    keys: Keys<'a>,
    known: Plain,
    found: Overview<'a>,
}

impl<'a> Walk<'a> {
    /// `depth` is that of what the value is in.
    fn value(&mut self, depth: usize) -> Option<()> {
        self.count()?;
        match self.peek()? {
            b'"' => self.string(),
            b'{' => self.object(self.deeper(depth)?),
            b'[' => self.array(self.deeper(depth)?),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        self.at += 1;
        self.space();
        if self.takes(b'}') {
            return Some(());
        }
        let mut object = self.keys.open();
        loop {
            let key = self.key()?;
            self.keys.add(&mut object, key)?;
            self.space();
            self.expect(b':')?;
            self.space();
            let from = self.at;
            self.value(depth)?;
            if depth == 1 {
                self.note(key, from);
            }
            self.space();
            if self.takes(b'}') {
                self.keys.close(&object);
                return Some(());
            }
            self.expect(b',')?;
            self.space();
        }
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        self.at += 1;
        self.space();
        if self.takes(b']') {
            return Some(());
        }
        loop {
            self.value(depth)?;
            self.space();
            if self.takes(b']') {
                return Some(());
            }
            self.expect(b',')?;
            self.space();
        }
    }

    /// A key without escapes: what it says is what is written.
    fn key(&mut self) -> Option<&'a [u8]> {
        self.count()?;
        self.expect(b'"')?;
        let from = self.at;
        self.at = strings::plain_end(self.bytes, from);
        let key = self.bytes.get(from..self.at);
        self.expect(b'"')?;
        key
    }

    fn string(&mut self) -> Option<()> {
        self.at += 1;
        let from = self.at;
        self.at = self.plain_end(from);
        if self.at - from > self.found.longest.end - self.found.longest.from {
            self.found.longest = Plain { from, end: self.at };
        }
        loop {
            if self.takes(b'"') {
                return Some(());
            }
            // A control character is no escape, either.
            if self.peek()? != b'\\' {
                return None;
            }
            self.at += strings::escape(self.bytes, self.at)?.length;
            self.at = strings::plain_end(self.bytes, self.at);
        }
    }

    fn plain_end(&self, from: usize) -> usize {
        let Plain { from: known, end } = self.known;
        let Some(before) = self.bytes.get(..known).filter(|_| from < end) else {
            return strings::plain_end(self.bytes, from);
        };
        match strings::plain_end(before, from.min(known)) {
            reached if reached == known => strings::plain_end(self.bytes, end.min(self.bytes.len())),
            special => special,
        }
    }

    fn number(&mut self) -> Option<()> {
        self.takes(b'-');
        let from = self.at;
        if !self.takes(b'0') {
            self.digits()?;
        }
        if self.at - from > SAFE_DIGITS {
            return None;
        }
        if self.takes(b'.') {
            self.digits()?;
        }
        if self.takes(b'e') || self.takes(b'E') {
            if !self.takes(b'-') {
                self.takes(b'+');
            }
            return self.digits().filter(|digits| *digits <= 2).map(drop);
        }
        Some(())
    }

    /// At least one; says how many.
    fn digits(&mut self) -> Option<usize> {
        let rest = self.bytes.get(self.at..)?;
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(count)
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        let found = self.bytes.get(self.at..)?.starts_with(word);
        self.at += word.len();
        found.then_some(())
    }

    /// A field of the outermost object is over.
    fn note(&mut self, key: &[u8], from: usize) {
        match key {
            b"type" => self.found.kind = self.text.get(from..self.at),
            b"id" => self.found.id = self.text.get(from..self.at),
            _ => {}
        }
    }

    fn count(&mut self) -> Option<()> {
        self.nodes = self.nodes.checked_sub(1)?;
        Some(())
    }

    fn deeper(&self, depth: usize) -> Option<usize> {
        (depth < self.depth).then_some(depth + 1)
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
            self.found.tight = false;
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.takes(byte).then_some(())
    }

    fn takes(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }
}
