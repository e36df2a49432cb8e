//! Content as front ends show it: images by type and size, without their data.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ContentBlock, Image};

/// A piece of content in events and replies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ShownContent<'a> {
    /// Text.
    Text {
        /// The text.
        text: Cow<'a, str>,
    },
    /// An image, of which only type and size are sent.
    Image {
        /// The MIME type: `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        mime_type: Cow<'a, str>,
        /// The size in bytes, decoded.
        bytes: u64,
    },
}

impl<'a> From<&'a ContentBlock> for ShownContent<'a> {
    fn from(content: &'a ContentBlock) -> Self {
        match content {
            ContentBlock::Text { text } => Self::Text { text: text.into() },
            ContentBlock::Image(image) => {
                Self::Image { mime_type: (&image.mime_type).into(), bytes: decoded_len(&image.data) }
            }
        }
    }
}

impl ShownContent<'_> {
    /// Converts the content to an owned value.
    pub fn into_owned(self) -> ShownContent<'static> {
        match self {
            Self::Text { text } => ShownContent::Text { text: text.into_owned().into() },
            Self::Image { mime_type, bytes } => {
                ShownContent::Image { mime_type: mime_type.into_owned().into(), bytes }
            }
        }
    }
}

/// Content in events, for serde. An image that was read has its type and no data.
pub(crate) mod shown {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        content: &[ContentBlock],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(content.iter().map(ShownContent::from))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<ContentBlock>, D::Error> {
        let content = Vec::<ShownContent<'static>>::deserialize(deserializer)?;
        let block = |shown| match shown {
            ShownContent::Text { text } => ContentBlock::text(text),
            ShownContent::Image { mime_type, .. } => {
                ContentBlock::Image(Image { mime_type: mime_type.into_owned(), data: "".into() })
            }
        };
        Ok(content.into_iter().map(block).collect())
    }
}

/// Returns the number of bytes that a base64 text decodes to.
fn decoded_len(base64: &str) -> u64 {
    (base64.trim_end_matches('=').len() * 3 / 4) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoded_length_of_base64_is_exact() {
        for (text, bytes) in [("", 0), ("YQ==", 1), ("YWI=", 2), ("YWJj", 3), ("YWJjZA==", 4)] {
            assert_eq!(decoded_len(text), bytes, "{text}");
        }
    }
}
