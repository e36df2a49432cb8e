//! Identifiers, each with its own type, so that the compiler keeps them apart.

use std::fmt;
use std::str::FromStr;

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

        impl FromStr for $name {
            type Err = ControlCharacter;

            /// Checks the text as the readers of frames do.
            fn from_str(text: &str) -> Result<Self, ControlCharacter> {
                check_printable(text).map(|()| Self(text.to_owned()))
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
    check_printable(&text).map_err(D::Error::custom)?;
    Ok(text)
}

/// The error of a text that is not an identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlCharacter(char);

impl fmt::Display for ControlCharacter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "control character U+{:04X}", u32::from(self.0))
    }
}

impl std::error::Error for ControlCharacter {}

fn check_printable(text: &str) -> Result<(), ControlCharacter> {
    // Most texts are ASCII, in which the control characters are at both ends.
    if text.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~')) {
        return Ok(());
    }
    text.chars().find(|char| char.is_control()).map_or(Ok(()), |char| Err(ControlCharacter(char)))
}
