//! Classes of characters and limits of texts that several crates treat alike.

/// Returns a text of at most `limit` bytes with a note about the rest.
pub fn truncate_text(text: &str, limit: usize) -> String {
    let (kept, rest) = text.split_at(text.floor_char_boundary(limit));
    if rest.is_empty() {
        return kept.to_owned();
    }
    format!("{kept} [truncated: {} bytes omitted; the limit is {limit}]", rest.len())
}

/// True if a character is invisible and not needed to display any script or emoji: direction marks
/// and overrides, zero-width characters, blanks that count as letters, tags. Joiners and variation
/// selectors are not included, because their use depends on the preceding character.
pub const fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{feff}'              // soft hyphen, grapheme joiner, byte order mark
        | '\u{61c}' | '\u{200e}' | '\u{200f}'           // direction marks
        | '\u{202a}'..='\u{202e}'                       // direction embeddings and overrides
        | '\u{2066}'..='\u{2069}'                       // direction isolates
        | '\u{200b}' | '\u{2060}'..='\u{2065}'          // zero width
        | '\u{206a}'..='\u{206f}' | '\u{fff0}'..='\u{fffb}' // deprecated formats, annotations
        | '\u{2028}' | '\u{2029}'                       // line and paragraph separators
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' // Hangul fillers, which are blank
        | '\u{17b4}' | '\u{17b5}'                       // Khmer vowels without a form
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' // formats of shorthand and music
        | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}') // tags: a hidden copy of ASCII
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_text_has_note_and_valid_utf8() {
        assert_eq!(truncate_text("abc", 3), "abc");
        assert_eq!(truncate_text("abcd", 3), "abc [truncated: 1 bytes omitted; the limit is 3]");
        assert_eq!(truncate_text("a\u{e9}", 2), "a [truncated: 2 bytes omitted; the limit is 2]");
    }
}
