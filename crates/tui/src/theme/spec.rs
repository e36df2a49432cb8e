//! The notation of a role's style: only the differences from its parent.

use ratatui_core::style::{Color, Modifier, Style};
use serde_json::{Map, Value};

use super::color;
use super::problem::FieldError;

/// The attributes that can be switched on and off.
const ATTRIBUTES: &[(&str, Modifier)] = &[
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underline", Modifier::UNDERLINED),
    ("reversed", Modifier::REVERSED),
    ("strikethrough", Modifier::CROSSED_OUT),
];

fn find_attribute(name: &str) -> Option<Modifier> {
    ATTRIBUTES.iter().find(|(known, _)| *known == name).map(|(_, modifier)| *modifier)
}

/// Parses a style: a color, words (`"cyan bold bg:236"`), or an object.
pub(super) fn parse_style(value: &Value) -> Result<Style, (Option<&str>, FieldError)> {
    match value {
        Value::String(text) => parse_words(text).map_err(|wrong| (None, wrong)),
        Value::Object(fields) if !fields.contains_key("mode") => parse_object(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            parse_color(value).map(|color| Style::new().fg(color)).map_err(|wrong| (None, wrong))
        }
    }
}

pub(super) fn parse_color(value: &Value) -> Result<Color, FieldError> {
    let color = match value {
        Value::String(text) => color::parse_word(text.trim()),
        Value::Number(number) => {
            number.as_u64().and_then(|index| u8::try_from(index).ok()).map(Color::Indexed)
        }
        Value::Object(fields) => color::parse_object(fields),
        Value::Null | Value::Bool(_) | Value::Array(_) => None,
    };
    color.ok_or_else(|| FieldError::invalid_color(value))
}

fn parse_words(text: &str) -> Result<Style, FieldError> {
    let mut style = Style::new();
    for word in text.split_whitespace() {
        let off = word.strip_prefix("no").and_then(find_attribute);
        let bg = word.strip_prefix("bg:").and_then(color::parse_word);
        style = match (find_attribute(word), off, bg, color::parse_word(word)) {
            (Some(on), ..) => style.add_modifier(on),
            (_, Some(off), ..) => style.remove_modifier(off),
            (_, _, Some(bg), _) => style.bg(bg),
            (.., Some(color)) => style.fg(color),
            (None, None, None, None) => return Err(FieldError::invalid_word(word)),
        };
    }
    Ok(style)
}

fn parse_object(fields: &Map<String, Value>) -> Result<Style, (Option<&str>, FieldError)> {
    let mut style = Style::new();
    for (name, value) in fields {
        let at = |wrong| (Some(name.as_str()), wrong);
        style = match (name.as_str(), find_attribute(name), value.as_bool()) {
            ("fg", ..) => style.fg(parse_color(value).map_err(at)?),
            ("bg", ..) => style.bg(parse_color(value).map_err(at)?),
            (_, Some(modifier), Some(true)) => style.add_modifier(modifier),
            (_, Some(modifier), Some(false)) => style.remove_modifier(modifier),
            (_, Some(_), None) => return Err(at(FieldError::NoBool)),
            (_, None, _) => {
                return Err(at(FieldError::unknown_field(name, ATTRIBUTES.iter().map(|(known, _)| *known))));
            }
        };
    }
    Ok(style)
}
