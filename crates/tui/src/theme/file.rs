//! `theme.json`: haft's own fields, and zot's beside them.

use serde_json::{Map, Value};

use super::draft::Draft;
use super::problem::{MAX_BYTES, Problem, ThemeError, Wrong};
use super::{Appearance, Inner, Parsed, Theme, resolved, zot};

/// The fields of haft's own at the top.
const FIELDS: &[&str] = &["name", "description", "base", "styles", "dark", "light", "spinner"];

/// Fields that are allowed and mean nothing to haft.
const IGNORED: &[&str] = &["$schema", "color_descriptions", "version", "author"];

pub(super) fn parse(text: &str, appearance: Appearance) -> Result<Parsed, ThemeError> {
    if text.len() > MAX_BYTES {
        return Err(ThemeError::TooLong);
    }
    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| ThemeError::NoJson { line: error.line(), column: error.column() })?;
    let Value::Object(fields) = value else { return Err(ThemeError::NoObject) };
    let mut problems = Vec::new();
    let appearance = base(&fields, &mut problems).unwrap_or(appearance);
    let theme = Theme::built_in(appearance);
    let mut draft = Draft { inner: Inner::clone(&theme.0), problems };
    draft.inner.name = draft.text(&fields, "name").unwrap_or_else(|| "unnamed".into());
    draft.inner.description = draft.text(&fields, "description").unwrap_or_default();
    zot::read(&mut draft, &fields, appearance);
    own(&mut draft, &fields, appearance);
    let Draft { mut inner, problems } = draft;
    inner.styles = resolved(&inner.written);
    Ok(Parsed { theme: Theme(inner.into()), problems })
}

fn base(fields: &Map<String, Value>, problems: &mut Vec<Problem>) -> Option<Appearance> {
    match fields.get("base")?.as_str() {
        Some("dark") => Some(Appearance::Dark),
        Some("light") => Some(Appearance::Light),
        _ => {
            problems.push(Problem { field: "base".to_owned(), wrong: Wrong::NoBase });
            None
        }
    }
}

fn own(draft: &mut Draft, fields: &Map<String, Value>, appearance: Appearance) {
    let variant = match appearance {
        Appearance::Dark => "dark",
        Appearance::Light => "light",
    };
    for (name, value) in fields {
        match name.as_str() {
            "styles" => draft.styles(name, value),
            "spinner" if !zot::is_spinner_color(value) => draft.spinner(name, value),
            "name" | "description" | "base" | "dark" | "light" => {}
            other if zot::is_field(other) || IGNORED.contains(&other) => {}
            other => draft.problem(&[other], Wrong::unknown(other, FIELDS.iter().copied())),
        }
    }
    // What holds for one background counts more than what holds for both.
    if let Some(value) = fields.get(variant) {
        draft.styles(variant, value);
    }
}
