//! The model's context window: rejects requests that do not fit, and computes answers on demand.

use std::fmt;

use serde_json::Value;

use super::{AnswerBlock, RecordedRequest, Scenario, ServerState, TokenCounts, WireFormat};

/// Computes answers to requests without a scenario.
#[derive(Default)]
pub(crate) struct AnswerSource(Option<Box<AnswerFn>>);

type AnswerFn = dyn FnMut(&RecordedRequest) -> Scenario + Send;

impl AnswerSource {
    pub(super) fn new(answer: impl FnMut(&RecordedRequest) -> Scenario + Send + 'static) -> Self {
        Self(Some(Box::new(answer)))
    }
}

impl fmt::Debug for AnswerSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Answers").field(&self.0.is_some()).finish()
    }
}

impl ServerState {
    /// Returns the answer to a valid request, or `None` if no answer is left.
    pub(super) fn next(&mut self, wire: WireFormat, request: &RecordedRequest) -> Option<Scenario> {
        let counted = self.window.map(|window| (window, input_tokens(&request.body)));
        if let Some(refused) =
            counted.and_then(|(window, input)| overflow_refusal(wire, &request.body, input, window))
        {
            self.overflows += 1;
            return Some(refused);
        }
        let made_up = |answers: &mut AnswerSource| answers.0.as_mut().map(|answer| answer(request));
        let scenario = self.scenarios.pop_front().or_else(|| made_up(&mut self.answers))?;
        Some(match counted {
            None => scenario,
            Some((_, input)) => {
                let output = output_tokens(&scenario.blocks);
                scenario.usage(TokenCounts { input, output, cache_read: 0, cache_write: 0 })
            }
        })
    }
}

/// Fields of a request that hold messages, in any of the formats.
const SAID: &[&str] = &["system", "messages", "instructions", "input", "systemInstruction", "contents"];

/// Counts the tokens of a request: tools by their JSON, everything else by its texts.
fn input_tokens(body: &Value) -> u64 {
    let said: usize = SAID.iter().filter_map(|field| body.get(field)).map(text_len).sum();
    let tools = body.get("tools").map_or(0, |tools| tools.to_string().len());
    token_count(said + tools)
}

fn output_tokens(blocks: &[AnswerBlock]) -> u64 {
    let bytes = blocks.iter().map(|block| match block {
        AnswerBlock::Text(text) => text.len(),
        AnswerBlock::Thinking { text, .. } => text.len(),
        AnswerBlock::Tool { name, args, .. } => name.len() + args.len(),
    });
    token_count(bytes.sum())
}

fn text_len(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(text_len).sum(),
        Value::Object(map) => map.values().map(text_len).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Counts a little more than one token for four bytes, like real tokenizers with code.
fn token_count(bytes: usize) -> u64 {
    (bytes as u64 * 11).div_ceil(40)
}

/// Returns the provider's error for a request that, with the requested answer, does not fit the window.
fn overflow_refusal(wire: WireFormat, body: &Value, input: u64, window: u64) -> Option<Scenario> {
    let asked = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
    let answer = asked.iter().find_map(|field| body.get(field)?.as_u64()).unwrap_or(0);
    if input + answer <= window {
        return None;
    }
    Some(match wire {
        WireFormat::Anthropic if input > window => Scenario::status(
            400,
            "invalid_request_error",
            &format!("prompt is too long: {input} tokens > {window} maximum"),
        ),
        WireFormat::Anthropic => Scenario::status(
            400,
            "invalid_request_error",
            &format!(
                "input length and `max_tokens` exceed context limit: {input} + {answer} > {window}, decrease input \
                 length or `max_tokens` and try again"
            ),
        ),
        WireFormat::OpenAiChat => Scenario::status(
            400,
            "context_length_exceeded",
            &format!(
                "This model's maximum context length is {window} tokens. However, you requested {} tokens ({input} in \
                 the messages, {answer} in the completion). Please reduce the length of the messages or completion.",
                input + answer
            ),
        ),
        WireFormat::OpenAiResponses => Scenario::status(
            400,
            "context_length_exceeded",
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
        ),
        WireFormat::Gemini => Scenario::status(
            400,
            "invalid_argument",
            &format!(
                "The input token count ({input}) exceeds the maximum number of tokens allowed ({window})."
            ),
        ),
        WireFormat::Ollama => Scenario::status(400, "", "the input length exceeds the context length"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(wire: WireFormat, body: Value, window: u64, expect: Option<&str>) {
        let mut state = ServerState { window: Some(window), ..ServerState::default() };
        state.scenarios.push_back(Scenario::text("x".repeat(400)));
        let (method, path, headers) = ("POST".to_owned(), String::new(), Vec::new());
        let answer = state.next(wire, &RecordedRequest { method, path, headers, body }).unwrap();
        assert_eq!(state.overflows, usize::from(expect.is_some()));
        match expect {
            Some(words) => assert!(format!("{:?}", answer.fault).contains(words), "{:?}", answer.fault),
            None => {
                assert!(answer.fault.is_none(), "{:?}", answer.fault);
                assert_eq!((answer.tokens.input, answer.tokens.output), (110, 110));
            }
        }
        assert_eq!(
            state.scenarios.len(),
            usize::from(expect.is_some()),
            "a rejected request must not take a scenario"
        );
    }

    #[test]
    fn rejects_overlong_requests_with_provider_message() {
        let said = |field: &str| json!({"model": "m", field: [{"content": [{"text": "x".repeat(400)}]}]});
        let asking = |tokens: u64| {
            let mut body = said("messages");
            body["max_tokens"] = json!(tokens);
            body
        };
        check(WireFormat::Anthropic, asking(90), 200, None);
        check(WireFormat::Anthropic, asking(91), 200, Some("exceed context limit: 110 + 91 > 200"));
        check(WireFormat::Anthropic, asking(1), 109, Some("prompt is too long: 110 tokens > 109 maximum"));
        check(WireFormat::OpenAiChat, said("messages"), 110, None);
        check(WireFormat::OpenAiChat, said("messages"), 109, Some("maximum context length is 109 tokens"));
        check(WireFormat::OpenAiResponses, said("input"), 110, None);
        check(WireFormat::OpenAiResponses, said("input"), 109, Some("context_length_exceeded"));
        check(WireFormat::Gemini, said("contents"), 109, Some("exceeds the maximum number of tokens"));
        check(WireFormat::Ollama, said("messages"), 109, Some("exceeds the context length"));
        let tool = json!([{"text": "x".repeat(400 - 13)}]);
        check(WireFormat::OpenAiChat, json!({ "tools": tool }), 110, None);
    }
}
