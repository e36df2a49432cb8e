//! The quick scan: computes a [`ScanOverview`] from the bytes without an intermediate form.

use super::keys::SeenKeys;
use super::{PlainSpan, ScanLimits, ScanOverview, strings};

/// Scans one JSON text. Returns `None` if [`scan`](super::scan) must check it: the text is wrong,
/// or contains rare forms (keys with escapes, halves of surrogate pairs, exponents of three
/// digits).
pub(crate) fn scan_overview(text: &str, limits: ScanLimits) -> Option<ScanOverview<'_>> {
    scan_overview_with_plain_span(text, limits, PlainSpan::default())
}

/// Scans like [`scan_overview`] but skips the known plain span.
pub(crate) fn scan_overview_with_plain_span(
    text: &str,
    limits: ScanLimits,
    known: PlainSpan,
) -> Option<ScanOverview<'_>> {
    debug_assert!(known.holds_for(text.as_bytes()), "{known:?}");
    let mut walk = OverviewScanner {
        text,
        bytes: text.as_bytes(),
        at: 0,
        nodes: limits.nodes,
        depth: limits.depth.min(PARSER_DEPTH),
        keys: SeenKeys::new(),
        known,
        found: ScanOverview { tight: true, ..ScanOverview::default() },
    };
    walk.skip_whitespace();
    walk.scan_value(0)?;
    walk.skip_whitespace();
    (walk.at == walk.bytes.len()).then_some(walk.found)
}

/// The maximum nesting of serde_json, which reads the text afterwards.
const PARSER_DEPTH: usize = 127;

/// A double has 308 digits before its point. This many digits are in range, even with an exponent
/// of two digits.
const SAFE_DIGITS: usize = 200;

struct OverviewScanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// The number of values that may still follow.
    nodes: usize,
    depth: usize,
    keys: SeenKeys<'a>,
    known: PlainSpan,
    found: ScanOverview<'a>,
}

impl<'a> OverviewScanner<'a> {
    /// Scans one value; `depth` is the nesting of its container.
    fn scan_value(&mut self, depth: usize) -> Option<()> {
        self.count_node()?;
        match self.peek()? {
            b'"' => self.scan_string(),
            b'{' => self.scan_object(self.next_depth(depth)?),
            b'[' => self.scan_array(self.next_depth(depth)?),
            b't' => self.scan_literal(b"true"),
            b'f' => self.scan_literal(b"false"),
            b'n' => self.scan_literal(b"null"),
            b'-' | b'0'..=b'9' => self.scan_number(),
            _ => None,
        }
    }

    fn scan_object(&mut self, depth: usize) -> Option<()> {
        self.at += 1;
        self.skip_whitespace();
        if self.take_byte(b'}') {
            return Some(());
        }
        let mut object = self.keys.open();
        loop {
            let key = self.scan_key()?;
            self.keys.add(&mut object, key)?;
            self.skip_whitespace();
            self.expect(b':')?;
            self.skip_whitespace();
            let from = self.at;
            self.scan_value(depth)?;
            if depth == 1 {
                self.record_field(key, from);
            }
            self.skip_whitespace();
            if self.take_byte(b'}') {
                self.keys.close(&object);
                return Some(());
            }
            self.expect(b',')?;
            self.skip_whitespace();
        }
    }

    fn scan_array(&mut self, depth: usize) -> Option<()> {
        self.at += 1;
        self.skip_whitespace();
        if self.take_byte(b']') {
            return Some(());
        }
        loop {
            self.scan_value(depth)?;
            self.skip_whitespace();
            if self.take_byte(b']') {
                return Some(());
            }
            self.expect(b',')?;
            self.skip_whitespace();
        }
    }

    /// Scans a key without escapes, whose value is its text.
    fn scan_key(&mut self) -> Option<&'a [u8]> {
        self.count_node()?;
        self.expect(b'"')?;
        let from = self.at;
        self.at = strings::plain_end(self.bytes, from);
        let key = self.bytes.get(from..self.at);
        self.expect(b'"')?;
        key
    }

    fn scan_string(&mut self) -> Option<()> {
        self.at += 1;
        let from = self.at;
        self.at = self.plain_end(from);
        if self.at - from > self.found.longest.end - self.found.longest.from {
            self.found.longest = PlainSpan { from, end: self.at };
        }
        loop {
            if self.take_byte(b'"') {
                return Some(());
            }
            // A control character is also not an escape.
            if self.peek()? != b'\\' {
                return None;
            }
            self.at += strings::parse_escape(self.bytes, self.at)?.length;
            self.at = strings::plain_end(self.bytes, self.at);
        }
    }

    fn plain_end(&self, from: usize) -> usize {
        let PlainSpan { from: known, end } = self.known;
        let Some(before) = self.bytes.get(..known).filter(|_| from < end) else {
            return strings::plain_end(self.bytes, from);
        };
        match strings::plain_end(before, from.min(known)) {
            reached if reached == known => strings::plain_end(self.bytes, end.min(self.bytes.len())),
            special => special,
        }
    }

    fn scan_number(&mut self) -> Option<()> {
        self.take_byte(b'-');
        let from = self.at;
        if !self.take_byte(b'0') {
            self.scan_digits()?;
        }
        if self.at - from > SAFE_DIGITS {
            return None;
        }
        if self.take_byte(b'.') {
            self.scan_digits()?;
        }
        if self.take_byte(b'e') || self.take_byte(b'E') {
            if !self.take_byte(b'-') {
                self.take_byte(b'+');
            }
            return self.scan_digits().filter(|digits| *digits <= 2).map(drop);
        }
        Some(())
    }

    /// Scans at least one digit and returns the number of digits.
    fn scan_digits(&mut self) -> Option<usize> {
        let rest = self.bytes.get(self.at..)?;
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(count)
    }

    fn scan_literal(&mut self, word: &[u8]) -> Option<()> {
        let found = self.bytes.get(self.at..)?.starts_with(word);
        self.at += word.len();
        found.then_some(())
    }

    /// Records a complete field of the outermost object.
    fn record_field(&mut self, key: &[u8], from: usize) {
        match key {
            b"type" => self.found.kind = self.text.get(from..self.at),
            b"id" => self.found.id = self.text.get(from..self.at),
            _ => {}
        }
    }

    fn count_node(&mut self) -> Option<()> {
        self.nodes = self.nodes.checked_sub(1)?;
        Some(())
    }

    fn next_depth(&self, depth: usize) -> Option<usize> {
        (depth < self.depth).then_some(depth + 1)
    }

    fn skip_whitespace(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
            self.found.tight = false;
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.take_byte(byte).then_some(())
    }

    fn take_byte(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }
}
