//! Finds the secret parts of a text. Pure functions.

const REDACTED: &str = "[redacted]";

/// The prefixes of keys of well-known services.
const KEYS: &[&str] = &["AKIA", "ghp_", "sk-", "xoxb-"];
const LONG: usize = 16;

/// The suffixes of names whose values are secret.
const NAMES: &[&str] = &["PASSWORD", "SECRET", "TOKEN", "API_KEY"];

/// Returns the text without keys, and without values assigned to a name such as `DB_PASSWORD`.
pub fn redacted(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.find(|letter| !in_word(letter)).unwrap_or(rest.len()));
        let (between, value) = assignment(after);
        clean.push_str(if is_key(word) { REDACTED } else { word });
        rest = match is_name(word) && !value.is_empty() {
            true => {
                clean.push_str(between);
                clean.push_str(REDACTED);
                after.get(between.len() + value.len()..).unwrap_or_default()
            }
            false => {
                let next = after.chars().next().map_or(0, char::len_utf8);
                let (other, rest) = after.split_at(next);
                clean.push_str(other);
                rest
            }
        };
    }
    clean
}

/// Returns the assignment after a name (` = "` or similar) and the value. Both are empty without an
/// assignment.
fn assignment(text: &str) -> (&str, &str) {
    let end = |text: &str, is_in: fn(char) -> bool| text.find(|letter| !is_in(letter)).unwrap_or(text.len());
    let between = text.get(..end(text, |letter| matches!(letter, ' ' | '"' | '\'' | '\\' | '=' | ':')));
    let between = between.filter(|between| between.contains(['=', ':'])).unwrap_or_default();
    let value = text.get(between.len()..).filter(|_| !between.is_empty()).unwrap_or_default();
    let value =
        value.get(..end(value, |letter| !letter.is_whitespace() && !matches!(letter, '"' | '\'' | '\\')));
    (between, value.unwrap_or_default())
}

fn in_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

fn is_key(word: &str) -> bool {
    word.len() >= LONG && KEYS.iter().any(|key| word.starts_with(key))
}

fn is_name(word: &str) -> bool {
    let word = word.to_ascii_uppercase();
    NAMES.iter().any(|name| word.ends_with(name))
}
