//! Identifiers, each with its own type, so that the compiler keeps them apart.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Creates the identifier without a check.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                printable(deserializer).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// The id that connects a response to its request on one connection. The receiver returns it
    /// unchanged.
    RequestId
}
id! {
    /// The model's id of one of its tool calls.
    ToolCallId
}
id! {
    /// The extension's id of one of its panels.
    PanelId
}
id! {
    /// The name of an extension, from its manifest.
    ExtensionName
}

/// Reads a name or an id. Control characters such as NUL and escape are rejected.
pub(crate) fn printable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    // Most texts are ASCII, in which the control characters are at both ends.
    if text.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~')) {
        return Ok(text);
    }
    match text.chars().find(|char| char.is_control()) {
        None => Ok(text),
        Some(char) => Err(D::Error::custom(format_args!("control character U+{:04X}", u32::from(char)))),
    }
}
