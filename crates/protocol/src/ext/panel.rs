//! Panels: a rectangle of the terminal that an extension fills and gets the keys of.

use serde::{Deserialize, Serialize};

use crate::ids::PanelId;
use crate::read::null_is_default;

/// A panel to open: the body of `command_response.open_panel`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Panel {
    /// The extension's name for it.
    pub id: PanelId,
    /// The heading; empty means the extension's name.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// One string a row.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// A muted last row.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub footer: String,
}

/// New content of an open panel. Lines and footer are replaced, an empty title keeps the old one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PanelRender {
    /// Which panel.
    pub panel_id: PanelId,
    /// The heading.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// One string a row.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// A muted last row.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub footer: String,
}

/// The panel is over. From the extension: close it. From the host: the user closed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PanelClose {
    /// Which panel.
    pub panel_id: PanelId,
}

/// A key, while the panel has the focus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PanelKey {
    /// Which panel.
    pub panel_id: PanelId,
    /// `up down left right enter esc tab pageup pagedown home end backspace delete rune`.
    pub key: String,
    /// For `rune`: what was typed; more than one character when pasted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The room of the panel, at opening and whenever it changes. Sent to extensions that announce `panel_resize`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PanelResize {
    /// Which panel.
    pub panel_id: PanelId,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}
