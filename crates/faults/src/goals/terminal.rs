//! G12: what a terminal obeys of hostile text. The sinks of the program are tried by its own test (`haft`, `sinks`).

use anyhow::Result;
use haft_core::sanitize::{Sanitizer, sanitize, sanitize_line};
use haft_test_support::terminal::{ATTACKS, Sink, survey};

use super::{Figure, Place};

/// Random texts.
const TEXTS: (u64, u64) = (50_000, 5_000_000);

const SEED: u64 = 12;

pub(super) fn measure(place: &Place) -> Result<Vec<Figure>> {
    let (reduced, full) = TEXTS;
    let whole = |text: &str| sanitize(text).into_bytes();
    let line = |text: &str| sanitize_line(text).into_bytes();
    let pieces = |text: &str| {
        let mut sanitizer = Sanitizer::default();
        text.chars().flat_map(|c| sanitizer.push(&c.to_string()).into_bytes()).collect()
    };
    let sinks: [Sink<'_>; 3] = [("whole", &whole), ("line", &line), ("pieces", &pieces)];
    // The oracle works: text that nobody cleaned is obeyed.
    let raw = |text: &str| text.as_bytes().to_vec();
    let control = survey(1_000, SEED, &[("raw", &raw)]);
    let report = survey(place.amount(reduced, full), SEED, &sinks);
    let what =
        format!("of {} random texts and {} listed ones × 3 ways", place.amount(reduced, full), ATTACKS.len());
    Ok(vec![
        Figure::new(format!("obeyed by a terminal, {what}"), report.failures, "0", report.failures == 0),
        Figure::new(
            "the same oracle for 1,000 texts that nobody cleaned",
            control.failures,
            "more than 500",
            control.failures > 500,
        ),
    ])
}
