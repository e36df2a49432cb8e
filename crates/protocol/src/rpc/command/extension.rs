//! `list_commands`, `run_command`, `complete_command`, `run_shortcut`, `list_extensions`, `reload_ext`, `panel_key`, `panel_resize`, `panel_close`: extensions.

use serde::{Deserialize, Serialize};

use crate::ids::{ExtensionName, PanelId};
use crate::read::null_is_default;

/// Lists the commands that a person can type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListCommands {}

/// Runs a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunCommand {
    /// The command's name, without the slash.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub name: String,
    /// The text after the name.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub args: String,
}

/// Asks for the completions of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompleteCommand {
    /// The command's name, without the slash.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub name: String,
    /// The text from the first argument to the cursor.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub prefix: String,
}

/// Runs the shortcut of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunShortcut {
    /// The extension.
    pub extension: ExtensionName,
    /// The key, as in `list_extensions`.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub key: String,
}

/// Lists the extensions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListExtensions {}

/// Reloads the extensions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReloadExt {
    /// The extension to restart; absent: search for all extensions again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ExtensionName>,
}

/// Sends a key to the panel of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PanelKeyCommand {
    /// The extension that owns the panel.
    pub extension: ExtensionName,
    /// The id of the panel.
    pub panel_id: PanelId,
    /// The key: `up`, `down`, `left`, `right`, `enter`, `esc`, `tab`, `pageup`, `pagedown`, `home`,
    /// `end`, `backspace`, `delete` or `rune`.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub key: String,
    /// For `rune`: the typed text. Pasted text has more than one character.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Sets the size of a panel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PanelResizeCommand {
    /// The extension that owns the panel.
    pub extension: ExtensionName,
    /// The id of the panel.
    pub panel_id: PanelId,
    /// The width in columns.
    pub width: u32,
    /// The height in rows.
    pub height: u32,
}

/// Closes a panel of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PanelCloseCommand {
    /// The extension that owns the panel.
    pub extension: ExtensionName,
    /// The id of the panel.
    pub panel_id: PanelId,
}
