//! Identifiers: one newtype each, so that none is taken for another.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes the text as it is.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text.
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
    /// Ties a response to its request on one connection. Opaque: the receiver gives it back as it came.
    RequestId
}
id! {
    /// The model's name for one of its tool calls.
    ToolCallId
}
id! {
    /// An extension's name for one of its panels.
    PanelId
}
id! {
    /// The name of an extension: the manifest's.
    ExtensionName
}

/// Reads a name or an id. Control characters are refused: a name with a NUL or an escape in it is never meant.
pub(crate) fn printable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    // Most are ASCII, of which the control characters are at both ends.
    if text.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~')) {
        return Ok(text);
    }
    match text.chars().find(|char| char.is_control()) {
        None => Ok(text),
        Some(char) => Err(D::Error::custom(format_args!("control character U+{:04X}", u32::from(char)))),
    }
}
