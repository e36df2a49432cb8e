//! Translates the names of tools between haft and PicoClaw. A hook for PicoClaw looks for `exec`.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::wire::{
    AfterLlm, AfterTool, ApproveTool, BeforeLlm, BeforeTool, HookEventPayload, HookQuestion, HookToolCall,
    LlmDecision, MessageEdit, ResponseDecision, ToolDecision, TurnEvent,
};

/// The tool names that a hook receives and may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ToolNames {
    /// haft's names.
    #[default]
    Haft,
    /// PicoClaw's names for tools that PicoClaw has. Other tools have haft's names.
    PicoClaw,
}

/// Pairs of haft's name and PicoClaw's. PicoClaw has no tools like `grep` and `find`.
const BOTH: &[(&str, &str)] = &[
    ("bash", "exec"),
    ("read", "read_file"),
    ("write", "write_file"),
    ("edit", "edit_file"),
    ("ls", "list_dir"),
];

impl ToolNames {
    /// Returns the hook's name of a tool.
    pub fn hook_name(self, name: &str) -> &str {
        let pair = BOTH.iter().find(|(own, _)| self == Self::PicoClaw && *own == name);
        pair.map_or(name, |(_, told)| told)
    }

    /// Returns haft's name of the tool that a hook means.
    pub fn tool_name(self, name: &str) -> &str {
        let pair = BOTH.iter().find(|(_, told)| self == Self::PicoClaw && *told == name);
        pair.map_or(name, |(own, _)| own)
    }
}

/// Returns the query with the names that the hook knows.
pub fn translate_question<Q: TranslateToolNames + Clone>(names: ToolNames, question: &Q) -> Cow<'_, Q> {
    if names == ToolNames::Haft {
        return Cow::Borrowed(question);
    }
    let mut translated = question.clone();
    translated.translate(names);
    Cow::Owned(translated)
}

/// Returns the event with the names that the hook knows.
pub fn translate_occurrence(names: ToolNames, what: &TurnEvent) -> Cow<'_, TurnEvent> {
    if names == ToolNames::Haft {
        return Cow::Borrowed(what);
    }
    let mut translated = what.clone();
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other messages name no tool")]
    match &mut translated.payload {
        HookEventPayload::ToolExecStart(start) => translate_name(names, &mut start.tool),
        HookEventPayload::ToolExecEnd(end) => translate_name(names, &mut end.tool),
        HookEventPayload::ToolExecSkipped(skipped) => translate_name(names, &mut skipped.tool),
        HookEventPayload::FollowUpQueued(queued) => translate_name(names, &mut queued.source_tool),
        HookEventPayload::TurnEnd(end) => {
            end.tool_kinds.iter_mut().for_each(|name| translate_name(names, name));
            end.tool_executions.iter_mut().for_each(|ran| translate_name(names, &mut ran.name));
        }
        _ => {}
    }
    Cow::Owned(translated)
}

fn translate_name(names: ToolNames, name: &mut String) {
    let translated = names.hook_name(name);
    if translated != name {
        *name = translated.to_owned();
    }
}

fn translate_calls(names: ToolNames, calls: &mut [HookToolCall]) {
    calls.iter_mut().for_each(|call| translate_name(names, &mut call.function.name));
}

/// A query that names tools.
pub trait TranslateToolNames: HookQuestion {
    /// Translates the query to the names that the hook knows.
    fn translate(&mut self, names: ToolNames);

    /// Returns the decision of the hook with haft's names; `self` is the query with haft's names. Most
    /// decisions name no tool.
    fn restore_names(&self, decision: Self::Decision, _names: ToolNames) -> Self::Decision {
        decision
    }
}

impl TranslateToolNames for BeforeTool {
    fn translate(&mut self, names: ToolNames) {
        translate_name(names, &mut self.tool);
    }

    fn restore_names(&self, decision: ToolDecision, names: ToolNames) -> ToolDecision {
        let ToolDecision::Modify { tool, arguments } = decision else { return decision };
        // The hook may use the other name of the same tool.
        let tool = tool.map(|tool| names.tool_name(&tool).to_owned()).filter(|tool| *tool != self.tool);
        match (&tool, &arguments) {
            (None, None) => ToolDecision::Continue,
            _ => ToolDecision::Modify { tool, arguments },
        }
    }
}

impl TranslateToolNames for AfterTool {
    fn translate(&mut self, names: ToolNames) {
        translate_name(names, &mut self.tool);
    }
}

impl TranslateToolNames for ApproveTool {
    fn translate(&mut self, names: ToolNames) {
        translate_name(names, &mut self.tool);
    }
}

impl TranslateToolNames for BeforeLlm {
    fn translate(&mut self, names: ToolNames) {
        self.tools.iter_mut().for_each(|tool| translate_name(names, &mut tool.function.name));
        self.messages.iter_mut().for_each(|message| translate_calls(names, &mut message.tool_calls));
    }

    fn restore_names(&self, mut decision: LlmDecision, names: ToolNames) -> LlmDecision {
        if let LlmDecision::Modify(edit) = &mut decision {
            let own = OriginalCalls::from_calls(self.messages.iter().flat_map(|message| &message.tool_calls));
            for edit in edit.messages.iter_mut().flatten() {
                if let MessageEdit::New(message) = edit {
                    own.restore_names(&mut message.tool_calls, names);
                }
            }
        }
        decision
    }
}

impl TranslateToolNames for AfterLlm {
    fn translate(&mut self, names: ToolNames) {
        translate_calls(names, &mut self.response.tool_calls);
    }

    fn restore_names(&self, mut decision: ResponseDecision, names: ToolNames) -> ResponseDecision {
        if let ResponseDecision::Modify(response) = &mut decision {
            OriginalCalls::from_calls(self.response.tool_calls.iter())
                .restore_names(&mut response.tool_calls, names);
        }
        decision
    }
}

/// The calls before the hook, by id. An extension may have a tool with a name that PicoClaw uses for another
/// tool. A call that a hook leaves unchanged keeps its tool.
struct OriginalCalls<'a>(HashMap<&'a str, &'a str>);

impl<'a> OriginalCalls<'a> {
    fn from_calls(calls: impl Iterator<Item = &'a HookToolCall>) -> Self {
        Self(calls.map(|call| (call.id.as_str(), call.function.name.as_str())).collect())
    }

    fn restore_names(&self, calls: &mut [HookToolCall], names: ToolNames) {
        for call in calls {
            let own = self.0.get(call.id.as_str()).filter(|own| names.hook_name(own) == call.function.name);
            call.function.name =
                own.map_or_else(|| names.tool_name(&call.function.name).to_owned(), |own| (*own).to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{HookMessage, LlmResponse, ToolDefinition};
    use haft_protocol::RawJson;

    fn object(text: &str) -> RawJson {
        RawJson::parse(text).unwrap()
    }

    /// Checks the result of a tool call after this answer of a hook that knows PicoClaw's names.
    #[track_caller]
    fn check(tool: &str, translated: &str, answer: &str, expect: &ToolDecision) {
        let question = BeforeTool { tool: tool.into(), ..BeforeTool::default() };
        let mut asked = question.clone();
        asked.translate(ToolNames::PicoClaw);
        assert_eq!(asked.tool, translated);
        let decided = asked.decide(&object(answer)).unwrap();
        assert_eq!(question.restore_names(decided.decision, ToolNames::PicoClaw), *expect);
    }

    #[test]
    fn translates_names_of_tool_call() {
        let other = |tool: &str| ToolDecision::Modify { tool: Some(tool.into()), arguments: None };
        check("bash", "exec", r#"{"action":"modify","call":{"tool":"read_file"}}"#, &other("read"));
        check("bash", "exec", r#"{"action":"modify","call":{"tool":"exec"}}"#, &ToolDecision::Continue);
        check("bash", "exec", r#"{"action":"modify","call":{"tool":"bash"}}"#, &ToolDecision::Continue);
        let arguments = Some(object(r#"{"command":"true"}"#));
        let changed = ToolDecision::Modify { tool: None, arguments };
        let answer = r#"{"action":"modify","call":{"tool":"exec","arguments":{"command":"true"}}}"#;
        check("bash", "exec", answer, &changed);
        check("grep", "grep", r#"{"action":"modify","call":{"tool":"mine"}}"#, &other("mine"));
        // An extension's tool with one of PicoClaw's names is not translated.
        check("exec", "exec", r#"{"action":"modify","call":{"tool":"exec"}}"#, &ToolDecision::Continue);
    }

    fn call(id: &str, name: &str) -> HookToolCall {
        HookToolCall::new(id, name, &RawJson::empty_object())
    }

    #[test]
    fn keeps_unchanged_calls_of_answer() {
        let response =
            LlmResponse { tool_calls: vec![call("1", "bash"), call("2", "exec")], ..LlmResponse::default() };
        let question = AfterLlm { response, ..AfterLlm::default() };
        let mut asked = question.clone();
        asked.translate(ToolNames::PicoClaw);
        let names = |calls: &[HookToolCall]| -> Vec<String> {
            calls.iter().map(|call| call.function.name.clone()).collect()
        };
        assert_eq!(names(&asked.response.tool_calls), ["exec", "exec"]);
        let mut answer = asked.response.clone();
        answer.content = "changed".into();
        answer.tool_calls.push(call("3", "list_dir"));
        let meant = question.restore_names(ResponseDecision::Modify(answer.into()), ToolNames::PicoClaw);
        let ResponseDecision::Modify(meant) = meant else { panic!("{meant:?}") };
        assert_eq!(names(&meant.tool_calls), ["bash", "exec", "ls"]);
    }

    #[test]
    fn translates_names_of_request() {
        let mut tool = ToolDefinition::default();
        tool.function.name = "write".into();
        let message = HookMessage { tool_calls: vec![call("1", "edit")], ..HookMessage::default() };
        let mut question = BeforeLlm { tools: vec![tool], messages: vec![message], ..BeforeLlm::default() };
        question.translate(ToolNames::PicoClaw);
        assert_eq!(question.tools[0].function.name, "write_file");
        assert_eq!(question.messages[0].tool_calls[0].function.name, "edit_file");
    }

    #[test]
    fn hook_receives_haft_names() {
        let names = ToolNames::Haft;
        for (own, other) in BOTH {
            assert_eq!((names.hook_name(own), names.tool_name(other)), (*own, *other));
            assert_eq!(ToolNames::PicoClaw.tool_name(ToolNames::PicoClaw.hook_name(own)), *own);
        }
    }

    #[test]
    fn translates_names_of_events() {
        use crate::wire::{ToolExecStart, TurnEnd, TurnMeta};
        let translated = |names: ToolNames, payload: HookEventPayload| {
            let what = TurnEvent { time: String::new(), meta: TurnMeta::default(), context: None, payload };
            translate_occurrence(names, &what).into_owned().payload
        };
        let start = ToolExecStart { tool: "bash".into(), ..ToolExecStart::default() };
        let renamed = ToolExecStart { tool: "exec".into(), ..start.clone() };
        assert_eq!(translated(ToolNames::PicoClaw, start.clone().into()), renamed.into());
        assert_eq!(translated(ToolNames::Haft, start.clone().into()), start.into());
        let end = TurnEnd { tool_kinds: vec!["read".into()], ..TurnEnd::default() };
        let renamed = TurnEnd { tool_kinds: vec!["read_file".into()], ..end.clone() };
        assert_eq!(translated(ToolNames::PicoClaw, end.into()), renamed.into());
    }
}
