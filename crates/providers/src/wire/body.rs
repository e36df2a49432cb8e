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
        let mut same = 0;
        let mut new: Option<Vec<u8>> = None;
        while let Some((next, behind)) = ConversationTurn::split_first(rest, origin) {
            let mut hasher = self.hashes.build_hasher();
            turn.add_to_hash(&mut hasher);
            let unanswered =
                matches!((&turn, &next), (ConversationTurn::Results(_), ConversationTurn::User(_)));
            hasher.write_u8(u8::from(unanswered));
            let hash = hasher.finish();
            if new.is_none() && self.turns.get(same).is_some_and(|written| written.hash == hash) {
                same += 1;
            } else {
                let kept =
                    same.checked_sub(1).and_then(|last| self.turns.get(last)).map_or(0, |turn| turn.end);
                let out = new.get_or_insert_with(|| {
                    self.turns.truncate(same);
                    self.bytes.truncate(kept);
                    Vec::new()
                });
                format.write_turn(&turn, out);
                if unanswered {
                    format.write_unanswered(out);
                }
                self.turns.push(WrittenTurn { hash, end: self.bytes.len() + out.len() });
            }
            (turn, rest) = (next, behind);
        }
        let end = same.checked_sub(1).and_then(|last| self.turns.get(last)).map_or(0, |turn| turn.end);
        match new {
            Some(new) => self.append(&new),
            None => {
                self.turns.truncate(same);
                self.bytes.truncate(end);
            }
        }
        Some(turn)
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
mod tests {
    use std::sync::Arc;

    use haft_core::tool::ToolSpec;
    use haft_protocol::RawJson;
    use haft_protocol::content::{ContentBlock, ToolCall};
    use haft_protocol::ids::ToolCallId;
    use haft_protocol::message::{AssistantBlock, AssistantMessage, NativeMessage, Rfc3339Time, ToolMessage};
    use proptest::prelude::*;

    use super::*;
    use crate::wire::{AnthropicMessages, ModelQuirks};

    const ORIGIN: &str = "anthropic/m";

    fn time() -> Rfc3339Time {
        Rfc3339Time("2026-01-01T00:00:00Z".into())
    }

    fn user(text: &str) -> Message {
        Message::User { content: vec![ContentBlock::text(text)], time: time() }
    }

    fn call(id: &str, native: Option<&str>) -> Message {
        let called = ToolCall { id: ToolCallId::new(id), name: "read".into(), args: RawJson::empty_object() };
        let native =
            native.map(|data| NativeMessage { origin: ORIGIN.into(), data: RawJson::parse(data).unwrap() });
        Message::Assistant(AssistantMessage {
            content: vec![AssistantBlock::ToolCall(called)],
            time: time(),
            native,
        })
    }

    fn result(id: &str, text: &str) -> Message {
        Message::Tool(ToolMessage {
            call_id: ToolCallId::new(id),
            name: "read".into(),
            content: vec![ContentBlock::text(text)],
            is_error: false,
            extension: None,
            details: None,
            time: time(),
        })
    }

    fn write(messages: &[Message], cache: &mut TurnCache) -> Option<String> {
        let tools = [Arc::new(ToolSpec::new("read", "Reads."))];
        let request = WireRequest {
            model: "m",
            system: "Be brief.",
            messages,
            tools: &tools,
            max_tokens: Some(100),
            temperature: None,
            thinking: None,
            window: None,
            quirks: ModelQuirks::default(),
        };
        let body = RequestBody::write(&AnthropicMessages, &request, ORIGIN, cache)?;
        let bytes: Vec<u8> = body.pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
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
