//! Panels: parts of the screen that an extension fills and whose keys it receives.

use serde::{Deserialize, Serialize};

use crate::ids::PanelId;
use crate::read::null_is_default;

/// A panel to open: the body of `command_response.open_panel`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Panel {
    /// The id of the panel, chosen by the extension.
    pub id: PanelId,
    /// The title; empty means the extension's name.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The rows, one string each.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// The last row, shown muted.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub footer: String,
}

/// New content of an open panel. Replaces lines and footer; an empty title keeps the old title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PanelRender {
    /// The id of the panel.
    pub panel_id: PanelId,
    /// The title.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The rows, one string each.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// The last row, shown muted.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub footer: String,
}

/// Closes a panel. From the extension: a request to close it. From the host: the user closed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PanelClose {
    /// The id of the panel.
    pub panel_id: PanelId,
}

/// A key that the user pressed while the panel has the focus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PanelKey {
    /// The id of the panel.
    pub panel_id: PanelId,
    /// The key: one of `up down left right enter esc tab pageup pagedown home end backspace delete
    /// rune`.
    pub key: String,
    /// For `rune`: the typed characters; several if the user pasted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The size of the panel, sent when it opens and after each change. Only for extensions with the
/// capability `panel_resize`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PanelResize {
    /// The id of the panel.
    pub panel_id: PanelId,
    /// The width in columns.
    pub width: u32,
    /// The height in rows.
    pub height: u32,
}
