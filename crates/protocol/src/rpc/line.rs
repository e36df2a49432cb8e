//! One value, one line.

use serde::Serialize;

/// The value as compact JSON, without a newline at the end or in it. A terminal that is shown the line obeys nothing in
/// it, and nobody takes a part of it for the end of the line.
///
/// # Errors
/// When the value has no JSON form, which nothing of this dialect lacks.
pub fn line<T: Serialize + ?Sized>(value: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string(value).map(escaped)
}

/// A line of compact JSON as [`line()`] writes it: control characters are escaped, and what some languages end a line at.
/// JSON itself lets the upper control characters stand; they are only ever inside of strings, where an escape means the
/// same.
pub fn escaped(json: String) -> String {
    if !json.contains(is_escaped) {
        return json;
    }
    json.chars().fold(String::with_capacity(json.len() + 16), |mut out, c| {
        match is_escaped(c) {
            true => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => out.push(c),
        }
        out
    })
}

fn is_escaped(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}
