//! Calls of the host to a hook: the methods of the registry in `method.rs`, and the lines that
//! carry them.
//!
//! ```json
//! {"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{"name":"gate","version":1,"modes":["tool"]}}
//! {"jsonrpc":"2.0","method":"hook.event","params":{"Kind":"turn_end",…}}
//! ```

use serde::Serialize;

use super::envelope::{JsonRpcVersion, UnreadableLine, check_line, encode_line, line_fields, parse_id};
use super::event::{EventForm, LegacyKind, TurnEvent};
use super::method::{Method, methods};
use super::question::HookQuestion;
use super::{
    AfterLlm, AfterTool, ApproveTool, BeforeLlm, BeforeTool, HookHello, LegacyEvent, RuntimeEvent, fold,
};
use haft_protocol::RawJson;
use haft_protocol::codec::{LineLimits, PlainSpan};

macro_rules! define_calls {
    ($($(#[$doc:meta])* $call:ident($params:ident) = $name:literal,)*) => {
        /// A method with its params.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
            /// The field and the mistake.
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

/// A line of the host: a request, which has an id, or a notification.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallLine {
    /// Always `2.0`.
    pub jsonrpc: JsonRpcVersion,
    /// The id of a request, counted from 1 in each process. A notification has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The method and its params.
    #[serde(flatten)]
    pub call: Call,
}

impl CallLine {
    /// Creates a request with this id.
    pub fn request(id: u64, call: impl Into<Call>) -> Self {
        Self { jsonrpc: JsonRpcVersion::Two, id: Some(id), call: call.into() }
    }

    /// Encodes a request without taking ownership of the call, which can be as long as the
    /// conversation. The result is that of [`request`](Self::request), encoded.
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

    /// Encodes an event in this form, newline included.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn encode_event(
        event: &TurnEvent,
        form: EventForm,
        number: u64,
    ) -> Result<String, serde_json::Error> {
        match form {
            EventForm::Runtime => Self::notification(event.to_runtime_event(number)?),
            EventForm::Name => Self::notification(event.to_legacy_event(LegacyKind::Name)?),
            EventForm::Number => Self::notification(event.to_legacy_event(LegacyKind::Number)?),
        }
        .encode()
    }

    /// Creates a notification, which has no reply.
    pub fn notification(call: impl Into<Call>) -> Self {
        Self { jsonrpc: JsonRpcVersion::Two, id: None, call: call.into() }
    }

    /// Encodes the line, newline included, with the same escapes as
    /// [`codec::encode`](haft_protocol::codec::encode).
    ///
    /// # Errors
    /// None for values that this crate can build; callers must not rely on that.
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        encode_line(self)
    }

    /// Reads a line of the host, for implementations of hooks. A request with the id 0, `null` or
    /// none is a notification.
    ///
    /// # Errors
    /// [`UnreadableLine`]: its `id` is that of the request to answer with an error.
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

/// A line of the host with undecoded method and params, for programs that pass the params on
/// unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawLine {
    /// The id of a request; `None` for a notification.
    pub id: Option<u64>,
    /// The name of the method: see [`Method::from_name`].
    pub method: String,
    /// The params, `{}` if they are absent or `null`: see [`Call::read`].
    pub params: RawJson,
}

impl RawLine {
    /// Reads a line of the host, for implementations of hooks. A request with the id 0, `null` or
    /// none is a notification.
    ///
    /// # Errors
    /// [`UnreadableLine`]: its `id` is that of the request to answer with an error.
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
