//! `hook.event`: the form of events up to PicoClaw 0.2.8.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{HookEventKind, TurnEvent};
use crate::wire::{TurnContext, TurnMeta};
use haft_protocol::RawJson;

/// The params of `hook.event`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "PascalCase")]
pub struct LegacyEvent {
    /// The kind of the event.
    pub kind: LegacyKind,
    /// The time, RFC 3339.
    #[serde(default)]
    pub time: String,
    /// The turn.
    #[serde(default)]
    pub meta: TurnMeta,
    /// The context of the turn. Since PicoClaw 0.2.7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Arc<TurnContext>>,
    /// The data of the event: see the table of events; `null` if there is none.
    #[serde(default)]
    pub payload: Option<RawJson>,
}

/// The spelling of a kind: PicoClaw's documents show a name, its code sends a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LegacyKind {
    /// The name, such as `"turn_end"`.
    Name(HookEventKind),
    /// The number, such as `1`.
    Number(HookEventKind),
}

impl LegacyKind {
    /// Returns the kind, in either spelling.
    pub const fn kind(self) -> HookEventKind {
        match self {
            Self::Name(kind) | Self::Number(kind) => kind,
        }
    }
}

impl Serialize for LegacyKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Name(kind) => serializer.serialize_str(kind.legacy_name()),
            Self::Number(kind) => serializer.serialize_u8(kind.number()),
        }
    }
}

impl<'de> Deserialize<'de> for LegacyKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = RawJson::deserialize(deserializer)?;
        let named =
            || json.read::<String>().ok().and_then(|name| HookEventKind::from_name(&name)).map(Self::Name);
        let numbered = || json.read::<u64>().ok().and_then(HookEventKind::from_number).map(Self::Number);
        named()
            .or_else(numbered)
            .ok_or_else(|| D::Error::custom(format_args!("{json} is not a kind of event")))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for LegacyKind {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LegacyKind".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<_> = HookEventKind::ALL.iter().map(|kind| kind.legacy_name()).collect();
        let numbers: Vec<_> = HookEventKind::ALL.iter().map(|kind| kind.number()).collect();
        schemars::json_schema!({
            "description": "Form of a kind: a name in PicoClaw's documents, a number in the output of its code.",
            "anyOf": [{ "type": "string", "enum": names }, { "type": "integer", "enum": numbers }],
        })
    }
}

impl TurnEvent {
    /// Converts the event to the form of PicoClaw up to 0.2.8; `kind` is [`LegacyKind::Name`] or
    /// [`LegacyKind::Number`].
    ///
    /// # Errors
    /// None for values that this crate can build; callers must not rely on that.
    pub fn to_legacy_event(
        &self,
        kind: fn(HookEventKind) -> LegacyKind,
    ) -> Result<LegacyEvent, serde_json::Error> {
        Ok(LegacyEvent {
            kind: kind(self.payload.kind()),
            time: self.time.clone(),
            meta: TurnMeta { trace_path: self.trace_path().to_owned(), ..self.meta.clone() },
            context: self.context.clone(),
            payload: Some(RawJson::from_value(&self.payload)?),
        })
    }
}
