//! PicoClaw's process hooks: core's hooks for extensions that speak PicoClaw's dialect. Core combines the
//! answers, the policy handles failures, and the protocol crate has the frames.

mod adapter;
mod approval;
mod event_broadcaster;
mod model;
mod output;
mod tool;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use haft_adapter_picoclaw::translate::TurnTracker;
use haft_adapter_picoclaw::wire::HookMode;
use haft_core::hooks::HookSet;

pub(crate) use adapter::ProcessHookAdapter;
pub(crate) use event_broadcaster::HookEventBroadcaster;

/// Creates the tracker of a host's turns.
pub(crate) fn turn_tracker() -> TurnTracker {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let sender = ["USER", "USERNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    TurnTracker::new(format!("{:x}", since.as_millis()), sender.unwrap_or_else(|| "user".to_owned()))
}

pub(crate) fn register_hooks(
    hooks: &mut HookSet,
    watch: &haft_adapter_picoclaw::wire::HookSubscriptions,
    part: impl Fn() -> Option<ProcessHookAdapter>,
) {
    for mode in watch.modes() {
        let Some(one) = part().map(Arc::new) else { continue };
        match mode {
            HookMode::Observe => {}
            HookMode::Llm => {
                hooks.before_model_request.push(Arc::clone(&one) as _);
                hooks.after_model_response.push(one);
            }
            HookMode::Tool => {
                hooks.before_tool_execute.push(Arc::clone(&one) as _);
                hooks.after_tool_execute.push(one);
            }
            HookMode::Approve => hooks.approve_tool.push(one),
        }
    }
}
