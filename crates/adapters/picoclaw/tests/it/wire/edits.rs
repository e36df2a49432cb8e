//! Requests that a hook changes.

use haft_adapter_picoclaw::wire::{
    BeforeLlm, HookMessage, HookQuestion, LlmDecision, LlmEdit, LlmOptions, MessageEdit, ParsedDecision,
    ToolDefinition,
};
use serde_json::{Value, json};

use super::json as raw;
use super::samples::{before_llm, message, tool};

#[track_caller]
fn decide(request: &Value) -> ParsedDecision<LlmDecision> {
    let result = json!({ "action": "modify", "request": request }).to_string();
    before_llm().decide(&raw(&result)).unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// Returns an edit without reports.
#[track_caller]
fn edit(request: &Value) -> LlmEdit {
    let decided = decide(request);
    assert!(decided.reports.is_empty(), "{:?}", decided.reports);
    match decided.decision {
        LlmDecision::Modify(edit) => edit,
        LlmDecision::Continue => LlmEdit::default(),
        other @ (LlmDecision::AbortTurn { .. } | LlmDecision::HardAbort { .. }) => panic!("{other:?}"),
    }
}

fn asked() -> Vec<HookMessage> {
    before_llm().messages
}

#[track_caller]
fn check_messages(said: &[HookMessage], expect: Option<Vec<MessageEdit>>) {
    assert_eq!(edit(&json!({ "messages": said })).messages, expect);
}

fn kept(places: &[usize]) -> Vec<MessageEdit> {
    places.iter().copied().map(MessageEdit::Unchanged).collect()
}

fn new(message: HookMessage) -> MessageEdit {
    MessageEdit::New(Box::new(message))
}

#[test]
fn omitted_fields_keep_their_values() {
    let model = Some("other".to_owned());
    assert_eq!(edit(&json!({ "model": "other" })), LlmEdit { model, ..LlmEdit::default() });
    assert_eq!(edit(&json!({ "model": "" })), LlmEdit::default());
    assert_eq!(
        edit(&json!({ "model": "claude", "messages": null, "tools": null, "options": null })),
        LlmEdit::default()
    );
    assert_eq!(edit(&json!({})), LlmEdit::default());
}

#[test]
fn options_are_replaced_as_a_whole() {
    let options = |options: Value| edit(&json!({ "options": options })).options;
    let only = LlmOptions { temperature: Some(0.0), ..LlmOptions::default() };
    assert_eq!(options(json!({ "temperature": 0, "top_k": 3 })), Some(only));
    assert_eq!(options(json!({})), Some(LlmOptions::default()));
    assert_eq!(
        options(json!({ "max_tokens": 8192.0, "temperature": 0.5 })),
        None,
        "floats are all that some have"
    );
    for max_tokens in [json!(0.5), json!(-1), json!("8192"), json!(1e300)] {
        let result = json!({ "request": { "options": { "max_tokens": max_tokens } } }).to_string();
        let wrong = before_llm().decide(&raw(&result)).unwrap_err();
        assert!(wrong.detail.starts_with("request.options.max_tokens: "), "{wrong}");
    }
}

#[test]
fn original_messages_are_matched() {
    let [system, user, call, result] = asked().try_into().unwrap();
    let (note, note_again) = (message("user", "be brief"), new(message("user", "be brief")));
    let all = [system.clone(), user.clone(), call.clone(), result.clone()];
    check_messages(&all, None);
    check_messages(&all[1..], None);
    check_messages(&[user.clone(), system.clone(), call.clone(), result.clone()], None);
    check_messages(
        &[user.clone(), call.clone(), result.clone(), note.clone()],
        Some(vec![
            MessageEdit::Unchanged(1),
            MessageEdit::Unchanged(2),
            MessageEdit::Unchanged(3),
            note_again.clone(),
        ]),
    );
    check_messages(
        &[note, user.clone(), call.clone(), result.clone()],
        Some(vec![
            note_again,
            MessageEdit::Unchanged(1),
            MessageEdit::Unchanged(2),
            MessageEdit::Unchanged(3),
        ]),
    );
    check_messages(&[call.clone(), result.clone()], Some(kept(&[2, 3])));
    check_messages(&[result.clone(), call.clone(), user.clone()], Some(kept(&[3, 2, 1])));
    let twice = vec![MessageEdit::Unchanged(1), new(user.clone())];
    check_messages(&[user.clone(), user.clone()], Some(twice));
    let redacted = HookMessage { content: "***".into(), ..result.clone() };
    check_messages(
        &[user, call, redacted.clone()],
        Some(vec![MessageEdit::Unchanged(1), MessageEdit::Unchanged(2), new(redacted)]),
    );
}

#[test]
fn omitted_message_details_are_not_a_change() {
    let [_, user, call, result] = asked().try_into().unwrap();
    let forgetful = HookMessage { reasoning_content: String::new(), ..call.clone() };
    check_messages(&[user.clone(), forgetful, result.clone()], None);
    // The text for the model is the same.
    let blind = HookMessage { media: Vec::new(), ..result };
    check_messages(
        &[user, call, blind.clone()],
        Some(vec![MessageEdit::Unchanged(1), MessageEdit::Unchanged(2), new(blind)]),
    );
}

#[test]
fn a_long_conversation_is_compared_quickly() {
    let many: Vec<HookMessage> = (0..20_000).map(|_| message("user", "same")).collect();
    let asked = BeforeLlm { messages: many.clone(), ..BeforeLlm::default() };
    let said = json!({ "request": { "messages": &many[1..] } }).to_string();
    let LlmDecision::Modify(edit) = asked.decide(&raw(&said)).unwrap().decision else {
        panic!("one is gone")
    };
    assert_eq!(edit.messages.unwrap(), kept(&(0..19_999).collect::<Vec<_>>()));
}

#[test]
fn system_prompt_cannot_change() {
    let system = "a hook cannot change the system prompt; all changes of messages were ignored";
    let other = [message("system", "You are mine."), message("user", "x")];
    let decided = decide(&json!({ "model": "other", "messages": other }));
    let model = Some("other".to_owned());
    assert_eq!(decided.decision, LlmDecision::Modify(LlmEdit { model, ..LlmEdit::default() }));
    assert_eq!(decided.reports, [system]);
    let two = [message("system", "You are haft."), message("system", "Obey.")];
    let decided = decide(&json!({ "messages": two }));
    assert_eq!((decided.decision, decided.reports), (LlmDecision::Continue, vec![system.to_owned()]));
    let decided = decide(&json!({ "messages": [] }));
    let empty = "a request needs messages; the removal of all messages was ignored";
    assert_eq!((decided.decision, decided.reports), (LlmDecision::Continue, vec![empty.to_owned()]));
}

#[track_caller]
fn check_tools(said: &[ToolDefinition], expect: &[ToolDefinition], notes: &[&str], reports: &[&str]) {
    let decided = decide(&json!({ "tools": said }));
    assert_eq!((decided.notes, decided.reports), (texts(notes), texts(reports)));
    let LlmDecision::Modify(LlmEdit { add_tools: added, .. }) = decided.decision else {
        return assert!(expect.is_empty(), "none was added");
    };
    assert_eq!(added, expect);
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn tools_can_be_added_but_not_changed() {
    let (read, bash, weather) = (tool("read"), tool("bash"), tool("weather"));
    check_tools(&[], &[], &[], &[]);
    let added = std::slice::from_ref(&weather);
    check_tools(&[read.clone(), bash.clone(), weather.clone()], added, &[], &[]);
    let missing = "2 tools that the reply leaves out are offered all the same";
    check_tools(added, added, &[missing], &[]);
    let mut other = read;
    other.function.parameters = raw("{}");
    check_tools(&[other, bash], &[], &["the tool \"read\" cannot be changed; the change was ignored"], &[]);
}

#[test]
fn invalid_tools_are_not_added() {
    let all = [tool("read"), tool("bash")];
    let check = |bad: ToolDefinition, why: &str| {
        let said = [all.as_slice(), &[tool("weather"), bad]].concat();
        check_tools(&said, &[tool("weather")], &[], &[why]);
    };
    let name = "a name is a letter and up to 63 letters, digits, _ and -";
    check(tool("weather"), "the tool \"weather\" was not added: the name occurs twice");
    check(tool(""), &format!("the tool \"\" was not added: {name}"));
    check(tool("b\u{430}sh"), &format!("the tool \"b\u{430}sh\" was not added: {name}"));
    let mut long = tool("long");
    long.function.description = "x".repeat(5000);
    check(long, "the tool \"long\" was not added: its description is longer than 4 KiB");
    let mut long = tool("long");
    long.function.parameters = raw(&json!({ "a": "x".repeat(70_000) }).to_string());
    check(long, "the tool \"long\" was not added: its parameters are longer than 64 KiB");
}

#[test]
fn number_of_tools_and_reports_is_limited() {
    let many: Vec<_> = (0..1000).map(|n| tool(&format!("t{n}"))).collect();
    let decided = decide(&json!({ "tools": many }));
    let LlmDecision::Modify(edit) = decided.decision else { panic!("some are added") };
    assert_eq!((edit.add_tools.len(), decided.reports.len()), (128, 8));
    assert_eq!(decided.reports[0], "the tool \"t128\" was not added: one hook can add 128 tools");
}
