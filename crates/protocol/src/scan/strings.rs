//! Strings of JSON: their end and their value.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EscapeSequence {
    pub(crate) char: char,
    /// The length of the escape in bytes, backslash included.
    pub(crate) length: usize,
}

/// Returns the index of the first quote, backslash or control character at or after `from`. Returns
/// the length of the text if there is none.
pub(crate) fn plain_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    // Most strings end within a few words; blocks pay off only for long ones.
    for _ in 0..WORDS {
        match bytes.get(at..).and_then(<[u8]>::first_chunk) {
            Some(word) => match special_in(u64::from_le_bytes(*word)) {
                Some(place) => return at + place,
                None => at += size_of::<u64>(),
            },
            None => return plain_end_bytewise(bytes, at),
        }
    }
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        if has_special(block) {
            break;
        }
        at += BLOCK;
    }
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        match special_in(u64::from_le_bytes(*word)) {
            Some(place) => return at + place,
            None => at += size_of::<u64>(),
        }
    }
    plain_end_bytewise(bytes, at)
}

/// Reads the escape at `at`, the index of a backslash. Returns `None` if it is invalid or half of a
/// surrogate pair.
pub(crate) fn parse_escape(bytes: &[u8], at: usize) -> Option<EscapeSequence> {
    let char = match bytes.get(at + 1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode_escape(bytes, at),
        _ => return None,
    };
    Some(EscapeSequence { char, length: 2 })
}

/// Returns the value of the string that `text` begins with, after its first quote, and the index of
/// the closing quote. Returns `None` if the string is not well-formed.
pub(crate) fn unescape(text: &str) -> Option<(String, usize)> {
    let bytes = text.as_bytes();
    let mut value = String::new();
    let mut at = 0;
    loop {
        let end = plain_end(bytes, at);
        value.push_str(text.get(at..end)?);
        match bytes.get(end)? {
            b'"' => return Some((value, end)),
            b'\\' => {}
            _ => return None,
        }
        let EscapeSequence { char, length } = parse_escape(bytes, end)?;
        value.push(char);
        at = end + length;
    }
}

/// The number of words of a string that are searched before blocks are.
const WORDS: usize = 2;

/// The size of a block in bytes.
const BLOCK: usize = 128;

fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// True if a block contains a special byte. Without a branch for each byte, so that the compiler
/// handles many at once.
fn has_special(block: &[u8; BLOCK]) -> bool {
    // This moves the quote right after the control characters, so that one comparison of the least
    // byte finds both.
    const QUOTE_TO_0X20: u8 = 0x02;
    let (least, backslash) = block.iter().fold((u8::MAX, 0), |(least, backslash), &byte| {
        (least.min(byte ^ QUOTE_TO_0X20), backslash | u8::from(byte == b'\\'))
    });
    least <= 0x20 || backslash != 0
}

/// Returns the index of the first special byte of a word whose first byte is the lowest.
fn special_in(word: u64) -> Option<usize> {
    const ONES: u64 = u64::MAX / 0xff;
    // Sets the highest bit of each byte that is zero. Bytes above the first one may also be set;
    // they do not matter.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = zero(word ^ (ONES * 0x22));
    let backslash = zero(word ^ (ONES * 0x5c));
    let found = (control | quote | backslash) & (ONES << 7);
    (found != 0).then(|| found.trailing_zeros() as usize / 8)
}

fn plain_end_bytewise(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter().position(|&byte| is_special(byte)).map_or(bytes.len(), |place| from + place)
}

fn unicode_escape(bytes: &[u8], at: usize) -> Option<EscapeSequence> {
    let first = utf16_unit(bytes, at)?;
    if !matches!(first, 0xd800..=0xdfff) {
        return char::from_u32(first).map(|char| EscapeSequence { char, length: 6 });
    }
    let second = utf16_unit(bytes, at + 6)?;
    let pair = matches!(first, 0xd800..=0xdbff) && matches!(second, 0xdc00..=0xdfff);
    let char =
        pair.then_some(0x10000 + ((first & 0x3ff) << 10) + (second & 0x3ff)).and_then(char::from_u32)?;
    Some(EscapeSequence { char, length: 12 })
}

/// Reads the UTF-16 unit of the `\uXXXX` at `at`.
fn utf16_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = bytes.get(at..)?.first_chunk::<6>()? else { return None };
    digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_end_is_found_at_every_offset() {
        for special in [b'"', b'\\', 0, 0x1f] {
            for at in 0..200 {
                let mut text = "x\u{7f}\u{e9}~!#[]".repeat(40).into_bytes();
                assert_eq!(plain_end(&text, at), text.len());
                *text.get_mut(at).unwrap() = special;
                assert_eq!(plain_end(&text, 0), at);
                assert_eq!(plain_end(text.get(..=at).unwrap(), at / 2), at);
                assert_eq!(plain_end(text.get(..at).unwrap(), 0), at);
            }
        }
    }

    #[test]
    fn unescape_agrees_with_serde_json() {
        for text in [
            "",
            "plain",
            r#"\"\\\/\b\f\n\r\t"#,
            r"\u0000\u0416x\uD83d\udE00\uffff",
            r"\ud83d",
            r"\ud83dx\ude00",
            r"\ude00\ud83d",
            r"\ud83d\u0041",
            r"\u12",
            r"\u+123",
            r"\x",
            "\\",
            "a\nb",
        ] {
            let expect = serde_json::from_str::<String>(&format!("\"{text}\"")).ok();
            let got = unescape(&format!("{text}\", and more"));
            assert_eq!(got, expect.map(|value| (value, text.len())), "{text}");
        }
    }
}
