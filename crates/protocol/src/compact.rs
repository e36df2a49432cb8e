//! The compact form of JSON: no white space between tokens, and no characters that end a line in
//! some language.

use crate::scan::plain_end;

/// True if [`compact`] would change nothing. Much cheaper than calling it.
pub(crate) fn is_compact(text: &str) -> bool {
    !has_line_ends(text.as_bytes()) && is_tight(text.as_bytes())
}

/// Removes the white space between tokens of valid JSON. The strings keep their values; the
/// characters of [`escape_line_ends`] are escaped in them.
pub(crate) fn compact(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for &byte in text.as_bytes() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if byte.is_ascii_whitespace() {
            continue;
        } else {
            in_string = byte == b'"';
        }
        out.push(byte);
    }
    escape_line_ends(String::from_utf8(out).expect("only ASCII white space was removed from UTF-8"))
}

/// Escapes the characters that end a line in some languages. In valid JSON they occur only inside
/// strings.
pub fn escape_line_ends(json: String) -> String {
    if !has_line_ends(json.as_bytes()) {
        return json;
    }
    json.chars().fold(String::with_capacity(json.len() + 16), |mut out, char| {
        match LINE_ENDS.contains(&char) {
            true => out.push_str(&format!("\\u{:04x}", u32::from(char))),
            false => out.push(char),
        }
        out
    })
}

/// True if UTF-8 text contains a character of [`LINE_ENDS`]. Quick for ASCII text, which most
/// frames are.
pub(crate) fn has_line_ends(utf8: &[u8]) -> bool {
    if utf8.is_ascii() {
        return false;
    }
    let begins = |byte: u8| (byte == 0xc2) | (byte == 0xe2);
    let ends_line = |at| matches!(utf8.get(at..), Some([0xc2, 0x85, ..] | [0xe2, 0x80, 0xa8 | 0xa9, ..]));
    utf8.chunks(BLOCK).enumerate().any(|(block, bytes)| {
        // Without a branch for each byte, so that the compiler compares many bytes at once.
        let may = bytes.iter().fold(false, |found, &byte| found | begins(byte));
        may && (block * BLOCK..block * BLOCK + bytes.len()).any(ends_line)
    })
}

/// The number of bytes that are compared together.
const BLOCK: usize = 64;

/// Next line, line separator, paragraph separator.
const LINE_ENDS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// True if valid JSON has no white space between its tokens.
fn is_tight(json: &[u8]) -> bool {
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => at = string_end(json, at),
            byte if byte.is_ascii_whitespace() => return false,
            _ => at += 1,
        }
    }
    true
}

/// Returns the index after the string that begins at `from`.
fn string_end(json: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    loop {
        at = plain_end(json, at);
        match json.get(at) {
            Some(b'\\') => at += 2,
            // In valid JSON this byte is the closing quote.
            _ => return at + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_compact_agrees_with_compact() {
        for text in [
            r#"{"a":[1,"b c",{"d":null}]}"#,
            r#"{"a": 1}"#,
            r#" 1"#,
            "1\n",
            r#"{"a\" b":"\\","c":2}"#,
            r#"{"a":"\\" }"#,
            r#"{"a":"\\\" : ","b":"\\\\"}"#,
            r#"["","" ,""]"#,
            "\"\u{e9} \u{2028}\"",
            "\"\u{e9} \u{2027}\"",
            "\"\u{c5} \u{85}\"",
            "\"\u{202a}\u{2029}\"",
        ] {
            assert_eq!(is_compact(text), compact(text) == text, "{text}");
        }
    }
}
