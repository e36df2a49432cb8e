//! The keys of `config.toml`: what each takes, what holds without it, and whose file may set it.
//!
//! A key is declared once, in [`keys!`]: the declaration is the field that the file is read into, the row of the
//! documentation, and the decision how far a project may go. None of them can be left out.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use haft_protocol::thinking::Thinking;
use serde::Deserialize;

use crate::settings::env;

/// Whose `config.toml` may set a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Only the user's own: what a project says is ignored, even that of a trusted one.
    User,
    /// The user's own, and that of a project that the user trusts.
    TrustedProject,
}

/// What is known of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// As it is written, with `.` between tables; `NAME` stands for a name of the user's choice.
    pub path: &'static str,
    /// What it sets, as lines of text.
    pub doc: &'static str,
    /// What may be given for it.
    pub takes: &'static str,
    /// What holds where nobody sets it.
    pub default: &'static str,
    /// Whose file may set it.
    pub reach: Reach,
    /// The environment variable that sets it, too.
    pub variable: Option<&'static str>,
    /// The flag that sets it, too.
    pub flag: Option<&'static str>,
    /// Its former name, which still works.
    pub former: Option<&'static str>,
}

/// Declares a table of `config.toml` and the [`Key`]s in it.
macro_rules! keys {
    (
        $(#[$outer:meta])*
        $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty = $path:literal {
                    takes: $takes:literal,
                    default: $default:literal,
                    reach: $reach:ident,
                    $(variable: $variable:expr,)?
                    $(flag: $flag:literal,)?
                    $(former: $former:literal,)?
                }
            )+
        }
    ) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Default, PartialEq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $(
                $(#[doc = $doc])+
                $(#[serde(alias = $former)])?
                pub $field: $type,
            )+
        }

        impl $name {
            /// What is known of each key.
            pub const KEYS: &'static [Key] = &[$(Key {
                path: $path,
                doc: concat!($($doc, "\n"),+),
                takes: $takes,
                default: $default,
                reach: Reach::$reach,
                variable: keys!(@or_none $($variable)?),
                flag: keys!(@or_none $($flag)?),
                former: keys!(@or_none $($former)?),
            }),+];

            /// Sets back what only the user's own file may set; the keys of what was set, as they are written.
            pub fn forget_the_users(&mut self) -> Vec<&'static str> {
                let mut forgotten = Vec::new();
                $(if Reach::$reach == Reach::User && self.$field != <$type>::default() {
                    self.$field = <$type>::default();
                    forgotten.push($path);
                })+
                forgotten
            }
        }
    };
    (@or_none) => { None };
    (@or_none $value:expr) => { Some($value) };
}

mod granted;
mod hooks;
pub(crate) mod tui;

pub use granted::{OnTimeout, SandboxLevel, SandboxNet};
pub use hooks::{EventKind, HookBuiltin, HookDefaults, HookProcess, Hooks, ToolNames};
pub use tui::{Tui, TuiImages, TuiScreen, TuiShown, TuiSwitch};

keys! {
    /// The content of `config.toml`. A key that haft does not know is an error, so that a typing mistake does not
    /// pass for a setting.
    ConfigFile {
        /// The provider to ask: `anthropic`, `openai`, …
        provider: Option<String> = "provider" {
            takes: "a name",
            default: "the first one that has a key, then a server on this machine",
            reach: TrustedProject,
            variable: env::PROVIDER,
            flag: "--provider",
        }
        /// The model's id at that provider.
        model: Option<String> = "model" {
            takes: "an id",
            default: "the provider's own choice of haft",
            reach: TrustedProject,
            variable: env::MODEL,
            flag: "--model",
        }
        /// Where the provider is reached, for compatible servers.
        base_url: Option<String> = "base_url" {
            takes: "an address",
            default: "the provider's usual address",
            reach: TrustedProject,
            variable: env::BASE_URL,
            flag: "--base-url",
        }
        /// How much the model should think before it answers.
        thinking: Option<Thinking> = "thinking" {
            takes: "`default`, `off`, `minimal`, `low`, `medium`, `high` or `xhigh`",
            default: "`default`: whatever the provider does",
            reach: TrustedProject,
            variable: env::THINKING,
            flag: "--thinking",
            former: "reasoning",
        }
        /// Models to ask while the first cannot be asked, each as `provider/model`. See [models.md](models.md#fallback-models).
        fallback: Option<Vec<String>> = "fallback" {
            takes: "a list of models",
            default: "none",
            reach: TrustedProject,
            variable: env::FALLBACK,
            flag: "--fallback",
        }
        /// How many steps one prompt may take.
        max_steps: Option<NonZeroU32> = "max_steps" {
            takes: "a whole number of at least 1",
            default: "as many as it needs",
            reach: TrustedProject,
            variable: env::MAX_STEPS,
            flag: "--max-steps",
        }
        /// Whether `AGENTS.md` files are read and shown to the model.
        context_files: Option<bool> = "context_files" {
            takes: "`true` or `false`",
            default: "`true`",
            reach: TrustedProject,
            flag: "--no-context-files",
        }
        /// When the conversation is summed up by itself, and how much of it is kept word for word. See
        /// [sessions.md](sessions.md#compaction).
        compaction: Compaction = "compaction" {
            takes: "a table, below",
            default: "as below",
            reach: TrustedProject,
        }
        /// Further places of extensions: the directory of one, or one with several in it. Relative to the file that
        /// names them; `~/` is the home directory.
        extensions: Vec<String> = "extensions" {
            takes: "a list of paths",
            default: "none",
            reach: TrustedProject,
        }
        /// Settings that the extension of this name is handed as they are, as `hello_ack.config`. Each extension says
        /// itself what it knows. A trusted project's table counts for an extension of the project, over the user's; for
        /// any other extension only where `grant.NAME.project_settings` says so, and for keys that the user did not set.
        extension: BTreeMap<String, toml::Table> = "extension.NAME" {
            takes: "a table",
            default: "empty",
            reach: TrustedProject,
        }
        /// Process hooks: programs that speak PicoClaw's protocol. See [below](#process-hooks).
        hooks: Hooks = "hooks" {
            takes: "a table, below",
            default: "none",
            reach: TrustedProject,
        }
        /// How the interactive mode looks and behaves.
        tui: Tui = "tui" {
            takes: "a table, below",
            default: "as below",
            reach: User,
        }
        /// What the user lets the extension or the process hook of this name do beyond what all may.
        grant: BTreeMap<String, Grant> = "grant.NAME" {
            takes: "a table, below",
            default: "nothing",
            reach: User,
        }
    }
}

keys! {
    /// When the conversation is summed up, and how much of it is kept.
    Compaction {
        /// Whether the conversation is summed up by itself: when the reserve is reached, and when the provider says that a
        /// request is too long. `haft session compact` works either way.
        auto: Option<bool> = "compaction.auto" {
            takes: "`true` or `false`",
            default: "`true`",
            reach: TrustedProject,
        }
        /// Tokens of the model's window that are left for its answer. If nothing is said, 16,384 or 15 % of the window,
        /// whichever is less; more than half of the window counts as half of it.
        reserve: Option<NonZeroU64> = "compaction.reserve" {
            takes: "a whole number of at least 1",
            default: "16,384 or 15 % of the window",
            reach: TrustedProject,
        }
        /// Tokens at the end of the conversation that are kept word for word. If nothing is said, 20,000 or a third of what
        /// the system prompt, the tools and the reserve leave of the window, whichever is less; more than half of that
        /// counts as half of it.
        keep: Option<NonZeroU64> = "compaction.keep" {
            takes: "a whole number of at least 1",
            default: "20,000 or a third of the rest",
            reach: TrustedProject,
        }
    }
}

keys! {
    /// What the user lets one extension do.
    Grant {
        /// Variables of haft's own environment that the extension gets beside those that all get, in full and without a
        /// pattern.
        env: Option<Vec<String>> = "grant.NAME.env" {
            takes: "a list of names",
            default: "none",
            reach: User,
        }
        /// What happens when the extension, asked as a gate, does not answer in time. `block`: the action does not
        /// happen. `allow`: it happens, and the failure is reported.
        on_timeout: Option<OnTimeout> = "grant.NAME.on_timeout" {
            takes: "`block` or `allow`",
            default: "`block`",
            reach: User,
        }
        /// Whether the `[extension.NAME]` of a trusted project may add to the settings of this extension though it is not
        /// the project's: keys that the user did not set, and those alone.
        project_settings: Option<bool> = "grant.NAME.project_settings" {
            takes: "`true` or `false`",
            default: "`false`",
            reach: User,
        }
        /// The sandbox that the extension runs in; where this system does not have it, the extension is not started. See
        /// [sandbox.md](sandbox.md#confining-an-extension).
        sandbox: Option<SandboxLevel> = "grant.NAME.sandbox" {
            takes: "`none`, `standard` or `strict`",
            default: "`none`",
            reach: User,
        }
        /// What the extension may read in its sandbox beside its own directory: files, and directories with all below
        /// them. Absolute, or beginning with `~`, `$WORKSPACE` (where haft works) or `$DATA` (where it keeps its state).
        read: Option<Vec<String>> = "grant.NAME.read" {
            takes: "a list of paths",
            default: "none",
            reach: User,
        }
        /// What the extension may read and change in its sandbox beside `$DATA`.
        write: Option<Vec<String>> = "grant.NAME.write" {
            takes: "a list of paths",
            default: "none",
            reach: User,
        }
        /// What the extension may read and execute in its sandbox beside its own directory, its interpreter and the
        /// system's programs.
        exec: Option<Vec<String>> = "grant.NAME.exec" {
            takes: "a list of paths",
            default: "none",
            reach: User,
        }
        /// Whom the extension may talk to from its sandbox. `all` includes what listens on this machine; `loopback` is
        /// a device of its own and needs `strict`.
        net: Option<SandboxNet> = "grant.NAME.net" {
            takes: "`none`, `loopback` or `all`",
            default: "`none`",
            reach: User,
        }
    }
}

/// All keys, tables within tables included, in the order of the documentation.
pub fn all_keys() -> impl Iterator<Item = &'static Key> {
    let tables = [
        ConfigFile::KEYS,
        Compaction::KEYS,
        Hooks::KEYS,
        HookDefaults::KEYS,
        HookProcess::KEYS,
        Tui::KEYS,
        Grant::KEYS,
    ];
    tables.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_documented_as_it_is_written() {
        for key in all_keys() {
            let sentence = key.doc.trim();
            assert!(sentence.ends_with(['.', '…']) && !key.default.is_empty(), "{}", key.path);
            let name = key.path.split('.').next().unwrap();
            let declared = ConfigFile::KEYS.iter().any(|top| top.path.split('.').next() == Some(name));
            assert!(declared, "{}", key.path);
        }
    }

    #[test]
    fn what_loosens_a_gate_is_the_users_alone() {
        let mut file: ConfigFile = toml::from_str(
            "model = 'm'\n[grant.guard]\non_timeout = 'allow'\nenv = ['KEY']\nsandbox = 'none'",
        )
        .unwrap();
        assert_eq!(file.forget_the_users(), ["grant.NAME"]);
        assert_eq!(file, ConfigFile { model: Some("m".into()), ..ConfigFile::default() });
        assert!(Grant::KEYS.iter().all(|key| key.reach == Reach::User));
    }
}
