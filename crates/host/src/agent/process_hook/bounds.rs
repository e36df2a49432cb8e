//! Limits of the texts of a hook. A line of a hook may have megabytes, and what is taken from it stays in the
//! conversation: every later request would hold it, and every other hook be asked about it.

use haft_core::tool::ToolOutput;
use haft_protocol::content::joined_text;
use haft_protocol::ext::Limits;
use haft_protocol::hook::{HookToolCall, LlmResponse, ToolDecision};
use haft_protocol::limits::{MAX_LINE, MAX_NAME};

/// Why a hook refuses or ends something, in bytes.
const REASON: usize = 4 * 1024;

/// An answer of the model as a hook changed it, in bytes: far more than models write at once.
const ANSWER: usize = 256 * 1024;

/// The name of a tool, in bytes. Nobody has one as long as this; it is in what the model and people are told.
const NAME: usize = 4 * MAX_NAME;

/// The bytes that a changed result may have beyond the result itself: a word that is taken out leaves a mark.
const MARKS: usize = 16 * 1024;

const MORE_LINES: usize = 500;

/// Why it refuses or ends something, as far as there is room for that.
pub(super) fn reason(text: &str) -> String {
    shorten(text, REASON)
}

/// A text of at most so many bytes, and what is said of the rest.
pub(super) fn shorten(text: &str, most: usize) -> String {
    let (kept, rest) = text.split_at(text.floor_char_boundary(most));
    if rest.is_empty() {
        return kept.to_owned();
    }
    format!("{kept} [cut: {} bytes left out; at most {most} are taken]", rest.len())
}

/// Returns the part of this decision that is too long to be taken, fit for people. Arguments cannot be cut: they would
/// be others. `own` is how long those of the call are.
pub(super) fn find_oversized(decision: &ToolDecision, own: usize) -> Option<String> {
    let ToolDecision::Modify { tool, arguments } = decision else { return None };
    let over = |key: &str, bytes: usize, most: usize| {
        (bytes > most).then(|| format!("its {key:?} has {bytes} bytes; at most {most} are taken"))
    };
    let arguments = arguments.as_ref().map_or(0, |arguments| arguments.as_str().len());
    over("arguments", arguments, MAX_LINE.max(own))
        .or_else(|| over("tool", tool.as_ref().map_or(0, String::len), NAME))
}

/// Cuts a changed answer down to what there is room for, which is never less than the model itself wrote; what was too
/// long. Calls whose arguments are too long are left out: cut they would be others, and as they were the hook did not want
/// them.
pub(super) fn truncate_answer(answer: &mut LlmResponse, own: &LlmResponse) -> Option<String> {
    let mut cut = None;
    let texts = [
        ("content", &mut answer.content, &own.content),
        ("reasoning_content", &mut answer.reasoning_content, &own.reasoning_content),
    ];
    for (key, text, own) in texts {
        let most = own.len().max(ANSWER);
        if text.len() > most {
            cut = Some(format!("its {key:?} has {} bytes and was cut; at most {most} are taken", text.len()));
            *text = shorten(text, most);
        }
    }
    let before = answer.tool_calls.len();
    let most = own.tool_calls.iter().map(size).max().unwrap_or_default().max(MAX_LINE);
    answer.tool_calls.retain(|call| size(call) <= most);
    let lost = before - answer.tool_calls.len();
    if lost > 0 {
        cut = Some(format!("{lost} of its \"tool_calls\" have more than {most} bytes and were left out"));
    }
    cut
}

fn size(call: &HookToolCall) -> usize {
    call.function.name.len() + call.function.arguments.len()
}

/// Returns the limits of a result that a hook gives: what came of a tool may come back with a word changed, however
/// long haft's own tools let it be.
pub(super) fn result_limits(limits: Limits, own: Option<&ToolOutput>) -> Limits {
    let Some(own) = own else { return limits };
    let text = joined_text(&own.content);
    let images = own.content.iter().filter(|block| block.as_text().is_none()).count();
    Limits {
        max_result_text: limits.max_result_text.max(text.len() + MARKS),
        max_result_lines: limits.max_result_lines.max(text.lines().count() + MORE_LINES),
        max_images: limits.max_images.max(images),
        ..limits
    }
}

pub(super) fn shorten_for_user(text: &str, limits: Limits, own: Option<&ToolOutput>) -> String {
    let own = own.and_then(|own| own.display.as_ref()).map_or(0, |display| display.text.len());
    shorten(text, limits.max_result_text.max(own))
}

#[cfg(test)]
mod tests {
    use haft_protocol::RawJson;

    use super::*;

    #[test]
    fn what_is_cut_says_so_and_stays_text() {
        assert_eq!(shorten("abc", 3), "abc");
        assert_eq!(shorten("abcd", 3), "abc [cut: 1 bytes left out; at most 3 are taken]");
        assert_eq!(shorten("aé", 2), "a [cut: 2 bytes left out; at most 2 are taken]");
        assert!(reason(&"x".repeat(8 << 20)).len() < REASON + 100);
    }

    #[track_caller]
    fn check(tool: Option<usize>, arguments: usize, expect: Option<&str>) {
        let arguments = RawJson::parse(&format!(r#"{{"a":"{}"}}"#, "x".repeat(arguments - 8))).unwrap();
        let tool = tool.map(|bytes| "x".repeat(bytes));
        let detail = find_oversized(&ToolDecision::Modify { tool, arguments: Some(arguments) }, 2);
        assert_eq!(detail.as_deref(), expect);
    }

    #[test]
    fn arguments_and_names_have_a_size() {
        check(None, MAX_LINE, None);
        check(Some(NAME), 10, None);
        check(None, MAX_LINE + 1, Some(r#"its "arguments" has 1048577 bytes; at most 1048576 are taken"#));
        check(Some(NAME + 1), 10, Some(r#"its "tool" has 257 bytes; at most 256 are taken"#));
        assert_eq!(find_oversized(&ToolDecision::Continue, 2), None);
    }

    #[test]
    fn an_answer_is_never_cut_below_what_the_model_wrote() {
        let said = |bytes: usize| LlmResponse { content: "x".repeat(bytes), ..LlmResponse::default() };
        let mut whole = said(ANSWER + 7);
        assert_eq!(truncate_answer(&mut whole, &said(ANSWER + 7)), None);
        assert_eq!(whole, said(ANSWER + 7));
        let mut long = said(ANSWER + 7);
        let detail = truncate_answer(&mut long, &said(1)).unwrap();
        assert_eq!(detail, r#"its "content" has 262151 bytes and was cut; at most 262144 are taken"#);
        assert!(long.content.ends_with("x [cut: 7 bytes left out; at most 262144 are taken]"));
    }
}
