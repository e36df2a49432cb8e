//! The two built-in themes. Text uses the terminal's own color, which is readable on every background.

use ratatui_core::style::{Color, Modifier, Style};

use super::Role;
use super::color;

/// For dark backgrounds.
pub(super) const DARK: &[(Role, &str)] = &[
    (Role::Muted, "#8a919e"),
    (Role::Accent, "#7aa8e6"),
    (Role::Ok, "#7fbf7a"),
    (Role::Warning, "#e0af5a"),
    (Role::Error, "#e6736b"),
    (Role::Selection, "bg:#2f4566"),
    (Role::SearchMatch, "bg:#5c4a1a"),
    (Role::UserMessage, "bg:#262a33"),
    (Role::Extension, "#b89ae0"),
    (Role::CodeKeyword, "#c792d8"),
    (Role::CodeType, "#e0c070"),
    (Role::CodeFunction, "#7aa8e6"),
    (Role::CodeString, "#98c379"),
    (Role::CodeEscape, "#6fc3c9"),
    (Role::CodeNumber, "#dba26b"),
    (Role::CodeComment, "#8a919e"),
    (Role::CodeAttribute, "#6fc3c9"),
    (Role::CodeInline, "#dba26b"),
];

/// For light backgrounds.
pub(super) const LIGHT: &[(Role, &str)] = &[
    (Role::Muted, "#666c76"),
    (Role::Accent, "#1f4fa0"),
    (Role::Ok, "#1f6f2b"),
    (Role::Warning, "#7a5600"),
    (Role::Error, "#a01c1c"),
    (Role::Selection, "bg:#c9dbf7"),
    (Role::SearchMatch, "bg:#f7e3a1"),
    (Role::UserMessage, "bg:#eef0f3"),
    (Role::Extension, "#6a3a9c"),
    (Role::CodeKeyword, "#8a2a80"),
    (Role::CodeType, "#735500"),
    (Role::CodeFunction, "#1f4fa0"),
    (Role::CodeString, "#2a6b1f"),
    (Role::CodeEscape, "#0f6a70"),
    (Role::CodeNumber, "#8f3f0a"),
    (Role::CodeComment, "#666c76"),
    (Role::CodeAttribute, "#0f6a70"),
    (Role::CodeInline, "#8f3f0a"),
];

/// The attributes of both themes, beside their colors.
const ATTRIBUTES: &[(Role, Modifier)] = &[
    (Role::User, Modifier::BOLD),
    (Role::Assistant, Modifier::BOLD),
    (Role::Thinking, Modifier::ITALIC),
    (Role::ToolTitle, Modifier::BOLD),
    (Role::DiffHeader, Modifier::BOLD),
    (Role::Heading, Modifier::BOLD),
    (Role::Emphasis, Modifier::ITALIC),
    (Role::Strong, Modifier::BOLD),
    (Role::Strikethrough, Modifier::CROSSED_OUT),
    (Role::Link, Modifier::UNDERLINED),
    (Role::Quote, Modifier::ITALIC),
    (Role::CodeLabel, Modifier::ITALIC),
    (Role::CodeComment, Modifier::ITALIC),
];

pub(super) fn styles_from_colors(colors: &[(Role, &str)]) -> Vec<Style> {
    let mut styles = vec![Style::new(); Role::ALL.len()];
    let mut put = |role: Role, style: Style| {
        if let Some(at) = styles.get_mut(role.index()) {
            *at = at.patch(style);
        }
    };
    for (role, written) in colors {
        let behind = written.strip_prefix("bg:");
        let color = color::parse_word(behind.unwrap_or(written)).unwrap_or(Color::Reset);
        put(*role, if behind.is_some() { Style::new().bg(color) } else { Style::new().fg(color) });
    }
    for (role, modifier) in ATTRIBUTES {
        put(*role, Style::new().add_modifier(*modifier));
    }
    styles
}
