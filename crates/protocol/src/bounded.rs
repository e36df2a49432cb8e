//! Fields with a bounded length, which commands of clients and answers of extensions share.

use serde::{Deserialize, Deserializer};

use crate::json::RawJson;

/// The maximum length of `data` and `details`, in bytes of JSON.
pub(crate) const LONGEST_DATA: usize = 256 * 1024;

/// The maximum length of a kind, an owner and a key of a tag, in bytes.
const LONGEST_NAME: usize = 100;

pub(crate) fn bounded_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RawJson, D::Error> {
    let json = RawJson::deserialize(deserializer)?;
    match json.as_str().len() {
        0..=LONGEST_DATA => Ok(json),
        length => Err(too_long(length, LONGEST_DATA)),
    }
}

pub(crate) fn optional_bounded_json<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<RawJson>, D::Error> {
    bounded_json(deserializer).map(|json| Some(json).filter(|json| json.as_str() != "null"))
}

/// Reads a name that is not empty.
pub(crate) fn short_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = crate::ids::printable(deserializer)?;
    check_name(&name)?;
    Ok(name)
}

pub(crate) fn check_name<E: serde::de::Error>(name: &str) -> Result<(), E> {
    match name.len() {
        0 => Err(E::custom("an empty name")),
        1..=LONGEST_NAME => Ok(()),
        length => Err(too_long(length, LONGEST_NAME)),
    }
}

pub(crate) fn optional_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let name = Option::<PrintableText>::deserialize(deserializer)?.map(|PrintableText(name)| name);
    name.iter().try_for_each(|name| check_name(name))?;
    Ok(name)
}

pub(crate) fn too_long<E: serde::de::Error>(length: usize, limit: usize) -> E {
    E::custom(format_args!("{length} bytes; the limit is {limit}"))
}

/// A text without control characters.
#[derive(PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub(crate) struct PrintableText(#[serde(deserialize_with = "crate::ids::printable")] pub(crate) String);
