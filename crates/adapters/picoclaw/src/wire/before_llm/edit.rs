//! The changes between the original request and the request of a hook.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use super::{BeforeLlm, LlmDecision, LlmOptions, PartialRequest};
use crate::wire::question::ParsedDecision;
use crate::wire::{FunctionDefinition, HookMessage, ToolDefinition};
use haft_protocol::limits::{MAX_NAME, MAX_TOOL_DESCRIPTION, MAX_TOOL_SCHEMA, MAX_TOOLS};
use haft_protocol::names;

/// The changes of a hook to one request to the model. A field that is `None` or empty keeps the
/// original value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LlmEdit {
    /// The new model.
    pub model: Option<String>,
    /// The new conversation, without the system prompt, which cannot change.
    pub messages: Option<Vec<MessageEdit>>,
    /// Additional tools; none of them has the name of an existing tool.
    pub add_tools: Vec<ToolDefinition>,
    /// The new options, complete.
    pub options: Option<LlmOptions>,
}

/// A message of a changed conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageEdit {
    /// The unchanged message at this index of [`BeforeLlm::messages`].
    Unchanged(usize),
    /// A new or changed message.
    New(Box<HookMessage>),
}

/// Returns the changes of a request, and reports on the ignored parts.
pub(super) fn edit_request(asked: &BeforeLlm, request: PartialRequest) -> ParsedDecision<LlmDecision> {
    let mut decided = ParsedDecision::from_decision(LlmDecision::Continue);
    let model = request.model.filter(|model| !model.is_empty() && *model != asked.model);
    let messages = request.messages.and_then(|messages| match edit_messages(&asked.messages, messages) {
        Ok(messages) => messages,
        Err(report) => {
            decided.add_report(report);
            None
        }
    });
    let add_tools = added_tools(&asked.tools, request.tools.unwrap_or_default(), &mut decided);
    let options = request.options.filter(|options| *options != asked.options);
    let edit = LlmEdit { model, messages, add_tools, options };
    if edit != LlmEdit::default() {
        decided.decision = LlmDecision::Modify(edit);
    }
    decided
}

/// Returns the changed messages, or `None` if nothing changed. The error explains why the changes
/// are ignored.
fn edit_messages(asked: &[HookMessage], said: Vec<HookMessage>) -> Result<Option<Vec<MessageEdit>>, String> {
    let (system, said): (Vec<_>, Vec<_>) = said.into_iter().partition(HookMessage::is_system);
    let (own_system, own): (Vec<_>, Vec<_>) = asked.iter().enumerate().partition(|(_, own)| own.is_system());
    let same = |(said, (_, own)): (&HookMessage, &(usize, &HookMessage))| said.has_same_content(own);
    let keeps_system = system.len() == own_system.len() && system.iter().zip(&own_system).all(same);
    if !system.is_empty() && !keeps_system {
        return Err("a hook cannot change the system prompt; all changes of messages were ignored".to_owned());
    }
    if said.is_empty() && !own.is_empty() {
        return Err("a request needs messages; the removal of all messages was ignored".to_owned());
    }
    let edits = OriginalMessages::new(&own).find(said);
    let kept = own.iter().map(|(place, _)| MessageEdit::Unchanged(*place));
    Ok((!edits.iter().cloned().eq(kept)).then_some(edits))
}

/// The original messages; each can be matched once.
struct OriginalMessages<'a> {
    messages: &'a [(usize, &'a HookMessage)],
    taken: Vec<bool>,
    hasher: RandomState,
    /// The indexes of the messages that may match, by [`message_key`].
    places: HashMap<u64, VecDeque<usize>>,
}

/// Returns the hash of the fields that identify a message.
fn message_key(hasher: &RandomState, message: &HookMessage) -> u64 {
    let calls: Vec<&str> = message.tool_calls.iter().map(|call| call.id.as_str()).collect();
    hasher.hash_one((&message.role, &message.content, &message.tool_call_id, calls))
}

impl<'a> OriginalMessages<'a> {
    fn new(messages: &'a [(usize, &'a HookMessage)]) -> Self {
        let hasher = RandomState::new();
        let mut places: HashMap<_, VecDeque<_>> = HashMap::new();
        for (index, (_, message)) in messages.iter().enumerate() {
            places.entry(message_key(&hasher, message)).or_default().push_back(index);
        }
        Self { messages, taken: vec![false; messages.len()], hasher, places }
    }

    /// Matches the messages at their original index first, then the moved messages.
    fn find(mut self, said: Vec<HookMessage>) -> Vec<MessageEdit> {
        let at_home: Vec<bool> =
            said.iter().enumerate().map(|(index, message)| self.take_if_same(index, message)).collect();
        let edits = said.into_iter().zip(at_home).enumerate().map(|(index, (message, at_home))| {
            let found = if at_home { Some(index) } else { self.take_elsewhere(&message) };
            match found.and_then(|found| self.messages.get(found)) {
                Some((place, _)) => MessageEdit::Unchanged(*place),
                None => MessageEdit::New(Box::new(message)),
            }
        });
        edits.collect()
    }

    fn take_if_same(&mut self, index: usize, message: &HookMessage) -> bool {
        let Some(((_, own), taken)) = self.messages.get(index).zip(self.taken.get_mut(index)) else {
            return false;
        };
        let same = !*taken && message.has_same_content(own);
        *taken |= same;
        same
    }

    fn take_elsewhere(&mut self, message: &HookMessage) -> Option<usize> {
        let key = message_key(&self.hasher, message);
        // A message that differs in fields outside the key is skipped permanently, which keeps the
        // search linear.
        while let Some(index) = self.places.get_mut(&key)?.pop_front() {
            if self.take_if_same(index, message) {
                return Some(index);
            }
        }
        None
    }
}

/// Returns the new tools. Changed descriptions and missing tools have no effect.
fn added_tools(
    offered: &[ToolDefinition],
    said: Vec<ToolDefinition>,
    decided: &mut ParsedDecision<LlmDecision>,
) -> Vec<ToolDefinition> {
    let own: HashMap<&str, &ToolDefinition> =
        offered.iter().map(|tool| (tool.function.name.as_str(), tool)).collect();
    let mut seen = BTreeSet::new();
    let mut added = Vec::new();
    for tool in said {
        let name = tool.function.name.clone();
        match own.get(name.as_str()) {
            Some(own) if **own == tool => {}
            Some(_) => {
                decided.add_note(format!("the tool {name:?} cannot be changed; the change was ignored"))
            }
            None => match rejection_reason(&tool, &seen, added.len()) {
                Some(why) => {
                    decided.add_report(format!("the tool {} was not added: {why}", quoted_name(&name)))
                }
                None => added.push(tool),
            },
        }
        seen.insert(name);
    }
    let missing = offered.iter().filter(|tool| !seen.contains(&tool.function.name)).count();
    if missing > 0 && !seen.is_empty() {
        decided.add_note(format!("{missing} tools that the reply leaves out are offered all the same"));
    }
    added
}

/// Returns the reason why the model cannot get this tool in addition.
fn rejection_reason(tool: &ToolDefinition, seen: &BTreeSet<String>, added: usize) -> Option<&'static str> {
    let FunctionDefinition { name, description, parameters } = &tool.function;
    if !names::is_tool(name, MAX_NAME) {
        return Some("a name is a letter and up to 63 letters, digits, _ and -");
    }
    if seen.contains(name) {
        return Some("the name occurs twice");
    }
    if description.len() > MAX_TOOL_DESCRIPTION {
        return Some("its description is longer than 4 KiB");
    }
    if parameters.as_str().len() > MAX_TOOL_SCHEMA {
        return Some("its parameters are longer than 64 KiB");
    }
    (added == MAX_TOOLS).then_some("one hook can add 128 tools")
}

/// Quotes a name, cut if it is long.
fn quoted_name(name: &str) -> String {
    format!("{:?}", name.chars().take(MAX_NAME).collect::<String>())
}
