//! Reading a typed value out of JSON text, with an error that names the field.

use serde::Deserializer;
use serde::de::{Deserialize, Error, MapAccess};

use crate::error::without_position;
use crate::reader::{CheckedJson, JsonReader};

/// Reads `T`. The error contains the path and the mistake: `` content[0].text: invalid type:
/// integer `5`, expected a string ``.
pub(crate) fn read<'a, T: Deserialize<'a>>(json: CheckedJson<'a>) -> Result<T, String> {
    T::deserialize(&mut JsonReader::new(json)).or_else(|_| read_carefully(json.text))
}

/// Reads a value like [`read`] inside a hand-written `Deserialize`.
pub(crate) fn read_nested<'a, T: Deserialize<'a>, E: Error>(json: CheckedJson<'a>) -> Result<T, E> {
    read(json).map_err(E::custom)
}

/// Returns the value of the next field, which must have this name.
pub(crate) fn first_field<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
    fields: &mut A,
    name: &str,
) -> Result<T, A::Error> {
    match fields.next_key::<&str>()? {
        Some(key) if key == name => fields.next_value(),
        _ => Err(A::Error::custom(format_args!("{name} does not come first"))),
    }
}

/// Reads with serde_json, which has the better error messages.
#[cold]
fn read_carefully<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    // Tracking the path costs time, so only a text that failed is read again with it.
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

/// Reads an optional field, with `null` as absent: Go writes empty lists as `null`.
pub(crate) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}
