//! The body of a request, in pieces that are shared between requests.
//!
//! A step of the agent sends the whole conversation again, with a few new messages. The turns that the last request
//! wrote are kept as bytes: comparing their hashes takes a tenth of the time of writing them again, and the bytes are
//! sent without a copy.

use std::hash::{BuildHasher, Hasher};

use bytes::{BufMut, Bytes, BytesMut};
use foldhash::quality::RandomState;
use haft_protocol::message::Message;

use super::{ConversationTurn, WireFormat, WireRequest};

/// The pieces of a request's body, in order. A clone shares them.
#[derive(Debug, Clone)]
pub(crate) struct RequestBody {
    pub(crate) pieces: [Bytes; 3],
}

/// The turns of a conversation as the last request wrote them, except its last turn.
#[derive(Debug, Default)]
pub(crate) struct TurnCache {
    bytes: Bytes,
    turns: Vec<WrittenTurn>,
    /// Differs between processes, so that no server and no user can make two turns with the same hash.
    hashes: RandomState,
}

#[derive(Debug)]
struct WrittenTurn {
    hash: u64,
    /// The end of the turn in the bytes.
    end: usize,
}

impl RequestBody {
    /// Writes a request. Turns that `cache` has are not written again.
    ///
    /// Returns `None` if no turn has content.
    pub(crate) fn write(
        format: &dyn WireFormat,
        request: &WireRequest<'_>,
        origin: &str,
        cache: &mut TurnCache,
    ) -> Option<Self> {
        let mut head = Vec::new();
        format.write_head(request, &mut head);
        let last = cache.update(format, request.messages, origin)?;
        let mut end = Vec::new();
        format.write_last_turn(&last, &mut end);
        let mut turns = cache.bytes.clone();
        // The comma behind the last element.
        match end.pop() {
            Some(_) => {}
            None if turns.is_empty() => return None,
            None => turns.truncate(turns.len() - 1),
        }
        end.extend_from_slice(format.end().as_bytes());
        Some(Self { pieces: [head.into(), turns, end.into()] })
    }

    /// Creates a body that no format wrote.
    pub(crate) fn from_text(text: &str) -> Self {
        Self { pieces: [Bytes::copy_from_slice(text.as_bytes()), Bytes::new(), Bytes::new()] }
    }

    /// Returns the length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }
}

impl TurnCache {
    /// Brings the cache up to date with all turns but the last one, which it returns; `None` without messages.
    fn update<'a>(
        &mut self,
        format: &dyn WireFormat,
        messages: &'a [Message],
        origin: &str,
    ) -> Option<ConversationTurn<'a>> {
        let (mut turn, mut rest) = ConversationTurn::split_first(messages, origin)?;
        let (mut index, mut new) = (0, Vec::new());
        while let Some((next, behind)) = ConversationTurn::split_first(rest, origin) {
            let mut hasher = self.hashes.build_hasher();
            turn.add_to_hash(&mut hasher);
            let unanswered =
                matches!((&turn, &next), (ConversationTurn::Results(_), ConversationTurn::User(_)));
            hasher.write_u8(u8::from(unanswered));
            let hash = hasher.finish();
            if self.turns.get(index).is_none_or(|written| written.hash != hash) {
                self.keep_first(index);
                format.write_turn(&turn, &mut new);
                if unanswered {
                    format.write_unanswered(&mut new);
                }
                self.turns.push(WrittenTurn { hash, end: self.bytes.len() + new.len() });
            }
            index += 1;
            (turn, rest) = (next, behind);
        }
        self.keep_first(index);
        if !new.is_empty() {
            self.append(&new);
        }
        Some(turn)
    }

    /// Forgets all turns but the first `count`. The bytes of new turns are not appended yet.
    fn keep_first(&mut self, count: usize) {
        self.turns.truncate(count);
        self.bytes.truncate(self.turns.last().map_or(0, |turn| turn.end));
    }

    /// Appends bytes in place, unless a request still uses the old ones.
    fn append(&mut self, new: &[u8]) {
        let mut bytes = std::mem::take(&mut self.bytes).try_into_mut().unwrap_or_else(|shared| {
            let mut own = BytesMut::with_capacity(shared.len() + new.len());
            own.put_slice(&shared);
            own
        });
        bytes.put_slice(new);
        self.bytes = bytes.freeze();
    }
}

#[cfg(test)]
#[cfg(feature = "anthropic")]
mod tests {
    use haft_protocol::content::ContentBlock;
    use proptest::prelude::*;

    use super::*;
    use crate::wire::AnthropicMessages;
    use crate::wire::test_support::{
        ORIGIN, assistant_message, call_block, request, result_message, tool, user_message,
    };

    fn user(text: &str) -> Message {
        user_message(vec![ContentBlock::text(text)])
    }

    fn call(id: &str, native: Option<&str>) -> Message {
        assistant_message(vec![call_block(id, "{}")], native)
    }

    fn result(id: &str, text: &str) -> Message {
        result_message(id, vec![ContentBlock::text(text)], false)
    }

    fn write(messages: &[Message], cache: &mut TurnCache) -> Option<String> {
        let tools = [tool()];
        let body = RequestBody::write(&AnthropicMessages, &request(messages, &tools), ORIGIN, cache)?;
        let bytes = body.pieces.concat();
        assert_eq!(bytes.len(), body.len());
        serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).unwrap();
        Some(String::from_utf8(bytes).unwrap())
    }

    fn message() -> impl Strategy<Value = Message> {
        prop_oneof![
            "[a-c ]{0,3}".prop_map(|text| user(&text)),
            ("[ab]", proptest::option::of(Just(r#"["call"]"#))).prop_map(|(id, native)| call(&id, native)),
            ("[ab]", "[a-c]{0,2}").prop_map(|(id, text)| result(&id, &text)),
        ]
    }

    proptest! {
        /// A conversation that grows, shrinks and changes is written like one that is written for the first time.
        #[test]
        fn cached_turns_equal_new_ones(
            conversations in prop::collection::vec((0..8_usize, prop::collection::vec(message(), 0..6)), 1..6),
        ) {
            let mut cache = TurnCache::default();
            let mut messages: Vec<Message> = Vec::new();
            for (kept, new) in conversations {
                messages.truncate(kept);
                messages.extend(new);
                prop_assert_eq!(write(&messages, &mut cache), write(&messages, &mut TurnCache::default()));
            }
        }
    }

    #[test]
    fn same_turns_share_their_bytes() {
        let mut cache = TurnCache::default();
        let mut messages = vec![user("one"), call("a", None), result("a", "two")];
        write(&messages, &mut cache);
        messages.push(user("three"));
        write(&messages, &mut cache);
        assert_eq!(cache.turns.len(), 3);
        let address = cache.bytes.as_ptr();
        write(&messages, &mut cache);
        assert_eq!(cache.bytes.as_ptr(), address);
    }

    #[test]
    fn conversation_without_content_has_no_body() {
        assert_eq!(write(&[user(" ")], &mut TurnCache::default()), None);
        assert_eq!(write(&[], &mut TurnCache::default()), None);
    }
}
