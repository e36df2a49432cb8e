//! A theme during parsing, with the problems found so far.

use std::time::Duration;

use ratatui_core::style::Style;
use serde_json::{Map, Value};

use super::problem::{FieldError, ThemeProblem, short_excerpt};
use super::{Role, ThemeStyles, spec};
use crate::clean::CleanLine;
use crate::timeouts::{SPINNER_MAX, SPINNER_MIN};

/// The longest name and description, in columns.
const MAX_NAME: usize = 200;

/// The maximum number of spinner frames, and the maximum columns of each.
const FRAMES: (usize, usize) = (64, 12);

/// The maximum number of spinner messages, and the maximum columns of each.
const MESSAGES: (usize, usize) = (256, 60);

pub(super) struct ThemeBuilder {
    pub(super) inner: ThemeStyles,
    pub(super) problems: Vec<ThemeProblem>,
}

impl ThemeBuilder {
    pub(super) fn push_problem(&mut self, field: &[&str], wrong: FieldError) {
        let field = field.iter().map(|part| short_excerpt(part)).collect::<Vec<_>>().join(".");
        self.problems.push(ThemeProblem { field, wrong });
    }

    pub(super) fn set_style(&mut self, role: Role, style: Style) {
        if let Some(written) = self.inner.written.get_mut(role.index()) {
            *written = written.patch(style);
        }
    }

    pub(super) fn read_styles(&mut self, at: &str, value: &Value) {
        let Some(styles) = value.as_object() else { return self.push_problem(&[at], FieldError::NoObject) };
        for (name, value) in styles {
            let Some(role) = Role::from_name(name) else {
                let wrong = FieldError::unknown_field(name, Role::ALL.iter().map(|role| role.name()));
                self.push_problem(&[at, name], wrong);
                continue;
            };
            match spec::parse_style(value) {
                Ok(style) => self.set_style(role, style),
                Err((None, wrong)) => self.push_problem(&[at, name], wrong),
                Err((Some(part), wrong)) => self.push_problem(&[at, name, part], wrong),
            }
        }
    }

    pub(super) fn read_spinner(&mut self, at: &str, value: &Value) {
        for (name, value) in value.as_object().into_iter().flatten() {
            if !self.read_spinner_field(&[at, name], name, value) {
                let wrong =
                    FieldError::unknown_field(name, ["frames", "messages", "interval_ms"].into_iter());
                self.push_problem(&[at, name], wrong);
            }
        }
    }

    pub(super) fn read_spinner_field(&mut self, at: &[&str], name: &str, value: &Value) -> bool {
        let set: Result<(), FieldError> = match name {
            "frames" => read_lines(value, FRAMES).map(|frames| self.inner.spinner.frames = frames),
            "messages" => read_lines(value, MESSAGES).map(|messages| self.inner.spinner.messages = messages),
            "interval_ms" => read_interval(value).map(|interval| self.inner.spinner.interval = interval),
            _ => return false,
        };
        if let Err(wrong) = set {
            self.push_problem(at, wrong);
        }
        true
    }

    pub(super) fn read_text(&mut self, fields: &Map<String, Value>, name: &str) -> Option<CleanLine> {
        let text = fields.get(name)?.as_str();
        if text.is_none() {
            self.push_problem(&[name], FieldError::NoText);
        }
        text.map(|text| CleanLine::new(text).truncate_to_width(MAX_NAME)).filter(|text| text.columns() > 0)
    }
}

fn read_lines(value: &Value, (most, columns): (usize, usize)) -> Result<Vec<CleanLine>, FieldError> {
    let texts = value.as_array().map(Vec::as_slice).unwrap_or_default().iter().map(Value::as_str);
    let lines: Option<Vec<CleanLine>> = texts.map(|text| text.map(CleanLine::new)).collect();
    let fits = |lines: &Vec<CleanLine>| {
        (1..=most).contains(&lines.len()) && lines.iter().all(|line| (1..=columns).contains(&line.columns()))
    };
    lines.filter(fits).ok_or(FieldError::NoList { most, columns })
}

fn read_interval(value: &Value) -> Result<Duration, FieldError> {
    let interval = value.as_u64().map(Duration::from_millis);
    let fits = interval.filter(|interval| (SPINNER_MIN..=SPINNER_MAX).contains(interval));
    fits.ok_or(FieldError::NoInterval { least: SPINNER_MIN.as_millis(), most: SPINNER_MAX.as_millis() })
}
