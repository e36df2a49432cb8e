//! What a failed interception does to the action it was asked about. One table, the same for every dialect.
//!
//! | hook | fails open | fails closed |
//! |---|---|---|
//! | `tool_call` | timeout, when the user said so | always else |
//! | `turn_start`, `assistant_message` | by default | when the manifest names the role |
//! | `before_agent_start` | always | never: it guards nothing |
//!
//! A cancelled run is no failure: the action does not happen.

use haft_protocol::ext::InterceptKind;
use haft_protocol::ids::ExtensionName;

use crate::fault::CallError;
use crate::spec::Roles;

/// What becomes of the action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It happens, as if the extension were not there. The failure was reported.
    Pass,
    /// It does not happen.
    Block,
}

/// Decides what a failed interception does. `loosened` is the user's own word for this extension, never the
/// extension's.
pub(crate) fn on_failure(hook: InterceptKind, roles: &Roles, loosened: bool, error: &CallError) -> Verdict {
    match error {
        CallError::Cancelled => Verdict::Block,
        CallError::TimedOut { .. } if hook == InterceptKind::ToolCall && loosened => Verdict::Pass,
        CallError::TimedOut { .. }
        | CallError::BadResponse { .. }
        | CallError::Gone { .. }
        | CallError::NotSent { .. } => {
            if fails_closed(hook, roles) {
                Verdict::Block
            } else {
                Verdict::Pass
            }
        }
    }
}

/// Whether the action cannot go on without this hook's answer.
pub(crate) fn fails_closed(hook: InterceptKind, roles: &Roles) -> bool {
    match hook {
        InterceptKind::ToolCall => true,
        InterceptKind::TurnStart | InterceptKind::AssistantMessage => roles.names(hook),
        InterceptKind::BeforeAgentStart => false,
    }
}

/// What the model or the user is told about a block by failure: who and what happened. Not the way around it: the
/// model might take it.
pub(crate) fn reason(name: &ExtensionName, error: &CallError) -> String {
    if *error == CallError::Cancelled {
        return "the run was cancelled".to_owned();
    }
    format!("blocked, because extension {name} decides about this and {error}; the user has been told")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const ALL: [InterceptKind; 4] = [
        InterceptKind::ToolCall,
        InterceptKind::TurnStart,
        InterceptKind::AssistantMessage,
        InterceptKind::BeforeAgentStart,
    ];

    fn errors() -> Vec<CallError> {
        vec![
            CallError::TimedOut { after: Duration::from_secs(5) },
            CallError::BadResponse { detail: "x".into() },
            CallError::Gone { why: "exited".into() },
            CallError::NotSent { detail: "x".into() },
        ]
    }

    /// Which hooks block, in the order of `ALL`, for every failure that is not a timeout.
    #[track_caller]
    fn check(roles: &Roles, loosened: bool, expect: [bool; 4], expect_timeout: [bool; 4]) {
        for error in errors() {
            let blocks = ALL.map(|hook| on_failure(hook, roles, loosened, &error) == Verdict::Block);
            let expect = if matches!(error, CallError::TimedOut { .. }) { expect_timeout } else { expect };
            assert_eq!(blocks, expect, "{error:?}");
        }
        assert_eq!(
            ALL.map(|hook| on_failure(hook, roles, loosened, &CallError::Cancelled)),
            [Verdict::Block; 4]
        );
    }

    #[test]
    fn tool_calls_block_and_the_rest_passes_unless_the_manifest_names_a_role() {
        let plain = Roles::default();
        check(&plain, false, [true, false, false, false], [true, false, false, false]);
        check(&plain, true, [true, false, false, false], [false, false, false, false]);

        let gate = Roles { gates: vec![InterceptKind::TurnStart], ..Roles::default() };
        check(&gate, false, [true, true, false, false], [true, true, false, false]);
        let redactor = Roles { redactor: true, ..Roles::default() };
        check(&redactor, true, [true, false, true, false], [false, false, true, false]);
        let greedy = Roles { gates: ALL.to_vec(), ..Roles::default() };
        check(&greedy, false, [true, true, true, false], [true, true, true, false]);
    }

    #[test]
    fn a_reason_names_who_what_and_the_way_out() {
        let text =
            reason(&ExtensionName::new("guard"), &CallError::TimedOut { after: Duration::from_secs(5) });
        insta::assert_snapshot!(text, @"blocked, because extension guard decides about this and did not answer within 5 s; the user has been told");
    }
}
