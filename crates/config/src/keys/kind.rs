//! The kinds of values of keys.

use serde_json::Value;

/// The kind of a key's value: defines how the value is read, written and described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// `true` or `false`.
    Bool,
    /// A whole number within bounds.
    Int {
        /// The minimum.
        min: i64,
        /// The maximum.
        max: i64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of texts; the field is the plural noun of its items, for example `models`.
    List(&'static str),
    /// A text; the field describes the content, for example `a name`.
    Text(&'static str),
    /// A table.
    Table(TableKind),
}

/// The content of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// Keys of haft.
    Keys,
    /// Texts under names that the user chooses.
    Texts,
    /// Any content.
    Any,
}

impl ValueKind {
    /// Any whole number.
    pub const INTEGER: Self = Self::Int { min: i64::MIN, max: i64::MAX };

    /// Returns a description of the values that completes "must be".
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

    /// Returns the choices of a kind with few values; otherwise empty.
    pub fn choices(self) -> &'static [&'static str] {
        match self {
            Self::Bool => &["true", "false"],
            Self::Choice(words) => words,
            Self::Int { .. } | Self::List(_) | Self::Text(_) | Self::Table(_) => &[],
        }
    }

    /// Parses a value that a user typed. Items of a list are separated by commas; `none` is an empty list.
    pub(crate) fn read(self, text: &str) -> Option<toml::Value> {
        match self {
            Self::Bool => text.parse().ok().map(toml::Value::Boolean),
            Self::Int { min, max } => {
                let number = text.parse().ok().filter(|number| (min..=max).contains(number));
                number.map(toml::Value::Integer)
            }
            Self::Choice(words) => words.contains(&text).then(|| text.into()),
            Self::List(_) => Some(toml::Value::Array(list_items(text).map(toml::Value::from).collect())),
            Self::Text(_) => (!text.is_empty()).then(|| text.into()),
            Self::Table(_) => None,
        }
    }
}

/// Returns the items of a list that a user typed, separated by commas; `none` is an empty list.
pub fn list_items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(move |item| !item.is_empty() && text.trim() != "none")
}

/// Formats a value as a user types it, in the form that [`set_key`](crate::set_key) reads.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => "none".to_owned(),
        Value::Array(values) => values.iter().map(value_text).collect::<Vec<_>>().join(", "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

/// Joins words as alternatives: `a`, `b` or `c`.
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
    fn expected_text_describes_each_kind() {
        assert_eq!(ValueKind::Choice(&["a", "b", "c"]).expected_text(), "`a`, `b` or `c`");
        assert_eq!(ValueKind::Choice(&["a"]).expected_text(), "`a`");
        assert_eq!(ValueKind::Bool.expected_text(), "`true` or `false`");
        assert_eq!(ValueKind::Int { min: 1, max: 9 }.expected_text(), "a whole number of at least 1");
        assert_eq!(ValueKind::INTEGER.expected_text(), "a whole number");
        assert_eq!(ValueKind::List("models").expected_text(), "a list of models");
    }

    #[test]
    fn values_round_trip_as_text() {
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
