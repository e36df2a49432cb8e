//! Replies to commands about extensions.

use serde::{Deserialize, Serialize};

use crate::event::ExtensionFault;
use crate::ext::CompletionItem;
use crate::ids::ExtensionName;

/// The commands that a person can type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CommandsData {
    /// The commands, those of extensions first.
    pub commands: Vec<CommandInfo>,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CommandInfo {
    /// Its name, without the slash.
    pub name: String,
    /// One line; may be empty.
    pub description: String,
    /// The extension whose command it is; absent for a template or a skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionName>,
    /// True if `complete_command` says what may follow it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub completes: bool,
}

/// The completions of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CompletionsData {
    /// The items, the likeliest first. None where the command does not complete, or its extension fails to.
    #[serde(default)]
    pub items: Vec<CompletionItem>,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CommandResult {
    /// The action of the command.
    pub action: CommandActionKind,
    /// The extension whose command it is; absent for a template or a skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionName>,
}

/// The action of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandActionKind {
    /// A prompt: it is worked on, or waits behind another one; events follow as for the command `prompt`.
    Prompt,
    /// A text for the editor: the event `insert` says it.
    Insert,
    /// A text to be shown: the event `ext_display` says it.
    Display,
    /// A panel: the event `panel_open` says it.
    OpenPanel,
    /// Nothing more.
    Noop,
}

/// The extensions there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ExtensionsData {
    /// The extensions, in the order in which they are asked.
    pub extensions: Vec<ExtensionInfo>,
}

/// An extension, and how it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ExtensionInfo {
    /// Its name.
    pub name: ExtensionName,
    /// Its version, as its manifest says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its description of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its state: `starting`, `ready`, `restarting`, `idle`, `stopping`, `stopped` or `failed`.
    pub state: String,
    /// Its failure, when it is `restarting` or `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<ExtensionFault>,
    /// Where it was found: `explicit`, `built_in`, `global`, `project` or `hook`.
    pub origin: String,
    /// Where it lies.
    pub dir: String,
    /// True if what it guards must not happen without it.
    pub required: bool,
    /// True if the person decided to go on without it: it is not asked about anything.
    pub gates_off: bool,
    /// Its log file, if logs are written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The commands that it registered.
    #[serde(default)]
    pub commands: Vec<String>,
    /// The tools that it registered.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Its items of the status line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<StatusItem>,
}

/// An extension's item in the status line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StatusItem {
    /// The extension's name for it.
    pub key: String,
    /// The text.
    pub text: String,
}

/// The result of a reload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReloadData {
    /// Extensions that ran before and were stopped: replaced, or not there any more.
    pub stopped: u64,
    /// Extensions that were found and started.
    pub loaded: u64,
    /// Of those, the ones that are ready.
    pub ready: u64,
    /// Extensions that go on as they were, because what is there now does not work.
    pub kept: u64,
    /// The failures; each was reported as an event, too.
    pub errors: Vec<ExtensionFault>,
}
