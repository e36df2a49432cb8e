//! Partial changes of answers and results by hooks.

use haft_adapter_picoclaw::wire::{
    AfterLlm, AfterTool, HookQuestion, HookToolCall, HookToolResult, LlmResponse, ResponseDecision,
    ResultDecision,
};

use super::decide::check;
use super::json;
use super::samples::{after_llm, after_tool};

#[track_caller]
fn response(result: &str) -> LlmResponse {
    let decided = after_llm().decide(&json(result)).unwrap();
    let ResponseDecision::Modify(response) = decided.decision else { panic!("{decided:?}") };
    *response
}

#[track_caller]
fn result(said: &str) -> HookToolResult {
    let decided = after_tool().decide(&json(said)).unwrap();
    let ResultDecision::Modify(result) = decided.decision else { panic!("{decided:?}") };
    result
}

#[test]
fn partial_answer_keeps_the_rest() {
    let AfterLlm { response: own, .. } = after_llm();
    let expect = LlmResponse { content: "***".into(), ..own.clone() };
    assert_eq!(response(r#"{"action":"modify","response":{"response":{"content":"***"}}}"#), expect);
    assert_eq!(response(r#"{"Response":{"Model":"x","Response":{"Content":"***"}}}"#), expect);
    for none in ["[]", "null"] {
        let said = format!(r#"{{"response":{{"response":{{"tool_calls":{none}}}}}}}"#);
        assert_eq!(response(&said), LlmResponse { tool_calls: Vec::new(), ..own.clone() });
    }
}

#[test]
fn complete_answer_replaces_the_models() {
    let said = r#"{"response":{"response":{"content":"Stop.","finish_reason":"stop","reasoning":"","reasoning_details":null}}}"#;
    let expect = LlmResponse {
        content: "Stop.".into(),
        finish_reason: "stop".into(),
        usage: after_llm().response.usage,
        ..LlmResponse::default()
    };
    assert_eq!(response(said), expect);
}

#[test]
fn missing_call_names_are_restored() {
    let said =
        r#"{"response":{"response":{"content":"x","tool_calls":[{"id":"toolu_2"},{"id":"toolu_1"}]}}}"#;
    let mut own = after_llm().response.tool_calls;
    own.reverse();
    assert_eq!(response(said).tool_calls, own);
}

#[test]
fn calls_can_be_changed_and_added() {
    let said = r#"{"response":{"response":{"tool_calls":[{"id":"toolu_1","function":{"arguments":" {\"command\": \"pwd\"} "}},{"id":"new","function":{"name":"read"}}]}}}"#;
    let calls = response(said).tool_calls;
    let [first, second] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!(first.function.name, "bash");
    assert_eq!(first.function.read_arguments(), Ok(json(r#"{"command":"pwd"}"#)));
    assert_eq!(second.function.read_arguments(), Ok(json("{}")));
    assert_eq!(
        *second,
        HookToolCall { function: second.function.clone(), ..HookToolCall::new("new", "", &json("{}")) }
    );
}

#[test]
fn invalid_calls_are_rejected() {
    let check = |calls: &str, detail: &str| {
        let said = format!(r#"{{"response":{{"response":{{"tool_calls":[{calls}]}}}}}}"#);
        let wrong = after_llm().decide(&json(&said)).unwrap_err();
        assert_eq!(wrong.detail, format!("response.response.tool_calls[{detail}"), "{calls}");
    };
    check("{}", "0].id: missing");
    check(r#"{"id":"new"}"#, "0].function.name: missing");
    check(r#"{"id":"toolu_1"},{"id":"toolu_1"}"#, "1].id: another call has it");
    check(
        r#"{"id":"a","function":{"name":"x","arguments":"[1]"}}"#,
        "0].function.arguments: not the text of a JSON object",
    );
    check(
        r#"{"id":"a","function":{"name":"x","arguments":"{\"a\":1,\"a\":2}"}}"#,
        "0].function.arguments: key \"a\" occurs twice in one object",
    );
    check(
        r#"{"id":"a","function":{"name":"x","arguments":{}}}"#,
        "0].function.arguments: invalid type: map, expected a string",
    );
}

#[test]
fn answer_at_the_wrong_level_is_rejected() {
    let found = r#"{"action":"modify","response":{"content":"…"}}"#;
    check(
        &after_llm(),
        r#"{"action":"modify","response":{"content":"x"}}"#,
        Err((r#""response" has "content" instead of "response""#, found)),
    );
    check(
        &after_llm(),
        r#"{"content":"x"}"#,
        Err((r#""content" must be inside "response""#, r#"{"content":"…"}"#)),
    );
    check(
        &after_llm(),
        r#"{"response":{"text":"x"}}"#,
        Err((r#""response" has no known field"#, r#"{"response":{"text":"…"}}"#)),
    );
}

#[test]
fn partial_result_keeps_the_rest() {
    let AfterTool { result: own, .. } = after_tool();
    let said = r#"{"action":"modify","result":{"result":{"for_llm":"***"}}}"#;
    assert_eq!(result(said), HookToolResult { for_llm: "***".into(), ..own.clone() });
    let said = r#"{"result":{"tool":"x","result":{"media":null,"is_error":true}}}"#;
    assert_eq!(result(said), HookToolResult { media: Vec::new(), is_error: true, ..own });
}

#[test]
fn complete_result_replaces_the_tools() {
    let said = r#"{"result":{"result":{"for_llm":"***","silent":false,"is_error":false,"async":false}}}"#;
    assert_eq!(result(said), HookToolResult { for_llm: "***".into(), ..HookToolResult::default() });
}

#[test]
fn result_at_the_wrong_level_is_rejected() {
    for field in ["for_llm", "for_user", "silent", "is_error", "media", "response_handled"] {
        let wrong = after_tool().decide(&json(&format!(r#"{{"result":{{"{field}":null}}}}"#))).unwrap_err();
        assert_eq!(wrong.detail, format!("\"result\" has {field:?} instead of \"result\""));
        let wrong = after_tool().decide(&json(&format!(r#"{{"{field}":null}}"#))).unwrap_err();
        assert_eq!(wrong.detail, format!("{field:?} must be inside \"result\""));
    }
    check(&after_tool(), r#"{"result":{"tool":"x"}}"#, Ok("Continue"));
    check(&after_tool(), r#"{"result":{"result":null}}"#, Ok("Continue"));
}

#[test]
fn number_of_calls_in_a_changed_answer_is_limited() {
    let call = |index: usize| format!(r#"{{"id":"c{index}","function":{{"name":"x","arguments":"{{}}"}}}}"#);
    let said = |calls: usize| {
        let calls: Vec<String> = (0..calls).map(call).collect();
        json(&format!(r#"{{"response":{{"response":{{"tool_calls":[{}]}}}}}}"#, calls.join(",")))
    };
    let mut asked = after_llm();
    assert!(asked.decide(&said(128)).is_ok());
    let refused = |calls: usize| asked.decide(&said(calls)).unwrap_err().detail;
    assert_eq!(refused(129), "response.response.tool_calls: more than 128 calls");
    assert_eq!(refused(20_000), "response.response.tool_calls: more than 128 calls");
    let own = asked.response.tool_calls[0].clone();
    asked.response.tool_calls = vec![own; 130];
    assert!(asked.decide(&said(130)).is_ok());
    assert!(asked.decide(&said(131)).is_err());
}
