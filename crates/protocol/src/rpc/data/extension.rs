//! Replies to commands about extensions.

use serde::{Deserialize, Serialize};

use crate::event::ExtensionFault;
use crate::ext::{CompletionItem, StyledSpan};
use crate::ids::ExtensionName;

/// The commands that a person can type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandsData {
    /// The commands; those of extensions come first.
    pub commands: Vec<CommandInfo>,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandInfo {
    /// The name, without the slash.
    pub name: String,
    /// One line of text; can be empty.
    pub description: String,
    /// The extension that owns the command; absent for a template or a skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionName>,
    /// True if `complete_command` works for this command.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub completes: bool,
}

/// The completions of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompletionsData {
    /// The completions, the most likely first. Empty if the command has no completion, or if its
    /// extension fails.
    #[serde(default)]
    pub items: Vec<CompletionItem>,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandResult {
    /// The effect of the command.
    pub action: CommandActionKind,
    /// The extension that owns the command; absent for a template or a skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionName>,
}

/// The action of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CommandActionKind {
    /// The command sends a prompt, which starts or waits; events follow as for the command
    /// `prompt`.
    Prompt,
    /// The event `insert` has text for the input field.
    Insert,
    /// The event `ext_display` has text to show.
    Display,
    /// The event `panel_open` has a panel.
    OpenPanel,
    /// No further effect.
    Noop,
}

/// The extensions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExtensionsData {
    /// The extensions, in the order in which haft calls them.
    pub extensions: Vec<ExtensionInfo>,
}

/// An extension and its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExtensionInfo {
    /// The extension's name.
    pub name: ExtensionName,
    /// The version in the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The description in the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The state: `starting`, `ready`, `restarting`, `idle`, `stopping`, `stopped` or `failed`.
    pub state: String,
    /// The failure, if the state is `restarting` or `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<ExtensionFault>,
    /// The origin: `explicit`, `built_in`, `global`, `project` or `hook`.
    pub origin: String,
    /// The directory of the extension.
    pub dir: String,
    /// True if haft blocks what the extension guards while the extension does not run.
    pub required: bool,
    /// True if the user chose to continue without the extension: haft asks it nothing.
    pub gates_off: bool,
    /// The log file, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The commands that it registered.
    #[serde(default)]
    pub commands: Vec<String>,
    /// The tools that it registered.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The keys that run code of the extension.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortcuts: Vec<ShortcutInfo>,
    /// The extension's items in the status line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<StatusItem>,
}

/// A key that runs code of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShortcutInfo {
    /// The key, such as `ctrl+g`. A client that does not know the key ignores the shortcut.
    pub key: String,
    /// The description in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// A text of an extension in the status line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusItem {
    /// The key of the item.
    pub key: String,
    /// The text.
    pub text: String,
    /// The same text in parts with colors; absent for a text without colors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub styled: Vec<StyledSpan>,
}

/// The result of a reload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReloadData {
    /// The number of stopped extensions: replaced ones and removed ones.
    pub stopped: u64,
    /// The number of extensions that were found and started.
    pub loaded: u64,
    /// The number of those that are ready.
    pub ready: u64,
    /// The number of extensions that keep running unchanged because their new version does not
    /// work.
    pub kept: u64,
    /// The failures. Each one was also sent as an event.
    pub errors: Vec<ExtensionFault>,
}
