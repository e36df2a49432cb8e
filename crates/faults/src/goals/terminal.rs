//! G12: terminal commands in hostile text, after the sanitizer and after the interactive mode. All other output of the
//! program is checked by the test `sinks` of `haft`.

use anyhow::Result;
use haft_core::sanitize::{Sanitizer, sanitize, sanitize_line};
use haft_test_support::terminal::{ATTACKS, TextSink, survey};

use super::{GoalContext, GoalFigure, screen};

/// The number of random texts.
const TEXTS: (u64, u64) = (50_000, 5_000_000);

/// The number of random texts for each sink of the interactive mode.
const ON_SCREEN: (u64, u64) = (100, 25_000);

const SEED: u64 = 12;

pub(super) fn measure(place: &GoalContext) -> Result<Vec<GoalFigure>> {
    let (reduced, full) = TEXTS;
    let whole = |text: &str| sanitize(text).into_bytes();
    let line = |text: &str| sanitize_line(text).into_bytes();
    let pieces = |text: &str| {
        let mut sanitizer = Sanitizer::default();
        text.chars().flat_map(|c| sanitizer.push(&c.to_string()).into_bytes()).collect()
    };
    let sinks: [TextSink<'_>; 3] = [("whole", &whole), ("line", &line), ("pieces", &pieces)];
    // Unsanitized text must fail, to show that the oracle works.
    let raw = |text: &str| text.as_bytes().to_vec();
    let control = survey(1_000, SEED, &[("raw", &raw)]);
    let report = survey(place.amount(reduced, full), SEED, &sinks);
    let what =
        format!("of {} random texts and {} listed ones × 3 ways", place.amount(reduced, full), ATTACKS.len());
    let mut figures = vec![
        GoalFigure::new(
            format!("texts with an effect on a terminal, {what}"),
            report.failures,
            "0",
            report.failures == 0,
        ),
        GoalFigure::new(
            "unsanitized texts with an effect, of 1,000",
            control.failures,
            "more than 500",
            control.failures > 500,
        ),
    ];
    figures.extend(on_screen(place)?);
    Ok(figures)
}

/// Measures the interactive mode.
fn on_screen(place: &GoalContext) -> Result<Vec<GoalFigure>> {
    let (reduced, full) = ON_SCREEN;
    let unseen = screen::unseen_sinks()?;
    let [cells, bytes, below] = screen::count_control_findings(1_000, SEED);
    let each = place.amount(reduced, full);
    let report = screen::survey(each, SEED)?;
    let what = format!(
        "on the screen, of {} random texts and {} listed ones in {} frames, at least {each} by each of {} ways",
        report.texts,
        ATTACKS.len(),
        report.frames,
        report.sinks
    );
    let unread = unseen.iter().map(|unseen| format!("\n       {unseen}")).collect::<String>();
    Ok(vec![
        GoalFigure::new(
            "sinks whose harmless words are not visible on the screen",
            format!("{}{unread}", unseen.len()),
            "0",
            unseen.is_empty(),
        ),
        GoalFigure::new(what, &report, "0 with foreign terminal commands", report.failures == 0),
        GoalFigure::new(
            "unsanitized texts that the oracles find, of 1,000: in a cell, on a screen, in inline mode",
            format!("{cells}, {bytes} and {below}"),
            "more than 500 each",
            cells.min(bytes).min(below) > 500,
        ),
    ])
}
