//! `Payload`: the data of a reply, as a value or as JSON.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::json::RawJson;

/// The data of a reply. Within one process it stays the value that the command came to; JSON is written only for a wire.
#[derive(Clone)]
pub struct Payload(Form);

#[derive(Clone)]
enum Form {
    Value(Arc<dyn Value>),
    Json(RawJson),
}

/// A value that can be written as JSON.
trait Value: Any + Send + Sync {
    fn json(&self) -> Result<RawJson, serde_json::Error>;

    fn any(&self) -> &dyn Any;
}

impl<T: Serialize + Any + Send + Sync> Value for T {
    fn json(&self) -> Result<RawJson, serde_json::Error> {
        RawJson::from_value(self)
    }

    fn any(&self) -> &dyn Any {
        self
    }
}

impl Payload {
    /// Keeps a value.
    pub fn of(value: impl Serialize + Any + Send + Sync) -> Self {
        Self(Form::Value(Arc::new(value)))
    }

    /// Reads the data of a command. A value of this process is not written and parsed for that.
    ///
    /// # Errors
    /// When the JSON does not have the shape of `T`.
    pub fn read<T: DeserializeOwned + Clone + 'static>(&self) -> Result<T, serde_json::Error> {
        match &self.0 {
            Form::Value(value) => match value.as_ref().any().downcast_ref::<T>() {
                Some(value) => Ok(value.clone()),
                None => value.as_ref().json()?.read(),
            },
            Form::Json(json) => json.read(),
        }
    }

    /// Writes the data as JSON.
    ///
    /// # Errors
    /// When the value has no JSON form. The data of every command has one.
    pub fn json(&self) -> Result<RawJson, serde_json::Error> {
        match &self.0 {
            Form::Value(value) => value.as_ref().json(),
            Form::Json(json) => Ok(json.clone()),
        }
    }
}

impl From<RawJson> for Payload {
    fn from(json: RawJson) -> Self {
        Self(Form::Json(json))
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.json() {
            Ok(json) => f.write_str(json.as_str()),
            Err(error) => error.fmt(f),
        }
    }
}

/// Two payloads are equal when their JSON is.
impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        matches!((self.json(), other.json()), (Ok(one), Ok(other)) if one == other)
    }
}

impl Eq for Payload {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::{Pong, Response};

    #[test]
    fn a_value_and_its_json_are_one_reply() {
        let (value, json) = (Payload::of(Pong { pong: true }), RawJson::parse(r#"{"pong":true}"#).unwrap());
        assert_eq!(value, Payload::from(json));
        assert_eq!(value.read::<Pong>().unwrap(), Pong { pong: true });
        assert!(value.read::<String>().is_err());
    }

    #[test]
    fn data_without_fields_is_left_out_of_the_line() {
        let reply =
            |data: Payload| Response::done(None, crate::rpc::CommandKind::Abort, data).encode().unwrap();
        assert_eq!(reply(Payload::of(crate::rpc::NoData {})), reply(RawJson::empty_object().into()));
        assert!(!reply(Payload::of(crate::rpc::NoData {})).contains("data"));
    }
}
