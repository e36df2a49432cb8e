//! Calls of the host to a hook: the calls of the registry in `method.rs`, and the lines that carry them.
//!
//! ```json
//! {"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{"name":"gate","version":1,"modes":["tool"]}}
//! {"jsonrpc":"2.0","method":"hook.event","params":{"Kind":"turn_end",…}}
//! ```

use serde::Serialize;

use super::envelope::{JsonRpcVersion, UnreadableLine, check_line, encode_line, line_fields, parse_id};
use super::method::{Method, methods};
use super::question::HookQuestion;
use super::{
    AfterLlm, AfterTool, ApproveTool, BeforeLlm, BeforeTool, HookHello, LegacyEvent, RuntimeEvent, fold,
};
use crate::codec::{LineLimits, PlainSpan};
use crate::json::RawJson;

macro_rules! define_calls {
    ($($(#[$doc:meta])* $call:ident($params:ident) = $name:literal,)*) => {
        /// A method with its params.
        #[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
        #[serde(tag = "method", content = "params")]
        pub enum Call {
            $($(#[$doc])* #[serde(rename = $name)] $call($params),)*
        }

        impl Call {
            /// Returns the method of the call.
            pub const fn method(&self) -> Method {
                match self { $(Self::$call(_) => Method::$call,)* }
            }

            /// Reads the params of a method, as PicoClaw or haft writes them.
            ///
            /// # Errors
            /// Which field, and what is wrong with it.
            pub fn read(method: Method, params: &RawJson) -> Result<Self, String> {
                match method { $(Method::$call => fold::read(params).map(Self::$call),)* }
            }
        }

        $(impl From<$params> for Call {
            fn from(params: $params) -> Self {
                Self::$call(params)
            }
        })*
    };
}

methods!(define_calls);

/// One line of the host: a request, which has an id, or a notification.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CallLine {
    /// Always `2.0`.
    pub jsonrpc: JsonRpcVersion,
    /// Ties the reply to a request: counted from 1 for each process. A notification has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The method and its params.
    #[serde(flatten)]
    pub call: Call,
}

impl CallLine {
    /// A call that is answered under this id.
    pub fn request(id: u64, call: impl Into<Call>) -> Self {
        Self { jsonrpc: JsonRpcVersion::Two, id: Some(id), call: call.into() }
    }

    /// The line of a question that stays the caller's, since it may be as long as the conversation: that of
    /// [`request`](Self::request), encoded.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn encode_question<Q: HookQuestion>(id: u64, question: &Q) -> Result<String, serde_json::Error> {
        #[derive(Serialize)]
        struct RequestWire<'a, Q> {
            jsonrpc: JsonRpcVersion,
            id: u64,
            method: &'static str,
            params: &'a Q,
        }
        encode_line(&RequestWire {
            jsonrpc: JsonRpcVersion::Two,
            id,
            method: Q::METHOD.name(),
            params: question,
        })
    }

    /// A call that nobody answers.
    pub fn notification(call: impl Into<Call>) -> Self {
        Self { jsonrpc: JsonRpcVersion::Two, id: None, call: call.into() }
    }

    /// The line, newline included; what ends a line for some languages is escaped, as
    /// [`codec::encode`](crate::codec::encode) does.
    ///
    /// # Errors
    /// None for what this crate can build; kept, so that no caller has to assume it.
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        encode_line(self)
    }

    /// Reads a line of the host, for whoever is the hook. A request with the id 0, `null` or none is a notification.
    ///
    /// # Errors
    /// [`Unread`]: its `id` says which request can be answered with an error.
    pub fn read(line: &[u8], bounds: LineLimits) -> Result<Self, UnreadableLine> {
        let RawLine { id, method: name, params } = RawLine::read(line, bounds)?;
        let Some(method) = Method::from_name(&name) else {
            return Err(UnreadableLine::invalid_frame(id, format!("unknown method {name:?}")));
        };
        let call = Call::read(method, &params)
            .map_err(|detail| UnreadableLine::invalid_frame(id, format!("{name}: params: {detail}")))?;
        Ok(Self { jsonrpc: JsonRpcVersion::Two, id, call })
    }
}

/// One line of the host, its method and params not looked at: for whoever passes params on as they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawLine {
    /// Ties the reply to a request; `None` for a notification, which nobody answers.
    pub id: Option<u64>,
    /// The name of the method: see [`Method::from_name`].
    pub method: String,
    /// The params, `{}` when they are absent or `null`: see [`Call::read`].
    pub params: RawJson,
}

impl RawLine {
    /// Reads a line of the host, for whoever is the hook. A request with the id 0, `null` or none is a notification.
    ///
    /// # Errors
    /// [`Unread`]: its `id` says which request can be answered with an error.
    pub fn read(line: &[u8], bounds: LineLimits) -> Result<Self, UnreadableLine> {
        let line = check_line(line, bounds, PlainSpan::default())?;
        let fields = line_fields(&line)?;
        let id = fields.get("id")?.and_then(parse_id);
        let owned = |error: String| UnreadableLine { id, ..UnreadableLine::from(error) };
        let method = fields.get("method").map_err(owned)?.map(fold::read_text::<String>).transpose();
        let Ok(Some(method)) = method else {
            return Err(UnreadableLine::invalid_frame(id, "no method"));
        };
        let params = fields
            .get("params")
            .map_err(owned)?
            .map_or_else(RawJson::empty_object, RawJson::from_checked_text);
        Ok(Self { id, method, params })
    }
}
