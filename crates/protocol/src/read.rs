//! Reading a typed value out of JSON text, with an error that names the field.

use serde::de::{DeserializeOwned, Error};

/// Reads `T`. The error says where and what: `` content[0].text: invalid type: integer `5`, expected a string ``.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    // Keeping track of the path costs time, so only a text that failed is read again with it.
    serde_json::from_str(text).map_err(|error| {
        let mut reader = serde_json::Deserializer::from_str(text);
        match serde_path_to_error::deserialize::<_, T>(&mut reader) {
            Ok(_) => without_position(&error),
            Err(error) => match error.path().to_string().as_str() {
                "." => without_position(error.inner()),
                path => format!("{path}: {}", without_position(error.inner())),
            },
        }
    })
}

/// [`read`] inside a hand-written `Deserialize`.
pub(crate) fn nested<T: DeserializeOwned, E: Error>(text: &str) -> Result<T, E> {
    read(text).map_err(E::custom)
}

/// The parser's message alone: a frame is one line, and inside a nested text the column would mislead.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.as_str(), |(before, _)| before).to_owned()
}
