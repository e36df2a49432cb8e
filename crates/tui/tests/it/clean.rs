//! Tests that text from outside is harmless on a screen.

use haft_protocol::RawJson;
use haft_test_support::terminal::{ATTACKS, HostileTexts, is_deceptive, terminal_actions};
use haft_tui::clean::{CleanLine, CleanText, StreamCleaner, span};
use haft_tui::diff::Diff;
use haft_tui::highlight::highlight;
use haft_tui::image::ImageFacts;
use haft_tui::markdown;
use haft_tui::theme::{Appearance, Theme};
use haft_tui::wrap::{RowPrefixes, WrapMode, wrap};
use proptest::prelude::*;
use ratatui_core::style::Style;
use ratatui_core::text::Line;

/// The number of random texts of a test run.
const TEXTS: u64 = 500;

/// Renders a text in every way that produces lines.
fn all(text: &str) -> Vec<Line<'static>> {
    let theme = Theme::dark();
    let mut lines = markdown::render(text, 30, &theme);
    lines.extend(markdown::render(&format!("```rust\n{text}\n```\n"), 30, &theme));
    lines.extend(markdown::render(&format!("|{text}|b|\n|-|-|\n|[{text}]({text})|`{text}`|\n"), 30, &theme));
    let details = serde_json::json!({"diff": {"path": text, "unified": text, "added": 1, "removed": 1}});
    let diff = Diff::from_details(&RawJson::from_value(&details).unwrap()).unwrap();
    lines.push(diff.title(&theme));
    lines.extend(diff.lines(30, &theme));
    lines.extend(highlight("rust", &CleanText::new(text), &theme).unwrap().into_iter().map(Line::from));
    lines.push(ImageFacts::from_mime_type(text, 1).label_line(&theme));
    lines.extend(wrap(
        &[span(CleanLine::new(text), Style::new())],
        7,
        &RowPrefixes::default(),
        WrapMode::Words,
    ));
    let file =
        serde_json::json!({"name": text, "styles": {text: text}, text: 1, "spinner": {"messages": [text]}});
    let parsed = Theme::parse(&file.to_string(), Appearance::Dark).unwrap();
    lines.push(Line::from(span(parsed.theme.name().clone(), Style::new())));
    lines.extend(
        parsed.theme.spinner().messages.iter().map(|line| Line::from(span(line.clone(), Style::new()))),
    );
    // Problems are texts of haft with parts of the file in them.
    lines.extend(parsed.problems.iter().map(|problem| Line::from(problem.to_string())));
    lines
}

#[track_caller]
fn check(text: &str) {
    for line in all(text) {
        for span in &line.spans {
            assert!(!span.content.contains(char::is_control), "{text:?} became {span:?}");
            assert!(terminal_actions(span.content.as_bytes()).is_empty(), "{text:?} became {span:?}");
        }
        assert!(!is_deceptive(&line.to_string()), "{text:?} became {line:?}");
    }
}

#[test]
fn hostile_text_is_sanitized_in_spans() {
    for (_, attack) in ATTACKS {
        check(attack);
        check(&format!("- a\n\n  > {attack} b"));
    }
}

#[test]
fn random_text_is_sanitized_in_spans() {
    let mut hostile = HostileTexts::new(9);
    let mut text = String::new();
    for _ in 0..TEXTS {
        hostile.next_into(&mut text);
        check(&text);
    }
}

#[test]
fn sanitizes_markdown_character_references() {
    for text in [
        "&#27;[2Jx",
        "&#x9b;2Jx",
        "[a](&#27;]0;x&#7;)",
        "`&#27;`",
        "&#x202e;gpj",
        "a&#8203;b",
        "&Tab;&NewLine;",
    ] {
        check(text);
        check(&format!("|{text}|\n|-|\n"));
        check(&format!("![{text}](x \"{text}\")"));
    }
}

#[test]
fn tab_stops_do_not_depend_on_pieces() {
    let text = "\ta\tbc\t日\td\n\te";
    let expect = "    a   bc  日  d\n    e";
    assert_eq!(CleanText::new(text).as_str(), expect);
    let mut cleaner = StreamCleaner::default();
    let pieces: String = text.chars().map(|c| cleaner.push(&c.to_string()).as_str().to_owned()).collect();
    assert_eq!(pieces, expect);
}

#[test]
fn truncates_line_between_graphemes() {
    let short = |text: &str, most| CleanLine::new(text).truncate_to_width(most).to_string();
    assert_eq!(short("abc", 3), "abc");
    assert_eq!(short("abcd", 3), "ab…");
    assert_eq!(short("日本語", 4), "日…");
    assert_eq!(short("👩‍🔬👩‍🔬", 3), "👩‍🔬…");
    assert_eq!(short("abc", 1), "…");
    assert_eq!(short("abc", 0), "");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: (ProptestConfig::default().cases / 4).max(1), ..ProptestConfig::default() })]

    #[test]
    fn spans_contain_no_control_characters(text in ".{0,80}", markup in "[-*_`#>|:\\[\\]()&;~0-9 a\\n\u{1b}\u{9b}\u{7}\r\t]{0,80}") {
        check(&text);
        check(&markup);
        check(&format!("{markup}{text}"));
    }
}
