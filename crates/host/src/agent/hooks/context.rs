//! The hook for a request to the model for one extension.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;
use haft_core::hooks::{BeforeModelRequest, OutgoingRequest, RequestDecision, RequestEdit};
use haft_core::image;
use haft_core::model::ModelId;
use haft_core::sanitize::strip_hidden_chars;
use haft_core::tool::{ToolOwner, ToolSpec};
use haft_protocol::content::ContentBlock;
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ext::{
    ContextChange, ContextDecision, InterceptContext, InterceptKind, RegisterTool, RequestTool,
};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message};
use tokio_util::sync::CancellationToken;

use super::refuse_turn;
use crate::agent::managed_extension::ManagedExtension;
use crate::session::offers::{OfferedTool, check_tool, excerpt};

#[async_trait]
impl BeforeModelRequest for ManagedExtension {
    async fn before_model_request(
        &self,
        cancel: &CancellationToken,
        request: &OutgoingRequest,
    ) -> RequestDecision {
        let change = match self.query(cancel, build_question(request)).await {
            Ok(ContextDecision::Unchanged) | Err(_) => return RequestDecision::Send,
            Ok(ContextDecision::Change(change)) => *change,
            Ok(ContextDecision::Stop(stop)) => {
                return RequestDecision::Refuse(refuse_turn(Self::name(self), stop));
            }
        };
        let edit = accept_change(self, change, request);
        match edit == RequestEdit::default() {
            true => RequestDecision::Send,
            false => RequestDecision::Edit(edit),
        }
    }

    fn edit_refused(&self, detail: &str) {
        self.report_mistake(InterceptKind::Context, detail);
    }

    fn name(&self) -> &str {
        Self::name(self).as_str()
    }
}

fn build_question(request: &OutgoingRequest) -> InterceptContext {
    let ModelId { provider, model } = request.model.clone();
    let to_tool = |tool: &Arc<ToolSpec>| {
        let ToolSpec { name, description, schema, .. } = &**tool;
        RequestTool { name: name.clone(), description: description.clone(), schema: schema.clone() }
    };
    InterceptContext {
        step: request.step,
        provider,
        model,
        thinking: request.thinking,
        options: request.options.clone(),
        last: request.last,
        system: request.system.clone(),
        tools: request.tools.iter().map(to_tool).collect(),
        messages: request.messages.iter().map(without_native).collect(),
    }
}

/// Returns the valid parts of a change; reports the others. Core checks the model, the options and the tools.
fn accept_change(entry: &ManagedExtension, change: ContextChange, request: &OutgoingRequest) -> RequestEdit {
    let ContextChange { messages, model, thinking, options, tools } = change;
    let mut hidden = 0;
    let messages = match messages.map(|answer| read_messages(answer, &request.messages)).transpose() {
        Ok(read) => read.and_then(|read| {
            hidden += read.hidden;
            (read.messages != **request.messages).then_some(read.messages)
        }),
        Err(detail) => {
            entry.edit_refused(&format!("{detail}; the messages were not changed"));
            None
        }
    };
    let add_tools = accept_tools(entry, tools, request);
    if let Some(extension) = entry.handle() {
        extension.reporter().report_hidden_text(hidden, "a request to the model");
    }
    let mut edit = RequestEdit::default()
        .with_messages(messages)
        .with_add_tools(add_tools)
        .with_options(options)
        .with_thinking(thinking);
    edit.model = model;
    edit
}

/// Returns the tools that the request does not have and that the extension may offer, under the rules for
/// registered tools.
fn accept_tools(
    entry: &ManagedExtension,
    tools: Vec<RequestTool>,
    request: &OutgoingRequest,
) -> Vec<ToolSpec> {
    let granted = entry.spec.permissions.as_ref().filter(|_| is_up(Defense::Permissions));
    let limits = entry.offers().limits.clone();
    let mut accepted = Vec::new();
    for RequestTool { name, description, schema } in tools {
        if request.tools.iter().any(|offered| offered.name == name) {
            continue;
        }
        let tool = RegisterTool { name, description, schema: Some(schema), ..RegisterTool::default() };
        let checked = if accepted.len() == limits.max_tools {
            Err(format!("a request gets at most {} tools of an extension", limits.max_tools))
        } else if granted.is_some_and(|granted| !granted.tools.may_register(&tool.name)) {
            Err(format!("tool {:?}: the permission tools.register does not name it", excerpt(&tool.name)))
        } else {
            check_tool(tool, &limits)
        };
        match checked {
            Ok(OfferedTool { name, description, schema, .. }) => {
                let owner = ToolOwner::Extension(entry.name().to_string());
                accepted.push(ToolSpec::new(name, description).with_schema(schema).with_owner(owner));
            }
            Err(detail) => entry.edit_refused(&format!("{detail}; the tool was not added")),
        }
    }
    accepted
}

/// The messages of an answer.
#[derive(Debug, PartialEq)]
struct ReplacedMessages {
    messages: Vec<Message>,
    /// The number of invisible characters that were removed.
    hidden: usize,
}

/// Returns a message without the data that only its provider can read, which is long.
fn without_native(message: &Message) -> Message {
    match message {
        Message::Assistant(AssistantMessage { content, time, native: Some(_), .. }) => {
            Message::Assistant(AssistantMessage::new(content.clone(), time.clone()))
        }
        Message::User { .. } | Message::Assistant(_) | Message::Tool(_) => message.clone(),
    }
}

/// Reads the messages of an answer. A message that came back unchanged is the original one, with the data of its
/// provider; the others are cleaned. Fails if a model could not read them.
fn read_messages(answer: Vec<Message>, own: &[Message]) -> Result<ReplacedMessages, String> {
    let mut originals: HashMap<&str, Vec<&Message>> = HashMap::new();
    for message in own {
        originals.entry(time_of(message)).or_default().push(message);
    }
    let (mut called, mut hidden) = (HashSet::<ToolCallId>::new(), 0);
    let mut messages = Vec::with_capacity(answer.len());
    for message in answer {
        let message = without_native(&message);
        let candidates = originals.get(time_of(&message)).into_iter().flatten();
        let original = candidates.copied().find(|original| without_native(original) == message);
        let message = match original {
            Some(original) => original.clone(),
            None => clean_message(message, &mut hidden)?,
        };
        match &message {
            Message::Assistant(answer) => called.extend(answer.tool_calls().map(|call| call.id.clone())),
            // Servers reject a result without a call.
            Message::Tool(result) if !called.contains(&result.call_id) => {
                return Err(format!(
                    "the result of the call {:?} has no call before it",
                    result.call_id.as_str()
                ));
            }
            Message::Tool(_) | Message::User { .. } => {}
        }
        messages.push(message);
    }
    Ok(ReplacedMessages { messages, hidden })
}

fn time_of(message: &Message) -> &str {
    match message {
        Message::User { time, .. } => &time.0,
        Message::Assistant(answer) => &answer.time.0,
        Message::Tool(result) => &result.time.0,
    }
}

fn clean_message(mut message: Message, hidden: &mut usize) -> Result<Message, String> {
    match &mut message {
        Message::User { content, .. } => clean_content(content, hidden)?,
        Message::Tool(result) => clean_content(&mut result.content, hidden)?,
        Message::Assistant(answer) => clean_blocks(&mut answer.content, hidden)?,
    }
    Ok(message)
}

fn clean_content(content: &mut [ContentBlock], hidden: &mut usize) -> Result<(), String> {
    for block in content {
        match block {
            ContentBlock::Text { text } => clean_text(text, hidden),
            ContentBlock::Image(image) => {
                let checked = image::from_base64(image.data.clone());
                *image = checked.map_err(|error| format!("an image cannot be used: {error}"))?;
            }
        }
    }
    Ok(())
}

/// Cleans the blocks of an answer of the model.
pub(super) fn clean_blocks(content: &mut [AssistantBlock], hidden: &mut usize) -> Result<(), String> {
    check_calls(content)?;
    for block in content {
        match block {
            AssistantBlock::Text { text } | AssistantBlock::Thinking { text } => clean_text(text, hidden),
            AssistantBlock::ToolCall(call) if !call.args.is_object() => {
                return Err(format!("the arguments of the call {:?} are not an object", call.id.as_str()));
            }
            AssistantBlock::ToolCall(_) => {}
        }
    }
    Ok(())
}

/// Checks that the calls have names, and ids of their own. A model refuses other conversations.
pub(super) fn check_calls(content: &[AssistantBlock]) -> Result<(), String> {
    let mut ids = HashSet::new();
    for block in content {
        let AssistantBlock::ToolCall(call) = block else { continue };
        if call.id.as_str().is_empty() || call.name.is_empty() {
            return Err("a tool call has no id or no name".to_owned());
        }
        if !ids.insert(call.id.as_str()) {
            return Err(format!("two tool calls have the id {:?}", call.id.as_str()));
        }
    }
    Ok(())
}

fn clean_text(text: &mut String, hidden: &mut usize) {
    let read = strip_hidden_chars(text);
    if read.hidden > 0 {
        *hidden += read.hidden;
        *text = read.text.into_owned();
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::RawJson;
    use haft_protocol::content::ToolCall;
    use haft_protocol::message::{NativeMessage, Rfc3339Time, ToolMessage};

    use super::*;

    fn user_message(text: &str) -> Message {
        Message::User { content: vec![ContentBlock::text(text)], time: Rfc3339Time("T".into()) }
    }

    /// An answer with a call and data of its provider.
    fn answer_with_call(args: &str) -> Message {
        let args = RawJson::parse(args).unwrap();
        let call = ToolCall { id: ToolCallId::new("c1"), name: "bash".into(), args };
        let native = Some(NativeMessage::new("p/m", RawJson::empty_object()));
        let content = vec![AssistantBlock::ToolCall(call)];
        Message::Assistant(AssistantMessage::new(content, Rfc3339Time("T".into())).with_native(native))
    }

    fn call_result() -> Message {
        Message::Tool(ToolMessage::new(
            ToolCallId::new("c1"),
            "bash",
            vec![ContentBlock::text("a.txt")],
            Rfc3339Time("T".into()),
        ))
    }

    #[test]
    fn unchanged_messages_keep_the_data_of_their_provider() {
        let own = vec![user_message("hi"), answer_with_call("{}"), call_result()];
        let sent: Vec<Message> = own.iter().map(without_native).collect();
        assert_ne!(sent, own);
        let read = read_messages(sent, &own).unwrap();
        assert_eq!(read, ReplacedMessages { messages: own, hidden: 0 });
    }

    #[test]
    fn new_messages_are_cleaned_and_have_no_data_of_a_provider() {
        let own = vec![user_message("hi")];
        let read =
            read_messages(vec![user_message("h\u{e0041}i"), answer_with_call("{}"), call_result()], &own)
                .unwrap();
        let expect = vec![user_message("hi"), without_native(&answer_with_call("{}")), call_result()];
        assert_eq!(read, ReplacedMessages { messages: expect, hidden: 1 });
    }

    #[test]
    fn messages_that_no_model_reads_are_rejected() {
        let own = vec![user_message("hi")];
        let lost = read_messages(vec![call_result()], &own).unwrap_err();
        assert_eq!(lost, "the result of the call \"c1\" has no call before it");
        let list = read_messages(vec![answer_with_call("[]")], &own).unwrap_err();
        assert_eq!(list, "the arguments of the call \"c1\" are not an object");
        let image =
            haft_protocol::content::Image { mime_type: "image/png".into(), data: "AAAA".to_owned().into() };
        let content = vec![ContentBlock::Image(image)];
        let picture = Message::User { content, time: Rfc3339Time("T".into()) };
        assert!(read_messages(vec![picture], &own).unwrap_err().starts_with("an image cannot be used: "));
    }
}
