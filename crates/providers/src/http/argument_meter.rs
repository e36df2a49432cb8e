//! Meters the nesting of tool arguments that arrive in pieces.
//!
//! When the arguments of a call are not valid JSON, the wire library looks for the longest valid beginning. For each
//! value it copies the list of the open brackets, so 40,000 nested brackets need 800 MB. The library does this as soon
//! as it reads the end of the call. The meter therefore computes the bytes of these copies before the library gets the
//! event.

use crate::limits::MAX_REPAIR;

/// The bytes that the wire library needs for each value, in addition to one for each open bracket.
const VALUE_BYTES: usize = 96;

/// A scanner of JSON text, which need not be valid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct JsonScan {
    place: ScanPlace,
    /// The open brackets.
    pub(super) depth: usize,
    /// The largest depth so far.
    pub(super) deepest: usize,
    /// The values, keys and brackets so far.
    pub(super) values: usize,
    /// The bytes that the repair of the text so far needs.
    repair: usize,
}

/// The place of the next byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ScanPlace {
    #[default]
    Outside,
    /// In a number or a word such as `true`.
    Word,
    String,
    /// After a backslash in a string.
    Escape,
}

impl JsonScan {
    /// Scans the next part of the text. Closing brackets never reduce the depth below `floor`.
    pub(super) fn scan(&mut self, text: &str, floor: usize) {
        for byte in text.bytes() {
            self.place = match (self.place, byte) {
                (ScanPlace::String, b'"') => self.count_value(ScanPlace::Outside),
                (ScanPlace::String, b'\\') => ScanPlace::Escape,
                (ScanPlace::String | ScanPlace::Escape, _) => ScanPlace::String,
                (_, b'"') => ScanPlace::String,
                (_, b'{' | b'[') => {
                    self.depth += 1;
                    self.deepest = self.deepest.max(self.depth);
                    self.count_value(ScanPlace::Outside)
                }
                (_, b'}' | b']') => {
                    self.depth = self.depth.saturating_sub(1).max(floor);
                    self.count_value(ScanPlace::Outside)
                }
                (ScanPlace::Word, byte) if is_word(byte) => ScanPlace::Word,
                (_, byte) if is_word(byte) => self.count_value(ScanPlace::Word),
                _ => ScanPlace::Outside,
            };
        }
    }

    fn count_value(&mut self, next: ScanPlace) -> ScanPlace {
        self.values += 1;
        self.repair = self.repair.saturating_add(VALUE_BYTES + self.depth);
        next
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+')
}

/// The meter of all arguments of one answer.
///
/// Invariant: for every way in which the pieces can be joined to calls, the meter computes at least the bytes that the
/// repair of each call needs. It cannot always know if a piece belongs to the same call as the piece before. It then
/// follows both cases, and forgets no open bracket.
#[derive(Debug)]
pub(super) struct ArgumentMeter {
    /// The possible states of the current call, with at most one for each [`ScanPlace`].
    scans: Vec<JsonScan>,
    /// The open brackets of earlier calls.
    floor: usize,
}

impl Default for ArgumentMeter {
    fn default() -> Self {
        Self { scans: vec![JsonScan::default()], floor: 0 }
    }
}

impl ArgumentMeter {
    /// Adds a piece. `continues`: it certainly belongs to the same call as the piece before.
    ///
    /// # Errors
    /// The number of nested brackets, if the repair would need more than [`MAX_REPAIR`].
    pub(super) fn add_piece(&mut self, piece: &str, continues: bool) -> Result<(), usize> {
        if !continues {
            self.begin_call();
        }
        for scan in &mut self.scans {
            scan.scan(piece, self.floor);
        }
        self.merge_scans();
        let worst = self.scans.iter().find(|scan| scan.repair > MAX_REPAIR);
        worst.map_or(Ok(()), |scan| Err(scan.deepest))
    }

    /// Adds the case that the next piece begins a call, with the brackets of all calls so far.
    fn begin_call(&mut self) {
        self.floor = self.scans.iter().map(|scan| scan.depth).max().unwrap_or_default();
        let most = self.scans.iter().copied().max_by_key(|scan| scan.repair).unwrap_or_default();
        self.scans.push(JsonScan { place: ScanPlace::Outside, ..most });
        for scan in &mut self.scans {
            scan.depth = self.floor;
        }
        self.merge_scans();
    }

    /// Joins the cases with the same place to one that needs at least as many bytes as each of them.
    fn merge_scans(&mut self) {
        let mut merged: Vec<JsonScan> = Vec::with_capacity(self.scans.len());
        for scan in self.scans.drain(..) {
            match merged.iter_mut().find(|other| other.place == scan.place) {
                Some(other) => {
                    other.depth = other.depth.max(scan.depth);
                    other.deepest = other.deepest.max(scan.deepest);
                    other.values = other.values.max(scan.values);
                    other.repair = other.repair.max(scan.repair);
                }
                None => merged.push(scan),
            }
        }
        self.scans = merged;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn scan(text: &str) -> JsonScan {
        let mut scan = JsonScan::default();
        scan.scan(text, 0);
        scan
    }

    #[test]
    fn counts_values_and_brackets_outside_of_strings() {
        let found = scan(r#"{"a":[1,-2.5e3,true],"[\"[":"]"}"#);
        assert_eq!((found.depth, found.deepest, found.values), (0, 2, 10));
        assert_eq!(scan("[[").depth, 2);
        assert_eq!(scan("]]").depth, 0);
    }

    #[test]
    fn pieces_of_one_call_count_as_the_whole() {
        let text = r#"{"text":"a [ \" { b","list":[{"x":1},{"y":[2,3]}]}"#;
        let mut meter = ArgumentMeter::default();
        for (index, piece) in text.split_inclusive(|_| true).enumerate() {
            meter.add_piece(piece, index > 0).unwrap();
        }
        assert_eq!(meter.scans, [scan(text)]);
    }

    #[test]
    fn complete_calls_leave_nothing_behind() {
        let mut meter = ArgumentMeter::default();
        for _ in 0..1_000 {
            meter.add_piece(r#"{"text":"[[[["#, false).unwrap();
            meter.add_piece(r#"[","list":[1]}"#, true).unwrap();
        }
        assert_eq!((meter.scans.len(), meter.floor, meter.scans[0].deepest), (1, 0, 2));
    }

    proptest::proptest! {
        /// The pieces of four calls arrive in any order.
        #[test]
        fn no_order_of_pieces_hides_a_cost(
            pieces in proptest::collection::vec((0_usize..4, r#"[\[\]{}"\\a1, ]{0,6}"#), 0..60),
        ) {
            let (mut meter, mut calls, mut last) = (ArgumentMeter::default(), vec![String::new(); 4], None);
            for (call, piece) in &pieces {
                meter.add_piece(piece, last == Some(call)).unwrap();
                last = Some(call);
                calls[*call].push_str(piece);
            }
            let most = meter.scans.iter().map(|scan| scan.repair).max().unwrap();
            for call in calls {
                proptest::prop_assert!(most >= scan(&call).repair, "{call}");
            }
        }
    }

    #[test]
    fn rejects_deep_brackets_however_they_are_cut() {
        let nested = "[".repeat(40_000);
        assert!(ArgumentMeter::default().add_piece(&nested, false).is_err());
        for continues in [true, false] {
            let mut meter = ArgumentMeter::default();
            let failed =
                nested.as_bytes().chunks(100).any(|_| meter.add_piece(&"[".repeat(100), continues).is_err());
            assert!(failed, "{continues}");
        }
        // Another call that ends in a string hides nothing.
        let mut meter = ArgumentMeter::default();
        meter.add_piece(r#"{"a":""#, false).unwrap();
        assert!(meter.add_piece(&nested, false).is_err());
        // Nor does one that ends in an escape, or that closes brackets.
        let mut meter = ArgumentMeter::default();
        let mut all = (0..4_000).map(|_| {
            [r#"{"a":"\"#, r#""[[[[[[[[[["#, "]]]]]]]]]]}"].map(|text| meter.add_piece(text, false))
        });
        assert!(all.any(|results| results.iter().any(Result::is_err)));
    }
}
