//! `Draft`: a theme that is being read, with the problems found so far.

use std::time::Duration;

use ratatui_core::style::Style;
use serde_json::{Map, Value};

use super::problem::{Problem, Wrong, shown};
use super::{Inner, Role, spec};
use crate::clean::CleanLine;
use crate::timeouts::{SPINNER_MAX, SPINNER_MIN};

/// The longest name and description, in columns.
const MAX_NAME: usize = 200;

/// Pictures of a spinner, and the columns of each.
const FRAMES: (usize, usize) = (64, 12);

/// Messages beside it, and the columns of each.
const MESSAGES: (usize, usize) = (256, 60);

pub(super) struct Draft {
    pub(super) inner: Inner,
    pub(super) problems: Vec<Problem>,
}

impl Draft {
    pub(super) fn problem(&mut self, field: &[&str], wrong: Wrong) {
        let field = field.iter().map(|part| shown(part)).collect::<Vec<_>>().join(".");
        self.problems.push(Problem { field, wrong });
    }

    pub(super) fn put(&mut self, role: Role, style: Style) {
        if let Some(written) = self.inner.written.get_mut(role.at()) {
            *written = written.patch(style);
        }
    }

    pub(super) fn styles(&mut self, at: &str, value: &Value) {
        let Some(styles) = value.as_object() else { return self.problem(&[at], Wrong::NoObject) };
        for (name, value) in styles {
            let Some(role) = Role::named(name) else {
                let wrong = Wrong::unknown(name, Role::ALL.iter().map(|role| role.name()));
                self.problem(&[at, name], wrong);
                continue;
            };
            match spec::read(value) {
                Ok(style) => self.put(role, style),
                Err((None, wrong)) => self.problem(&[at, name], wrong),
                Err((Some(part), wrong)) => self.problem(&[at, name, part], wrong),
            }
        }
    }

    pub(super) fn spinner(&mut self, at: &str, value: &Value) {
        for (name, value) in value.as_object().into_iter().flatten() {
            if !self.spinner_field(&[at, name], name, value) {
                let wrong = Wrong::unknown(name, ["frames", "messages", "interval_ms"].into_iter());
                self.problem(&[at, name], wrong);
            }
        }
    }

    pub(super) fn spinner_field(&mut self, at: &[&str], name: &str, value: &Value) -> bool {
        let set: Result<(), Wrong> = match name {
            "frames" => lines(value, FRAMES).map(|frames| self.inner.spinner.frames = frames),
            "messages" => lines(value, MESSAGES).map(|messages| self.inner.spinner.messages = messages),
            "interval_ms" => interval(value).map(|interval| self.inner.spinner.interval = interval),
            _ => return false,
        };
        if let Err(wrong) = set {
            self.problem(at, wrong);
        }
        true
    }

    pub(super) fn text(&mut self, fields: &Map<String, Value>, name: &str) -> Option<CleanLine> {
        let text = fields.get(name)?.as_str();
        if text.is_none() {
            self.problem(&[name], Wrong::NoText);
        }
        text.map(|text| CleanLine::new(text).shortened(MAX_NAME)).filter(|text| text.columns() > 0)
    }
}

fn lines(value: &Value, (most, columns): (usize, usize)) -> Result<Vec<CleanLine>, Wrong> {
    let texts = value.as_array().map(Vec::as_slice).unwrap_or_default().iter().map(Value::as_str);
    let lines: Option<Vec<CleanLine>> = texts.map(|text| text.map(CleanLine::new)).collect();
    let fits = |lines: &Vec<CleanLine>| {
        (1..=most).contains(&lines.len()) && lines.iter().all(|line| (1..=columns).contains(&line.columns()))
    };
    lines.filter(fits).ok_or(Wrong::NoList { most, columns })
}

fn interval(value: &Value) -> Result<Duration, Wrong> {
    let interval = value.as_u64().map(Duration::from_millis);
    let fits = interval.filter(|interval| (SPINNER_MIN..=SPINNER_MAX).contains(interval));
    fits.ok_or(Wrong::NoInterval { least: SPINNER_MIN.as_millis(), most: SPINNER_MAX.as_millis() })
}
