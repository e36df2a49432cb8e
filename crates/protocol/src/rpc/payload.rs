//! `ReplyPayload`: the data of a reply, as a value or as JSON.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::json::RawJson;

/// The data of a reply. Within one process it stays a Rust value; it becomes JSON only when it is
/// sent.
#[derive(Clone)]
pub struct ReplyPayload(PayloadRepr);

#[derive(Clone)]
enum PayloadRepr {
    Value(Arc<dyn ReplyValue>),
    Json(RawJson),
}

/// A value that can be written as JSON.
trait ReplyValue: Any + Send + Sync {
    fn to_json(&self) -> Result<RawJson, serde_json::Error>;

    fn as_any(&self) -> &dyn Any;
}

impl<T: Serialize + Any + Send + Sync> ReplyValue for T {
    fn to_json(&self) -> Result<RawJson, serde_json::Error> {
        RawJson::from_value(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl ReplyPayload {
    /// Creates a payload from a value.
    pub fn from_value(value: impl Serialize + Any + Send + Sync) -> Self {
        Self(PayloadRepr::Value(Arc::new(value)))
    }

    /// Reads the data of a command. A value of this process is not converted to JSON for that.
    ///
    /// # Errors
    /// If the JSON does not have the shape of `T`.
    pub fn read<T: DeserializeOwned + Clone + 'static>(&self) -> Result<T, serde_json::Error> {
        match &self.0 {
            PayloadRepr::Value(value) => match value.as_ref().as_any().downcast_ref::<T>() {
                Some(value) => Ok(value.clone()),
                None => value.as_ref().to_json()?.read(),
            },
            PayloadRepr::Json(json) => json.read(),
        }
    }

    /// Writes the data as JSON.
    ///
    /// # Errors
    /// If the value has no JSON form. The data of every command has one.
    pub fn to_json(&self) -> Result<RawJson, serde_json::Error> {
        match &self.0 {
            PayloadRepr::Value(value) => value.as_ref().to_json(),
            PayloadRepr::Json(json) => Ok(json.clone()),
        }
    }
}

impl From<RawJson> for ReplyPayload {
    fn from(json: RawJson) -> Self {
        Self(PayloadRepr::Json(json))
    }
}

impl fmt::Debug for ReplyPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_json() {
            Ok(json) => f.write_str(json.as_str()),
            Err(error) => error.fmt(f),
        }
    }
}

/// Two payloads are equal if their JSON is.
impl PartialEq for ReplyPayload {
    fn eq(&self, other: &Self) -> bool {
        matches!((self.to_json(), other.to_json()), (Ok(one), Ok(other)) if one == other)
    }
}

impl Eq for ReplyPayload {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::{PongData, RpcResponse};

    #[test]
    fn value_and_its_json_are_equal() {
        let (value, json) =
            (ReplyPayload::from_value(PongData { pong: true }), RawJson::parse(r#"{"pong":true}"#).unwrap());
        assert_eq!(value, ReplyPayload::from(json));
        assert_eq!(value.read::<PongData>().unwrap(), PongData { pong: true });
        assert!(value.read::<String>().is_err());
    }

    #[test]
    fn empty_data_is_omitted() {
        let reply = |data: ReplyPayload| {
            RpcResponse::success_of_kind(None, crate::rpc::CommandKind::Abort, data).encode().unwrap()
        };
        assert_eq!(
            reply(ReplyPayload::from_value(crate::rpc::NoData {})),
            reply(RawJson::empty_object().into())
        );
        assert!(!reply(ReplyPayload::from_value(crate::rpc::NoData {})).contains("data"));
    }
}
