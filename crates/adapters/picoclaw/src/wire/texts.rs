//! Texts for the model and the user in PicoClaw's own words. Hooks and users match these texts.

/// The error of a turn that a hook ended.
pub const TURN_ABORTED: &str = "hook requested turn abort";

/// The result of a call that `before_tool` denied, and the reason in its event.
pub fn denied_by_hook(reason: &str) -> String {
    with_reason("Tool execution denied by hook", reason)
}

/// The result of a call that `approve_tool` denied, and the reason in its event.
pub fn denied_by_approval(reason: &str) -> String {
    with_reason("Tool execution denied by approval hook", reason)
}

/// The reason of a denial because the hook did not answer in time.
pub fn approval_timed_out(hook: &str) -> String {
    format!("tool approval hook {hook:?} timed out")
}

/// The reason of a denial because the hook failed.
pub fn approval_failed(hook: &str) -> String {
    format!("tool approval hook {hook:?} failed")
}

fn with_reason(text: &str, reason: &str) -> String {
    match reason.trim() {
        "" => text.to_owned(),
        reason => format!("{text}: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_reason_leaves_no_colon() {
        assert_eq!(denied_by_hook(""), "Tool execution denied by hook");
        assert_eq!(denied_by_hook("no"), "Tool execution denied by hook: no");
        assert_eq!(denied_by_approval("no"), "Tool execution denied by approval hook: no");
        assert_eq!(approval_timed_out("gate"), "tool approval hook \"gate\" timed out");
    }
}
