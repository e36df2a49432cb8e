//! Choosing a session on a terminal.

use std::time::SystemTime;

use anyhow::Context as _;
use dialoguer::FuzzySelect;
use dialoguer::console::Term;
use haft_core::session::store::Found;

use crate::console::width;
use crate::session::{Row, digits};

/// How many sessions are seen at a time.
const VISIBLE: usize = 15;

/// What the choice draws before a line.
const MARGIN: usize = 3;

/// Lets the person choose by arrow keys and by typing a part of the line; none if they leave with Esc. Drawn on
/// standard error, and wiped at the end.
pub(super) fn pick(rows: &[Row]) -> anyhow::Result<Option<Found>> {
    let digits = digits(rows.iter().map(|row| &row.found));
    let columns = width().unwrap_or(80).saturating_sub(MARGIN);
    let now = SystemTime::now();
    let lines: Vec<String> = rows.iter().map(|row| row.line(now, digits, columns)).collect();
    let chosen = FuzzySelect::new()
        .with_prompt("Session (type to search, Esc to leave)")
        .items(&lines)
        .default(0)
        .max_length(VISIBLE)
        .report(false)
        .interact_on_opt(&Term::stderr())
        .context("cannot ask which session is meant; name one with --resume ID")?;
    Ok(chosen.and_then(|at| rows.get(at)).map(|row| row.found.clone()))
}
