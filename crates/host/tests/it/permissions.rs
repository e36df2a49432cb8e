//! The grant of an extension decides in which hooks it takes part, whether it runs or not.

use std::path::Path;

use haft_host::Host;
use haft_packages::{ExtensionSpec, GuardRoles, LaunchPlan, Permissions};
use haft_protocol::ext::InterceptKind;
use serde_json::{Value, json};

use crate::support::{Events, blocked, brisk, call, config, fault, program, spec};

/// Registers what the test writes, refuses every call, and stores the answer to its hello in the file `ack`.
const SCRIPT: &str = r#"
say() { printf '%s\n' "$1"; }
say '{"type":"hello","name":"ext","capabilities":["tools_2","hooks_2"]}'
read -r ack; say "$ack" > ack
for frame in "$@"; do say "$frame"; done
say '{"type":"ready"}'
while read -r line; do
    id=${line#*\"id\":\"}; id=${id%%\"*}
    case $line in
        *'"type":"shutdown"'*) exit 0;;
        *'"type":"event_intercept"'*'"event":"assistant_message"'*)
            say '{"type":"event_intercept_response","id":"'$id'","replace_text":"other"}';;
        *'"tool_name":"write"'*) say '{"type":"event_intercept_response","id":"'$id'","modified_tool":"edit"}';;
        *'"tool_name":"edit"'*) say '{"type":"event_intercept_response","id":"'$id'","modified_args":{}}';;
        *'"type":"event_intercept"'*) say '{"type":"event_intercept_response","id":"'$id'","block":true,"reason":"no"}';;
    esac
done"#;

fn granted(permissions: Value) -> Permissions {
    serde_json::from_value(permissions).unwrap()
}

fn extension(dir: &Path, permissions: Value, frames: &[Value]) -> ExtensionSpec {
    let mut args = vec!["-c".to_owned(), SCRIPT.to_owned(), "ext".to_owned()];
    args.extend(frames.iter().map(Value::to_string));
    let launch = LaunchPlan::Process { program: program(&["sh"]), args };
    ExtensionSpec { permissions: Some(granted(permissions)), ..spec("ext", dir, launch) }
}

async fn host(spec: ExtensionSpec) -> (Host, Events) {
    let (events, mut config) = (Events::default(), config());
    config.timeouts = brisk();
    (Host::builder(config).events(events.sink()).specs(vec![spec]).start().await, events)
}

async fn blocks(host: &Host, tool: &str) -> bool {
    blocked(host, &call(tool, json!({}))).await.is_some()
}

fn everything() -> [Value; 3] {
    [
        json!({"type": "register_tool", "name": "weather"}),
        json!({"type": "register_tool", "name": "shell"}),
        json!({"type": "subscribe", "events": ["turn_end"], "intercept": ["tool_call", "turn_start"]}),
    ]
}

#[tokio::test]
async fn extension_receives_its_grants() {
    let dir = tempfile::tempdir().unwrap();
    let permissions = json!({
        "tools": {"register": ["weather"]}, "net": "none", "exec": "none",
        "intercept": [{"event": "tool_call", "role": "gate", "tools": ["bash"]}],
    });
    let (host, events) = host(extension(dir.path(), permissions.clone(), &everything())).await;
    assert_eq!(events.faults(), vec![fault("ext", "register_rejected"); 3]);
    let tools: Vec<_> = host.tools().iter().map(|tool| tool.spec().name.clone()).collect();
    assert_eq!(tools, ["weather"]);
    assert!(blocks(&host, "bash").await);
    assert!(!blocks(&host, "edit").await);
    assert!(host.hook_source().hooks().before_turn.is_empty());
    host.shutdown().await;
    let ack: Value = serde_json::from_str(&std::fs::read_to_string(dir.path().join("ack")).unwrap()).unwrap();
    assert_eq!(granted(ack["granted"].clone()), granted(permissions));
}

#[tokio::test]
async fn built_in_tool_is_replaced_only_with_permission() {
    let dir = tempfile::tempdir().unwrap();
    let bash = |replaces: bool| [json!({"type": "register_tool", "name": "bash", "replaces": replaces})];
    let cases = [
        (json!({"tools": {"replace": ["bash"]}}), true, true),
        (json!({"tools": {"replace": ["bash"]}}), false, false),
        (json!({"tools": {"register": ["bash"], "replace": ["read"]}}), true, false),
    ];
    for (permissions, replaces, expect) in cases {
        let (host, events) = host(extension(dir.path(), permissions, &bash(replaces))).await;
        assert_eq!(host.tools().len(), usize::from(expect), "{replaces} {:?}", events.messages());
        assert_eq!(events.faults().len(), usize::from(!expect));
        host.shutdown().await;
    }
}

#[tokio::test]
async fn missing_role_allows_only_granted_changes() {
    use haft_core::hooks::ToolDecision;
    let dir = tempfile::tempdir().unwrap();
    let subscribe = [json!({"type": "subscribe", "intercept": ["tool_call"]})];
    for (role, rewrites) in [("gate", false), ("rewrite", true)] {
        let permissions = json!({"intercept": [{"event": "tool_call", "role": role, "tools": ["edit"]}]});
        let (host, events) = host(extension(dir.path(), permissions, &subscribe)).await;
        let decided = crate::support::gate(&host, &call("edit", json!({}))).await;
        assert_eq!(matches!(decided[..], [ToolDecision::Rewrite { .. }]), rewrites, "{role} {decided:?}");
        assert_eq!(matches!(decided[..], [ToolDecision::Refuse(_)]), !rewrites, "{role} {decided:?}");
        let faults = if rewrites { vec![] } else { vec![fault("ext", "hook_error")] };
        assert_eq!(events.faults(), faults);
        host.shutdown().await;
    }
}

#[tokio::test]
async fn call_goes_only_to_another_granted_tool() {
    use haft_core::hooks::ToolDecision;
    let dir = tempfile::tempdir().unwrap();
    let subscribe = [json!({"type": "subscribe", "intercept": ["tool_call"]})];
    for (tools, redirects) in [(json!(["write"]), false), (json!(["write", "edit"]), true)] {
        let permissions = json!({"intercept": [{"event": "tool_call", "role": "rewrite", "tools": tools}]});
        let (host, events) = host(extension(dir.path(), permissions, &subscribe)).await;
        let decided = crate::support::gate(&host, &call("write", json!({}))).await;
        assert_eq!(matches!(decided[..], [ToolDecision::Rewrite { .. }]), redirects, "{decided:?}");
        let text = "tool_call intercept: sent modified_tool \"edit\", but calls of this tool are not granted";
        let expect = if redirects { vec![] } else { vec![text.to_owned()] };
        assert_eq!(events.messages(), expect);
        host.shutdown().await;
    }
}

#[tokio::test]
async fn failed_gate_blocks_only_granted_tools() {
    let dir = tempfile::tempdir().unwrap();
    let bash = json!({"intercept": [{"event": "tool_call", "role": "gate", "tools": ["bash"]}]});
    let roles = GuardRoles { required: true, gates: vec![InterceptKind::ToolCall], ..GuardRoles::default() };
    let launch = LaunchPlan::Impossible { why: "there is no program".into() };
    let (host, _) = host(ExtensionSpec { launch, roles, ..extension(dir.path(), bash, &[]) }).await;
    assert!(blocks(&host, "bash").await);
    assert!(!blocks(&host, "edit").await);
    host.shutdown().await;
}

#[tokio::test]
async fn required_extension_without_gate_grant_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let roles = GuardRoles { required: true, ..GuardRoles::default() };
    let spec = ExtensionSpec { roles, ..extension(dir.path(), json!({}), &everything()) };
    let (host, _) = host(spec).await;
    assert!(blocks(&host, "bash").await);
    host.shutdown().await;
}

#[tokio::test]
async fn gate_can_withhold_but_not_rewrite_message() {
    use haft_core::hooks::MessageDecision;
    let dir = tempfile::tempdir().unwrap();
    let subscribe = [json!({"type": "subscribe", "intercept": ["assistant_message"]})];
    for (role, replaces) in [("gate", false), ("rewrite", true), ("redactor", true)] {
        let permissions = json!({"intercept": [{"event": "assistant_message", "role": role}]});
        let (host, events) = host(extension(dir.path(), permissions, &subscribe)).await;
        let hooks = host.hook_source().hooks();
        let hook = hooks.before_assistant_message.first().unwrap();
        let decision =
            hook.before_assistant_message(&tokio_util::sync::CancellationToken::new(), "said").await;
        assert_eq!(matches!(decision, MessageDecision::Replace { .. }), replaces, "{role} {decision:?}");
        assert_eq!(matches!(decision, MessageDecision::Suppress { .. }), !replaces, "{role} {decision:?}");
        let faults = if replaces { vec![] } else { vec![fault("ext", "hook_error")] };
        assert_eq!(events.faults(), faults);
        host.shutdown().await;
    }
}
