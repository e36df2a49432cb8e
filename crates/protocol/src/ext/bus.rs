//! The bus: messages between extensions. The call `emit` of `host_call` sends one, and each other
//! extension that subscribed to `bus` gets it as an event. Both require the capability and the
//! permission `bus`.
//!
//! ```json
//! {"type":"host_call","call":"emit","args":{"channel":"build","data":{"passed":true}}}
//! {"type":"event","event":"bus","channel":"build","data":{"passed":true},"from":"builder","session":"0199"}
//! ```

use serde::{Deserialize, Serialize};

use super::HostCallKind;
use crate::error::without_position;
use crate::ids::ExtensionName;
use crate::json::RawJson;

/// The maximum length of a channel, in bytes.
const LONGEST_CHANNEL: usize = 100;

/// The maximum length of the data, in bytes of JSON.
const LONGEST_DATA: usize = 64 * 1024;

/// The arguments of `emit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EmitCall {
    /// The channel, by which receivers tell messages apart: 1 to 100 bytes.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub channel: String,
    /// The data: any JSON value of at most 64 KiB.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub data: RawJson,
}

/// A message on the bus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BusMessage {
    /// The channel.
    pub channel: String,
    /// The data: any JSON value.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub data: RawJson,
    /// The extension that sent the message.
    pub from: ExtensionName,
}

impl BusMessage {
    /// The name of the event.
    pub const EVENT: &str = "bus";
}

impl EmitCall {
    /// Reads the arguments of the call. Returns `None` for other calls.
    ///
    /// # Errors
    /// The invalid argument, as text.
    pub fn read(kind: HostCallKind, args: &RawJson) -> Option<Result<Self, String>> {
        let read = || {
            let call: Self = args.read().map_err(|error| without_position(&error))?;
            call.check_bounds()?;
            Ok(call)
        };
        (kind == HostCallKind::Emit).then(read)
    }

    fn check_bounds(&self) -> Result<(), String> {
        let (channel, data) = (self.channel.len(), self.data.as_str().len());
        match (channel, data) {
            (0, _) => Err("channel: an empty name".to_owned()),
            (1..=LONGEST_CHANNEL, 0..=LONGEST_DATA) => Ok(()),
            (1..=LONGEST_CHANNEL, _) => Err(format!("data: {data} bytes; the limit is {LONGEST_DATA}")),
            _ => Err(format!("channel: {channel} bytes; the limit is {LONGEST_CHANNEL}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(channel: &str, data: &str, expect: Result<(), &str>) {
        let args = RawJson::parse(&format!(r#"{{"channel":"{channel}","data":{data}}}"#)).unwrap();
        let read = EmitCall::read(HostCallKind::Emit, &args).unwrap().map(drop);
        assert_eq!(read, expect.map_err(str::to_owned));
    }

    #[test]
    fn messages_are_bounded() {
        let data = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
        check(&"c".repeat(LONGEST_CHANNEL), &data(LONGEST_DATA), Ok(()));
        check("c", &data(LONGEST_DATA + 1), Err("data: 65537 bytes; the limit is 65536"));
        check(&"c".repeat(101), "1", Err("channel: 101 bytes; the limit is 100"));
        check("", "1", Err("channel: an empty name"));
        check("c\\u0007", "1", Err("control character U+0007"));
        assert_eq!(EmitCall::read(HostCallKind::Insert, &RawJson::empty_object()), None);
    }
}
