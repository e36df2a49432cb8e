//! The body of a `tags` entry: a change of the tags of a session.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// A change of the session's tags. [`fold_tags`](super::fold_tags) applies the changes of a session in order.
///
/// Written as a map, for example `"tags":{"ticket":"HA-7","urgent":"","old":null}`. The reader also accepts a list of
/// words, which earlier builds wrote as the complete tags: the list replaces all earlier tags, and each word becomes a
/// key with an empty value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "TagsLine")]
#[non_exhaustive]
pub struct Tags {
    /// The changed tags by key: `Some` sets the value, which may be empty, and `None` removes the tag. Other tags stay.
    pub tags: BTreeMap<String, Option<String>>,
    /// True if the entry first removes all earlier tags.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
}

impl Tags {
    /// Creates an entry that changes these tags.
    pub fn new(tags: BTreeMap<String, Option<String>>) -> Self {
        Self { tags, replace: false }
    }

    /// Applies the change to the tags of the entries before it.
    pub fn apply_to(&self, tags: &mut BTreeMap<String, String>) {
        if self.replace {
            tags.clear();
        }
        for (key, value) in &self.tags {
            match value {
                Some(value) => drop(tags.insert(key.clone(), value.clone())),
                None => drop(tags.remove(key)),
            }
        }
    }

    /// Sets [`replace`](Self::replace).
    #[must_use]
    pub fn with_replace(self, replace: bool) -> Self {
        Self { replace, ..self }
    }
}

/// Returns a tag as people read and write it: `key`, or `key=value` if there is a value.
pub fn tag_text(key: &str, value: &str) -> String {
    if value.is_empty() { key.to_owned() } else { format!("{key}={value}") }
}

/// The fields of a `tags` line, in either form.
#[derive(Deserialize)]
struct TagsLine {
    tags: TagsField,
    #[serde(default)]
    replace: bool,
}

impl From<TagsLine> for Tags {
    fn from(TagsLine { tags, replace }: TagsLine) -> Self {
        match tags {
            TagsField::Map(tags) => Self { tags, replace },
            TagsField::List(words) => {
                let tags = words.into_iter().map(|word| (word, Some(String::new()))).collect();
                Self { tags, replace: true }
            }
        }
    }
}

enum TagsField {
    Map(BTreeMap<String, Option<String>>),
    /// The form of earlier builds: the words are all tags of the session.
    List(Vec<String>),
}

impl<'de> Deserialize<'de> for TagsField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TagsVisitor)
    }
}

struct TagsVisitor;

impl<'de> Visitor<'de> for TagsVisitor {
    type Value = TagsField;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of tags or a list of words")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
        BTreeMap::deserialize(MapAccessDeserializer::new(fields)).map(TagsField::Map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(items)).map(TagsField::List)
    }
}
