//! Converts the conversation to PicoClaw's form and back. A message that a hook leaves unchanged comes back
//! as the original message, with all fields that PicoClaw's form lacks.

use std::collections::HashMap;

use crate::wire::{HookMessage, HookToolCall, MessageEdit};
use haft_protocol::content::{ContentBlock, Image, ImageData, ToolCall as Call, joined_text};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{
    AssistantBlock, AssistantMessage, Message as Own, Rfc3339Time, ToolMessage, text_of, tool_calls_of,
};

/// The prefix of a reference to an image of the conversation; the indices of the message and of the image
/// follow. A reference is used because images are long and hooks send back everything that they receive.
const OWN_IMAGE: &str = "media://message-";

/// Returns the conversation in PicoClaw's form, with the system prompt as its first message.
pub fn to_hook_messages(system: &str, messages: &[Own]) -> Vec<HookMessage> {
    let system = HookMessage {
        role: HookMessage::SYSTEM.to_owned(),
        content: system.to_owned(),
        ..HookMessage::default()
    };
    let messages = messages.iter().enumerate().map(|(place, message)| to_hook_message(place, message));
    std::iter::once(system).chain(messages).collect()
}

fn to_hook_message(place: usize, message: &Own) -> HookMessage {
    match message {
        Own::User { content, time } => HookMessage {
            role: "user".to_owned(),
            content: joined_text(content),
            created_at: time.0.clone(),
            media: image_references(place, content),
            ..HookMessage::default()
        },
        Own::Assistant(message) => HookMessage {
            role: "assistant".to_owned(),
            content: message.text(),
            created_at: message.time.0.clone(),
            reasoning_content: thinking_of(&message.content),
            tool_calls: to_hook_calls(&message.content),
            ..HookMessage::default()
        },
        Own::Tool(message) => HookMessage {
            role: "tool".to_owned(),
            content: joined_text(&message.content),
            created_at: message.time.0.clone(),
            media: image_references(place, &message.content),
            tool_call_id: message.call_id.as_str().to_owned(),
            ..HookMessage::default()
        },
    }
}

/// Returns the thinking of an answer as one text.
pub fn thinking_of(content: &[AssistantBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        AssistantBlock::Thinking { text } => Some(text.as_str()),
        AssistantBlock::Text { .. } | AssistantBlock::ToolCall(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the tool calls of an answer.
pub fn to_hook_calls(content: &[AssistantBlock]) -> Vec<HookToolCall> {
    tool_calls_of(content).map(|call| HookToolCall::new(call.id.as_str(), &call.name, &call.args)).collect()
}

fn image_references(place: usize, content: &[ContentBlock]) -> Vec<String> {
    let images = content.iter().enumerate().filter(|(_, block)| matches!(block, ContentBlock::Image(_)));
    images.map(|(at, _)| format!("{OWN_IMAGE}{place}-{at}")).collect()
}

/// Returns the conversation as a hook changed it. `own` is the original conversation, and `now` is the time
/// of new messages.
///
/// # Errors
/// The mistake in a message; all changes are then discarded.
pub fn apply_edits(edits: Vec<MessageEdit>, own: &[Own], now: &Rfc3339Time) -> Result<Vec<Own>, String> {
    let names: HashMap<&ToolCallId, &ToolMessage> = own.iter().filter_map(as_tool_result).collect();
    let edit = |edit| match edit {
        // The system prompt is not a part of the conversation.
        MessageEdit::Unchanged(place) => {
            let kept = place.checked_sub(1).and_then(|place| own.get(place));
            kept.cloned()
                .ok_or_else(|| "the answer keeps a message that is not in the conversation".to_owned())
        }
        MessageEdit::New(message) => build_message(*message, own, &names, now),
    };
    edits.into_iter().map(edit).collect()
}

fn as_tool_result(message: &Own) -> Option<(&ToolCallId, &ToolMessage)> {
    match message {
        Own::Tool(message) => Some((&message.call_id, message)),
        Own::User { .. } | Own::Assistant(_) => None,
    }
}

fn build_message(
    message: HookMessage,
    own: &[Own],
    results: &HashMap<&ToolCallId, &ToolMessage>,
    now: &Rfc3339Time,
) -> Result<Own, String> {
    let HookMessage { role, content, media, reasoning_content, tool_calls, tool_call_id, .. } = message;
    let time = now.clone();
    match role.as_str() {
        "user" => Ok(Own::User { content: with_media(content, &media, own), time }),
        "assistant" => {
            let mut blocks = Vec::new();
            blocks.extend(thinking_block(reasoning_content));
            blocks.extend(text_block(content));
            for call in tool_calls {
                blocks.push(AssistantBlock::ToolCall(read_call(&call)?));
            }
            Ok(Own::Assistant(AssistantMessage::new(blocks, time)))
        }
        "tool" => {
            let call_id = ToolCallId::new(tool_call_id);
            let before = results.get(&call_id);
            Ok(Own::Tool(
                ToolMessage::new(
                    call_id,
                    before.map_or_else(String::new, |before| before.name.clone()),
                    with_media(content, &media, own),
                    time,
                )
                .with_is_error(before.is_some_and(|before| before.is_error))
                .with_extension(before.and_then(|before| before.extension.clone())),
            ))
        }
        other => {
            let role: String = other.chars().take(40).collect();
            Err(format!("a message has the unknown role {role:?}; the roles are user, assistant and tool"))
        }
    }
}

fn thinking_block(text: String) -> Option<AssistantBlock> {
    (!text.is_empty()).then_some(AssistantBlock::Thinking { text })
}

fn text_block(text: String) -> Option<AssistantBlock> {
    (!text.is_empty()).then_some(AssistantBlock::Text { text })
}

fn read_call(call: &HookToolCall) -> Result<Call, String> {
    let name = call.function.name.clone();
    let args = call.function.read_arguments();
    let args = args.map_err(|error| format!("the call of {name:?} has invalid arguments: {error}"))?;
    Ok(Call { id: ToolCallId::new(call.id.clone()), name, args })
}

fn with_media(text: String, media: &[String], own: &[Own]) -> Vec<ContentBlock> {
    let text =
        Some(ContentBlock::Text { text }).filter(|block| block.as_text() != Some("") || media.is_empty());
    let media = media.iter().map(|reference| match resolve_image(reference, own) {
        Some(image) => ContentBlock::Image(image),
        None => ContentBlock::text(format!("[media: {reference}]")),
    });
    text.into_iter().chain(media).collect()
}

/// Returns an image of the conversation, or an image from a data URL.
fn resolve_image(reference: &str, own: &[Own]) -> Option<Image> {
    let Some(place) = reference.strip_prefix(OWN_IMAGE) else {
        let (mime_type, data) = reference.strip_prefix("data:")?.split_once(";base64,")?;
        return Some(Image { mime_type: mime_type.to_owned(), data: ImageData::from(data.to_owned()) });
    };
    let (message, at) = place.split_once('-')?;
    let content = match own.get(message.parse::<usize>().ok()?)? {
        Own::User { content, .. } => content,
        Own::Tool(message) => &message.content,
        Own::Assistant(_) => return None,
    };
    match content.get(at.parse::<usize>().ok()?)? {
        ContentBlock::Image(image) => Some(image.clone()),
        ContentBlock::Text { .. } => None,
    }
}

/// Returns the blocks of an answer as a hook changed them. Unchanged blocks keep their positions.
///
/// # Errors
/// The mistake in a tool call.
pub fn rebuild_answer(
    own: &[AssistantBlock],
    edited_text: &str,
    reasoning: &str,
    tool_calls: &[HookToolCall],
) -> Result<Vec<AssistantBlock>, String> {
    let mut blocks = Vec::new();
    if edited_text == text_of(own) && reasoning == thinking_of(own) {
        blocks.extend(own.iter().filter(|block| !matches!(block, AssistantBlock::ToolCall(_))).cloned());
    } else {
        blocks.extend(thinking_block(reasoning.to_owned()));
        blocks.extend(text_block(edited_text.to_owned()));
    }
    for call in tool_calls {
        blocks.push(AssistantBlock::ToolCall(read_call(call)?));
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{BeforeLlm, HookQuestion as _, LlmDecision};
    use haft_protocol::RawJson;
    use haft_protocol::message::NativeMessage;

    fn time(text: &str) -> Rfc3339Time {
        Rfc3339Time(text.to_owned())
    }

    /// A user message with an image, an answer with thinking for its provider only, and a result.
    fn conversation() -> Vec<Own> {
        let image = Image { mime_type: "image/png".into(), data: ImageData::from("AAAA".to_owned()) };
        let call = Call {
            id: ToolCallId::new("c1"),
            name: "bash".into(),
            args: RawJson::parse(r#"{"command":"ls"}"#).unwrap(),
        };
        vec![
            Own::User {
                content: vec![ContentBlock::text("look"), ContentBlock::Image(image)],
                time: time("1"),
            },
            Own::Assistant(
                AssistantMessage::new(
                    vec![
                        AssistantBlock::Thinking { text: "hm".into() },
                        AssistantBlock::Text { text: "I look.".into() },
                        AssistantBlock::ToolCall(call),
                    ],
                    time("2"),
                )
                .with_native(NativeMessage::new("p/m", RawJson::empty_object())),
            ),
            Own::Tool(
                ToolMessage::new(ToolCallId::new("c1"), "bash", vec![ContentBlock::text("a.txt")], time("3"))
                    .with_is_error(true),
            ),
        ]
    }

    fn question() -> BeforeLlm {
        BeforeLlm { messages: to_hook_messages("be brief", &conversation()), ..BeforeLlm::default() }
    }

    /// Returns the conversation after these edits of a hook.
    fn decided(messages: &[HookMessage]) -> Result<Option<Vec<Own>>, String> {
        let result = serde_json::json!({"action": "modify", "request": {"messages": messages}});
        let decided = question().decide(&RawJson::from_value(&result).unwrap()).unwrap();
        assert_eq!(decided.reports, Vec::<String>::new());
        let LlmDecision::Modify(edit) = decided.decision else { return Ok(None) };
        edit.messages.map(|edits| apply_edits(edits, &conversation(), &time("now"))).transpose()
    }

    #[test]
    fn converts_conversation_for_hooks() {
        let converted = serde_json::to_string_pretty(&question().messages).unwrap();
        insta::assert_snapshot!(converted, @r#"
        [
          {
            "role": "system",
            "content": "be brief"
          },
          {
            "role": "user",
            "content": "look",
            "created_at": "1",
            "media": [
              "media://message-0-1"
            ]
          },
          {
            "role": "assistant",
            "content": "I look.",
            "created_at": "2",
            "reasoning_content": "hm",
            "tool_calls": [
              {
                "id": "c1",
                "type": "function",
                "function": {
                  "name": "bash",
                  "arguments": "{\"command\":\"ls\"}"
                }
              }
            ]
          },
          {
            "role": "tool",
            "content": "a.txt",
            "created_at": "3",
            "tool_call_id": "c1"
          }
        ]
        "#);
    }

    #[test]
    fn echoed_messages_change_nothing() {
        assert_eq!(decided(&question().messages), Ok(None));
        let without_system = &question().messages[1..];
        assert_eq!(decided(without_system), Ok(None));
    }

    #[test]
    fn keeps_unchanged_messages_and_applies_edits() {
        let mut messages = question().messages;
        messages[1].content = "look again".into();
        messages[3].content = "[redacted]".into();
        messages.push(HookMessage {
            role: "user".into(),
            content: "and then?".into(),
            ..HookMessage::default()
        });
        let own = conversation();
        let edited = decided(&messages).unwrap().unwrap();
        assert_eq!(edited[1], own[1], "with all that only its provider reads");
        let Own::User { content: before, .. } = &own[0] else { panic!() };
        let content = vec![ContentBlock::text("look again"), before[1].clone()];
        assert_eq!(edited[0], Own::User { content, time: time("now") }, "the image is the one it was");
        let Own::Tool(before) = &own[2] else { panic!() };
        let content = vec![ContentBlock::text("[redacted]")];
        let mut redacted = before.clone();
        (redacted.content, redacted.time) = (content, time("now"));
        assert_eq!(edited[2], Own::Tool(redacted));
        assert_eq!(
            edited[3],
            Own::User { content: vec![ContentBlock::text("and then?")], time: time("now") }
        );
    }

    #[test]
    fn rejects_unknown_role() {
        let stranger =
            HookMessage { role: "developer".into(), content: "x".into(), ..HookMessage::default() };
        let error = decided(&[stranger]).unwrap_err();
        assert!(error.contains(r#"the unknown role "developer""#), "{error}");
    }

    #[test]
    fn keeps_unchanged_blocks_of_answer() {
        let Own::Assistant(own) = &conversation()[1] else { panic!() };
        let own_calls = to_hook_calls(&own.content);
        let same = rebuild_answer(&own.content, "I look.", "hm", &own_calls).unwrap();
        assert_eq!(same, own.content);
        let other = rebuild_answer(&own.content, "I look!", "", &[]).unwrap();
        assert_eq!(other, [AssistantBlock::Text { text: "I look!".into() }]);
        let mut call = own_calls[0].clone();
        call.function.arguments = "[]".into();
        assert!(rebuild_answer(&own.content, "", "", &[call]).unwrap_err().contains("bash"));
    }
}
