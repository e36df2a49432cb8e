//! `set_status`: texts of an extension in the status line, shown with its name.

use serde::{Deserialize, Deserializer, Serialize};

use crate::named_enum::named_enum;
use crate::read::null_is_default;

/// Sets, changes or removes a text in the status line. All texts disappear when the process of the
/// extension ends. Sent only to hosts with the capability `status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetStatus {
    /// The key of the text, chosen by the extension: `[A-Za-z0-9_-]`, at most 64 characters.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub key: String,
    /// The text, one line. Absent or empty removes it.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The text in parts with colors, at most 16. If present, these parts are the text, and `text` is
    /// for hosts without colors. Since haft.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub styled: Vec<StyledSpan>,
}

/// A text in the status line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusText {
    /// The whole text, without styles.
    pub text: String,
    /// The text in parts; empty for a text without styles.
    pub styled: Vec<StyledSpan>,
}

impl From<&str> for StatusText {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), styled: Vec::new() }
    }
}

/// A part of a text, with its look.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StyledSpan {
    /// The text, without control characters.
    pub text: String,
    /// The color; absent or unknown: the color of the surroundings.
    #[serde(default, deserialize_with = "known_color", skip_serializing_if = "Option::is_none")]
    pub fg: Option<SpanColor>,
    /// True for bold text.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "std::ops::Not::not")]
    pub bold: bool,
}

impl StyledSpan {
    /// Creates a part without a style.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Sets the color.
    #[must_use]
    pub fn with_color(self, color: SpanColor) -> Self {
        Self { fg: Some(color), ..self }
    }

    /// Makes the text bold.
    #[must_use]
    pub fn with_bold(self) -> Self {
        Self { bold: true, ..self }
    }
}

named_enum! {
    /// The colors of a [`StyledSpan`]: roles of the user's theme.
    pub enum SpanColor {
        /// Plain text.
        Text = "text",
        /// Secondary text.
        Muted = "muted",
        /// Highlights.
        Accent = "accent",
        /// Success.
        Ok = "ok",
        /// Warnings.
        Warning = "warning",
        /// Failures.
        Error = "error",
    }
}

/// Reads a color. A name of a newer version is as good as none.
fn known_color<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SpanColor>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    Ok(name.and_then(|name| SpanColor::from_name(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_color_is_none() {
        let read = |fg: &str| {
            let line = format!(r#"{{"text":"x","fg":{fg}}}"#);
            serde_json::from_str::<StyledSpan>(&line).map_err(|error| error.to_string())
        };
        assert_eq!(read("\"ok\""), Ok(StyledSpan::new("x").with_color(SpanColor::Ok)));
        assert_eq!((read("\"mauve\""), read("null")), (Ok(StyledSpan::new("x")), Ok(StyledSpan::new("x"))));
        assert!(read("7").unwrap_err().contains("invalid type"));
    }
}
