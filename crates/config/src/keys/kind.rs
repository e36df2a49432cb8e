//! The kinds of values that keys take.

use serde_json::Value;

/// The kind of a key's value: decides what is read, what is written, and what people are told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// `true` or `false`.
    Bool,
    /// A whole number within these bounds.
    Int {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of texts; the word says of what, as `models`.
    List(&'static str),
    /// A text; the words say of what, as `a name`.
    Text(&'static str),
    /// A table.
    Table(TableKind),
}

/// The content of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// Keys of haft.
    Keys,
    /// Texts by names of the user's choice.
    Texts,
    /// Anything.
    Any,
}

impl ValueKind {
    /// Any whole number.
    pub const INTEGER: Self = Self::Int { min: i64::MIN, max: i64::MAX };

    /// A description of the values, as it follows "must be".
    pub fn expected_text(self) -> String {
        match self {
            Self::Bool => join_alternatives(&["true", "false"]),
            Self::Int { min, .. } if min >= 0 => format!("a whole number of at least {min}"),
            Self::Int { .. } => "a whole number".to_owned(),
            Self::Choice(words) => join_alternatives(words),
            Self::List(what) => format!("a list of {what}"),
            Self::Text(what) => what.to_owned(),
            Self::Table(TableKind::Texts) => "a table of texts".to_owned(),
            Self::Table(TableKind::Keys | TableKind::Any) => "a table".to_owned(),
        }
    }

    /// The values to choose from, if they are few.
    pub fn choices(self) -> &'static [&'static str] {
        match self {
            Self::Bool => &["true", "false"],
            Self::Choice(words) => words,
            Self::Int { .. } | Self::List(_) | Self::Text(_) | Self::Table(_) => &[],
        }
    }

    /// Reads a value that a person wrote. The words of a list are separated by commas, and `none` is an empty list.
    pub(crate) fn read(self, text: &str) -> Option<toml::Value> {
        match self {
            Self::Bool => text.parse().ok().map(toml::Value::Boolean),
            Self::Int { min, max } => {
                let number = text.parse().ok().filter(|number| (min..=max).contains(number));
                number.map(toml::Value::Integer)
            }
            Self::Choice(words) => words.contains(&text).then(|| text.into()),
            Self::List(_) => {
                let words = text.split(',').map(str::trim).filter(|word| !word.is_empty() && text != "none");
                Some(toml::Value::Array(words.map(toml::Value::from).collect()))
            }
            Self::Text(_) => (!text.is_empty()).then(|| text.into()),
            Self::Table(_) => None,
        }
    }
}

/// A value as a person writes it: the text that [`set_key`](crate::set_key) takes.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => "none".to_owned(),
        Value::Array(values) => values.iter().map(value_text).collect::<Vec<_>>().join(", "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

/// The words as a choice: `a`, `b` or `c`.
fn join_alternatives(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        few => few.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_says_what_it_takes() {
        assert_eq!(ValueKind::Choice(&["a", "b", "c"]).expected_text(), "`a`, `b` or `c`");
        assert_eq!(ValueKind::Choice(&["a"]).expected_text(), "`a`");
        assert_eq!(ValueKind::Bool.expected_text(), "`true` or `false`");
        assert_eq!(ValueKind::Int { min: 1, max: 9 }.expected_text(), "a whole number of at least 1");
        assert_eq!(ValueKind::INTEGER.expected_text(), "a whole number");
        assert_eq!(ValueKind::List("models").expected_text(), "a list of models");
    }

    #[test]
    fn a_value_is_read_as_it_is_shown() {
        #[track_caller]
        fn check(kind: ValueKind, text: &str, expect: Option<&str>) {
            let read = kind.read(text).map(|value| value_text(&serde_json::to_value(value).unwrap()));
            assert_eq!(read.as_deref(), expect);
        }
        check(ValueKind::Bool, "true", Some("true"));
        check(ValueKind::Bool, "yes", None);
        check(ValueKind::Int { min: 1, max: 9 }, "9", Some("9"));
        check(ValueKind::Int { min: 1, max: 9 }, "10", None);
        check(ValueKind::Choice(&["a", "b"]), "b", Some("b"));
        check(ValueKind::Choice(&["a", "b"]), "c", None);
        check(ValueKind::List("tools"), "a,b ,, c", Some("a, b, c"));
        check(ValueKind::List("tools"), "none", Some("none"));
        check(ValueKind::Text("a name"), "", None);
        check(ValueKind::Table(TableKind::Any), "x", None);
    }
}
