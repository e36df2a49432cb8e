//! The fields of zot's themes. They may be at the top, in `colors`, and in `colors.dark` and `colors.light`; the last
//! one takes precedence. A theme for one appearance is used for the other, too.

use ratatui_core::style::Style;
use serde_json::{Map, Value};

use super::builder::ThemeBuilder;
use super::problem::FieldError;
use super::{Appearance, Role, spec};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColorTarget {
    Letters,
    Ground,
}

/// Zot's colors, and the corresponding roles.
const COLORS: &[(&str, ColorTarget, &[Role])] = &[
    ("fg", ColorTarget::Letters, &[Role::Text]),
    ("muted", ColorTarget::Letters, &[Role::Muted]),
    ("accent", ColorTarget::Letters, &[Role::Accent]),
    ("background", ColorTarget::Ground, &[Role::Background]),
    ("user", ColorTarget::Letters, &[Role::User]),
    ("user_bubble_bg", ColorTarget::Ground, &[Role::UserMessage]),
    ("user_bubble_fg", ColorTarget::Letters, &[Role::UserMessage]),
    ("assistant", ColorTarget::Letters, &[Role::Assistant]),
    ("tool", ColorTarget::Letters, &[Role::ToolTitle, Role::Ok]),
    ("tool_out", ColorTarget::Letters, &[Role::ToolOutput]),
    ("error", ColorTarget::Letters, &[Role::Error]),
    ("warning", ColorTarget::Letters, &[Role::Warning]),
    ("spinner", ColorTarget::Letters, &[Role::Spinner]),
    ("selection_bg", ColorTarget::Ground, &[Role::Selection]),
    ("selection_fg", ColorTarget::Letters, &[Role::Selection]),
];

/// Zot's names of syntax elements, and the corresponding roles. Other names are ignored silently: zot accepts every
/// name that its highlighter knows.
const SYNTAX: &[(&str, Role)] = &[
    ("text", Role::Code),
    ("keyword", Role::CodeKeyword),
    ("keyword_type", Role::CodeType),
    ("name_class", Role::CodeType),
    ("name_function", Role::CodeFunction),
    ("name_decorator", Role::CodeAttribute),
    ("literal_string", Role::CodeString),
    ("literal_string_escape", Role::CodeEscape),
    ("literal_number", Role::CodeNumber),
    ("comment", Role::CodeComment),
    ("operator", Role::CodeOperator),
    ("punctuation", Role::CodePunctuation),
];

pub(super) fn is_field(name: &str) -> bool {
    matches!(name, "colors" | "syntax" | "syntax_base_style")
        || name
            .strip_prefix("spinner_")
            .is_some_and(|part| matches!(part, "frames" | "messages" | "interval_ms"))
        || COLORS.iter().any(|(color, ..)| *color == name)
}

pub(super) fn read_fields(draft: &mut ThemeBuilder, top: &Map<String, Value>, appearance: Appearance) {
    read_layer(draft, &[], top);
    let Some(colors) = top.get("colors") else { return };
    let Some(colors) = colors.as_object() else {
        return draft.push_problem(&["colors"], FieldError::NoObject);
    };
    read_layer(draft, &["colors"], colors);
    let known = |name: &str| matches!(name, "dark" | "light") || is_field(name) && name != "colors";
    for name in colors.keys().filter(|name| !known(name)) {
        draft.push_problem(
            &["colors", name],
            FieldError::unknown_field(name, COLORS.iter().map(|(color, ..)| *color)),
        );
    }
    let (this, other) = match appearance {
        Appearance::Dark => ("dark", "light"),
        Appearance::Light => ("light", "dark"),
    };
    let variant = [this, other].into_iter().find_map(|name| colors.get(name).map(|value| (name, value)));
    match variant {
        Some((name, Value::Object(fields))) => read_layer(draft, &["colors", name], fields),
        Some((name, _)) => draft.push_problem(&["colors", name], FieldError::NoObject),
        None => {}
    }
}

/// True if the top-level `spinner` is zot's color and not haft's object.
pub(super) fn is_spinner_color(value: &Value) -> bool {
    value.as_object().is_none_or(|fields| fields.contains_key("mode"))
}

fn read_layer(draft: &mut ThemeBuilder, at: &[&str], fields: &Map<String, Value>) {
    for (name, value) in fields {
        if at.is_empty() && name == "spinner" && !is_spinner_color(value) {
            continue;
        }
        let field: Vec<&str> = at.iter().copied().chain([name.as_str()]).collect();
        if let Some((_, place, roles)) = COLORS.iter().find(|(color, ..)| color == name) {
            match spec::parse_color(value) {
                Ok(color) => roles.iter().for_each(|role| {
                    let style = match place {
                        ColorTarget::Letters => Style::new().fg(color),
                        ColorTarget::Ground => Style::new().bg(color),
                    };
                    draft.set_style(*role, style);
                }),
                Err(wrong) => draft.push_problem(&field, wrong),
            }
        } else if name == "syntax" {
            read_syntax(draft, &field, value);
        } else if let Some(part) = name.strip_prefix("spinner_") {
            draft.read_spinner_field(&field, part, value);
        } else if at.len() > 1 && !is_field(name) {
            draft.push_problem(
                &field,
                FieldError::unknown_field(name, COLORS.iter().map(|(color, ..)| *color)),
            );
        }
    }
}

fn read_syntax(draft: &mut ThemeBuilder, at: &[&str], value: &Value) {
    let Some(styles) = value.as_object() else { return draft.push_problem(at, FieldError::NoObject) };
    for (name, value) in styles {
        let Some((_, role)) = SYNTAX.iter().find(|(part, _)| part == name) else { continue };
        match spec::parse_style(value) {
            Ok(style) => draft.set_style(*role, style),
            Err((_, wrong)) => {
                let field: Vec<&str> = at.iter().copied().chain([name.as_str()]).collect();
                draft.push_problem(&field, wrong);
            }
        }
    }
}
