//! What takes the place of the transcript while it is open: a list to pick from, or a page to read.

use haft_protocol::rpc::{EntryInfo, SessionInfo, ToolInfo};

use crate::picker::{Can, Picker, Row};

use super::SettingRow;
use super::page::Page;

/// What takes the place of the transcript.
#[derive(Debug)]
pub(super) enum Overlay {
    /// A list to pick from, and what becomes of what is picked.
    Picker(Box<Picker>, Purpose),
    /// A page to read.
    Page(Page),
}

/// What becomes of what is picked.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Purpose {
    Model,
    Thinking,
    Session(Vec<SessionInfo>),
    Tree(Vec<EntryInfo>),
    Tools(Vec<ToolInfo>),
    Extensions,
    /// What is done with an extension.
    Extension(String),
    Skills,
    Settings(Vec<SettingRow>),
    /// The value of a setting.
    Value(String),
    Theme,
    Login,
    Logout,
}

/// What is asked before a picker can be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Coming {
    Settings(Option<String>),
    Login,
    Logout,
}

/// A setting, as the row of a list shows it.
pub(super) fn setting_row(row: &SettingRow) -> Row {
    let origin = if row.origin.is_empty() { String::new() } else { format!(" ({})", row.origin) };
    let about = if row.about.is_empty() { String::new() } else { format!("  {}", row.about) };
    Row {
        key: row.name.clone(),
        text: row.name.clone(),
        detail: format!("{}{origin}{about}", row.value),
        ..Row::default()
    }
}

impl Overlay {
    pub(super) fn picker(title: &str, rows: Vec<Row>, can: Can, purpose: Purpose) -> Self {
        Self::Picker(Box::new(Picker::new(title, rows, can)), purpose)
    }
}
