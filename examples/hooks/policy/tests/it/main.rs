//! Tests the three functions of the hook with the harness.

use haft_adapter_picoclaw::author::{
    ApprovalDecision, HookHarness, HookToolResult, ResultDecision, ToolDecision,
};
use haft_adapter_picoclaw::wire::LlmDecision;
use haft_example_policy::{Rule, broken_by, hook, redacted};
use serde_json::json;

#[track_caller]
fn check(command: &str, expect: Option<Rule>) {
    assert_eq!(broken_by(command), expect, "{command}");
}

#[test]
fn rules_are_seen_through_their_spellings() {
    for command in [
        "rm -rf build",
        "rm -r -f x",
        "rm x -fR",
        "rm --recursive --force x",
        "cd /; /bin/rm  -rf *",
        "ls | xargs rm -rf",
        "bash -c 'rm -rf x'",
        "echo $(rm -rf x)",
        "r\\m -rf x",
    ] {
        check(command, Some(Rule::RemoveAll));
    }
    for command in ["sudo ls", "FOO=1 sudo ls", "ls && /usr/bin/sudo -s"] {
        check(command, Some(Rule::Root));
    }
    for command in ["git push --force", "git push -f origin main", "cd x; git -C y push -uf"] {
        check(command, Some(Rule::ForcePush));
    }
    for command in
        ["ls", "rm file", "rm -r build", "rm -f file", "rm -r x; ls -f", "git push", "git fetch -f", ""]
    {
        check(command, None);
    }
}

#[track_caller]
fn check_secrets(text: &str, expect: &str) {
    assert_eq!(redacted(text), expect);
}

#[test]
fn secrets_are_taken_out_and_nothing_else() {
    check_secrets("key AKIAIOSFODNN7EXAMPLE.", "key [redacted].");
    check_secrets("sk-proj-0123456789, ghp_0123456789ab", "[redacted], [redacted]");
    check_secrets("DB_PASSWORD=hunter2\nUSER=me", "DB_PASSWORD=[redacted]\nUSER=me");
    check_secrets(r#"{"api_key": "ü1", "n": 1}"#, r#"{"api_key": "[redacted]", "n": 1}"#);
    check_secrets(r#"{\"token\":\"abc\"}"#, r#"{\"token\":\"[redacted]\"}"#);
    check_secrets("secret: a b", "secret: [redacted] b");
    for text in ["", "sk-short", "the password is long", "TOKEN=", "grün: 5 ✓", "a=b c:d", "max_tokens: 9"]
    {
        check_secrets(text, text);
    }
}

#[tokio::test]
async fn only_dangerous_commands_are_denied() {
    let harness = HookHarness::start(hook()).await;
    let denied = ApprovalDecision::deny("rm -rf is refused here; remove single files");
    for shell in ["bash", "exec"] {
        assert_eq!(harness.approve_tool(shell, json!({"command": "rm -rf build"})).await, denied);
        assert_eq!(harness.approve_tool(shell, json!({"command": "ls"})).await, ApprovalDecision::Approve);
        let unread = ApprovalDecision::deny("a shell command is a string");
        assert_eq!(harness.approve_tool(shell, json!({"command": ["rm", "-rf"]})).await, unread);
    }
    assert_eq!(harness.approve_tool("read", json!({"path": "rm -rf"})).await, ApprovalDecision::Approve);
}

#[tokio::test]
async fn model_can_ask_for_refused_calls() {
    let harness = HookHarness::start(hook()).await;
    let LlmDecision::Modify(edit) = harness.before_llm("hi", &["bash"]).await else { panic!("no tool") };
    assert_eq!(edit.add_tools[0].function.name, "explain_policy");
    for (command, expect) in
        [("sudo ls", "sudo is refused here; work with the rights you have"), ("ls", "not refused")]
    {
        let answer = harness.before_tool("explain_policy", json!({ "command": command })).await;
        assert_eq!(answer, ToolDecision::respond(HookToolResult::text(expect)));
    }
    assert_eq!(harness.before_tool("bash", json!({"command": "ls"})).await, ToolDecision::Continue);
}

#[tokio::test]
async fn results_lose_their_secrets_and_nothing_else() {
    let harness = HookHarness::start(hook()).await;
    let result =
        |text: &str| HookToolResult { media: vec!["media://1".into()], ..HookToolResult::error(text) };
    let after = |text| harness.after_tool("bash", json!({"command": "env"}), result(text));
    assert_eq!(after("TOKEN=abc").await, ResultDecision::modify(result("TOKEN=[redacted]")));
    assert_eq!(after("HOME=/root").await, ResultDecision::Continue);
}
