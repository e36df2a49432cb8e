//! A changed request beside the one that was shown.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use super::{BeforeLlm, LlmDecision, LlmOptions, PartialRequest};
use crate::hook::question::ParsedDecision;
use crate::hook::{FunctionDefinition, HookMessage, ToolDefinition};
use crate::limits::{MAX_NAME, MAX_TOOL_DESCRIPTION, MAX_TOOL_SCHEMA, MAX_TOOLS};
use crate::names;

/// The changes of a hook to one call of the model. What is `None` or empty stays as it was.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LlmEdit {
    /// Another model.
    pub model: Option<String>,
    /// The conversation without the system prompt, which stays.
    pub messages: Option<Vec<MessageEdit>>,
    /// Tools that are offered, too; none of them has the name of one that was.
    pub add_tools: Vec<ToolDefinition>,
    /// All options.
    pub options: Option<LlmOptions>,
}

/// One message of a conversation that a hook changed.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageEdit {
    /// The one at this place of [`BeforeLlm::messages`], unchanged.
    Unchanged(usize),
    /// One of the hook's, or one that it changed.
    New(Box<HookMessage>),
}

/// Returns the changes of a request, and the parts of it that do not count.
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

/// `None` when nothing is changed; the error says why the changes do not count.
fn edit_messages(asked: &[HookMessage], said: Vec<HookMessage>) -> Result<Option<Vec<MessageEdit>>, String> {
    let (system, said): (Vec<_>, Vec<_>) = said.into_iter().partition(HookMessage::is_system);
    let (own_system, own): (Vec<_>, Vec<_>) = asked.iter().enumerate().partition(|(_, own)| own.is_system());
    let same = |(said, (_, own)): (&HookMessage, &(usize, &HookMessage))| said.has_same_content(own);
    let keeps_system = system.len() == own_system.len() && system.iter().zip(&own_system).all(same);
    if !system.is_empty() && !keeps_system {
        return Err("the system prompt cannot be changed, so no message was".to_owned());
    }
    if said.is_empty() && !own.is_empty() {
        return Err("a request without messages cannot be sent, so none was taken away".to_owned());
    }
    let edits = OriginalMessages::new(&own).find(said);
    let kept = own.iter().map(|(place, _)| MessageEdit::Unchanged(*place));
    Ok((!edits.iter().cloned().eq(kept)).then_some(edits))
}

/// The messages that were shown, each to be found once.
struct OriginalMessages<'a> {
    messages: &'a [(usize, &'a HookMessage)],
    taken: Vec<bool>,
    hasher: RandomState,
    /// Where the messages are that may be one, by [`key`].
    places: HashMap<u64, VecDeque<usize>>,
}

/// Returns the hash of the parts that make two messages the same.
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

    /// Those that stand where they stood first, then those that moved.
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
        // One that differs in what the key does not hold is passed by for good, so that this stays quick.
        while let Some(index) = self.places.get_mut(&key)?.pop_front() {
            if self.take_if_same(index, message) {
                return Some(index);
            }
        }
        None
    }
}

/// The tools that are new. That others are described otherwise, or missing, changes nothing.
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
            Some(_) => decided.add_note(format!("the tool {name:?} is offered as it was")),
            None => match rejection_reason(&tool, &seen, added.len()) {
                Some(why) => {
                    decided.add_report(format!("the tool {} is not offered: {why}", quoted_name(&name)))
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

/// Why the model cannot be offered this tool as well.
fn rejection_reason(tool: &ToolDefinition, seen: &BTreeSet<String>, added: usize) -> Option<&'static str> {
    let FunctionDefinition { name, description, parameters } = &tool.function;
    if !names::is_tool(name, MAX_NAME) {
        return Some("a name is a letter and up to 63 letters, digits, _ and -");
    }
    if seen.contains(name) {
        return Some("it is there twice");
    }
    if description.len() > MAX_TOOL_DESCRIPTION {
        return Some("its description is longer than 4 KiB");
    }
    if parameters.as_str().len() > MAX_TOOL_SCHEMA {
        return Some("its parameters are longer than 64 KiB");
    }
    (added == MAX_TOOLS).then_some("one hook can add 128 tools")
}

/// A name in quotes, cut when it is long.
fn quoted_name(name: &str) -> String {
    format!("{:?}", name.chars().take(MAX_NAME).collect::<String>())
}
