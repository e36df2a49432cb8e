//! JSON pointers: the path of a value in messages, and the target of a `$ref`.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

/// The path of a value. A walk creates each part on its stack, so that only a message allocates.
#[derive(Clone, Copy)]
pub(super) enum ValuePath<'a> {
    /// A pointer to the value at which the walk started.
    Root(&'a str),
    Name(&'a ValuePath<'a>, &'a str),
    Index(&'a ValuePath<'a>, usize),
}

impl fmt::Display for ValuePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Root(pointer) => f.write_str(pointer),
            Self::Name(parent, name) => write!(f, "{parent}/{}", name.replace('~', "~0").replace('/', "~1")),
            Self::Index(parent, index) => write!(f, "{parent}/{index}"),
        }
    }
}

/// Returns the part of a schema to which a `$ref` refers, or `None` if the reference is not a path inside the schema.
pub(super) fn resolve_ref<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(&percent_decoded(reference.strip_prefix('#')?))
}

/// Decodes a reference, which is part of a URL; for example, a space is `%20`.
fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return text.into();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = match (first, behind.get(..2).map(std::str::from_utf8)) {
            (b'%', Some(Ok(digits))) => u8::from_str_radix(digits, 16).ok(),
            _ => None,
        };
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { behind.get(2..).unwrap_or_default() } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned().into()
}
