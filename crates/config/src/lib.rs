//! The configuration of haft, and the paths of its files.
//!
//! Used by the binary, and by programs that follow the same configuration.
//!
//! Guarantees: every setting has an origin, and a mistake in a file is an error with its line. Files of a project that
//! the user does not trust have no effect: a cloned repository must not choose the server that receives an API key.
//!
//! Out of scope: extensions and how they run, and the terminal.
//!
//! * [`Home`]: the directory of haft and the files in it; [`Project`]: the working directory and its trust;
//! * [`ConfigFile`]: `config.toml`; [`ConfigKey`]: the declarations of its keys, each with a [`ValueKind`];
//!   [`AuthFile`]: `auth.json`;
//! * [`ProcessHook`]: a process hook to run; [`HooksFile`]: hooks in PicoClaw's own file;
//! * [`ContextFiles`], [`SkillSet`], [`TemplateSet`]: texts of the user and of a trusted project for the model;
//! * [`TrustFile`] and [`Snapshot`]: the trusted projects and their content; [`TrustDecision`]: the trust in effect for
//!   a run;
//! * [`ConfigLayer`] and [`Settings`]: flags over environment over files over defaults; [`ConfigFiles`] and [`Config`]:
//!   all settings together;
//! * with the feature `agent`: `ConfiguredAgent`, an agent with these settings.

mod auth;
#[cfg(feature = "agent")]
mod configured_agent;
mod context;
mod edit;
mod file;
mod front_matter;
mod home;
mod hooks;
mod keys;
mod layers;
#[cfg(feature = "agent")]
mod machine;
mod nearest;
mod origin;
mod picoclaw;
mod project;
mod read;
mod rows;
mod skill;
mod template;
mod timeouts;
mod trust;
mod write;

pub use auth::{AuthError, AuthFile};
#[cfg(feature = "agent")]
pub use configured_agent::{
    ConfiguredAgent, ConfiguredAgentError, fallback_preference, preference_for_model,
};
pub use context::{ContextFile, ContextFiles, find_system_prompt};
pub use edit::{AddHooksError, EditError, SetKeyError, add_hooks, set_key};
pub use file::{ConfigError, ParsedConfigFile};
pub use haft_protocol::project::{Project, ProjectTrust};
pub use home::{Home, HomeError};
pub use hooks::{HookTimeouts, NamedFile, ProcessHook};
pub use keys::{
    Compaction, CompactionSettings, ConfigFile, ConfigKey, ConfigLayer, ConfigRow, EventKind, Grant,
    GrantSettings, HookDefaults, HookProcess, Hooks, KeyScope, LayerError, LayerSource, ModelNameSplitter,
    OnTimeout, SandboxLevel, SandboxNet, Settings, TableKind, ToolNames, ToolSandboxLevel, ToolSettings,
    Tools, Tui, TuiImages, TuiScreen, TuiSettings, TuiShown, TuiSwitch, ValueKind, all_keys, list_items,
    value_text,
};
pub use layers::{Config, ConfigFiles, DisabledHook, ExtensionPlace, ExtensionSettings};
#[cfg(feature = "agent")]
pub use machine::MachineWithKeys;
pub use nearest::nearest_name;
pub use origin::{KeyLocations, Owner, SettingOrigin, SourcedValue};
pub use picoclaw::HooksFile;
pub use project::UntrustedItem;
pub use read::text as read_text;
pub use secrecy::{ExposeSecret, SecretString};
pub use skill::{FileCheck, Skill, SkillSet};
pub use template::{Template, TemplateExpansion, TemplateSet};
pub use trust::{
    ChangeSet, ParseDigestError, ProjectDigest, ProjectDigestError, Snapshot, SnapshotError, TrustDecision,
    TrustError, TrustFile, TrustRecord, TrustRequest,
};
