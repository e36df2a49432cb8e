//! `theme.json`: haft's own fields, and zot's.

use serde_json::{Map, Value};

use super::builder::ThemeBuilder;
use super::problem::{FieldError, MAX_BYTES, ThemeError, ThemeProblem};
use super::{Appearance, ParsedTheme, Theme, ThemeStyles, resolve_styles, zot};

/// The top-level fields of haft.
const FIELDS: &[&str] = &["name", "description", "base", "styles", "dark", "light", "spinner"];

/// Fields that are allowed and ignored.
const IGNORED: &[&str] = &["$schema", "color_descriptions", "version", "author"];

pub(super) fn parse(text: &str, appearance: Appearance) -> Result<ParsedTheme, ThemeError> {
    if text.len() > MAX_BYTES {
        return Err(ThemeError::TooLong);
    }
    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| ThemeError::NoJson { line: error.line(), column: error.column() })?;
    let Value::Object(fields) = value else { return Err(ThemeError::NoObject) };
    let mut problems = Vec::new();
    let appearance = read_base(&fields, &mut problems).unwrap_or(appearance);
    let theme = Theme::built_in(appearance);
    let mut draft = ThemeBuilder { inner: ThemeStyles::clone(&theme.0), problems };
    draft.inner.name = draft.read_text(&fields, "name").unwrap_or_else(|| "unnamed".into());
    draft.inner.description = draft.read_text(&fields, "description").unwrap_or_default();
    zot::read_fields(&mut draft, &fields, appearance);
    read_own_fields(&mut draft, &fields, appearance);
    let ThemeBuilder { mut inner, problems } = draft;
    inner.styles = resolve_styles(&inner.written);
    Ok(ParsedTheme { theme: Theme(inner.into()), problems })
}

fn read_base(fields: &Map<String, Value>, problems: &mut Vec<ThemeProblem>) -> Option<Appearance> {
    match fields.get("base")?.as_str() {
        Some("dark") => Some(Appearance::Dark),
        Some("light") => Some(Appearance::Light),
        _ => {
            problems.push(ThemeProblem { field: "base".to_owned(), wrong: FieldError::NoBase });
            None
        }
    }
}

fn read_own_fields(draft: &mut ThemeBuilder, fields: &Map<String, Value>, appearance: Appearance) {
    let variant = match appearance {
        Appearance::Dark => "dark",
        Appearance::Light => "light",
    };
    for (name, value) in fields {
        match name.as_str() {
            "styles" => draft.read_styles(name, value),
            "spinner" if !zot::is_spinner_color(value) => draft.read_spinner(name, value),
            "name" | "description" | "base" | "dark" | "light" => {}
            other if zot::is_field(other) || IGNORED.contains(&other) => {}
            other => draft.push_problem(&[other], FieldError::unknown_field(other, FIELDS.iter().copied())),
        }
    }
    // A style for one appearance takes precedence over a style for both.
    if let Some(value) = fields.get(variant) {
        draft.read_styles(variant, value);
    }
}
