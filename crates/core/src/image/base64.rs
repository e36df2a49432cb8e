//! Base64 that is looked at and not decoded: an image goes to a model as it came.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::ImageError;

/// How many bytes a text stands for at most.
pub(super) fn most(text: &str) -> usize {
    base64::decoded_len_estimate(text.len())
}

/// How many bytes a text stands for.
///
/// # Errors
/// What keeps it from being standard base64.
pub(super) fn length(text: &str) -> Result<usize, ImageError> {
    // All that is special about a text is in its last group: padding, and bits that must be zero.
    let (groups, last) = text.as_bytes().split_at(text.len().saturating_sub(4));
    if groups.len() % 4 == 0
        && is_plain(groups)
        && let Ok(last) = STANDARD.decode(last)
    {
        return Ok(groups.len() / 4 * 3 + last.len());
    }
    // Says what is wrong with it.
    decode(text).map(|bytes| bytes.len())
}

/// The bytes themselves.
///
/// # Errors
/// As [`length`].
pub(super) fn decode(text: &str) -> Result<Vec<u8>, ImageError> {
    STANDARD.decode(text).map_err(|error| ImageError::NotBase64 { detail: error.to_string() })
}

/// Whether there are only characters of the alphabet. Without an early end in a chunk, so that many are compared at
/// once.
fn is_plain(text: &[u8]) -> bool {
    text.chunks(CHUNK).all(|chunk| {
        chunk.iter().fold(true, |plain, &byte| {
            let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
            let digit = byte.wrapping_sub(b'0') < 10;
            plain & (letter | digit | (byte == b'+') | (byte == b'/'))
        })
    })
}

/// How much is compared at once.
const CHUNK: usize = 1024;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_byte_is_in_the_alphabet_or_not() {
        for byte in 0..=127_u8 {
            let text = format!("AAA{}AAAA", char::from(byte));
            let expect = STANDARD.decode(&text).is_ok();
            assert_eq!(length(&text).is_ok(), expect, "{text:?}");
            assert_eq!(is_plain(&[byte]), expect, "{text:?}");
        }
        assert!((128..=255_u8).all(|byte| !is_plain(&[byte])));
    }

    proptest! {
        #[test]
        fn it_is_what_decoding_gives(text in "[A-Za-z0-9+/=\n_é-]{0,12}|[A-Za-z0-9+/]{0,12}={0,3}|([AQ+/]{4}){400}[AQ=]{4}") {
            prop_assert_eq!(length(&text), decode(&text).map(|bytes| bytes.len()));
        }
    }
}
