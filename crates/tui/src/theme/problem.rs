//! Problems of a `theme.json`.

use haft_core::sanitize::sanitize_line;
use serde_json::Value;

/// The maximum size of the file.
pub(super) const MAX_BYTES: usize = 256 * 1024;

/// The reason why a theme is rejected as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ThemeError {
    /// The file is too long.
    #[error("the theme is longer than {MAX_BYTES} bytes; remove what is not part of the theme")]
    TooLong,
    /// The file is not JSON.
    #[error(
        "the theme is not valid JSON (line {line}, column {column}); comments and trailing commas are not allowed"
    )]
    NoJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// The file is not a JSON object.
    #[error("the theme is not a JSON object; begin with `{{`")]
    NoObject,
}

/// A field that was ignored because it is invalid. The rest of the theme is used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {wrong}")]
pub struct ThemeProblem {
    /// The path of the field, for example `styles.heading.fg`. Sanitized.
    pub field: String,
    /// The error.
    pub wrong: FieldError,
}

/// The error in one field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// Not a color.
    #[error("{0} is not a color; write a name such as `cyan`, an index from 0 to 255, or `#rrggbb`")]
    NoColor(String),
    /// An unknown word in a style.
    #[error(
        "`{0}` is not a color and not one of bold, dim, italic, underline, reversed, strikethrough, `bg:COLOR`"
    )]
    NoWord(String),
    /// Not a boolean.
    #[error("must be true or false")]
    NoBool,
    /// Not an object.
    #[error("must be an object")]
    NoObject,
    /// Not a string.
    #[error("must be a string")]
    NoText,
    /// Not a list of short strings.
    #[error("must be a list of 1 to {most} strings of 1 to {columns} columns each")]
    NoList {
        /// The maximum number of strings.
        most: usize,
        /// The maximum width of a string.
        columns: usize,
    },
    /// A number out of range.
    #[error("must be a number of milliseconds from {least} to {most}")]
    NoInterval {
        /// The minimum.
        least: u128,
        /// The maximum.
        most: u128,
    },
    /// Neither `dark` nor `light`.
    #[error("must be `dark` or `light`")]
    NoBase,
    /// An unknown field.
    #[error("unknown field{}", did_you_mean(.similar))]
    Unknown {
        /// A similar known name.
        similar: Option<String>,
    },
}

fn did_you_mean(similar: &Option<String>) -> String {
    similar.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

impl FieldError {
    pub(super) fn invalid_color(value: &Value) -> Self {
        Self::NoColor(short_excerpt(&value.to_string()))
    }

    pub(super) fn invalid_word(word: &str) -> Self {
        Self::NoWord(short_excerpt(word))
    }

    pub(super) fn unknown_field<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Self {
        let near =
            known.map(|known| (strsim::jaro_winkler(known, name), known)).filter(|(near, _)| *near > 0.8);
        let nearest = near.max_by(|(a, _), (b, _)| a.total_cmp(b));
        Self::Unknown { similar: nearest.map(|(_, known)| known.to_owned()) }
    }
}

/// Returns a short sanitized excerpt of the file.
pub(super) fn short_excerpt(text: &str) -> String {
    let mut line = sanitize_line(text);
    if let Some((cut, _)) = line.char_indices().nth(40) {
        line.truncate(cut);
        line.push('…');
    }
    line
}
