//! `host_call`, `host_call_cancel` and `host_result`: an extension uses the host's own tools. The
//! calls pass the same gates, the same file queue and the same limits as the calls of the model.
//! Requires the capability `host_services`.
//!
//! ```json
//! {"type":"host_call","id":"c1","call":"write","args":{"path":"notes.txt","content":"rain\n"}}
//! {"type":"host_result","id":"c1","content":[{"type":"text","text":"created notes.txt (1 line, 5 bytes)"}]}
//! ```

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::HostService;
use super::tool::ResultBlock;
use crate::event::HostCallError;
use crate::ids::RequestId;
use crate::json::RawJson;
use crate::named_enum::named_enum;
use crate::read::null_is_default;

/// Runs a tool of the host for the extension. The host always answers with `host_result`. A call
/// before `ready` fails with `unavailable`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostCall {
    /// The id for the result. It must be unique among the open calls.
    pub id: RequestId,
    /// The operation: `read`, `write`, `edit` or `exec`.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub call: String,
    /// The arguments of the tool `read`, `write`, `edit` or `bash`.
    #[serde(deserialize_with = "crate::json::object")]
    #[schemars(schema_with = "crate::json::object_schema")]
    pub args: RawJson,
}

/// Cancels a `host_call`. A call that has not started does not run; a command ends with all its
/// processes. The result still arrives and contains the output so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostCallCancel {
    /// The `id` of the `host_call`.
    pub id: RequestId,
}

/// The result of a `host_call`: the content that the model would get, and the kind of a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostResult {
    /// The `id` of the `host_call`.
    pub id: RequestId,
    /// The result. For `read`, the first text is the content of the file; further texts are
    /// remarks.
    #[serde(default, deserialize_with = "null_is_default")]
    pub content: Vec<ResultBlock>,
    /// True if the call failed.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// The kind of failure, for programs; present if `is_error` is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<HostCallError>,
    /// With `blocked`: the extension or hook that blocked the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// With `permission_denied`: the permission that is not granted, `fs.read`, `fs.write` or `exec`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<String>,
    /// Data about the result, for programs, such as the diff of a change. For `read`, `next_offset`
    /// is the next line if the file has more.
    #[serde(default, deserialize_with = "object_or_null", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub details: Option<RawJson>,
}

fn object_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    match Option::<RawJson>::deserialize(deserializer)? {
        Some(value) if !value.is_object() => Err(D::Error::custom("expected a JSON object")),
        value => Ok(value),
    }
}

named_enum! {
    /// The kinds of host calls.
    pub enum HostCallKind {
        /// Read a file.
        Read = "read",
        /// Write a whole file.
        Write = "write",
        /// Change parts of a file.
        Edit = "edit",
        /// Run a shell command.
        Exec = "exec",
    }
}

impl HostCallKind {
    /// Returns the built-in tool that runs the call. The call has the arguments of this tool, and
    /// gates see its name.
    pub const fn tool(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Exec => "bash",
        }
    }

    /// Returns the service of the call, which determines the required permission.
    pub const fn service(self) -> HostService {
        match self {
            Self::Read => HostService::FsRead,
            Self::Write | Self::Edit => HostService::FsWrite,
            Self::Exec => HostService::Exec,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_kinds_have_names_and_services() {
        for kind in HostCallKind::ALL {
            assert_eq!(HostCallKind::from_name(kind.name()), Some(*kind));
        }
        assert_eq!(HostCallKind::from_name("bash"), None);
        assert_eq!(HostCallKind::Edit.service(), HostService::FsWrite);
    }
}
