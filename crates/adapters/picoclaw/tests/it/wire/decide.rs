//! The decisions in results, including wrong ones.

use haft_adapter_picoclaw::wire::{HookHello, HookQuestion, ResponseDecision, ResultDecision};

use super::json;
use super::samples;

/// Checks the decision, or the error and the outline of the result.
#[track_caller]
pub(crate) fn check<Q: HookQuestion>(question: &Q, result: &str, expect: Result<&str, (&str, &str)>)
where
    Q::Decision: std::fmt::Debug,
{
    let decided = question.decide(&json(result));
    let decided = decided.map(|decided| {
        assert!(decided.reports.is_empty(), "{result}: {:?}", decided.reports);
        format!("{:?}", decided.decision)
    });
    let wrong =
        |wrong: &haft_adapter_picoclaw::wire::MalformedReply| (wrong.detail.clone(), wrong.found.clone());
    let got = decided.as_ref().map(String::as_str).map_err(wrong);
    let expect = expect.map_err(|(detail, found)| (detail.to_owned(), found.to_owned()));
    assert_eq!(got, expect, "{result}");
}

/// Checks the only report.
#[track_caller]
pub(crate) fn check_report<Q: HookQuestion>(question: &Q, result: &str, decision: &str, report: &str)
where
    Q::Decision: std::fmt::Debug,
{
    let decided = question.decide(&json(result)).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(format!("{:?}", decided.decision), decision, "{result}");
    assert_eq!(decided.reports, [report], "{result}");
}

#[test]
fn hello_accepts_any_object() {
    let hello = HookHello::new("gate", Vec::new());
    for result in ["{}", "null", r#"{"ok":false}"#, r#"{"name":7}"#] {
        check(&hello, result, Ok("()"));
    }
    check(&hello, r#""hi""#, Err(("not an object", "\"…\"")));
    check(&hello, "[]", Err(("not an object", "[]")));
}

#[test]
fn empty_result_means_continue() {
    for result in [
        "{}",
        "null",
        r#"{"action":""}"#,
        r#"{"action":"","reason":"","call":null,"result":{}}"#,
        r#"{"action":"continue"}"#,
        r#"{"action":"continue","reason":"","call":{},"result":null,"error":""}"#,
    ] {
        check(&samples::before_llm(), result, Ok("Continue"));
        check(&samples::after_llm(), result, Ok("Continue"));
        check(&samples::before_tool(), result, Ok("Continue"));
        check(&samples::after_tool(), result, Ok("Continue"));
    }
    for result in [
        r#"{"action":"continue","reason":"x"}"#,
        r#"{"action":"continue","note":"x","score":1}"#,
        r#"{"action":"continue","decision":"allow","continue":true}"#,
    ] {
        check(&samples::before_llm(), result, Ok("Continue"));
        check(&samples::after_llm(), result, Ok("Continue"));
        check(&samples::after_tool(), result, Ok("Continue"));
    }
}

#[test]
fn undocumented_field_beside_continue_blocks_the_call() {
    let call = samples::before_tool();
    for (other, name) in [
        (r#""result":"deny_tool""#, "result"),
        (r#""result":{"for_llm":"x"}"#, "result"),
        (r#""status":"denied""#, "status"),
        (r#""Error":"x""#, "error"),
        (r#""reason":"denied""#, "reason"),
        (r#""message":"blocked""#, "message"),
        (r#""exit_code":2"#, "exit_code"),
        (r#""safe":false"#, "safe"),
        (r#""note":"x""#, "note"),
        (r#""decision":"allow""#, "decision"),
        (r#""arguments":{"command":"true"}"#, "arguments"),
    ] {
        for (action, payload) in [("continue", "{}"), ("modify", r#"{"tool":"exec"}"#)] {
            let result = format!(r#"{{"action":"{action}","call":{payload},{other}}}"#);
            if action == "modify" && name == "reason" {
                check(&call, &result, Ok(r#"Modify { tool: Some("exec"), arguments: None }"#));
                continue;
            }
            let wrong = call.decide(&json(&result)).expect_err(&result);
            assert_eq!(wrong.detail, format!("{name:?} is not valid with the action {action:?}"), "{result}");
        }
    }
    let mut repeated = serde_json::to_value(&call).unwrap();
    repeated["action"] = "continue".into();
    check(&call, &repeated.to_string(), Ok("Continue"));
}

#[track_caller]
fn check_echo<Q: HookQuestion>(question: &Q, field: &str)
where
    Q::Decision: std::fmt::Debug,
{
    let params = serde_json::to_value(question).unwrap();
    check(question, &params.to_string(), Ok("Continue"));
    let nested = serde_json::json!({ "action": "modify", field: params });
    check(question, &nested.to_string(), Ok("Continue"));
}

#[test]
fn repeated_params_change_nothing() {
    check_echo(&samples::before_llm(), "request");
    check_echo(&samples::after_llm(), "response");
    check_echo(&samples::before_tool(), "call");
    check_echo(&samples::after_tool(), "result");
    check(
        &samples::before_tool(),
        r#"{"meta":{"AgentID":"main"},"tool":"bash","arguments":{"command":"true"}}"#,
        Err((
            r#""tool" must be inside "call""#,
            r#"{"meta":{"AgentID":"…"},"tool":"…","arguments":{"command":"…"}}"#,
        )),
    );
}

#[test]
fn both_aborts_keep_their_reason() {
    for (action, decision) in [("abort_turn", "AbortTurn"), ("hard_abort", "HardAbort")] {
        let result = format!(r#"{{"Action":"{action}","reason":"late","call":5}}"#);
        let decision = format!(r#"{decision} {{ reason: "late" }}"#);
        check(&samples::before_llm(), &result, Ok(&decision));
        check(&samples::after_llm(), &result, Ok(&decision));
        check(&samples::before_tool(), &result, Ok(&decision));
        check(&samples::after_tool(), &result, Ok(&decision));
    }
}

#[test]
fn action_of_another_point_is_rejected() {
    let check = |action: &str, detail: &str| {
        let result = format!(r#"{{"action":"{action}"}}"#);
        let wrong = Err((detail, result.as_str()));
        check(&samples::before_llm(), &result, wrong);
        check(&samples::after_llm(), &result, wrong);
        check(&samples::after_tool(), &result, wrong);
    };
    check("respond", "the action \"respond\" is not valid for this method");
    check("deny_tool", "the action \"deny_tool\" is not valid for this method");
    check("block", "unknown action \"block\"");
    check("Continue", "unknown action \"Continue\"");
}

#[test]
fn tool_call_can_be_denied_or_answered() {
    let call = samples::before_tool();
    check(&call, r#"{"action":"deny_tool","reason":"no"}"#, Ok(r#"Deny { reason: "no" }"#));
    check(&call, r#"{"action":"deny_tool","call":7}"#, Ok(r#"Deny { reason: "" }"#));
    let fog = r#"Respond(HookToolResult { for_llm: "fog", for_user: "", silent: false, is_error: true, is_async: false, media: ["a.png"], artifact_tags: [], response_handled: false })"#;
    check(
        &call,
        r#"{"action":"respond","call":{"tool":"x"},"result":{"for_llm":"fog","is_error":true,"media":["a.png"]}}"#,
        Ok(fog),
    );
    check(
        &call,
        r#"{"action":"respond","call":{"hook_result":{"for_llm":"fog","is_error":true,"media":["a.png"]}}}"#,
        Ok(fog),
    );
    check(
        &call,
        r#"{"action":"respond","result":{}}"#,
        Ok(
            r#"Respond(HookToolResult { for_llm: "", for_user: "", silent: false, is_error: false, is_async: false, media: [], artifact_tags: [], response_handled: false })"#,
        ),
    );
}

#[test]
fn tool_call_can_be_changed() {
    let call = samples::before_tool();
    let changed = r#"Modify { tool: Some("exec"), arguments: Some({"n":9007199254740992}) }"#;
    check(
        &call,
        r#"{"action":"modify","call":{"tool":"exec","arguments":{"n":9007199254740992}}}"#,
        Ok(changed),
    );
    check(
        &call,
        r#"{"action":"continue","Call":{"Tool":"exec","Arguments":{"n":9007199254740992}}}"#,
        Ok(changed),
    );
    check(&call, r#"{"call":{"tool":"exec"}}"#, Ok(r#"Modify { tool: Some("exec"), arguments: None }"#));
    check(&call, r#"{"call":{"arguments":{}}}"#, Ok("Modify { tool: None, arguments: Some({}) }"));
    check(&call, r#"{"call":{"tool":"","arguments":null}}"#, Ok("Continue"));
    check(&call, r#"{"call":{"arguments":{"command":"ls","n":9007199254740993}}}"#, Ok("Continue"));
    check(&call, r#"{"call":{"arguments":{"n":9007199254740993,"\u0063ommand":"\u006cs"}}}"#, Ok("Continue"));
    check(&call, r#"{"call":{}}"#, Ok("Continue"));
}

#[test]
fn misspelled_change_blocks_the_call() {
    let call = samples::before_tool();
    let check = |result: &str, detail: &str, found: &str| check(&call, result, Err((detail, found)));
    check(r#"{"action":"modify"}"#, "modify without \"call\"", r#"{"action":"modify"}"#);
    check(
        r#"{"action":"modify","request":{"tool":"x"}}"#,
        "modify without \"call\"",
        r#"{"action":"modify","request":{"tool":"…"}}"#,
    );
    check(
        r#"{"decision":"modify","args":{"a":1}}"#,
        "\"decision\" without \"action\"",
        r#"{"decision":"…","args":{"a":a number}}"#,
    );
    check(
        r#"{"action":"modify","call":{"tool":"bash","args":{}}}"#,
        "\"call\" has \"args\" instead of \"arguments\"",
        r#"{"action":"modify","call":{"tool":"…","args":{}}}"#,
    );
    check(r#"{"call":{"command":"ls"}}"#, "\"call\" has no known field", r#"{"call":{"command":"…"}}"#);
    check(
        r#"{"arguments":{"a":1}}"#,
        "\"arguments\" must be inside \"call\"",
        r#"{"arguments":{"a":a number}}"#,
    );
    check(r#"{"approved":false}"#, "\"approved\" without \"action\"", r#"{"approved":false}"#);
    check(r#"{"block":true}"#, "\"block\" without \"action\"", r#"{"block":true}"#);
    check(
        r#"{"call":{"arguments":[1]}}"#,
        "call.arguments: expected a JSON object",
        r#"{"call":{"arguments":[…]}}"#,
    );
    check(r#"{"call":"x"}"#, "\"call\" is not an object", r#"{"call":"…"}"#);
    check(
        r#"{"action":5}"#,
        "action: invalid type: integer `5`, expected a string",
        r#"{"action":a number}"#,
    );
    check("[]", "invalid type: sequence, expected an object", "[]");
    check(
        r#"{"action":"continue","Action":"deny_tool"}"#,
        "\"action\" occurs twice, once as \"Action\"",
        r#"{"action":"continue","Action":"deny_tool"}"#,
    );
}

#[test]
fn misspelled_response_blocks_the_call() {
    let call = samples::before_tool();
    let check = |result: &str, detail: &str, found: &str| check(&call, result, Err((detail, found)));
    check(r#"{"action":"respond"}"#, "respond without \"result\"", r#"{"action":"respond"}"#);
    check(r#"{"result":{"for_llm":"x"}}"#, "\"result\" without \"action\"", r#"{"result":{"for_llm":"…"}}"#);
    check(
        r#"{"action":"respond","result":{"result":{"for_llm":"x"}}}"#,
        "\"result\" has \"result\" instead of \"for_llm\"",
        r#"{"action":"respond","result":{"result":{…}}}"#,
    );
    check(
        r#"{"action":"respond","result":{"content":"x"}}"#,
        "\"result\" has no known field",
        r#"{"action":"respond","result":{"content":"…"}}"#,
    );
}

#[test]
fn only_plain_answer_lets_the_tool_run() {
    let call = samples::before_tool();
    for (result, name) in [
        (r#"{"acton":"deny_tool"}"#, "acton"),
        (r#"{"reason":"not here"}"#, "reason"),
        (r#"{"action":"","reason":"not here"}"#, "reason"),
        (r#"{"action":null,"Reason":"not here"}"#, "reason"),
        (r#"{"continue":false}"#, "continue"),
        (r#"{"permission":"deny"}"#, "permission"),
        (r#"{"behavior":"deny","message":"no"}"#, "behavior"),
        (r#"{"result":"deny_tool"}"#, "result"),
        (r#"{"call":null,"error":"no"}"#, "error"),
        (r#"{"call":{"tool":"exec"},"acton":"deny_tool"}"#, "acton"),
        (r#"{"call":{"tool":"exec"},"note":1}"#, "note"),
        (r#"{"ok":true}"#, "ok"),
        (r#"{"ok":false}"#, "ok"),
        (r#"{"allow":true}"#, "allow"),
        (r#"{"approved":true,"decision":"deny"}"#, "decision"),
        (r#"{"approved":true,"acton":"deny_tool"}"#, "acton"),
        (r#"{"approved":false,"reason":"not here"}"#, "approved"),
    ] {
        let wrong = call.decide(&json(result)).expect_err(result);
        assert_eq!(wrong.detail, format!("{name:?} without \"action\""), "{result}");
    }
    for (other, name) in [
        (r#""decision":"deny""#, "decision"),
        (r#""Decision":"no""#, "decision"),
        (r#""approved":false"#, "approved"),
        (r#""continue":false"#, "continue"),
        (r#""permission":"ask""#, "permission"),
        (r#""behavior":"deny""#, "behavior"),
        (r#""hookSpecificOutput":{"permissionDecision":"deny"}"#, "hookspecificoutput"),
    ] {
        for action in ["continue", "modify"] {
            let result = format!(r#"{{"action":"{action}","call":{{"tool":"exec"}},{other}}}"#);
            let wrong = call.decide(&json(&result)).expect_err(&result);
            assert_eq!(wrong.detail, format!("{name:?} contradicts the action {action:?}"), "{result}");
        }
        let approval = samples::approve_tool().decide(&json(&format!(r#"{{"Approved":true,{other}}}"#)));
        let denied = !approval.as_ref().is_ok_and(|decided| decided.reports.is_empty());
        assert!(denied, "{other}: {approval:?}");
    }
}

#[test]
fn approval_means_continue() {
    for result in [
        r#"{"approved":true}"#,
        r#"{"approved":true,"reason":"safe"}"#,
        r#"{"action":"continue","approved":true,"reason":"safe"}"#,
    ] {
        check(&samples::before_tool(), result, Ok("Continue"));
    }
}

#[test]
fn payload_without_action_changes_the_call() {
    let changed = r#"Modify { tool: Some("exec"), arguments: None }"#;
    for result in [
        r#"{"call":{"tool":"exec"},"reason":"the shell is slow"}"#,
        r#"{"meta":{"AgentID":"main"},"tool":"bash","call":{"tool":"exec"},"channel":"cli"}"#,
    ] {
        check(&samples::before_tool(), result, Ok(changed));
    }
}

#[test]
fn only_true_approves() {
    let call = samples::approve_tool();
    check(&call, r#"{"approved":true}"#, Ok("Approve"));
    check(&call, r#"{"Approved":true,"reason":"x"}"#, Ok("Approve"));
    check(&call, r#"{"approved":false}"#, Ok(r#"Deny { reason: "" }"#));
    check(&call, r#"{"approved":null,"reason":"no"}"#, Ok(r#"Deny { reason: "no" }"#));
    check(
        &call,
        r#"{"approved":"yes"}"#,
        Err((r#"approved: invalid type: string "yes", expected a boolean"#, r#"{"approved":"…"}"#)),
    );
    check(
        &call,
        r#"{"approved":true,"APPROVED":false}"#,
        Err((r#""approved" occurs twice, once as "APPROVED""#, r#"{"approved":true,"APPROVED":false}"#)),
    );
    check(&call, "7", Err(("invalid type: integer `7`, expected an object", "a number")));
}

#[test]
fn missing_approved_denies_with_a_report() {
    let check = |result: &str, found: &str| {
        let report = format!(
            r#"the reply to hook.approve_tool is invalid: no "approved", which denies; got {found}, expected {{"approved":true|false,"reason":"…"}}"#
        );
        check_report(&samples::approve_tool(), result, r#"Deny { reason: "" }"#, &report);
    };
    check("{}", "{}");
    check("null", "null");
    check(r#"{"action":"continue"}"#, r#"{"action":"continue"}"#);
    check(r#"{"allow":true}"#, r#"{"allow":true}"#);
}

#[test]
fn error_contains_the_actual_and_expected_form() {
    let wrong = samples::after_tool().decide(&json(r#"{"action":"modify","result":{"for_llm":"x"}}"#));
    assert_eq!(
        wrong.unwrap_err().to_string(),
        r#"the reply to hook.after_tool is invalid: "result" has "for_llm" instead of "result"; got {"action":"modify","result":{"for_llm":"…"}}, expected {"action":"continue|modify|abort_turn|hard_abort","reason":"…","result":{"result":{"for_llm":"…","is_error":false}}}"#
    );
}

#[test]
fn contradictory_approval_denies_with_a_report() {
    let call = samples::approve_tool();
    for agrees in [
        r#""action":"""#,
        r#""action":"continue""#,
        r#""action":null"#,
        r#""decision":"Allow""#,
        r#""allow":true"#,
        r#""block":false"#,
        r#""hookSpecificOutput":{"permissionDecision":"allow"}"#,
        r#""tool":"bash","action_id":"deny_tool""#,
    ] {
        check(&call, &format!(r#"{{"approved":true,{agrees}}}"#), Ok("Approve"));
    }
    for (says, word, found) in [
        (r#""action":"deny_tool""#, "action", r#""action":"deny_tool""#),
        (r#""Action":"abort_turn""#, "action", r#""Action":"abort_turn""#),
        (r#""action":7"#, "action", r#""action":a number"#),
        (r#""decision":"deny""#, "decision", r#""decision":"…""#),
        (r#""verdict":"no""#, "verdict", r#""verdict":"…""#),
        (r#""denied":true"#, "denied", r#""denied":true"#),
        (r#""allow":false"#, "allow", r#""allow":false"#),
        (
            r#""hookSpecificOutput":{"permissionDecision":"deny"}"#,
            "hookspecificoutput",
            r#""hookSpecificOutput":{"permissionDecision":"…"}"#,
        ),
    ] {
        let result = format!(r#"{{"approved":true,"reason":"no",{says}}}"#);
        let report = format!(
            r#"the reply to hook.approve_tool is invalid: "{word}" contradicts the approval, which denies; got {{"approved":true,"reason":"…",{found}}}, expected {{"approved":true|false,"reason":"…"}}"#
        );
        check_report(&call, &result, r#"Deny { reason: "no" }"#, &report);
    }
}

#[test]
fn payload_applies_and_extra_verdict_is_reported() {
    let report = "\"decision\" without \"action\"";
    let modify = |payload: &str| format!(r#"{{"decision":"modify",{payload}}}"#);
    let decided =
        samples::after_tool().decide(&json(&modify(r#""result":{"result":{"for_llm":"x"}}"#))).unwrap();
    assert!(matches!(decided.decision, ResultDecision::Modify(_)));
    assert_eq!(decided.reports, [report]);
    let changed = modify(r#""response":{"response":{"content":"x"}}"#);
    let decided = samples::after_llm().decide(&json(&changed)).unwrap();
    assert!(matches!(decided.decision, ResponseDecision::Modify(_)));
    assert_eq!(decided.reports, [report]);
    check_report(&samples::before_llm(), &modify(r#""request":{}"#), "Continue", report);
    // A call might be made that was to be refused.
    let found = r#"{"decision":"…","call":{"tool":"…"}}"#;
    check(&samples::before_tool(), &modify(r#""call":{"tool":"exec"}"#), Err((report, found)));
    let found = r#"{"block":true,"call":{}}"#;
    let report = "\"block\" without \"action\"";
    check(&samples::before_tool(), r#"{"block":true,"call":{}}"#, Err((report, found)));
}
