//! Problems of a `theme.json`.

use haft_core::sanitize::sanitize_line;
use serde_json::Value;

/// The longest file.
pub(super) const MAX_BYTES: usize = 256 * 1024;

/// Why a theme cannot be used at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ThemeError {
    /// It is longer than any theme.
    #[error("the theme is longer than {MAX_BYTES} bytes; remove what is not part of the theme")]
    TooLong,
    /// It is no JSON.
    #[error(
        "the theme is not valid JSON (line {line}, column {column}); comments and trailing commas are not allowed"
    )]
    NoJson {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// It is something else than an object.
    #[error("the theme is not a JSON object; begin with `{{`")]
    NoObject,
}

/// A field that was left out because of what it says. The rest of the theme counts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {wrong}")]
pub struct ThemeProblem {
    /// Where it is: `styles.heading.fg`. Safe to be shown.
    pub field: String,
    /// The mistake.
    pub wrong: FieldError,
}

/// The mistake in one field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// No colour.
    #[error("{0} is not a color; write a name such as `cyan`, an index from 0 to 255, or `#rrggbb`")]
    NoColor(String),
    /// A word of a style that is none.
    #[error(
        "`{0}` is not a color and not one of bold, dim, italic, underline, reversed, strikethrough, `bg:COLOR`"
    )]
    NoWord(String),
    /// Neither true nor false.
    #[error("must be true or false")]
    NoBool,
    /// No object.
    #[error("must be an object")]
    NoObject,
    /// No text.
    #[error("must be a string")]
    NoText,
    /// No list of short texts.
    #[error("must be a list of 1 to {most} strings of 1 to {columns} columns each")]
    NoList {
        /// The greatest number.
        most: usize,
        /// The greatest width.
        columns: usize,
    },
    /// A number out of its range.
    #[error("must be a number of milliseconds from {least} to {most}")]
    NoInterval {
        /// The least.
        least: u128,
        /// The most.
        most: u128,
    },
    /// Neither of the two.
    #[error("must be `dark` or `light`")]
    NoBase,
    /// A name that means nothing.
    #[error("unknown field{}", did_you_mean(.similar))]
    Unknown {
        /// A name that looks like it.
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

/// A part of the file, short and safe.
pub(super) fn short_excerpt(text: &str) -> String {
    let mut line = sanitize_line(text);
    if let Some((cut, _)) = line.char_indices().nth(40) {
        line.truncate(cut);
        line.push('…');
    }
    line
}
