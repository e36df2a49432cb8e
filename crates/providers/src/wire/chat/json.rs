//! Reads fields whose type differs between servers. A field of another type counts as absent, so that it never fails
//! an answer.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::json::JsonText;

/// Reads a value; `None` if it is absent, `null`, or of another type.
pub(super) fn read_lenient<'a, T: Deserialize<'a>>(value: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str::<Option<T>>(value?.get()).ok().flatten()
}

/// Returns a string, or the JSON text of any other value; `None` for `null`.
pub(super) fn text_of(value: &RawValue) -> Option<Cow<'_, str>> {
    match value.get() {
        "null" => None,
        text if text.starts_with('"') => {
            let text: JsonText<'_> = serde_json::from_str(text).ok()?;
            Some(text.into_cow())
        }
        text => Some(Cow::Borrowed(text)),
    }
}

/// Reads a count of tokens.
pub(super) fn count(value: Option<&RawValue>) -> Option<u64> {
    let number = || read_lenient::<f64>(value).filter(|number| (0.0..1e15).contains(number));
    // The range fits into an integer.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    read_lenient(value).or_else(|| number().map(|number| number as u64))
}
