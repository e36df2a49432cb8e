//! The hook after an answer of the model for one extension.

use async_trait::async_trait;
use haft_core::hooks::{AfterModelResponse, ReceivedResponse, ResponseDecision};
use haft_core::model::ModelId;
use haft_protocol::ext::{InterceptKind, InterceptMessageEnd, MessageEndDecision};
use haft_protocol::limits::MAX_LINE;
use haft_protocol::message::AssistantBlock;
use haft_protocol::text::truncate_text;
use tokio_util::sync::CancellationToken;

use super::context::{check_calls, clean_blocks};
use super::refuse_turn;
use crate::agent::managed_extension::ManagedExtension;

/// The limit of a text that a hook wrote, in bytes: much more than models write at once. Every later request
/// has the text again.
const MAX_TEXT: usize = 256 * 1024;

#[async_trait]
impl AfterModelResponse for ManagedExtension {
    async fn after_model_response(
        &self,
        cancel: &CancellationToken,
        response: &ReceivedResponse,
    ) -> ResponseDecision {
        let ModelId { provider, model } = response.model.clone();
        let question = InterceptMessageEnd {
            step: response.step,
            provider,
            model,
            content: response.content.clone(),
            stop: response.stop,
            usage: response.usage,
        };
        let content = match self.query(cancel, question).await {
            Ok(MessageEndDecision::Unchanged) | Err(_) => return ResponseDecision::Keep,
            Ok(MessageEndDecision::Replace { content }) => content,
            Ok(MessageEndDecision::Stop(stop)) => {
                return ResponseDecision::Refuse(refuse_turn(Self::name(self), stop));
            }
        };
        match read_answer(content, &response.content) {
            Ok(CleanedAnswer { content, hidden, cut }) => {
                if let Some(detail) = cut {
                    self.report_mistake(InterceptKind::MessageEnd, &detail);
                }
                if let Some(extension) = self.handle() {
                    extension.reporter().report_hidden_text(hidden, "a changed answer");
                }
                ResponseDecision::Edit { content }
            }
            Err(detail) => {
                let detail = format!("{detail}; the answer was not changed");
                self.report_mistake(InterceptKind::MessageEnd, &detail);
                ResponseDecision::Keep
            }
        }
    }

    /// A native extension may redact answers. A process hook suppresses deltas only if it intercepts answers.
    fn suppresses_deltas(&self) -> bool {
        self.spec.as_hook().is_none_or(|configured| configured.dialect.suppresses_deltas())
    }

    fn name(&self) -> &str {
        Self::name(self).as_str()
    }
}

/// A changed answer.
#[derive(Debug, PartialEq)]
struct CleanedAnswer {
    content: Vec<AssistantBlock>,
    /// The number of invisible characters that were removed.
    hidden: usize,
    /// A message about what was too long.
    cut: Option<String>,
}

/// Reads the blocks of an answer. The model's own blocks may contain anything; the others are cleaned and
/// shortened. Fails if a model could not read the answer.
fn read_answer(content: Vec<AssistantBlock>, own: &[AssistantBlock]) -> Result<CleanedAnswer, String> {
    if content != own {
        check_calls(&content)?;
    }
    let mut read = CleanedAnswer { content: Vec::with_capacity(content.len()), hidden: 0, cut: None };
    for mut block in content {
        if !own.contains(&block) {
            clean_blocks(std::slice::from_mut(&mut block), &mut read.hidden)?;
            match shorten_block(&mut block, own) {
                BlockLength::Fits => {}
                BlockLength::Shortened(detail) => read.cut = Some(detail),
                BlockLength::TooLong(detail) => {
                    read.cut = Some(detail);
                    continue;
                }
            }
        }
        read.content.push(block);
    }
    Ok(read)
}

enum BlockLength {
    Fits,
    Shortened(String),
    /// The block must be left out: shortened arguments would be others.
    TooLong(String),
}

/// Shortens a text to its limit, or to the length of the model's longest block if that is longer.
fn shorten_block(block: &mut AssistantBlock, own: &[AssistantBlock]) -> BlockLength {
    let longest = own.iter().map(block_bytes).max().unwrap_or_default();
    let bytes = block_bytes(block);
    match block {
        AssistantBlock::Text { text } | AssistantBlock::Thinking { text } => {
            let limit = MAX_TEXT.max(longest);
            if bytes <= limit {
                return BlockLength::Fits;
            }
            *text = truncate_text(text, limit);
            BlockLength::Shortened(format!(
                "a text has {bytes} bytes and was truncated; the limit is {limit}"
            ))
        }
        AssistantBlock::ToolCall(_) => {
            let limit = MAX_LINE.max(longest);
            match bytes <= limit {
                true => BlockLength::Fits,
                false => BlockLength::TooLong(format!(
                    "a tool call has {bytes} bytes and was dropped; the limit is {limit}"
                )),
            }
        }
    }
}

fn block_bytes(block: &AssistantBlock) -> usize {
    match block {
        AssistantBlock::Text { text } | AssistantBlock::Thinking { text } => text.len(),
        AssistantBlock::ToolCall(call) => call.name.len() + call.args.as_str().len(),
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::RawJson;
    use haft_protocol::content::ToolCall;
    use haft_protocol::ids::ToolCallId;

    use super::*;

    fn text(text: impl Into<String>) -> AssistantBlock {
        AssistantBlock::Text { text: text.into() }
    }

    fn call(id: &str, bytes: usize) -> AssistantBlock {
        let args = RawJson::parse(&format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes))).unwrap();
        AssistantBlock::ToolCall(ToolCall { id: ToolCallId::new(id), name: "bash".into(), args })
    }

    #[test]
    fn changed_blocks_are_cleaned_and_shortened() {
        let own = [text("h\u{e0041}m"), call("c1", 1)];
        let changed = vec![own[0].clone(), text("a\u{e0041}b"), own[1].clone(), call("c2", 2)];
        let read = read_answer(changed, &own).unwrap();
        let content = vec![own[0].clone(), text("ab"), own[1].clone(), call("c2", 2)];
        assert_eq!(read, CleanedAnswer { content, hidden: 1, cut: None });
        let long = vec![text("x".repeat(MAX_TEXT + 7)), call("c1", MAX_LINE)];
        let CleanedAnswer { content, cut, .. } = read_answer(long, &own).unwrap();
        let [AssistantBlock::Text { text: cut_text }] = &content[..] else { panic!("{}", content.len()) };
        assert!(cut_text.ends_with("x [truncated: 7 bytes omitted; the limit is 262144]"));
        assert_eq!(cut.unwrap(), "a tool call has 1048588 bytes and was dropped; the limit is 1048576");
        let own = [text("x".repeat(MAX_TEXT + 8))];
        assert_eq!(read_answer(vec![text("y".repeat(MAX_TEXT + 7))], &own).unwrap().cut, None);
    }

    #[test]
    fn calls_with_the_same_id_are_rejected() {
        let own = [call("c1", 1)];
        let twice = read_answer(vec![call("c1", 1), call("c1", 2)], &own).unwrap_err();
        assert_eq!(twice, "two tool calls have the id \"c1\"");
        let odd = [call("c1", 1), call("c1", 2)];
        assert!(read_answer(odd.to_vec(), &odd).is_ok(), "the answer of the model itself");
    }
}
