//! `register`, `unregister`, `ext_call` and `ext_result`: things that an extension offers beyond tools, commands and
//! hooks, and the verb by which the host uses them.
//!
//! Each kind of registration is one line of [`RegistrationKind`], and each call one of [`ExtensionCallKind`].
//!
//! ```json
//! {"type":"register","kind":"shortcut","name":"ctrl+g","description":"Show the plan"}
//! {"type":"ext_call","id":"h7","call":"shortcut","args":{"name":"ctrl+g"},"session":"0199…"}
//! {"type":"ext_result","id":"h7"}
//! ```

use serde::{Deserialize, Serialize};

use crate::ids::RequestId;
use crate::json::RawJson;
use crate::named_enum::named_enum;
use crate::read::null_is_default;

named_enum! {
    /// The kinds of `register` and `unregister`.
    pub enum RegistrationKind {
        /// A key that runs code of the extension. Its name is the key, such as `ctrl+g`. Needs the permission `ui`.
        Shortcut = "shortcut",
        /// A tool; only for `unregister`.
        Tool = "tool",
        /// A command; only for `unregister`.
        Command = "command",
    }
}

named_enum! {
    /// The calls of `ext_call`.
    pub enum ExtensionCallKind {
        /// The user pressed the key of a shortcut. The call has no value.
        Shortcut = "shortcut",
    }
}

/// Registers something of a kind. It replaces what the extension registered with the same kind and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegisterFrame {
    /// The kind: `shortcut`.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub kind: String,
    /// The name. For a shortcut, the key as in the user's file of keys: `ctrl+g`, `alt+p`, `f5`.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub name: String,
    /// One line for people.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// Removes a registration of this extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnregisterFrame {
    /// The kind: `shortcut`, `tool` or `command`.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub kind: String,
    /// The name.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub name: String,
}

/// The host uses something that the extension registered. The extension answers with `ext_result`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExtensionCall {
    /// The id for the result.
    pub id: RequestId,
    /// The call: `shortcut`.
    pub call: String,
    /// The arguments. For `shortcut`, the `name`.
    #[serde(deserialize_with = "crate::json::object")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub args: RawJson,
    /// The id of the session to which the call belongs; absent before a session is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// The arguments of the call `shortcut`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShortcutCall {
    /// The name of the shortcut, as registered.
    pub name: String,
}

/// The result of an `ext_call`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExtensionCallResult {
    /// The `id` of the `ext_call`.
    pub id: RequestId,
    /// Not empty if the call failed. The user sees it.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub error: String,
}
