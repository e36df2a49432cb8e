//! Limits of the texts of a hook. A line of a hook may have megabytes. Texts that are used stay in the
//! conversation, so every later request and every other hook would receive them.

use crate::wire::{HookToolCall, LlmResponse, ToolDecision};
use haft_protocol::limits::{MAX_LINE, MAX_NAME};
use haft_protocol::text::truncate_text;

/// The limit of a reason to refuse or end something, in bytes.
const MAX_REASON: usize = 4 * 1024;

/// The limit of a model answer that a hook changed, in bytes: much more than models write at once.
const MAX_ANSWER: usize = 256 * 1024;

/// The limit of a tool name, in bytes. Real names are shorter; the name is shown to the model and to people.
const MAX_TOOL_NAME: usize = 4 * MAX_NAME;

/// Returns the reason, truncated to its limit.
pub fn shorten_reason(text: &str) -> String {
    truncate_text(text, MAX_REASON)
}

/// Returns a message about the part of this decision that exceeds its limit. Arguments are not truncated,
/// because that changes their meaning. `own` is the length of the arguments of the call.
pub fn find_oversized(decision: &ToolDecision, own: usize) -> Option<String> {
    let ToolDecision::Modify { tool, arguments } = decision else { return None };
    let check_size = |key: &str, bytes: usize, limit: usize| {
        (bytes > limit).then(|| format!("the field {key:?} has {bytes} bytes; the limit is {limit}"))
    };
    let arguments = arguments.as_ref().map_or(0, |arguments| arguments.as_str().len());
    check_size("arguments", arguments, MAX_LINE.max(own))
        .or_else(|| check_size("tool", tool.as_ref().map_or(0, String::len), MAX_TOOL_NAME))
}

/// Truncates a changed answer to the limit, or to the length of the model's own answer if that is longer.
/// Returns a message about the truncation. Calls with arguments that are too long are dropped: truncated
/// arguments are wrong, and the hook rejected the original ones.
pub fn truncate_answer(answer: &mut LlmResponse, own: &LlmResponse) -> Option<String> {
    let mut cut = None;
    let texts = [
        ("content", &mut answer.content, &own.content),
        ("reasoning_content", &mut answer.reasoning_content, &own.reasoning_content),
    ];
    for (key, text, own) in texts {
        let limit = own.len().max(MAX_ANSWER);
        if text.len() > limit {
            cut = Some(format!(
                "the field {key:?} has {} bytes and was truncated; the limit is {limit}",
                text.len()
            ));
            *text = truncate_text(text, limit);
        }
    }
    let before = answer.tool_calls.len();
    let limit = own.tool_calls.iter().map(size).max().unwrap_or_default().max(MAX_LINE);
    answer.tool_calls.retain(|call| size(call) <= limit);
    let lost = before - answer.tool_calls.len();
    if lost > 0 {
        cut = Some(format!("{lost} of the \"tool_calls\" have more than {limit} bytes and were dropped"));
    }
    cut
}

fn size(call: &HookToolCall) -> usize {
    call.function.name.len() + call.function.arguments.len()
}

#[cfg(test)]
mod tests {
    use haft_protocol::RawJson;

    use super::*;

    #[test]
    fn reason_is_truncated_to_its_limit() {
        assert!(shorten_reason(&"x".repeat(8 << 20)).len() < MAX_REASON + 100);
    }

    #[track_caller]
    fn check(tool: Option<usize>, arguments: usize, expect: Option<&str>) {
        let arguments = RawJson::parse(&format!(r#"{{"a":"{}"}}"#, "x".repeat(arguments - 8))).unwrap();
        let tool = tool.map(|bytes| "x".repeat(bytes));
        let detail = find_oversized(&ToolDecision::Modify { tool, arguments: Some(arguments) }, 2);
        assert_eq!(detail.as_deref(), expect);
    }

    #[test]
    fn finds_oversized_arguments_and_names() {
        check(None, MAX_LINE, None);
        check(Some(MAX_TOOL_NAME), 10, None);
        check(None, MAX_LINE + 1, Some(r#"the field "arguments" has 1048577 bytes; the limit is 1048576"#));
        check(Some(MAX_TOOL_NAME + 1), 10, Some(r#"the field "tool" has 257 bytes; the limit is 256"#));
        assert_eq!(find_oversized(&ToolDecision::Continue, 2), None);
    }

    #[test]
    fn truncation_keeps_length_of_model_answer() {
        let answer_of = |bytes: usize| LlmResponse { content: "x".repeat(bytes), ..LlmResponse::default() };
        let mut whole = answer_of(MAX_ANSWER + 7);
        assert_eq!(truncate_answer(&mut whole, &answer_of(MAX_ANSWER + 7)), None);
        assert_eq!(whole, answer_of(MAX_ANSWER + 7));
        let mut long = answer_of(MAX_ANSWER + 7);
        let detail = truncate_answer(&mut long, &answer_of(1)).unwrap();
        assert_eq!(detail, r#"the field "content" has 262151 bytes and was truncated; the limit is 262144"#);
        assert!(long.content.ends_with("x [truncated: 7 bytes omitted; the limit is 262144]"));
    }
}
