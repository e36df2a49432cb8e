//! Tests of themes: built-in themes, files, fewer colors.

use std::fs;
use std::path::Path;

use haft_tui::theme::{Appearance, ColorDepth, ParsedTheme, Role, Theme, ThemeError};
use insta::assert_snapshot;
use ratatui_core::style::{Color, Modifier, Style};

use crate::shown::table;

fn parse(text: &str) -> ParsedTheme {
    Theme::parse(text, Appearance::Dark).unwrap()
}

fn problems(text: &str) -> Vec<String> {
    parse(text).problems.iter().map(ToString::to_string).collect()
}

#[test]
fn built_in_themes_style_every_role() {
    for theme in [Theme::dark(), Theme::light()] {
        let name = theme.name().to_string();
        for (depth, suffix) in [
            (ColorDepth::True, "true"),
            (ColorDepth::Indexed, "256"),
            (ColorDepth::Sixteen, "16"),
            (ColorDepth::None, "none"),
        ] {
            assert_snapshot!(format!("built_in_{name}_{suffix}"), table(&theme.with_color_depth(depth)));
        }
    }
}

#[test]
fn theme_without_colors_uses_modifiers() {
    for theme in [Theme::dark(), Theme::light()] {
        let theme = theme.with_color_depth(ColorDepth::None);
        for role in Role::ALL {
            let style = theme.style(*role);
            assert_eq!((style.fg, style.bg), (None, None), "{role:?}");
        }
        assert!(theme.style(Role::Selection).add_modifier.contains(Modifier::REVERSED));
    }
}

#[test]
fn role_inherits_parent() {
    let theme =
        parse(r##"{"styles": {"accent": "#112233", "heading": {"bold": false, "underline": true}}}"##).theme;
    let heading = theme.style(Role::Heading);
    assert_eq!(heading.fg, Some(Color::Rgb(0x11, 0x22, 0x33)));
    assert_eq!(heading.add_modifier, Modifier::UNDERLINED);
    assert_eq!(theme.style(Role::ListMarker).fg, heading.fg);
    assert_eq!(theme.style(Role::Muted), Theme::dark().style(Role::Muted));
}

#[test]
fn parses_three_style_notations() {
    let accent = |written: &str| {
        let ParsedTheme { theme, problems } = parse(&format!(r#"{{"styles": {{"accent": {written}}}}}"#));
        assert_eq!(problems, [], "{written}");
        theme.style(Role::Accent)
    };
    let red = Style::new().fg(Color::Red);
    assert_eq!(accent(r#""red""#), red);
    assert_eq!(accent("204"), Style::new().fg(Color::Indexed(204)));
    assert_eq!(accent(r#""red bold bg:236""#), red.bold().bg(Color::Indexed(236)));
    assert_eq!(accent(r#"{"fg": "red", "bold": true}"#), red.bold());
    assert_eq!(accent(r#"{"mode": "rgb", "r": 1, "g": 2, "b": 3}"#), Style::new().fg(Color::Rgb(1, 2, 3)));
    assert_eq!(accent(r#"{"mode": "ansi", "index": 94}"#), Style::new().fg(Color::LightBlue));
}

#[test]
fn reports_invalid_fields_and_uses_the_rest() {
    let text = r##"{"name": "x", "styles": {"accent": "grene", "headng": "red", "link": {"fg": 300, "bold": "yes"},
        "muted": "cyan wavy", "ok": "green", "error": {"color": "red"}}, "colors": {}, "base": "blue",
        "spinner": {"frames": [], "interval_ms": 1, "speed": 2}, "dark": []}"##;
    assert_snapshot!(problems(text).join("\n"));
    assert_eq!(parse(text).theme.style(Role::Ok).fg, Some(Color::Green));
}

#[test]
fn rejects_invalid_theme() {
    let error = |text: &str| Theme::parse(text, Appearance::Dark).unwrap_err();
    assert_eq!(error("{\n  \"a\": 1,\n}"), ThemeError::NoJson { line: 3, column: 1 });
    assert_eq!(error("[]"), ThemeError::NoObject);
    assert_eq!(error(&" ".repeat(300_000)), ThemeError::TooLong);
    assert_snapshot!(error("{\n  // comment\n}"), @"the theme is not valid JSON (line 2, column 3); comments and trailing commas are not allowed");
}

#[test]
fn styles_depend_on_appearance() {
    let text = r#"{"styles": {"accent": "red"}, "dark": {"accent": "light_red"}}"#;
    let accent = |appearance| Theme::parse(text, appearance).unwrap().theme.style(Role::Accent).fg;
    assert_eq!(accent(Appearance::Dark), Some(Color::LightRed));
    assert_eq!(accent(Appearance::Light), Some(Color::Red));
    let based = Theme::parse(r#"{"base": "light"}"#, Appearance::Dark).unwrap().theme;
    assert_eq!(based.appearance(), Appearance::Light);
    assert_eq!(based.style(Role::Muted), Theme::light().style(Role::Muted));
}

#[test]
fn reads_zot_themes() {
    let text = r##"{"name": "z", "description": "d", "color_descriptions": {"accent": "…"}, "accent": 204,
        "spinner_interval_ms": 120, "colors": {"muted": {"mode": "256", "index": 244}, "spinner": 183,
        "spinner_messages": ["shipping"], "dark": {"fg": 253, "tool": "#8fbcbb", "selection_bg": 24, "selection_fg": 231,
        "user_bubble_bg": "#42454b", "spinner_frames": ["◢", "◣"], "syntax_base_style": "monokai",
        "syntax": {"keyword": "#81a1c1 bold", "name_builtin": "#88c0d0", "comment": "#616e88 italic"}}}}"##;
    let ParsedTheme { theme, problems } = parse(text);
    assert_eq!(problems, []);
    assert_eq!((theme.name().as_str(), theme.description().as_str()), ("z", "d"));
    assert_eq!(theme.spinner().frames.len(), 2);
    assert_eq!(theme.spinner().interval.as_millis(), 120);
    assert_snapshot!(table(&theme));
    // A theme for one appearance is used for the other.
    let light = Theme::parse(text, Appearance::Light).unwrap().theme;
    assert_eq!(light.style(Role::ToolTitle).fg, theme.style(Role::ToolTitle).fg);
    assert_eq!(light.appearance(), Appearance::Light);
}

#[test]
fn reports_invalid_zot_fields() {
    let text = r#"{"accent": "pinkish", "colors": {"mutd": 3, "dark": {"fg": 256, "acent": 1, "syntax": {"keyword": "wavy"}}}}"#;
    assert_snapshot!(problems(text).join("\n"));
}

/// Checks that the document contains the program's table of roles, and that its examples are valid themes.
#[test]
fn documentation_matches_roles_and_examples() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/themes.md");
    let document = fs::read_to_string(path).unwrap();
    let (_, table) = document.split_once("<!-- roles -->\n").unwrap();
    let (table, _) = table.split_once("<!-- /roles -->").unwrap();
    let row = |role: &Role| {
        let follows = role.follows().map(|parent| format!("`{}`", parent.name())).unwrap_or_default();
        format!("| `{}` | {} | {follows} |\n", role.name(), role.about())
    };
    let rows: String = Role::ALL.iter().map(row).collect();
    assert_eq!(table, format!("| role | for | follows |\n|---|---|---|\n{rows}"));
    let examples = document.split("```json\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let mut count = 0;
    for (example, _) in examples {
        assert_eq!(parse(example).problems, [], "{example}");
        count += 1;
    }
    assert!(count >= 3, "{count} examples");
}
