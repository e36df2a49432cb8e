//! `hello`, `hello_ack`, `ready`, `shutdown`, `shutdown_ack`: the start and the end of a
//! connection.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::Limits;
use crate::json::{RawJson, optional_object};
use crate::named_enum::named_enum;
use crate::read::{self, null_is_default};
use crate::reader::JsonText;

/// The version of the protocol. It changes only with an incompatible change; all additions are
/// capabilities.
pub const PROTOCOL_VERSION: u32 = 1;

/// Capabilities: the names in `hello.capabilities` and `hello_ack.capabilities`.
pub mod capability {
    /// The extension registers commands. Informational, as in zot.
    pub const COMMANDS: &str = "commands";
    /// The extension registers tools. Informational, as in zot.
    pub const TOOLS: &str = "tools";
    /// The extension subscribes to events. Informational, as in zot.
    pub const EVENTS: &str = "events";
    /// The extension opens panels. Informational, as in zot.
    pub const PANELS: &str = "panels";
    /// The extension understands `panel_resize`.
    pub const PANEL_RESIZE: &str = "panel_resize";
    /// The host has the `before_agent_start` hook. In `hello` the name is informational: a
    /// subscription is enough.
    pub const BEFORE_AGENT_START: &str = "before_agent_start";
    /// The host has the `before_compact` hook. In `hello` the name is informational: a
    /// subscription is enough.
    pub const BEFORE_COMPACT: &str = "before_compact";
    /// The host has the `tool_result` hook. In `hello` the name is informational: a subscription is
    /// enough.
    pub const TOOL_RESULT: &str = "tool_result";
    /// The host has the `input` hook. In `hello` the name is informational: a subscription is
    /// enough.
    pub const INPUT: &str = "input";
    /// The host has the `before_settle` hook. In `hello` the name is informational: a
    /// subscription is enough.
    pub const BEFORE_SETTLE: &str = "before_settle";
    /// The host has the `context` hook. In `hello` the name is informational: a
    /// subscription is enough.
    pub const CONTEXT: &str = "context";
    /// The host has the `message_end` hook. In `hello` the name is informational: a
    /// subscription is enough.
    pub const MESSAGE_END: &str = "message_end";
    /// The host has the `before_provider_request` hook. In `hello` the name is informational: a
    /// subscription is enough.
    pub const BEFORE_PROVIDER_REQUEST: &str = "before_provider_request";
    /// The host has the `user_bash` hook. In `hello` the name is informational: a
    /// subscription is enough.
    pub const USER_BASH: &str = "user_bash";
    /// The host has the `before_switch` hook. In `hello` the name is informational: a
    /// subscription is enough.
    pub const BEFORE_SWITCH: &str = "before_switch";
    /// The host has the `before_fork` hook. In `hello` the name is informational: a
    /// subscription is enough.
    pub const BEFORE_FORK: &str = "before_fork";
    /// The host has the `before_tree` hook. In `hello` the name is informational: a
    /// subscription is enough.
    pub const BEFORE_TREE: &str = "before_tree";
    /// The host has the `resources` hook. In `hello` the name is informational: a
    /// subscription is enough.
    pub const RESOURCES: &str = "resources";
    /// The host has the `approve` hook. In `hello` the name is informational: a subscription is
    /// enough.
    pub const APPROVE: &str = "approve";
    /// The host has the `project_trust` hook. In `hello` the name is informational: a
    /// subscription is enough.
    pub const PROJECT_TRUST: &str = "project_trust";
    /// The extension answers `ping`, even while its handlers run.
    pub const PING: &str = "ping";
    /// The host reports dropped events to the extension.
    pub const EVENT_GAP: &str = "event_gap";
    /// The host accepts entries of `subscribe` with tools and a role.
    pub const INTERCEPT_ROLES: &str = "intercept_roles";
    /// The host runs `host_call` frames. An extension with this capability also gets the owner of
    /// an intercepted tool call of another extension.
    pub const HOST_SERVICES: &str = "host_services";
    /// The host locks files for the extension: the calls `lock_file` and `unlock_file` of `host_call`.
    pub const FILES: &str = "files";
    /// The host asks the person for the extension: the calls `confirm`, `select`, `input` and
    /// `editor` of `host_call`.
    pub const ASKS: &str = "asks";
    /// The host has a screen that extensions can change: the calls `set_title`, `set_working`,
    /// `set_editor`, `insert` and `open_panel` of `host_call`.
    pub const SHOWS: &str = "shows";
    /// The host carries out commands of the RPC protocol for the extension, as calls of `host_call`.
    pub const SESSION: &str = "session";
    /// The host carries messages between extensions: the call `emit` of `host_call`, and the event
    /// `bus`, which an extension gets only if it has the capability, too.
    pub const BUS: &str = "bus";
    /// The host reports rejected registrations to the extension.
    pub const REGISTER_REJECTED: &str = "register_rejected";
    /// The host asks for completions of commands that are registered with `completes`.
    pub const COMMAND_COMPLETIONS: &str = "command_completions";
    /// The host shows texts of extensions in the status line, `set_status`.
    pub const STATUS: &str = "status";
    /// The host accepts `label`, `snippet`, `exclusive`, `timeout_ms` and `replaces` in
    /// `register_tool`, and `details` and `terminate` in `tool_result`. An extension with this
    /// capability also gets the model's id of each tool call.
    pub const TOOLS_2: &str = "tools_2";
    /// The extension understands `cancel`.
    pub const CANCEL: &str = "cancel";
    /// The extension understands `tool_cancel`, as in newer zot versions.
    pub const TOOL_CANCEL: &str = "tool_cancel";
    /// The host accepts `call_tool` and `call_tool_cancel`, as in newer zot versions.
    pub const CALL_TOOL: &str = "call_tool";
    /// The extension sends `progress` during its tool calls. Both sides announce it.
    pub const PROGRESS: &str = "progress";
    /// The extension receives events in the form of `--json`, and can subscribe to all of them,
    /// wait for some of them, and replace its subscriptions.
    pub const EVENTS_2: &str = "events_2";
    /// The host accepts the calls `call_tool` and `complete` of `host_call`.
    pub const MODELS: &str = "models";
    /// The host sends copies of the session that the extension names in `hello.mirror`: the frames
    /// `state` and `entries`.
    pub const MIRROR: &str = "mirror";
    /// An answer to `tool_call` can be the result of the call, `content`, and an answer to
    /// `tool_call`, `tool_result`, `context` or `message_end` can end the turn, `stop`. Both sides
    /// announce it.
    pub const HOOKS_2: &str = "hooks_2";
    /// The host accepts `register` and `unregister`, and uses what the extension registered by `ext_call`.
    pub const CALLS: &str = "calls";

    /// All capabilities that this version knows.
    pub const ALL: &[&str] = &[
        COMMANDS,
        TOOLS,
        EVENTS,
        PANELS,
        PANEL_RESIZE,
        BEFORE_AGENT_START,
        BEFORE_COMPACT,
        TOOL_RESULT,
        INPUT,
        BEFORE_SETTLE,
        CONTEXT,
        MESSAGE_END,
        BEFORE_PROVIDER_REQUEST,
        USER_BASH,
        BEFORE_SWITCH,
        BEFORE_FORK,
        BEFORE_TREE,
        RESOURCES,
        APPROVE,
        PROJECT_TRUST,
        PING,
        EVENT_GAP,
        INTERCEPT_ROLES,
        HOST_SERVICES,
        FILES,
        MODELS,
        ASKS,
        SHOWS,
        SESSION,
        BUS,
        REGISTER_REJECTED,
        COMMAND_COMPLETIONS,
        STATUS,
        TOOLS_2,
        CANCEL,
        TOOL_CANCEL,
        CALL_TOOL,
        PROGRESS,
        EVENTS_2,
        MIRROR,
        HOOKS_2,
        CALLS,
    ];
}

/// The first frame of an extension.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hello {
    /// The extension's name. The host uses the name of the manifest and reports a different one.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub name: String,
    /// The extension's version.
    #[serde(default, deserialize_with = "null_is_default")]
    pub version: String,
    /// The capabilities of the extension.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// The protocol version of the extension: 1. Any other value ends the connection; absent means
    /// 1. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u32>"))]
    // The raw JSON, so that `"1"` and `1.5` are other versions and not malformed frames.
    pub protocol_version: Option<RawJson>,
    /// The parts of the session that the extension mirrors; names of [`MirrorPart`](super::MirrorPart).
    /// Needs the capability `mirror`. Since haft.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub mirror: Vec<String>,
}

impl Hello {
    /// Returns the version of the peer if it differs from [`PROTOCOL_VERSION`].
    pub fn other_version(&self) -> Option<&str> {
        let said = self.protocol_version.as_ref()?.as_str();
        (said.parse() != Ok(PROTOCOL_VERSION)).then_some(said)
    }
}

/// The response to `hello`. Always the first frame of the host, sent at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HelloAck {
    /// The protocol version of the host: 1.
    pub protocol_version: u32,
    /// The version of the host, under the name that zot's extensions read.
    pub zot_version: String,
    /// The version of haft; absent if the host is zot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub haft_version: Option<String>,
    /// The active provider.
    pub provider: String,
    /// The active model.
    pub model: String,
    /// The working directory of the agent, absolute. The working directory of the extension is
    /// `extension_dir`.
    pub cwd: String,
    /// The directory of the extension's code, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension_dir: Option<String>,
    /// The directory for the extension's state, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<String>,
    /// The capabilities of the host.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// The limits of this connection; absent if the host is zot.
    #[serde(default, deserialize_with = "named_limits", skip_serializing_if = "Option::is_none")]
    pub limits: Option<Box<Limits>>,
    /// The way in which haft runs; absent if the host is zot or another program. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<HostMode>,
    /// The user's settings for this extension; absent if there are none. The extension defines
    /// their form. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Map<String, serde_json::Value>>"))]
    pub config: Option<ExtensionConfig>,
    /// The sandbox level of the extension, `standard` or `strict`; absent without a sandbox. Since
    /// haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// The permissions that the user granted, in the form of the manifest's `permissions`. Absent
    /// if the manifest has no `permissions`; such an extension is not limited. Since haft.
    #[serde(default, deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub granted: Option<RawJson>,
}

named_enum! {
    /// The way in which haft runs.
    pub enum HostMode {
        /// The terminal interface: a person answers questions.
        Interactive = "interactive",
        /// `haft rpc`: a client answers questions if it said so.
        Rpc = "rpc",
        /// `haft -p`: nobody answers questions.
        Print = "print",
        /// `haft --json`: nobody answers questions.
        Json = "json",
    }
}

/// The settings of one extension: a JSON object. They may contain keys, so `Debug` hides them.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct ExtensionConfig(RawJson);

impl ExtensionConfig {
    /// Creates the settings from a JSON object. Returns `None` for any other value.
    pub fn new(object: RawJson) -> Option<Self> {
        object.is_object().then_some(Self(object))
    }

    /// Returns the object.
    pub fn as_json(&self) -> &RawJson {
        &self.0
    }
}

impl<'de> Deserialize<'de> for ExtensionConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(RawJson::deserialize(deserializer)?)
            .ok_or_else(|| D::Error::custom("expected a JSON object"))
    }
}

impl fmt::Debug for ExtensionConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExtensionConfig(…)")
    }
}

/// Reads limits from an object only. All limits have defaults, so a derived reader would accept
/// `[]`.
fn named_limits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<Limits>>, D::Error> {
    let Some(text) = Option::<JsonText<'_>>::deserialize(deserializer)? else { return Ok(None) };
    if !text.get().text.starts_with('{') {
        return Err(D::Error::custom("expected a JSON object"));
    }
    read::read_nested(text.get()).map(Some)
}

/// Ends the initial registrations. Optional: without it the host waits until the extension sends
/// nothing for 250 ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ready {}

/// The host shuts the extension down. The extension sends `shutdown_ack` and exits; otherwise the
/// host ends it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shutdown {}

/// The extension received `shutdown` and exits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShutdownAck {}
