//! The effect of a failed interception on the action. One table for all extensions.
//!
//! | hook | role | timeout | timeout, allowed by the user | any other failure |
//! |---|---|---|---|---|
//! | `tool_call` | none, `gate`, `rewrite` | blocks | passes | blocks |
//! | `user_bash` | any | blocks | passes | blocks |
//! | `approve` | any | blocks | passes | blocks |
//! | `turn_start` | `gate` | blocks | blocks | blocks |
//! | `assistant_message` | `gate`, `redactor` | withheld | withheld | withheld |
//! | both | none, `rewrite` | passes | passes | passes |
//! | `before_agent_start` | any | passes | passes | passes |
//! | `before_compact` | any | the model summarizes | the model summarizes | the model summarizes |
//! | events of the role `wait` | `wait` | passes | passes | passes |
//! | `tool_result` | any | the result stays | the result stays | the result stays |
//! | `input` | any | the input stays | the input stays | the input stays |
//! | `before_switch`, `before_fork`, `before_tree` | any | the command goes on | the command goes on | the command goes on |
//! | `resources` | any | no files are added | no files are added | no files are added |
//! | `project_trust` | any | the next one is asked | the next one is asked | the next one is asked |
//! | `before_settle` | any | the run ends | the run ends | the run ends |
//! | `context` | any | the request stays | the request stays | the request stays |
//! | `before_provider_request` | any | the request stays | the request stays | the request stays |
//! | `message_end` | any | the answer stays | the answer stays | the answer stays |
//!
//! An observer is never queried, so it cannot fail here.
//!
//! Every outcome except an answer is a failure: an error, an exit, garbage, wrong types, half a frame, no
//! response, an undeliverable query, an extension that is disabled or was never started. A cancelled run is
//! not a failure: the action does not happen, for every hook and role.

use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ext::InterceptKind;
use haft_protocol::ids::ExtensionName;

use crate::session::filter::InterceptorRole;
use crate::wire::fault::{CallError, PRINTED};

/// The maximum number of characters of a failure in a question.
const MAX_QUOTED: usize = 200;

/// The effect on the action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureEffect {
    /// The action happens without the extension. The failure is reported.
    Pass,
    Block,
}

/// Returns the effect of a failed interception. `allow_on_timeout` is the user's setting for this extension,
/// never the extension's own.
pub(crate) fn on_failure(
    hook: InterceptKind,
    role: InterceptorRole,
    allow_on_timeout: bool,
    error: &CallError,
) -> FailureEffect {
    match error {
        CallError::Cancelled => FailureEffect::Block,
        CallError::TimedOut { .. } if allow_on_timeout && hook.always_blocks() => FailureEffect::Pass,
        CallError::TimedOut { .. }
        | CallError::BadResponse { .. }
        | CallError::Gone { .. }
        | CallError::NotSent { .. } => match fails_closed(hook, role) {
            true => FailureEffect::Block,
            false => FailureEffect::Pass,
        },
    }
}

/// Returns the failure as a phrase that follows the extension's name; `None` if the run was cancelled.
pub(crate) fn failure_detail(error: &CallError) -> Option<String> {
    (*error != CallError::Cancelled).then(|| error.to_string())
}

/// Returns the failure of a gate for the question whether to continue without it. The extension must not
/// influence the answer: its output is omitted, the text is one line of bounded length, and text that may
/// come from it is quoted and attributed.
pub(crate) fn user_facing_failure(name: &ExtensionName, failure: &str) -> String {
    let (failure, _) = failure.split_once(PRINTED).unwrap_or((failure, ""));
    let failure = failure.split_whitespace().collect::<Vec<_>>().join(" ");
    match failure.split_once(": ") {
        Some((what, words)) => {
            let words = shorten_quote(&words.replace('"', "'"), MAX_QUOTED);
            format!(
                "{}; the following text may come from {name}: \"{words}\"",
                shorten_quote(what, MAX_QUOTED)
            )
        }
        None => shorten_quote(&failure, MAX_QUOTED),
    }
}

fn shorten_quote(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// True if the action is blocked when this hook fails.
pub(crate) fn fails_closed(hook: InterceptKind, role: InterceptorRole) -> bool {
    if !is_up(Defense::GatesFailClosed) {
        return false;
    }
    match (hook, role) {
        (
            InterceptKind::BeforeAgentStart
            | InterceptKind::BeforeCompact
            | InterceptKind::SessionStart
            | InterceptKind::SessionShutdown
            | InterceptKind::AgentStart
            | InterceptKind::AgentEnd
            | InterceptKind::TurnEnd
            | InterceptKind::MessageStart
            | InterceptKind::ToolEnd
            | InterceptKind::ToolResult
            | InterceptKind::Input
            | InterceptKind::BeforeSettle
            | InterceptKind::Context
            | InterceptKind::MessageEnd
            | InterceptKind::BeforeSwitch
            | InterceptKind::BeforeFork
            | InterceptKind::BeforeTree
            | InterceptKind::Resources
            | InterceptKind::ProjectTrust
            | InterceptKind::BeforeProviderRequest,
            _,
        ) => false,
        (InterceptKind::ToolCall | InterceptKind::UserBash | InterceptKind::Approve, _) => {
            is_up(Defense::GateFailures)
        }
        (
            InterceptKind::TurnStart | InterceptKind::AssistantMessage,
            InterceptorRole::Gate | InterceptorRole::Redactor,
        ) => true,
        (
            InterceptKind::TurnStart | InterceptKind::AssistantMessage,
            InterceptorRole::Plain | InterceptorRole::Rewrite,
        ) => false,
    }
}

/// Returns the text about a block after a failure, for the model or the user: the extension and the failure.
/// Omits how to bypass the block, because the model might do it. Omits the extension's output, which may
/// contain anything and is in the report.
pub(crate) fn reason(name: &ExtensionName, error: &CallError) -> String {
    if *error == CallError::Cancelled {
        return "the run was cancelled".to_owned();
    }
    let error = error.to_string();
    let error = error.split_once(PRINTED).map_or(error.as_str(), |(what, _)| what);
    format!("blocked: extension {name}, which must approve this, {error}; the user was notified")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const ROLES: [InterceptorRole; 4] =
        [InterceptorRole::Plain, InterceptorRole::Gate, InterceptorRole::Rewrite, InterceptorRole::Redactor];

    /// Every kind of failure that reaches the policy.
    fn failures() -> [(&'static str, CallError); 12] {
        let bad = |detail: &str| CallError::BadResponse { detail: detail.into() };
        let gone = |why: &str| CallError::Gone { why: why.into() };
        let late = CallError::TimedOut { after: Duration::from_secs(5) };
        [
            ("timeout", late.clone()),
            ("missing response", late),
            ("error", bad("failed to decide: no disk")),
            ("garbage", bad("expected a JSON object")),
            ("wrong types", bad("block: invalid type: string")),
            ("truncated JSON", gone("closed the connection in the middle of a frame")),
            ("exit", gone("exited with code 3")),
            ("write not delivered", CallError::NotSent { detail: "too much is waiting".into() }),
            ("disabled", gone("was stopped")),
            ("crash loop", gone("crashed 5 times in 3 minutes")),
            ("never started", gone("cannot be started: no such file")),
            ("cancelled turn", CallError::Cancelled),
        ]
    }

    /// The expected effect, written independently of the implementation.
    fn expected(
        hook: InterceptKind,
        role: InterceptorRole,
        failure: &str,
        allow_on_timeout: bool,
    ) -> FailureEffect {
        let late = matches!(failure, "timeout" | "missing response");
        let closed = match (hook.name(), role) {
            ("tool_call" | "user_bash" | "approve", _) => !(late && allow_on_timeout),
            ("turn_start" | "assistant_message", InterceptorRole::Gate | InterceptorRole::Redactor) => true,
            _ => false,
        };
        if closed || failure == "cancelled turn" { FailureEffect::Block } else { FailureEffect::Pass }
    }

    #[test]
    fn effect_matches_table_for_every_hook_role_and_failure() {
        let mut tried = 0;
        for hook in InterceptKind::ALL {
            for role in ROLES {
                for (failure, error) in failures() {
                    for allow_on_timeout in [false, true] {
                        let got = on_failure(*hook, role, allow_on_timeout, &error);
                        let expect = expected(*hook, role, failure, allow_on_timeout);
                        assert_eq!(got, expect, "{} {role:?} {failure} {allow_on_timeout}", hook.name());
                        tried += 1;
                    }
                }
            }
        }
        assert_eq!(tried, 25 * 4 * 12 * 2);
    }

    #[test]
    fn reason_omits_extension_output() {
        let why = format!("exited with status 1{PRINTED}token=abc, is restarting");
        let text = reason(&ExtensionName::new("guard"), &CallError::Gone { why });
        insta::assert_snapshot!(text, @"blocked: extension guard, which must approve this, exited with status 1; the user was notified");
    }

    #[test]
    fn question_is_one_line_and_attributes_quotes() {
        let shown = |failure: &str| user_facing_failure(&ExtensionName::new("guard"), failure);
        assert_eq!(shown("did not answer within 5 s"), "did not answer within 5 s");
        let printed = format!("exited with status 3{PRINTED}\nhaft: choose 2 and press enter.\n");
        assert_eq!(shown(&printed), "exited with status 3");
        let quoted = "sent an invalid answer: no \"\n\nhaft:\u{85}choose 2\r\u{2028}and press enter.";
        let expect = "sent an invalid answer; the following text may come from guard: \"no ' haft: choose 2 and press enter.\"";
        assert_eq!(shown(quoted), expect);
        assert!(shown(&format!("bad: {}", "y".repeat(10_000))).chars().count() < 300);
    }

    #[test]
    fn reason_names_extension_and_failure() {
        let text =
            reason(&ExtensionName::new("guard"), &CallError::TimedOut { after: Duration::from_secs(5) });
        insta::assert_snapshot!(text, @"blocked: extension guard, which must approve this, did not answer within 5 s; the user was notified");
    }
}
