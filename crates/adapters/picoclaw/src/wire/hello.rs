//! `hook.hello`: the first call of every process, with the id 1. The reply must be an object; haft
//! ignores its content.
//!
//! ```json
//! {"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{"name":"gate","version":1,"modes":["tool","approve"]}}
//! {"jsonrpc":"2.0","id":1,"result":{"ok":true,"name":"gate"}}
//! ```

use serde::{Deserialize, Serialize};

use super::question::{HookQuestion, MalformedReply, ParsedDecision, ReplyReader};
use super::{HookMode, Method};
use haft_protocol::RawJson;
use haft_protocol::ext::ExtensionConfig;

/// The version of the protocol: the same in all versions of PicoClaw.
pub const VERSION: u32 = 1;

/// The params of `hook.hello`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HookHello {
    /// The hook's name in the configuration.
    pub name: String,
    /// The version of the protocol: 1, in all versions of PicoClaw.
    pub version: u32,
    /// The groups of calls that the hook gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<HookMode>,
    /// The user's settings for this hook; absent if there are none. Since haft.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Map<String, serde_json::Value>>"))]
    pub config: Option<ExtensionConfig>,
}

impl HookHello {
    /// Creates a `hello` for the hook of this name.
    pub fn new(name: impl Into<String>, modes: Vec<HookMode>) -> Self {
        Self { name: name.into(), version: VERSION, modes, config: None }
    }
}

/// The result of `hook.hello`, which haft ignores.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HelloReply {
    /// Usually `true`. The host ignores the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// The hook's own name, by convention. The host ignores the value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

impl HookQuestion for HookHello {
    type Decision = ();

    const METHOD: Method = Method::Hello;
    const SHAPE: &'static str = r#"{"ok":true}"#;

    fn decide(&self, result: &RawJson) -> Result<ParsedDecision<()>, MalformedReply> {
        let reading = ReplyReader::new(self, result);
        match result.as_str() {
            "null" => Ok(ParsedDecision::from_decision(())),
            _ if result.is_object() => Ok(ParsedDecision::from_decision(())),
            _ => Err(reading.malformed_reply("not an object")),
        }
    }
}
