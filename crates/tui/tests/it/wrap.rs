//! Tests of wrapping.

use haft_tui::clean::{CleanLine, span};
use haft_tui::wrap::{RowPrefixes, WrapMode, wrap};
use proptest::prelude::*;
use ratatui_core::buffer::CellWidth;
use ratatui_core::style::{Color, Style};
use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

fn spans(text: &str) -> Vec<Span<'static>> {
    vec![span(CleanLine::new(text), Style::new())]
}

#[track_caller]
fn check(text: &str, width: u16, mode: WrapMode, expect: &[&str]) {
    let rows: Vec<String> =
        wrap(&spans(text), width, &RowPrefixes::default(), mode).iter().map(Line::to_string).collect();
    assert_eq!(rows, expect, "{text:?} in {width}");
}

fn words(text: &str, width: u16, expect: &[&str]) {
    check(text, width, WrapMode::Words, expect);
}

#[test]
fn keeps_words_whole() {
    words("the quick brown fox", 10, &["the quick", "brown fox"]);
    words("the quick brown fox", 9, &["the quick", "brown fox"]);
    words("the quick brown fox", 100, &["the quick brown fox"]);
    words("", 10, &[""]);
    words("   ", 10, &[""]);
    words("a  b", 10, &["a  b"]);
    words("a          b", 5, &["a", "b"]);
    words("ends   ", 5, &["ends"]);
}

#[test]
fn divides_long_words() {
    words("incomprehensible", 5, &["incom", "prehe", "nsibl", "e"]);
    words("an incomprehensible word", 6, &["an", "incomp", "rehens", "ible", "word"]);
}

#[test]
fn keeps_indentation() {
    words("  - one two three", 9, &["  - one", "  two", "  three"]);
    check("    let a = 1;", 8, WrapMode::Columns, &["    let ", "    a = ", "    1;"]);
    // Not if there would be no room left.
    words("        abcd", 8, &["    abcd"]);
}

#[test]
fn keeps_graphemes_whole() {
    words("日本語です。", 4, &["日本", "語で", "す。"]);
    words("日本", 1, &["\u{fffd}", "\u{fffd}"]);
    words("e\u{301}e\u{301}e\u{301}", 2, &["e\u{301}e\u{301}", "e\u{301}"]);
    words("👩‍🔬👩‍🔬👩‍🔬", 5, &["👩‍🔬👩‍🔬", "👩‍🔬"]);
    words("🇩🇪🇫🇷", 2, &["🇩🇪", "🇫🇷"]);
}

#[test]
fn prefix_leaves_room() {
    let hang = RowPrefixes { first: spans("• "), rest: spans("  ") };
    let rows = |width| {
        wrap(&spans("one two"), width, &hang, WrapMode::Words).iter().map(Line::to_string).collect::<Vec<_>>()
    };
    assert_eq!(rows(20), ["• one two"]);
    assert_eq!(rows(6), ["• one", "  two"]);
    assert_eq!(rows(2), ["•o", " n", " e", " t", " w", " o"]);
    assert_eq!(rows(0), ["o", "n", "e", "t", "w", "o"]);
}

#[test]
fn keeps_styles_with_text() {
    let red = Style::new().fg(Color::Red);
    let line = [span("one ", Style::new()), span("two three", red)];
    let rows = wrap(&line, 7, &RowPrefixes::default(), WrapMode::Words);
    assert_eq!(rows[0].spans, [span("one ", Style::new()), span("two", red)]);
    assert_eq!(rows[1].spans, [span("three", red)]);
}

fn width_of(row: &str) -> usize {
    row.graphemes(true).map(|grapheme| usize::from(grapheme.cell_width())).sum()
}

fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "a",
        "word",
        " ",
        "  ",
        "日",
        "本語",
        "e\u{301}",
        "👩‍🔬",
        "🇩🇪",
        "-",
        ".",
        "。",
        "ｶﾞ",
        "क्षि",
        "longerword",
        "\u{a0}",
        "각",
    ]);
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn rows_fit_and_lose_nothing(text in text(), width in 0..30_u16, columns: bool, prefix in 0..6_usize) {
        let mode = if columns { WrapMode::Columns } else { WrapMode::Words };
        let text = CleanLine::new(&text).to_string();
        let hang = RowPrefixes::repeated(spans(&"│ ".repeat(prefix)));
        let rows = wrap(&spans(&text), width, &hang, mode);
        prop_assert!(!rows.is_empty());
        for row in &rows {
            prop_assert!(width_of(&row.to_string()) <= usize::from(width.max(1)), "{row:?} in {width}");
        }
        // Widths at which every grapheme of the texts fits.
        if width > 10 {
            let black = |text: &str| text.replace([' ', '│'], "");
            let joined: String = rows.iter().map(|row| black(&row.to_string())).collect();
            prop_assert_eq!(joined, black(&text));
            let whole: Vec<&str> = text.graphemes(true).collect();
            for row in &rows {
                // The prefix is a span of its own.
                let text_of_row: String =
                    row.spans.iter().skip(usize::from(prefix > 0)).map(|span| span.content.as_ref()).collect();
                for grapheme in text_of_row.graphemes(true).filter(|grapheme| !matches!(*grapheme, " " | "│")) {
                    prop_assert!(whole.contains(&grapheme), "{grapheme:?} of {text:?}");
                }
            }
        }
    }

    #[test]
    fn keeps_fitting_line(text in text(), more in 1..20_u16) {
        let text = CleanLine::new(&text).to_string();
        let width = u16::try_from(width_of(&text)).unwrap() + more;
        let rows = wrap(&spans(&text), width, &RowPrefixes::default(), WrapMode::Words);
        prop_assert_eq!(rows.len(), 1);
        prop_assert_eq!(rows[0].to_string(), text.trim_end_matches([' ', '\u{3000}']));
    }
}
