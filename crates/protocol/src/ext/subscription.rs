//! An entry of `subscribe`: the name of an event, or an object that limits the subscription.
//!
//! ```json
//! {"type":"subscribe","intercept":["turn_start",{"event":"tool_call","tools":["bash"],"role":"gate"}]}
//! ```

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::named_enum::named_enum;
use crate::read::null_is_default;

/// An entry of `subscribe`. Without `tools` and `role` it is a plain string on the wire; the object
/// requires the capability `intercept_roles`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subscription {
    /// The name of the event or hook.
    pub event: String,
    /// Limits `tool_call` to calls of these tools, without regard to case; empty means every tool.
    pub tools: Vec<String>,
    /// The name of an [`InterceptRole`]. The host reports and ignores unknown roles.
    pub role: Option<String>,
}

impl Subscription {
    /// Creates a plain subscription to this event, for all tools.
    pub fn new(event: impl Into<String>) -> Self {
        Self { event: event.into(), ..Self::default() }
    }

    /// Limits the subscription to calls of these tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tools = tools.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the role.
    #[must_use]
    pub fn role(mut self, role: InterceptRole) -> Self {
        self.role = Some(role.name().to_owned());
        self
    }

    fn is_plain(&self) -> bool {
        self.tools.is_empty() && self.role.is_none()
    }
}

impl From<&str> for Subscription {
    fn from(event: &str) -> Self {
        Self::new(event)
    }
}

named_enum! {
    /// The role of an interceptor. An interceptor without a role may do everything; the host asks
    /// these in order.
    pub enum InterceptRole {
        /// Allows or blocks the final arguments, in parallel with the other gates. It cannot change
        /// anything, and its response must contain `block`.
        Gate = "gate",
        /// Changes the arguments before any gate runs, in the order of the extensions. It can also
        /// block the call.
        Rewrite = "rewrite",
        /// Receives `event` frames and is never asked.
        Observe = "observe",
        /// Handles an event while the host waits, and decides nothing. Needs the capability
        /// `events_2`.
        Wait = "wait",
    }
}

impl Serialize for Subscription {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_plain() {
            return serializer.serialize_str(&self.event);
        }
        let fields = 1 + usize::from(!self.tools.is_empty()) + usize::from(self.role.is_some());
        let mut object = serializer.serialize_struct("Subscription", fields)?;
        object.serialize_field("event", &self.event)?;
        if !self.tools.is_empty() {
            object.serialize_field("tools", &self.tools)?;
        }
        if let Some(role) = &self.role {
            object.serialize_field("role", role)?;
        }
        object.end()
    }
}

impl<'de> Deserialize<'de> for Subscription {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SubscriptionVisitor)
    }
}

/// The object form of a subscription.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "NarrowSubscription"))]
struct NarrowSubscription {
    /// The name of the event or hook.
    event: String,
    /// Limits `tool_call` to calls of these tools, without regard to case; empty means every tool.
    #[serde(default, deserialize_with = "null_is_default")]
    tools: Vec<String>,
    /// `gate`, `rewrite`, `observe` or `wait`; only for `intercept`.
    #[serde(default)]
    role: Option<String>,
}

struct SubscriptionVisitor;

impl<'de> Visitor<'de> for SubscriptionVisitor {
    type Value = Subscription;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of an event, or an object with `event`")
    }

    fn visit_str<E: de::Error>(self, event: &str) -> Result<Subscription, E> {
        Ok(Subscription::new(event))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Subscription, A::Error> {
        let NarrowSubscription { event, tools, role } =
            NarrowSubscription::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Subscription { event, tools, role })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Subscription {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Subscription".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let object = generator.subschema_for::<NarrowSubscription>();
        schemars::json_schema!({
            "description": "The name of an event, or an object that narrows it (capability `intercept_roles`).",
            "anyOf": [{ "type": "string" }, object],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: Subscription) {
        let read: Subscription = serde_json::from_str(line).unwrap();
        assert_eq!(read, expect);
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
    }

    #[test]
    fn plain_entry_is_a_string_and_limited_entry_an_object() {
        check(r#""tool_call""#, Subscription::new("tool_call"));
        check(
            r#"{"event":"tool_call","tools":["bash"],"role":"gate"}"#,
            Subscription::new("tool_call").tools(["bash"]).role(InterceptRole::Gate),
        );
        let unknown = Subscription { role: Some("oracle".into()), ..Subscription::new("tool_call") };
        check(r#"{"event":"tool_call","role":"oracle"}"#, unknown);
    }

    #[test]
    fn object_without_limits_equals_the_plain_entry() {
        let read: Subscription =
            serde_json::from_str(r#"{"event":"tool_call","tools":null,"role":null,"later":1}"#).unwrap();
        assert_eq!(read, Subscription::new("tool_call"));
        for wrong in ["7", "null", "{}", r#"{"event":"tool_call","tools":"bash"}"#, r#"["tool_call"]"#] {
            assert!(serde_json::from_str::<Subscription>(wrong).is_err(), "{wrong}");
        }
    }
}
