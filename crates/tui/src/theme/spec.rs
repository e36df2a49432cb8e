//! The style of one role, as it is written: only what it changes of whom it follows.

use ratatui_core::style::{Color, Modifier, Style};
use serde_json::{Map, Value};

use super::color;
use super::problem::Wrong;

/// The attributes that can be switched on and off.
const ATTRIBUTES: &[(&str, Modifier)] = &[
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underline", Modifier::UNDERLINED),
    ("reversed", Modifier::REVERSED),
    ("strikethrough", Modifier::CROSSED_OUT),
];

fn attribute(name: &str) -> Option<Modifier> {
    ATTRIBUTES.iter().find(|(known, _)| *known == name).map(|(_, modifier)| *modifier)
}

/// Reads a style: a colour, words (`"cyan bold bg:236"`), or an object.
pub(super) fn read(value: &Value) -> Result<Style, (Option<&str>, Wrong)> {
    match value {
        Value::String(text) => words(text).map_err(|wrong| (None, wrong)),
        Value::Object(fields) if !fields.contains_key("mode") => object(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            read_color(value).map(|color| Style::new().fg(color)).map_err(|wrong| (None, wrong))
        }
    }
}

pub(super) fn read_color(value: &Value) -> Result<Color, Wrong> {
    let color = match value {
        Value::String(text) => color::word(text.trim()),
        Value::Number(number) => {
            number.as_u64().and_then(|index| u8::try_from(index).ok()).map(Color::Indexed)
        }
        Value::Object(fields) => color::object(fields),
        Value::Null | Value::Bool(_) | Value::Array(_) => None,
    };
    color.ok_or_else(|| Wrong::color(value))
}

fn words(text: &str) -> Result<Style, Wrong> {
    let mut style = Style::new();
    for word in text.split_whitespace() {
        let off = word.strip_prefix("no").and_then(attribute);
        let bg = word.strip_prefix("bg:").and_then(color::word);
        style = match (attribute(word), off, bg, color::word(word)) {
            (Some(on), ..) => style.add_modifier(on),
            (_, Some(off), ..) => style.remove_modifier(off),
            (_, _, Some(bg), _) => style.bg(bg),
            (.., Some(color)) => style.fg(color),
            (None, None, None, None) => return Err(Wrong::word(word)),
        };
    }
    Ok(style)
}

fn object(fields: &Map<String, Value>) -> Result<Style, (Option<&str>, Wrong)> {
    let mut style = Style::new();
    for (name, value) in fields {
        let at = |wrong| (Some(name.as_str()), wrong);
        style = match (name.as_str(), attribute(name), value.as_bool()) {
            ("fg", ..) => style.fg(read_color(value).map_err(at)?),
            ("bg", ..) => style.bg(read_color(value).map_err(at)?),
            (_, Some(modifier), Some(true)) => style.add_modifier(modifier),
            (_, Some(modifier), Some(false)) => style.remove_modifier(modifier),
            (_, Some(_), None) => return Err(at(Wrong::NoBool)),
            (_, None, _) => return Err(at(Wrong::unknown(name, ATTRIBUTES.iter().map(|(known, _)| *known)))),
        };
    }
    Ok(style)
}
