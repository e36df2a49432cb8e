//! The keys of `config.toml`: their values, their defaults, and whose file may set them.
//!
//! Each key is declared once, in `keys!`. The declaration defines the fields of files, the settings in effect,
//! environment variables, the checks of a file, `config show`, the documentation and the settings screen.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use haft_protocol::thinking::ThinkingLevel;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::origin::{SettingOrigin, SourcedValue};
use ValueKind::{Bool, Choice, Int, List, Table, Text};

/// The owners whose `config.toml` may set a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyScope {
    /// Only the user's file. The key has no effect in a project's file, even in a trusted project.
    User,
    /// The user's file, and the file of a project that the user trusts.
    TrustedProject,
}

/// The declaration of a key of `config.toml`.
#[derive(Debug, Clone, Copy)]
pub struct ConfigKey {
    /// The key as written, with `.` between tables; `NAME` is a placeholder for a name that the user chooses.
    pub path: &'static str,
    /// The description of the key, as lines of text.
    pub doc: &'static str,
    /// The kind of value.
    pub kind: ValueKind,
    /// The value in effect if the key is not set; `None` if haft decides by itself.
    pub default: Option<fn() -> Value>,
    /// A description of the default, or of what haft does without a value.
    pub unset: &'static str,
    /// The owners whose files may set the key.
    pub reach: KeyScope,
    /// The environment variables that also set the key; the first one takes precedence.
    pub variables: &'static [&'static str],
    /// The flag that also sets the key.
    pub flag: Option<&'static str>,
    /// The former name of the key, which still works. It may be in another table.
    pub former: Option<&'static str>,
    /// A text shorter than `doc`, for lists of settings.
    pub brief: Option<&'static str>,
}

impl ConfigKey {
    /// Returns the default in words.
    pub fn default_text(&self) -> String {
        let shown = |value: Value| match value.as_array().is_some_and(Vec::is_empty) {
            true => value_text(&value),
            false => format!("`{}`", value_text(&value)),
        };
        let value = self.default.map(|default| shown(default()));
        match (value, self.unset) {
            (None, words) => words.to_owned(),
            (Some(value), "") => value,
            (Some(value), words) => format!("{value}: {words}"),
        }
    }

    /// Returns one or two sentences for lists of settings.
    pub fn summary(&self) -> String {
        if let Some(brief) = self.brief {
            return brief.to_owned();
        }
        let doc = self.doc.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "");
        doc.split_once(". ").map_or(doc.clone(), |(first, _)| format!("{first}."))
    }

    /// Returns the summary without Markdown, for the terminal: a link becomes its label.
    pub fn plain_summary(&self) -> String {
        without_markdown(&self.summary())
    }
}

fn without_markdown(text: &str) -> String {
    let text = text.replace('`', "");
    let (mut plain, mut rest) = (String::new(), text.as_str());
    while let Some((before, after)) = rest.split_once('[') {
        plain.push_str(before);
        let link = after.split_once("](").filter(|(label, _)| !label.contains(['[', ']']));
        match link.and_then(|(label, target)| Some((label, target.split_once(')')?.1))) {
            Some((label, tail)) => {
                plain.push_str(label);
                rest = tail;
            }
            None => {
                plain.push('[');
                rest = after;
            }
        }
    }
    plain + rest
}

#[macro_use]
mod declare;
mod hooks;
mod kind;
mod layer;
mod row;
mod tui;

use layer::first_value;
use row::RowValue as _;

pub use hooks::{EventKind, HookDefaults, HookProcess, Hooks, ToolNames};
pub use kind::{TableKind, ValueKind, list_items, value_text};
pub use layer::{ConfigLayer, LayerError, LayerSource, ModelNameSplitter};
pub use row::ConfigRow;
pub(crate) use row::{HIDDEN, quoted_key};
pub use tui::{Tui, TuiImages, TuiScreen, TuiSettings, TuiShown, TuiSwitch};

keys! {
    /// The content of `config.toml`. Unknown keys are an error, so that a typing mistake does not go unnoticed.
    ConfigFile as Settings {
        /// The model provider: `anthropic`, `openai`, … See [providers.md](providers.md#providers).
        provider: String = "provider" {
            kind: Text("a name"),
            unset: "the first provider that has a key, otherwise a local server",
            reach: TrustedProject,
            variables: &["HAFT_PROVIDER"],
            flag: "--provider",
        }
        /// The id of the model at that provider, or `provider/id`. See [providers.md](providers.md#model-names-with-a-provider).
        model: String = "model" {
            kind: Text("an id"),
            unset: "the provider's default model",
            reach: TrustedProject,
            variables: &["HAFT_MODEL"],
            flag: "--model",
        }
        /// The address of the provider's API, for compatible servers and gateways.
        base_url: String = "base_url" {
            kind: Text("an address"),
            unset: "the provider's usual address",
            reach: TrustedProject,
            variables: &["HAFT_BASE_URL"],
            flag: "--base-url",
        }
        /// The thinking level of the model. See [models.md](models.md#thinking).
        thinking: ThinkingLevel = "thinking" | "reasoning" {
            kind: Choice(&ThinkingLevel::NAMES),
            default: ThinkingLevel::Default,
            unset: "the level that the provider chooses",
            reach: TrustedProject,
            variables: &["HAFT_THINKING", "HAFT_REASONING"],
            flag: "--thinking",
        }
        /// Models to use while the first one is not available, each as `provider/model`. See
        /// [models.md](models.md#fallback-models).
        fallback: Vec<String> = "fallback" {
            kind: List("models"),
            unset: "none",
            reach: TrustedProject,
            variables: &["HAFT_FALLBACK"],
            flag: "--fallback",
        }
        /// The maximum number of steps for one prompt.
        max_steps: NonZeroU32 = "max_steps" {
            kind: Int { min: 1, max: u32::MAX as i64 },
            unset: "no limit",
            reach: TrustedProject,
            variables: &["HAFT_MAX_STEPS"],
            flag: "--max-steps",
        }
        /// True if the model receives context files (`AGENTS.md`, `CLAUDE.md`). See
        /// [context.md](context.md#context-files).
        context_files: bool = "context_files" {
            kind: Bool,
            default: true,
            reach: TrustedProject,
            flag: "--no-context-files",
        }
        tables {
            /// Settings of automatic compaction. See [sessions.md](sessions.md#compaction).
            compaction: Compaction = "compaction" {
                kind: Table(TableKind::Keys),
                unset: "as below",
                reach: TrustedProject,
            }
            /// Additional directories with extensions: each holds one extension, or one extension per subdirectory. A
            /// relative path starts at the directory of the file that names it; `~/` is your own home directory.
            extensions: Vec<String> = "extensions" {
                kind: List("paths"),
                unset: "none",
                reach: TrustedProject,
            }
            /// Settings of the extension `NAME`. haft passes them unchanged in `hello_ack.config`; the extension defines
            /// the keys. See [Settings of extensions](#settings-of-extensions).
            extension: BTreeMap<String, toml::Table> = "extension.NAME" {
                kind: Table(TableKind::Any),
                unset: "empty",
                reach: TrustedProject,
            }
            /// Process hooks: programs that speak PicoClaw's protocol. See [Process hooks](#process-hooks).
            hooks: Hooks = "hooks" {
                kind: Table(TableKind::Keys),
                unset: "none",
                reach: TrustedProject,
            }
            /// The access of haft's own tools to files, programs and the network. See
            /// [sandbox.md](sandbox.md#tools-of-the-model).
            tools: Tools = "tools" {
                kind: Table(TableKind::Keys),
                unset: "as below",
            }
            /// The appearance and behavior of the interactive mode.
            tui: Tui = "tui" {
                kind: Table(TableKind::Keys),
                unset: "as below",
            }
            /// Additional rights of the extension or process hook `NAME`.
            grant: BTreeMap<String, Grant> = "grant.NAME" {
                kind: Table(TableKind::Keys),
                unset: "nothing",
            }
        }
    }
}

keys! {
    /// Settings of compaction.
    Compaction as CompactionSettings {
        /// True if haft compacts the conversation when it reaches the reserve, and when the provider rejects a request as
        /// too long. `haft session compact` also works with `false`.
        auto: bool = "compaction.auto" {
            kind: Bool,
            default: true,
            reach: TrustedProject,
        }
        /// Tokens of the context window to keep free for the answer. The default is 16,384 or 15 % of the window,
        /// whichever is less. The maximum is half of the window.
        reserve: NonZeroU64 = "compaction.reserve" {
            kind: Int { min: 1, max: i64::MAX },
            unset: "16,384 or 15 % of the window",
            reach: TrustedProject,
        }
        /// Tokens of the newest messages, which stay verbatim. The summary replaces all older messages. The free window is
        /// what the system prompt, the tools and the reserve leave of the context window. The default is 20,000 or a third
        /// of the free window, whichever is less. The maximum is half of the free window.
        keep: NonZeroU64 = "compaction.keep" {
            kind: Int { min: 1, max: i64::MAX },
            unset: "20,000; less in a small window",
            reach: TrustedProject,
        }
    }
}

keys! {
    /// The access of haft's own tools to files, programs and the network.
    Tools as ToolSettings {
        /// The access of the tools without your approval, also of `!` commands. `read-only`: read files, except secrets.
        /// `workspace`: also change files in the working directory. `full`: everything that you may do. A change takes effect
        /// when haft starts again.
        sandbox: ToolSandboxLevel = "tools.sandbox" {
            kind: Choice(ToolSandboxLevel::NAMES),
            default: ToolSandboxLevel::Workspace,
            variables: &["HAFT_SANDBOX"],
            flag: "--sandbox",
        }
        /// Tools that need your approval before each call, in addition to the calls that the sandbox does not allow; `"*"`
        /// means all tools. A run without a person, such as `haft -p`, denies these calls.
        approve: Vec<String> = "tools.approve" | "tui.approve" {
            kind: List("tools"),
            default: Vec::<String>::new(),
            flag: "--approve",
            brief: "Tools that ask for your approval before each call, separated by commas; `*` means all, `none` means none. In the file, write a list: `[\"bash\", \"edit\"]`, `[\"*\"]`, `[]`.",
        }
        /// True if sandboxed commands may use the network, and the model has the tool [`fetch`](tools.md#fetch). Otherwise
        /// commands have a private loopback device.
        network: bool = "tools.network" {
            kind: Bool,
            default: false,
        }
        /// Directories and files outside of the working directory that the tools may change at level `workspace`, for
        /// example `~/.cargo/registry`. A path is absolute or begins with `~`. Patterns, haft's home directory and
        /// [hidden places](sandbox.md#secrets) are not allowed. A path that does not exist has no effect.
        write: Vec<String> = "tools.write" {
            kind: List("paths"),
            default: Vec::<String>::new(),
        }
        /// Directories and files that the tools may not read, in addition to well-known places of secrets such as `~/.ssh`. A
        /// path is absolute or begins with `~` or `$WORKSPACE` (the working directory), for example `$WORKSPACE/.env`.
        /// Patterns are not supported. No effect at level `full`.
        hide: Vec<String> = "tools.hide" {
            kind: List("paths"),
            default: Vec::<String>::new(),
        }
        /// Names of environment variables that commands receive although they look like secrets, for example
        /// `NPM_TOKEN`. See [the rule](sandbox.md#secret-variables).
        env: Vec<String> = "tools.env" {
            kind: List("names"),
            default: Vec::<String>::new(),
        }
    }
}

impl Default for ToolSettings {
    /// Returns the settings without any file, flag or variable.
    fn default() -> Self {
        Self::from_layers(&[], "", |file| Some(&file.tools))
    }
}

choices! {
    /// The access of haft's own tools without an approval.
    ToolSandboxLevel {
        /// Read files, except secrets.
        ReadOnly = "read-only",
        /// Also change files in the working directory.
        Workspace = "workspace",
        /// Everything that the user may do.
        Full = "full",
    }
}

keys! {
    /// The permissions that the user gives to one extension.
    Grant as GrantSettings {
        /// Names of environment variables to pass to the extension, in addition to those that every extension gets. Each
        /// name is complete; patterns are not supported.
        env: Vec<String> = "grant.NAME.env" {
            kind: List("names"),
            unset: "none",
        }
        /// Milliseconds from the start of the extension to its `hello`, instead of the time in its manifest. A program that
        /// is compiled when it starts, such as `go run .`, needs more time the first time.
        hello_timeout_ms: NonZeroU32 = "grant.NAME.hello_timeout_ms" {
            kind: Int { min: 1, max: 600_000 },
            unset: "the time in the manifest, otherwise 60,000; 10,000 for a gate or with `--ext`",
        }
        /// The verdict when the extension, as a gate, does not answer in time. `block`: the action does not happen.
        /// `allow`: the action happens, and haft reports the failure.
        on_timeout: OnTimeout = "grant.NAME.on_timeout" {
            kind: Choice(OnTimeout::NAMES),
            unset: "`block`",
        }
        /// True if `[extension.NAME]` of a trusted project may add settings for this extension, although it does not
        /// belong to the project. Keys that the user set stay unchanged.
        project_settings: bool = "grant.NAME.project_settings" {
            kind: Bool,
            unset: "`false`",
        }
        /// The sandbox level of the extension. On a system without that level, haft does not start the extension. See
        /// [sandbox.md](sandbox.md).
        sandbox: SandboxLevel = "grant.NAME.sandbox" {
            kind: Choice(SandboxLevel::NAMES),
            unset: "`standard` if the manifest has `permissions`, otherwise `none`",
        }
        /// Files and directories that the extension may read in its sandbox, in addition to its own directory. A path is
        /// absolute or begins with `~`, `$WORKSPACE` (the working directory) or `$DATA` (the extension's data directory).
        read: Vec<String> = "grant.NAME.read" {
            kind: List("paths"),
            unset: "none",
        }
        /// Files and directories that the extension may read and change in its sandbox, in addition to `$DATA`.
        write: Vec<String> = "grant.NAME.write" {
            kind: List("paths"),
            unset: "none",
        }
        /// Files and directories that the extension may read and execute in its sandbox. Its own program and its
        /// interpreter need no entry. See [permissions.md](permissions.md#programs) for other programs.
        exec: Vec<String> = "grant.NAME.exec" {
            kind: List("paths"),
            unset: "none",
        }
        /// Network access of the extension in its sandbox. `all` includes servers on this machine. `loopback` needs
        /// `strict`: the sandbox then has a loopback device of its own, without access to servers on this machine.
        net: SandboxNet = "grant.NAME.net" {
            kind: Choice(SandboxNet::NAMES),
            unset: "`none`",
        }
    }
}

choices! {
    /// The result of a gate's timeout. Only the user can choose it; an extension cannot.
    OnTimeout {
        /// The action does not happen; the default for gates.
        Block = "block",
        /// The action happens, and the failure is reported.
        Allow = "allow",
    }
}

choices! {
    /// The sandbox that an extension runs in.
    SandboxLevel {
        /// None: the extension runs with the user's rights.
        None = "none",
        /// The kernel's access control and a filter of system calls.
        Standard = "standard",
        /// Same as standard, in separate namespaces.
        Strict = "strict",
    }
}

choices! {
    /// The network access of an extension in its sandbox.
    SandboxNet {
        /// None.
        None = "none",
        /// The extension's own processes.
        Loopback = "loopback",
        /// All peers.
        All = "all",
    }
}

/// True for a key that only the user's own file may set.
fn is_user_only(path: &str) -> bool {
    all_keys().any(|key| key.path == path && key.reach == KeyScope::User)
}

/// Returns all keys, including those of nested tables, in the order of the documentation.
pub fn all_keys() -> impl Iterator<Item = &'static ConfigKey> {
    let tables = [
        ConfigFile::KEYS,
        Compaction::KEYS,
        Hooks::KEYS,
        HookDefaults::KEYS,
        HookProcess::KEYS,
        Tools::KEYS,
        Tui::KEYS,
        Grant::KEYS,
    ];
    tables.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_documented() {
        for key in all_keys() {
            let sentence = key.doc.trim();
            assert!(sentence.ends_with(['.', '…']) && !key.default_text().is_empty(), "{}", key.path);
            let name = key.path.split('.').next().unwrap();
            let declared = ConfigFile::KEYS.iter().any(|top| top.path.split('.').next() == Some(name));
            assert!(declared, "{}", key.path);
        }
    }

    /// Returns a file that sets only this key.
    fn file(path: &str, value: toml::Value) -> Result<ConfigFile, toml::de::Error> {
        let set = path
            .rsplit('.')
            .fold(value, |value, name| toml::Table::from_iter([(name.to_owned(), value)]).into());
        set.try_into()
    }

    #[test]
    fn every_kind_of_value_round_trips() {
        for key in all_keys() {
            let values: Vec<toml::Value> = match key.kind {
                Bool => vec![true.into()],
                Int { min, max } => vec![min.into(), max.into()],
                Choice(words) => words.iter().map(|word| (*word).into()).collect(),
                Text(_) => vec!["x".into()],
                List(_) => vec![vec!["x"].into()],
                Table(TableKind::Texts) => {
                    vec![toml::Table::from_iter([("x".to_owned(), "x".into())]).into()]
                }
                Table(_) => vec![toml::Table::new().into()],
            };
            for value in values {
                let set = file(key.path, value.clone())
                    .unwrap_or_else(|error| panic!("{} = {value}: {error}", key.path));
                assert!(
                    matches!(key.kind, Table(_)) || set != ConfigFile::default(),
                    "{} is not read",
                    key.path
                );
            }
            if let Some(default) = key.default.map(|default| default()) {
                let read =
                    key.kind.read(&value_text(&default)).map(|read| serde_json::to_value(read).unwrap());
                assert_eq!(read, Some(default), "{}", key.path);
            }
        }
    }

    #[test]
    fn plain_summaries_have_no_markdown() {
        let plain = without_markdown("One of `a`, `b`. See [x.md](x.md#y), and write `[\"bash\"]`.");
        assert_eq!(plain, "One of a, b. See x.md, and write [\"bash\"].");
        for key in all_keys() {
            let plain = key.plain_summary();
            assert!(!plain.contains('`') && !plain.contains("]("), "{}: {plain}", key.path);
        }
    }

    #[test]
    fn only_the_user_can_weaken_a_gate() {
        let mut file: ConfigFile = toml::from_str(
            "model = 'm'\n[grant.guard]\non_timeout = 'allow'\nenv = ['KEY']\nsandbox = 'none'",
        )
        .unwrap();
        assert_eq!(file.remove_user_only(), ["grant.NAME"]);
        assert_eq!(file, ConfigFile { model: Some("m".into()), ..ConfigFile::default() });
        assert!(Grant::KEYS.iter().all(|key| key.reach == KeyScope::User));
    }
}
