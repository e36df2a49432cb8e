//! Separates thinking from text: servers without support for a model's thinking leave it as a `<think>` block at the
//! beginning of the text.

use crate::wire::{AnswerBuilder, AnswerError};

const OPENING: &str = "<think>";
const CLOSING: &str = "</think>";

/// The longest text that is held back until it is known to be a tag or the end of the thinking.
const MAX_HELD: usize = 1_024;

/// The text and thinking of one answer.
#[derive(Debug, Default)]
pub(super) struct ThinkTags {
    place: TagPlace,
    has_thought: bool,
}

/// The place of the next text.
#[derive(Debug)]
enum TagPlace {
    /// The beginning, with text that may become the opening tag.
    Beginning(String),
    /// In the thinking, with spaces and a beginning of the closing tag; `said` after its first word.
    Thinking { held: String, said: bool },
    /// In the text; `trim` before its first word after thinking.
    Text { trim: bool },
}

impl Default for TagPlace {
    fn default() -> Self {
        Self::Beginning(String::new())
    }
}

impl ThinkTags {
    /// True if the answer has thinking.
    pub(super) fn has_thought(&self) -> bool {
        self.has_thought
    }

    /// Adds thinking that the server has separated. The text then has no tags.
    pub(super) fn add_thinking(&mut self, text: &str, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        if text.is_empty() {
            return Ok(());
        }
        self.finish(answer)?;
        self.push_thinking(text, answer)
    }

    /// Adds text, which may have tags.
    pub(super) fn add_content(
        &mut self,
        content: &str,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        if content.is_empty() {
            return Ok(());
        }
        match std::mem::replace(&mut self.place, TagPlace::Text { trim: false }) {
            TagPlace::Text { trim } => {
                let text = if trim { content.trim_start() } else { content };
                self.place = TagPlace::Text { trim: trim && text.is_empty() };
                answer.add_text(text)
            }
            TagPlace::Beginning(mut held) => {
                held.push_str(content);
                let begun = held.trim_start();
                if let Some(rest) = begun.strip_prefix(OPENING) {
                    self.place = TagPlace::Thinking { held: String::new(), said: false };
                    self.add_content(rest, answer)
                } else if OPENING.starts_with(begun) && held.len() < MAX_HELD {
                    self.place = TagPlace::Beginning(held);
                    Ok(())
                } else {
                    answer.add_text(&held)
                }
            }
            TagPlace::Thinking { mut held, said } => {
                held.push_str(content);
                if let Some((thinking, rest)) = held.split_once(CLOSING) {
                    self.push_thinking(trim_leading(thinking.trim_end(), said), answer)?;
                    self.place = TagPlace::Text { trim: true };
                    return self.add_content(rest, answer);
                }
                let known = held.len() - partial_tag(&held);
                let mut known = held.get(..known).unwrap_or_default();
                if held.len() < MAX_HELD || !said {
                    known = known.trim_end();
                }
                let thinking = trim_leading(known, said);
                self.push_thinking(thinking, answer)?;
                let said = said || !thinking.is_empty();
                let length = known.len();
                let rest = held.split_off(length);
                // Spaces before the first word are not needed.
                let held = if said { rest } else { rest.trim_start().to_owned() };
                self.place = TagPlace::Thinking { held, said };
                Ok(())
            }
        }
    }

    /// Ends the tags: text that was held back has none, and a block without an end is thinking.
    pub(super) fn finish(&mut self, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        match std::mem::replace(&mut self.place, TagPlace::Text { trim: false }) {
            TagPlace::Beginning(held) => answer.add_text(&held),
            TagPlace::Thinking { held, said } => {
                self.push_thinking(trim_leading(held.trim_end(), said), answer)
            }
            TagPlace::Text { .. } => Ok(()),
        }
    }

    fn push_thinking(&mut self, text: &str, answer: &mut AnswerBuilder) -> Result<(), AnswerError> {
        self.has_thought |= !text.is_empty();
        answer.add_thinking(text)
    }
}

/// Returns the text without spaces before its first word.
fn trim_leading(text: &str, said: bool) -> &str {
    if said { text } else { text.trim_start() }
}

/// Returns the length of the closing tag's beginning at the end of the text.
fn partial_tag(text: &str) -> usize {
    let begun =
        (1..CLOSING.len()).rev().find(|&length| CLOSING.get(..length).is_some_and(|tag| text.ends_with(tag)));
    begun.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use haft_protocol::message::AssistantBlock;

    use super::*;

    /// Reads the content in pieces of each size. Thinking is written in brackets.
    #[track_caller]
    fn check(content: &str, expect: &str) {
        let characters: Vec<char> = content.chars().collect();
        for size in [1, 3, 7, characters.len()] {
            let (mut tags, mut answer) = (ThinkTags::default(), AnswerBuilder::default());
            for piece in characters.chunks(size) {
                tags.add_content(&piece.iter().collect::<String>(), &mut answer).unwrap();
            }
            tags.finish(&mut answer).unwrap();
            let blocks = answer.take_blocks().into_iter().map(|block| match block {
                AssistantBlock::Thinking { text } => format!("[{text}]"),
                AssistantBlock::Text { text } => text,
                AssistantBlock::ToolCall(_) => unreachable!("no call was added"),
            });
            assert_eq!(blocks.collect::<String>(), expect, "{content:?} in pieces of {size}");
        }
    }

    #[test]
    fn thinking_at_the_beginning_is_separated() {
        check("<think>private</think>\n\nThe answer.", "[private]The answer.");
        check("\n <think>\nprivate\n</think>\nThe answer.", "[private]The answer.");
        check("<think>one\n\ntwo</think>done", "[one\n\ntwo]done");
        check("<think>never closed", "[never closed]");
        check("<think>\n\n</think>\n\nThe answer.", "The answer.");
        check("<think>a </th b</think>c", "[a </th b]c");
    }

    #[test]
    fn other_text_is_unchanged() {
        for content in
            ["An answer.", "private\n</think>\n\nAn answer.", "Use <think>x</think>.", "<thin ice", "\n x"]
        {
            check(content, content);
        }
    }

    #[test]
    fn text_held_back_is_limited() {
        let (mut tags, mut answer) = (ThinkTags::default(), AnswerBuilder::default());
        for _ in 0..10 * MAX_HELD {
            tags.add_content(" ", &mut answer).unwrap();
        }
        assert!(answer.next_event().is_some(), "spaces are text");
        let mut tags = ThinkTags::default();
        tags.add_content("<think>x", &mut answer).unwrap();
        for _ in 0..10 * MAX_HELD {
            tags.add_content(" ", &mut answer).unwrap();
        }
        assert!(matches!(&tags.place, TagPlace::Thinking { held, .. } if held.len() <= MAX_HELD));
    }
}
