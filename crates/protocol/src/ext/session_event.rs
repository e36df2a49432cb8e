//! `event` in the form of the capability `events_2`: an event of `--json` with its fields.
//!
//! ```json
//! {"type":"event","event":"tool_end","id":"toolu_1","name":"bash","duration_ms":12,"session":"0199"}
//! ```

use std::fmt;

use serde::de::{DeserializeOwned, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::{self, SerializeMap as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::bus::BusMessage;
use super::event::LifecycleEvent;
use super::intercept::InterceptSessionStart;
use crate::compact;
use crate::content::ToolCall;
use crate::event::{AgentEvent, AgentEventKind};
use crate::json::RawJson;
use crate::message::StopCause;
use crate::read;
use crate::reader::JsonText;

/// The frame `event`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventFrame {
    /// The form without `events_2`.
    Lifecycle(LifecycleEvent),
    /// The form with `events_2`. It is the only one with `session`.
    Session(SessionEvent),
}

impl EventFrame {
    /// Returns the name of the event.
    pub fn name(&self) -> &str {
        match self {
            Self::Lifecycle(event) => &event.event,
            Self::Session(event) => &event.event,
        }
    }
}

/// An event of a session, with the same name and fields as in `--json`. Needs the capability
/// `events_2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEvent {
    /// The name, as the `type` in `--json`.
    pub event: String,
    /// The id of the session.
    pub session: String,
    /// The whole frame.
    frame: RawJson,
}

/// The beginning of each line of `--json`.
const JSON_HEAD: &str = r#"{"type":"#;

impl SessionEvent {
    /// Creates the event for extensions.
    ///
    /// # Errors
    /// If the event has no JSON form.
    pub fn new(event: &AgentEvent, session: &str) -> Result<Self, serde_json::Error> {
        let line = Self::encode(event, session)?;
        let (event, session) = (event.kind().name().to_owned(), session.to_owned());
        Ok(Self { event, session, frame: RawJson::from_checked_text(line.trim_end()) })
    }

    /// Writes the event as a line, newline included, like [`encode`](crate::codec::encode).
    ///
    /// # Errors
    /// If the event has no JSON form.
    pub fn encode(event: &AgentEvent, session: &str) -> Result<String, serde_json::Error> {
        let json = serde_json::to_string(event)?;
        let fields = json.strip_prefix(JSON_HEAD).and_then(|rest| rest.strip_suffix('}'));
        let fields = fields
            .ok_or_else(|| <serde_json::Error as ser::Error>::custom("an event begins with its type"))?;
        Self::line(fields, session)
    }

    /// Writes the event `session_start` as a line, newline included.
    ///
    /// # Errors
    /// If the event has no JSON form.
    pub fn encode_session_start(start: &InterceptSessionStart) -> Result<String, serde_json::Error> {
        let json = serde_json::to_string(start)?;
        let fields = json.trim_start_matches('{').trim_end_matches('}');
        Self::line(&format!(r#""session_start",{fields}"#), &start.session_id)
    }

    /// Writes the event `bus` as a line, newline included.
    ///
    /// # Errors
    /// If the event has no JSON form.
    pub fn encode_message(message: &BusMessage, session: &str) -> Result<String, serde_json::Error> {
        let json = serde_json::to_string(message)?;
        let fields = json.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
        Self::line(&format!(r#""{}",{fields}"#, BusMessage::EVENT), session)
    }

    /// Creates the event of a message on the bus.
    ///
    /// # Errors
    /// If the event has no JSON form.
    pub fn from_message(message: &BusMessage, session: &str) -> Result<Self, serde_json::Error> {
        let line = Self::encode_message(message, session)?;
        let (event, session) = (BusMessage::EVENT.to_owned(), session.to_owned());
        Ok(Self { event, session, frame: RawJson::from_checked_text(line.trim_end()) })
    }

    /// Writes a line from the name and the fields, without braces.
    fn line(fields: &str, session: &str) -> Result<String, serde_json::Error> {
        let session = serde_json::to_string(session)?;
        let line = format!(r#"{JSON_HEAD}"event","event":{fields},"session":{session}}}"#);
        Ok(compact::escape_line_ends(line) + "\n")
    }

    /// Reads the fields of the event as `T`, which may leave out any of them.
    ///
    /// # Errors
    /// If a field does not have the type in `T`, or is missing.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        self.frame.read()
    }

    /// Returns the whole frame as JSON.
    pub fn as_json(&self) -> &RawJson {
        &self.frame
    }
}

/// Returns the names of all events to which extensions can subscribe: those without `events_2`,
/// and then the events of `--json`.
pub fn event_names() -> impl Iterator<Item = &'static str> {
    let is_new = |name: &&str| !LifecycleEvent::NAMES.contains(name);
    LifecycleEvent::NAMES.iter().copied().chain(AgentEventKind::names_for_extensions().filter(is_new))
}

impl SessionEvent {
    /// Converts the event to the form without `events_2`; `None` if that form does not have it.
    pub fn to_lifecycle(&self) -> Option<LifecycleEvent> {
        #[derive(Deserialize)]
        struct TurnEndFields {
            stop: StopCause,
            #[serde(default)]
            error: Option<String>,
        }
        #[derive(Deserialize)]
        struct ShownMessageFields {
            content: Vec<MessageBlock>,
        }
        #[derive(Deserialize)]
        struct MessageBlock {
            #[serde(rename = "type")]
            kind: String,
            #[serde(default)]
            text: String,
        }
        #[derive(Deserialize)]
        struct CompactionFields {
            #[serde(default)]
            summary: Option<String>,
            #[serde(default)]
            error: Option<String>,
        }
        match self.event.as_str() {
            "assistant_message" => {
                let ShownMessageFields { content } = self.read().ok()?;
                let texts = content.into_iter().filter(|block| block.kind == "text").map(|block| block.text);
                Some(LifecycleEvent::assistant_message(texts.collect()))
            }
            "tool_call" => {
                let ToolCall { id, name, args } = self.read().ok()?;
                Some(LifecycleEvent::tool_call(id, name, args))
            }
            "turn_end" => {
                let TurnEndFields { stop, error } = self.read().ok()?;
                Some(LifecycleEvent::turn_end(stop, error))
            }
            "compaction_end" => {
                let CompactionFields { summary, error } = self.read().ok()?;
                Some(LifecycleEvent::compaction_end(summary, error))
            }
            "session_start" => {
                let InterceptSessionStart { session_id, session_path, .. } = self.read().ok()?;
                Some(LifecycleEvent::session_start_of(session_id, session_path))
            }
            "turn_start" | "compaction_start" => self.read().ok(),
            _ => None,
        }
    }
}

/// The fields of an object in their order.
struct FrameFields<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for FrameFields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(FieldsVisitor).map(FrameFields)
    }
}

impl Serialize for SessionEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let FrameFields(fields) =
            serde_json::from_str(self.frame.as_str()).map_err(<S::Error as ser::Error>::custom)?;
        let mut map = serializer.serialize_map(None)?;
        // The frame's registry writes the type.
        for (name, value) in fields.iter().filter(|(name, _)| name != "type") {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl Serialize for EventFrame {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Lifecycle(event) => event.serialize(serializer),
            Self::Session(event) => event.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for EventFrame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct EventHead {
            #[serde(default, deserialize_with = "is_present")]
            session: bool,
        }
        #[derive(Deserialize)]
        struct SessionEventHead {
            event: String,
            session: String,
        }
        let text = JsonText::deserialize(deserializer)?;
        let checked = text.get();
        if !checked.text.starts_with('{') {
            return Err(D::Error::custom("expected a JSON object"));
        }
        let EventHead { session } = read::read_nested(text.get())?;
        if !session {
            return read::read_nested(text.get()).map(Self::Lifecycle);
        }
        let SessionEventHead { event, session } = read::read_nested(text.get())?;
        let frame = RawJson::from_checked_text(text.get().text);
        Ok(Self::Session(SessionEvent { event, session, frame }))
    }
}

/// Reads any value of a field that is not absent, also `null`.
fn is_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

impl From<LifecycleEvent> for EventFrame {
    fn from(event: LifecycleEvent) -> Self {
        Self::Lifecycle(event)
    }
}

impl From<SessionEvent> for EventFrame {
    fn from(event: SessionEvent) -> Self {
        Self::Session(event)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for EventFrame {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EventFrame".into()
    }

    /// Returns the schema of the form without `events_2`, with `session`. The fields of the other
    /// form are those of `--json`.
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = LifecycleEvent::json_schema(generator);
        if let Some(fields) = schema.get_mut("properties").and_then(serde_json::Value::as_object_mut) {
            let reason = serde_json::json!({
                "type": ["string", "null"],
                "description": "`compaction_start`: the reason: `manual`, `threshold` or `overflow`.",
            });
            let session = serde_json::json!({
                "type": "string",
                "description": "The id of the session. Present in the form with `events_2`, whose other fields are those of `--json`.",
            });
            fields.insert("reason".to_owned(), reason);
            fields.insert("session".to_owned(), session);
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{self, DecodedFrame};
    use crate::ext::{HostFrame, SessionStartReason};
    use crate::ids::ToolCallId;

    fn decode(line: &str) -> HostFrame {
        match codec::decode(line.trim_end().as_bytes()) {
            Ok(DecodedFrame::Known(frame)) => frame,
            other => panic!("not read: {other:?}"),
        }
    }

    #[test]
    fn event_has_the_fields_of_json_and_the_session() {
        #[derive(Deserialize)]
        struct ToolEndFields {
            name: String,
            duration_ms: u64,
        }
        let event =
            AgentEvent::ToolEnd { id: ToolCallId::new("t\u{2028}"), name: "read".into(), duration_ms: 12 };
        let line = SessionEvent::encode(&event, "01\"f").unwrap();
        assert_eq!(
            line,
            concat!(
                r#"{"type":"event","event":"tool_end","id":"t\u2028","name":"read","duration_ms":12,"session":"01\"f"}"#,
                "\n"
            )
        );
        let HostFrame::Event(EventFrame::Session(read)) = decode(&line) else { panic!("another frame") };
        assert_eq!((read.event.as_str(), read.session.as_str()), ("tool_end", "01\"f"));
        let ToolEndFields { name, duration_ms } = read.read().unwrap();
        assert_eq!((name.as_str(), duration_ms), ("read", 12));
        assert_eq!(read, SessionEvent::new(&event, "01\"f").unwrap());
        assert_eq!(codec::encode(&HostFrame::from(read)).unwrap(), line);
    }

    #[test]
    fn event_without_fields_is_complete() {
        let line = SessionEvent::encode(&AgentEvent::AssistantStart, "1f").unwrap();
        assert_eq!(line.trim_end(), r#"{"type":"event","event":"assistant_start","session":"1f"}"#);
    }

    #[test]
    fn session_distinguishes_the_two_forms() {
        let old = decode(r#"{"type":"event","event":"turn_end","stop":"end"}"#);
        assert_eq!(old, LifecycleEvent::turn_end(StopCause::End, None).into());
        let new = decode(r#"{"type":"event","event":"turn_end","stop":"end","session":"1f"}"#);
        let event = AgentEvent::TurnEnd { stop: StopCause::End, error: None };
        assert_eq!(new, SessionEvent::new(&event, "1f").unwrap().into());
        assert!(codec::decode::<HostFrame>(br#"{"type":"event","event":"turn_end","session":7}"#).is_err());
    }

    #[track_caller]
    fn check_conversion(event: &AgentEvent, expect: Option<LifecycleEvent>) {
        assert_eq!(SessionEvent::new(event, "1f").unwrap().to_lifecycle(), expect);
    }

    #[test]
    fn converts_to_the_form_without_events_2() {
        use crate::event::CompactReason;
        use crate::message::{AssistantBlock, Rfc3339Time};
        let (id, args) = (ToolCallId::new("t"), RawJson::parse(r#"{"n":9007199254740993}"#).unwrap());
        let block = |text: &str| AssistantBlock::Text { text: text.into() };
        let thinking = AssistantBlock::Thinking { text: "hm".into() };
        check_conversion(&AgentEvent::TurnStart { step: 3 }, Some(LifecycleEvent::turn_start(3)));
        check_conversion(
            &AgentEvent::ToolCall { id: id.clone(), name: "bash".into(), args: args.clone() },
            Some(LifecycleEvent::tool_call(id.clone(), "bash".into(), args)),
        );
        check_conversion(
            &AgentEvent::AssistantMessage {
                content: vec![thinking, block("a"), block("b")],
                time: Rfc3339Time("2026-11-21T12:00:00Z".into()),
                entry: None,
            },
            Some(LifecycleEvent::assistant_message("ab".into())),
        );
        check_conversion(
            &AgentEvent::TurnEnd { stop: StopCause::Error, error: Some("no".into()) },
            Some(LifecycleEvent::turn_end(StopCause::Error, Some("no".into()))),
        );
        let reason = CompactReason::Overflow;
        check_conversion(
            &AgentEvent::CompactionStart { reason },
            Some(LifecycleEvent::compaction_start(reason)),
        );
        check_conversion(&AgentEvent::ToolUseEnd { id }, None);
    }

    #[test]
    fn message_on_the_bus_is_an_event() {
        let data = RawJson::parse(r#"{"passed":[true]}"#).unwrap();
        let message =
            BusMessage { channel: "build".into(), data, from: crate::ids::ExtensionName::new("builder") };
        let line = SessionEvent::encode_message(&message, "1f").unwrap();
        assert_eq!(
            line.trim_end(),
            r#"{"type":"event","event":"bus","channel":"build","data":{"passed":[true]},"from":"builder","session":"1f"}"#
        );
        let HostFrame::Event(EventFrame::Session(read)) = decode(&line) else { panic!("another frame") };
        assert_eq!(read, SessionEvent::from_message(&message, "1f").unwrap());
        assert_eq!(read.read::<BusMessage>().unwrap(), message);
    }

    #[test]
    fn session_start_has_its_reason() {
        let start = InterceptSessionStart {
            session_id: "1f".into(),
            session_path: Some("/s/1f.jsonl".into()),
            reason: SessionStartReason::Fork,
            previous_path: None,
        };
        let line = SessionEvent::encode_session_start(&start).unwrap();
        assert_eq!(
            line.trim_end(),
            r#"{"type":"event","event":"session_start","session_id":"1f","session_path":"/s/1f.jsonl","reason":"fork","session":"1f"}"#
        );
        let HostFrame::Event(EventFrame::Session(read)) = decode(&line) else { panic!("another frame") };
        let expect = LifecycleEvent::session_start_of("1f".into(), Some("/s/1f.jsonl".into()));
        assert_eq!(read.to_lifecycle(), Some(expect));
    }
}
