//! PicoClaw's process hooks: core's hooks for extensions that speak PicoClaw's dialect. Core combines the
//! answers, the policy handles failures, and the protocol crate has the frames.

mod adapter;
mod approval;
mod bounds;
mod event_broadcaster;
mod messages;
mod model;
mod names;
mod output;
mod tool;
mod turn_events;
mod turn_tracker;

use std::sync::Arc;

use haft_adapter_picoclaw::wire::HookMode;
use haft_core::hooks::HookSet;

pub(crate) use adapter::ProcessHookAdapter;
pub(crate) use event_broadcaster::HookEventBroadcaster;
pub(crate) use turn_tracker::TurnTracker;

/// The channel of every turn.
const CHANNEL: &str = "cli";

/// The conversation on the channel.
const CHAT: &str = "direct";

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
