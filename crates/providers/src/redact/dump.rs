//! Decodes dumps of binary data as `xxd`, `hexdump` and `od` print them.
//!
//! A line of a dump has at least two groups of the same number of digits, which white space separates. A list with one
//! number in each line is thus not a dump.

use haft_core::sanitize::visible_chars;

use super::{PlacedByte, fold_char};

/// Returns the folded bytes of the dumps in a text, in both byte orders of a group. `None` separates two dumps. The
/// lines of one dump are joined, although addresses and texts stand between them.
pub(super) fn dumped_bytes(text: &str) -> [Vec<Option<PlacedByte>>; 2] {
    let (mut big, mut little) = (Vec::new(), Vec::new());
    let mut digits = None;
    let visible: Vec<(usize, char)> = visible_chars(text).collect();
    for line in visible.split(|(_, c)| *c == '\n') {
        let words = line.split(|(_, c)| c.is_whitespace()).filter(|word| !word.is_empty());
        let words: Vec<_> = words.map(|word| (word, decode_group(word))).collect();
        let runs = words.chunk_by(|(left, decoded), (right, other)| {
            decoded.is_some() && other.is_some() && left.len() == right.len()
        });
        // The longest run is the dump. Others are words of its text.
        let longest = runs.filter(|run| run.len() > 1).max_by_key(|run| run.len());
        let found = longest.and_then(|run| Some((run, run.first()?.0.len())));
        let Some((run, length)) = found else {
            digits = None;
            continue;
        };
        if digits.replace(length) != Some(length) {
            big.push(None);
            little.push(None);
        }
        for (word, group) in run {
            let (Some((begin, _)), Some((end, _)), Some(group)) = (word.first(), word.last(), group) else {
                continue;
            };
            let place = |byte: &u8| {
                let ([folded, ..], _) = fold_char(char::from(*byte));
                Some((*begin..end + 1, folded))
            };
            big.extend(group.iter().map(place));
            little.extend(group.iter().rev().map(place));
        }
    }
    [big, little]
}

/// Returns the bytes of a group, the most significant one first: one character, 3 or 6 octal digits, or 2,
/// 4, 8 or 16 hexadecimal digits. `None` for other words.
fn decode_group(word: &[(usize, char)]) -> Option<Vec<u8>> {
    if !word.iter().all(|(_, c)| c.is_ascii_graphic()) {
        return None;
    }
    let digits: String = word.iter().map(|(_, c)| *c).collect();
    // The conversion accepts a sign.
    let is_number = word.iter().all(|(_, c)| c.is_ascii_hexdigit());
    match digits.len() {
        1 => Some(digits.into_bytes()),
        3 if is_number => u8::from_str_radix(&digits, 8).ok().map(|byte| vec![byte]),
        6 if is_number => u16::from_str_radix(&digits, 8).ok().map(|number| number.to_be_bytes().to_vec()),
        length @ (2 | 4 | 8 | 16) if is_number => {
            let bytes = u64::from_str_radix(&digits, 16).ok()?.to_be_bytes();
            bytes.get(bytes.len() - length / 2..).map(<[u8]>::to_vec)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::KeyRedactor;

    const KEY: &str = "sk-lab-A1b2_C3d4/E5f6+G7h8";

    #[track_caller]
    fn check(dump: &str, expect: &str) {
        let redactor = KeyRedactor::new(&[KEY.into()]);
        assert_eq!(redactor.redact(dump).as_deref(), Some(expect), "{dump}");
    }

    /// The dumps are the output of the programs for `key=` and the key.
    #[test]
    fn removes_key_from_dumps() {
        check(
            "00000000: 6b65 793d 736b 2d6c 6162 2d41 3162 325f  key=sk-lab-A1b2_\n\
             00000010: 4333 6434 2f45 3566 362b 4737 6838 0a    C3d4/E5f6+G7h8.\n",
            "00000000: 6b65 793d [redacted] 0a    [redacted].\n",
        );
        check(
            "00000000  6b 65 79 3d 73 6b 2d 6c  61 62 2d 41 31 62 32 5f  |key=sk-lab-A1b2_|\n\
             00000010  43 33 64 34 2f 45 35 66  36 2b 47 37 68 38 0a     |C3d4/E5f6+G7h8.|\n",
            "00000000  6b 65 79 3d [redacted] 0a     |[redacted].|\n",
        );
        check(
            "0000000 656b 3d79 6b73 6c2d 6261 412d 6231 5f32\n0000020 3343 3464 452f 6635 2b36 3747 3868 000a\n",
            "0000000 656b 3d79 [redacted] 000a\n",
        );
        check(
            "0000000 062553 036571 065563 066055 061141 040455 061061 057462\n\
             0000020 031503 032144 042457 063065 025466 033507 034150 000012\n",
            "0000000 062553 036571 [redacted] 000012\n",
        );
        check(
            "0000000   k   e   y   =   s   k   -   l   a   b   -   A   1   b   2   _\n\
             0000020   C   3   d   4   /   E   5   f   6   +   G   7   h   8  \\n\n",
            "0000000   k   e   y   =   [redacted]  \\n\n",
        );
        check("0: 73\u{1b}[0m 6b 2d 6c 61 62 2d 41 31 62 32 5f 43 ff", "0: [redacted] ff");
    }

    #[test]
    fn numbers_of_a_list_are_no_dump() {
        let redactor = KeyRedactor::new(&["sk-0123456789abcdef".into()]);
        for numbers in ["30\n31\n32\n33\n34\n35\n36\n37\n38\n39\n", "30 33 36 39 42 45 48 51 54 57 60\n"] {
            assert_eq!(redactor.redact(numbers), None, "{numbers}");
        }
        assert_eq!(redactor.redact("+1 +2 +3 +4 -1 -2 -3 -4 123 456 789 000001"), None);
    }
}
