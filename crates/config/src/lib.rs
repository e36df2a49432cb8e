//! Where haft keeps its files, and what the user configured.
//!
//! For whom: the binary, and programs that want to follow the same configuration. The promise: every setting
//! says where it came from, and a file with a mistake in it is an error that shows the line. Nothing from a project
//! that the user does not trust is obeyed: a cloned repository must not choose the server that a key is sent to.
//! Never in here: extensions and how they run, the terminal.
//!
//! * [`Home`]: the directory and the files in it; [`Project`]: the directory somebody works in;
//! * [`ConfigFile`]: `config.toml`, and [`Key`]: the table of its keys, with the [`ValueKind`] of each; [`AuthFile`]: `auth.json`;
//! * [`ProcessHook`]: a hook of PicoClaw's protocol that shall run; [`HooksFile`]: PicoClaw's own file of them;
//! * [`ContextFiles`], [`SkillSet`], [`TemplateSet`]: what the user and a trusted project tell the model;
//! * [`TrustFile`] and [`Snapshot`]: which projects the user trusts, and what they hold; [`TrustDecision`]: what counts in a run;
//! * [`ConfigLayer`] and [`Settings`]: flags over environment over files over defaults; [`ConfigFiles`] and [`Config`]: all of it.

mod auth;
mod context;
mod edit;
mod file;
mod front_matter;
mod home;
mod hooks;
mod keys;
mod layers;
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
pub use context::{ContextFile, ContextFiles, find_system_prompt};
pub use edit::{AddHooksError, EditError, SetKeyError, add_hooks, set_key};
pub use file::{ConfigError, ParsedConfigFile};
pub use haft_protocol::project::{Project, ProjectTrust};
pub use home::{Home, HomeError};
pub use hooks::{HookTimeouts, NamedFile, ProcessHook};
pub use keys::{
    Compaction, CompactionSettings, ConfigFile, ConfigKey, ConfigLayer, ConfigRow, EventKind, Grant,
    GrantSettings, HookDefaults, HookProcess, Hooks, KeyScope, LayerError, LayerSource, ModelNameSplitter,
    OnTimeout, SandboxLevel, SandboxNet, Settings, TableKind, ToolNames, Tui, TuiImages, TuiScreen,
    TuiSettings, TuiShown, TuiSwitch, ValueKind, all_keys, value_text,
};
pub use layers::{Config, ConfigFiles, DisabledHook, ExtensionPlace, ExtensionSettings};
pub use origin::{KeyLocations, Owner, SettingOrigin, SourcedValue};
pub use picoclaw::HooksFile;
pub use project::UntrustedItem;
pub use read::text as read_text;
pub use secrecy::{ExposeSecret, SecretString};
pub use skill::{Skill, SkillSet};
pub use template::{Template, TemplateExpansion, TemplateSet};
pub use trust::{
    ChangeSet, ParseDigestError, ProjectDigest, ProjectDigestError, Snapshot, SnapshotError, TrustDecision,
    TrustError, TrustFile, TrustRecord, TrustRequest,
};
