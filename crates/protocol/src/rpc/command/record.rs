//! `append_entry`, `send_message`, `set_label`, `set_tags`, `find_sessions`: records in a session,
//! for programs and for the model.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::bounded::{
    PrintableText, bounded_json, check_name, optional_bounded_json, optional_name, short_name, too_long,
};
use crate::content::Image;
use crate::json::RawJson;
use crate::read::null_is_default;

/// The maximum length of a label and of the value of a tag, in bytes.
const LONGEST_LABEL: usize = 1000;

/// The maximum number of tags in one command.
const MOST_TAGS: usize = 64;

/// Records data in the session. The model never sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppendEntry {
    /// The id of the entry: 32 lower-case hexadecimal digits, which no other entry of the session
    /// has; absent: haft chooses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The kind, defined by the owner: 1 to 100 bytes.
    #[serde(deserialize_with = "short_name")]
    pub kind: String,
    /// The data: any JSON value of at most 256 KiB.
    #[serde(deserialize_with = "bounded_json")]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub data: RawJson,
    /// The name of the program that owns the entry; absent: `client`. An extension always owns its
    /// entries.
    #[serde(default, deserialize_with = "optional_name", skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// Adds a message to the conversation that is not a prompt of the person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SendMessage {
    /// The kind, defined by the owner: 1 to 100 bytes.
    #[serde(deserialize_with = "short_name")]
    pub kind: String,
    /// The text; can be empty if there are images. The model reads it as a user message.
    pub content: String,
    /// Images for the model.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// True if the person sees the message.
    pub display: bool,
    /// Data for programs, which the model does not see: any JSON value of at most 256 KiB.
    #[serde(default, deserialize_with = "optional_bounded_json", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub details: Option<RawJson>,
    /// The time at which the message enters the conversation; absent: `now`.
    #[serde(default)]
    pub when: DeliveryTime,
    /// True if the agent begins to work on the message when no prompt runs. Not with `next_turn`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "std::ops::Not::not")]
    pub turn: bool,
    /// The name of the program that sends the message; absent: `client`. An extension always sends
    /// under its own name.
    #[serde(default, deserialize_with = "optional_name", skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

impl SendMessage {
    /// Creates a message that the person sees and that is sent at once, without a run for it.
    pub fn new(kind: impl Into<String>, content: impl Into<String>) -> Self {
        Self { kind: kind.into(), content: content.into(), display: true, ..Self::default() }
    }
}

/// The time at which a message enters the conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeliveryTime {
    /// At once. While a prompt runs, as `steer`.
    #[default]
    Now,
    /// Before the next request to the model. If no prompt runs, with the next one.
    Steer,
    /// When the agent would stop. If no prompt runs, after the next one.
    FollowUp,
    /// Before the next prompt.
    NextTurn,
}

/// Labels an entry for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetLabel {
    /// The entry, as `tree` names it.
    pub entry: String,
    /// The label, at most 1000 bytes; absent or empty: removes the label.
    #[serde(default, deserialize_with = "optional_label", skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// Changes tags of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetTags {
    /// Values by key; `null` removes a tag. Tags with other keys stay. At most 64, with keys of 1
    /// to 100 bytes and values of at most 1000 bytes.
    #[serde(deserialize_with = "bounded_tags")]
    pub tags: BTreeMap<String, Option<String>>,
}

/// Searches for sessions by their tags.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindSessions {
    /// The tags that a session must have. `null` stands for any value.
    #[serde(deserialize_with = "bounded_tags")]
    pub tags: BTreeMap<String, Option<String>>,
}

pub(super) fn optional_label<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let label = Option::<PrintableText>::deserialize(deserializer)?.map(|PrintableText(label)| label);
    match label.as_ref().map_or(0, String::len) {
        0..=LONGEST_LABEL => Ok(label.filter(|label| !label.is_empty())),
        length => Err(too_long(length, LONGEST_LABEL)),
    }
}

fn bounded_tags<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Option<String>>, D::Error> {
    let tags = BTreeMap::<PrintableText, Option<PrintableText>>::deserialize(deserializer)?;
    if tags.len() > MOST_TAGS {
        return Err(D::Error::custom(format_args!("{} tags; the limit is {MOST_TAGS}", tags.len())));
    }
    let tags = tags.into_iter().map(|(PrintableText(key), value)| {
        check_name(&key)?;
        let value = value.map(|PrintableText(value)| value);
        match value.as_ref().map_or(0, String::len) {
            0..=LONGEST_LABEL => Ok((key, value)),
            length => Err(too_long(length, LONGEST_LABEL)),
        }
    });
    tags.collect()
}

#[cfg(test)]
mod tests {
    use crate::bounded::LONGEST_DATA;

    use super::*;

    #[track_caller]
    fn check<'a, T: Deserialize<'a>>(json: &'a str, expect: Result<(), &str>) {
        let read = serde_json::from_str::<T>(json).map(drop).map_err(|error| error.to_string());
        let read = read.map_err(|error| error.split(" at line").next().unwrap().to_owned());
        assert_eq!(read, expect.map_err(str::to_owned));
    }

    #[test]
    fn fields_are_bounded() {
        let text = |length: usize| format!("\"{}\"", "x".repeat(length));
        let entry = |kind: &str, data: &str| format!(r#"{{"kind":{kind},"data":{data}}}"#);
        check::<AppendEntry>(&entry(&text(100), &text(LONGEST_DATA - 2)), Ok(()));
        check::<AppendEntry>(
            &entry("\"k\"", &text(LONGEST_DATA - 1)),
            Err("262145 bytes; the limit is 262144"),
        );
        check::<AppendEntry>(&entry(&text(101), "1"), Err("101 bytes; the limit is 100"));
        check::<AppendEntry>(&entry("\"\"", "1"), Err("an empty name"));
        check::<AppendEntry>(r#"{"kind":"k"}"#, Err("missing field `data`"));
        let message = |rest: &str| format!(r#"{{"kind":"k","content":"c","display":true{rest}}}"#);
        check::<SendMessage>(&message(r#","owner":"a\u0007""#), Err("control character U+0007"));
        check::<SendMessage>(
            &message(&format!(r#","details":{}"#, text(LONGEST_DATA))),
            Err("262146 bytes; the limit is 262144"),
        );
        check::<SetLabel>(
            &format!(r#"{{"entry":"e","label":{}}}"#, text(1001)),
            Err("1001 bytes; the limit is 1000"),
        );
    }

    #[test]
    fn tags_are_bounded() {
        let tags = |pairs: &[(String, String)]| {
            let pairs: Vec<_> = pairs.iter().map(|(key, value)| format!("\"{key}\":\"{value}\"")).collect();
            format!(r#"{{"tags":{{{}}}}}"#, pairs.join(","))
        };
        let many = |count: usize| (0..count).map(|n| (n.to_string(), String::new())).collect::<Vec<_>>();
        check::<SetTags>(&tags(&many(64)), Ok(()));
        check::<SetTags>(&tags(&many(65)), Err("65 tags; the limit is 64"));
        check::<SetTags>(&tags(&[("k".repeat(101), String::new())]), Err("101 bytes; the limit is 100"));
        check::<FindSessions>(&tags(&[("k".into(), "v".repeat(1001))]), Err("1001 bytes; the limit is 1000"));
        check::<FindSessions>(r#"{"tags":{"k":null}}"#, Ok(()));
    }

    #[test]
    fn message_is_sent_at_once_by_default() {
        let line = r#"{"kind":"k","content":"c","display":true,"details":null}"#;
        let read: SendMessage = serde_json::from_str(line).unwrap();
        let expect =
            SendMessage { kind: "k".into(), content: "c".into(), display: true, ..Default::default() };
        assert_eq!(read, expect);
        assert_eq!(
            serde_json::to_string(&read).unwrap(),
            r#"{"kind":"k","content":"c","display":true,"when":"now"}"#
        );
    }
}
