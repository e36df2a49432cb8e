//! `before_agent_start`: an extension adds a section to the system prompt, and messages to the
//! conversation, before the agent works on a prompt.
//!
//! ```json
//! {"type":"event_intercept","id":"4","event":"before_agent_start","prompt":"weather?","system_prompt":"You are …"}
//! {"type":"event_intercept_response","id":"4","append_system_prompt":"Ask `weather` before you guess."}
//! {"type":"event_intercept_response","id":"4","messages":[{"kind":"place","content":"It is in Oslo.","display":false}]}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind, read_field, write_field};
use crate::bounded::{optional_bounded_json, short_name};
use crate::content::Image;
use crate::ext::answer_error::AnswerError;
use crate::ids::RequestId;
use crate::json::RawJson;
use crate::limits::MAX_MESSAGE_TEXT;
use crate::read::null_is_default;

/// The maximum number of messages in one answer to `before_agent_start`.
pub const MAX_START_MESSAGES: usize = 16;

/// Before the agent works on a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptBeforeAgentStart {
    /// The user's prompt.
    pub prompt: String,
    /// The current system prompt, including sections of earlier extensions.
    pub system_prompt: String,
}

/// The additions to the system prompt and to the conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BeforeAgentStartDecision {
    /// A section for the system prompt, added under the extension's name. Empty adds none.
    pub section: String,
    /// The whole prompt, as newer zot extensions send it: the original prompt, followed by the
    /// addition. haft appends the part after the original prompt, unless there is a section.
    pub system_prompt: Option<String>,
    /// Messages that follow the prompt, at most [`MAX_START_MESSAGES`]. A run that resumes an earlier
    /// prompt adds none.
    pub messages: Vec<StartMessage>,
}

/// A message that an extension adds after a prompt: the fields of `send_message`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartMessage {
    /// The kind, defined by the extension: 1 to 100 bytes.
    #[serde(deserialize_with = "short_name")]
    pub kind: String,
    /// The text, at most 64 KiB; can be empty if there are images. The model reads it as a user
    /// message.
    pub content: String,
    /// Images for the model.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// True if the person sees the message.
    pub display: bool,
    /// Data for programs, which the model does not see: any JSON value of at most 256 KiB.
    #[serde(default, deserialize_with = "optional_bounded_json", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub details: Option<RawJson>,
}

impl StartMessage {
    /// Creates a message that the person sees.
    pub fn new(kind: impl Into<String>, content: impl Into<String>) -> Self {
        Self { kind: kind.into(), content: content.into(), display: true, ..Self::default() }
    }
}

impl InterceptHook for InterceptBeforeAgentStart {
    type Decision = BeforeAgentStartDecision;

    const KIND: InterceptKind = InterceptKind::BeforeAgentStart;

    fn read(response: EventInterceptResponse) -> Result<BeforeAgentStartDecision, AnswerError> {
        if response.is_blocking() {
            return Err(AnswerError::new("before_agent_start cannot block; intercept turn_start for that"));
        }
        let messages: Vec<StartMessage> = read_field("messages", response.messages)?.unwrap_or_default();
        check_messages(&messages)?;
        let (section, system_prompt) = (response.append_system_prompt, response.system_prompt);
        Ok(BeforeAgentStartDecision { section, system_prompt, messages })
    }

    fn respond(decision: BeforeAgentStartDecision, id: RequestId) -> EventInterceptResponse {
        let BeforeAgentStartDecision { section, system_prompt, messages } = decision;
        EventInterceptResponse {
            append_system_prompt: section,
            system_prompt,
            messages: write_field((!messages.is_empty()).then_some(messages)),
            ..EventInterceptResponse::pass_through(id)
        }
    }
}

fn check_messages(messages: &[StartMessage]) -> Result<(), AnswerError> {
    if messages.len() > MAX_START_MESSAGES {
        let count = messages.len();
        return Err(AnswerError::new(format!("{count} messages; the limit is {MAX_START_MESSAGES}")));
    }
    for message in messages {
        if message.content.trim().is_empty() && message.images.is_empty() {
            return Err(AnswerError::new("messages: a message is empty; add text or an image"));
        }
        if message.content.len() > MAX_MESSAGE_TEXT {
            let length = message.content.len();
            return Err(AnswerError::new(format!(
                "messages: `content` has {length} bytes; the limit is {MAX_MESSAGE_TEXT}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &str) -> Result<BeforeAgentStartDecision, String> {
        let response: EventInterceptResponse =
            serde_json::from_str(&format!(r#"{{"id":"1"{fields}}}"#)).unwrap();
        InterceptBeforeAgentStart::read(response).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check(fields: &str, expect: BeforeAgentStartDecision) {
        let decision = read(fields).unwrap();
        assert_eq!(decision, expect, "{fields}");
        let again = InterceptBeforeAgentStart::respond(decision, RequestId::new("1"));
        assert_eq!(InterceptBeforeAgentStart::read(again).unwrap(), expect, "{fields}");
    }

    #[track_caller]
    fn check_error(fields: &str, part: &str) {
        let error = read(fields).unwrap_err();
        assert!(error.contains(part), "{error}");
    }

    fn message(content: &str) -> String {
        format!(r#"{{"kind":"k","content":"{content}","display":true}}"#)
    }

    #[test]
    fn section_and_messages_are_independent() {
        check("", BeforeAgentStartDecision::default());
        check(r#","messages":null"#, BeforeAgentStartDecision::default());
        check(r#","append_system_prompt":"Hi.""#, BeforeAgentStartDecision::append("Hi."));
        let fields = format!(r#","append_system_prompt":"Hi.","messages":[{}]"#, message("c"));
        let expect = BeforeAgentStartDecision::append("Hi.").with_message(StartMessage::new("k", "c"));
        check(&fields, expect);
        let details = Some(RawJson::parse("[1]").unwrap());
        let hidden = StartMessage { details, display: false, ..StartMessage::new("k", "c") };
        check(
            r#","messages":[{"kind":"k","content":"c","display":false,"details":[1]}]"#,
            BeforeAgentStartDecision::default().with_message(hidden),
        );
    }

    #[test]
    fn messages_are_bounded() {
        let many = |count: usize| format!(r#","messages":[{}]"#, vec![message("c"); count].join(","));
        assert_eq!(read(&many(MAX_START_MESSAGES)).unwrap().messages.len(), MAX_START_MESSAGES);
        check_error(&many(MAX_START_MESSAGES + 1), "17 messages; the limit is 16");
        let long = message(&"x".repeat(MAX_MESSAGE_TEXT + 1));
        check_error(&format!(r#","messages":[{long}]"#), "`content` has 65537 bytes; the limit is 65536");
        check_error(&format!(r#","messages":[{}]"#, message(" ")), "a message is empty");
        check_error(r#","messages":[{"kind":"","content":"c","display":true}]"#, "an empty name");
        check_error(r#","messages":[{"content":"c"}]"#, "messages: missing field `kind`");
        check_error(r#","block":true"#, "before_agent_start cannot block");
    }
}
