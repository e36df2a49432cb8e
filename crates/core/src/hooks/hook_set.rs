//! The lists of an agent's hooks, and the sources of hooks that change.

use std::sync::Arc;

use async_trait::async_trait;

use super::{
    AfterModelResponse, AfterToolExecute, ApproveTool, BeforeAgentStart, BeforeAssistantMessage,
    BeforeCompact, BeforeFork, BeforeModelRequest, BeforeProviderRequest, BeforeSettle, BeforeSwitch,
    BeforeToolExecute, BeforeTree, BeforeTurn, CancellationToken, Observer, OnInput, OnUserBash, OnWaitPoint,
};
use crate::tool::Tool;

/// A hook trait, as a `dyn` type, that has a list in [`HookSet`].
pub(crate) trait ListedHook {
    const KIND: HookKind;

    fn list(set: &HookSet) -> &[Arc<Self>];

    fn take_list(set: HookSet) -> Vec<Arc<Self>>;
}

/// Declares the lists of [`HookSet`], and a [`HookKind`] for each.
macro_rules! hook_lists {
    ($($(#[$doc:meta])* $list:ident: $hook:ident,)+) => {
        /// All hooks of an agent, each list in the order in which its hooks are asked.
        ///
        /// One value can implement several hooks, for [`AgentBuilder::hooks`](crate::AgentBuilder::hooks):
        ///
        /// ```
        /// use std::sync::Arc;
        ///
        /// use haft_core::AgentBuilder;
        /// use haft_core::hooks::{BeforeToolExecute, BeforeTurn, HookSet};
        ///
        /// fn with<H: BeforeTurn + BeforeToolExecute + 'static>(agent: AgentBuilder, guard: H) -> AgentBuilder {
        ///     let guard = Arc::new(guard);
        ///     let mut hooks = HookSet::default();
        ///     hooks.before_turn.push(guard.clone());
        ///     hooks.before_tool_execute.push(guard);
        ///     agent.hooks(hooks)
        /// }
        /// ```
        #[derive(Clone, Default)]
        #[non_exhaustive]
        pub struct HookSet {
            $($(#[$doc])* pub $list: Vec<Arc<dyn $hook>>,)+
        }

        impl HookSet {
            /// Appends the hooks of `other`.
            pub fn extend(&mut self, other: Self) {
                $(self.$list.extend(other.$list);)+
            }
        }

        impl std::fmt::Debug for HookSet {
            /// Writes the names of the hooks.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct("HookSet")
                    $(.field(stringify!($list), &names(&self.$list, <dyn $hook>::name)))+
                    .finish()
            }
        }

        /// The kinds of hooks, named like their traits. Each has a list in [`HookSet`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum HookKind {
            $($(#[$doc])* $hook,)+
        }

        impl HookKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$hook,)+];
        }

        $(impl ListedHook for dyn $hook {
            const KIND: HookKind = HookKind::$hook;

            fn list(set: &HookSet) -> &[Arc<Self>] {
                &set.$list
            }

            fn take_list(set: HookSet) -> Vec<Arc<Self>> {
                set.$list
            }
        })+
    };
}

hook_lists! {
    /// Asked about each input of the user.
    on_input: OnInput,
    /// Asked about each shell command of the user.
    on_user_bash: OnUserBash,
    /// Asked before another session is opened.
    before_switch: BeforeSwitch,
    /// Asked before the conversation is copied.
    before_fork: BeforeFork,
    /// Asked before the session continues from another entry.
    before_tree: BeforeTree,
    /// Asked once per prompt.
    before_agent_start: BeforeAgentStart,
    /// Asked once per step.
    before_turn: BeforeTurn,
    /// Asked for every request of a step.
    before_model_request: BeforeModelRequest,
    /// Asked for every encoded request.
    before_provider_request: BeforeProviderRequest,
    /// Asked for every response of a step.
    after_model_response: AfterModelResponse,
    /// Asked for every tool call.
    before_tool_execute: BeforeToolExecute,
    /// Asked for every call that those hooks allowed.
    approve_tool: ApproveTool,
    /// Asked for every result.
    after_tool_execute: AfterToolExecute,
    /// Asked for every message with text.
    before_assistant_message: BeforeAssistantMessage,
    /// Asked before a run ends.
    before_settle: BeforeSettle,
    /// Asked before a compaction.
    before_compact: BeforeCompact,
    /// Waited for at points of a run.
    wait_points: OnWaitPoint,
    /// Receive all events.
    observers: Observer,
}

fn names<H: ?Sized>(hooks: &[Arc<H>], name: fn(&H) -> &str) -> Vec<&str> {
    hooks.iter().map(|hook| name(hook)).collect()
}

/// A source of hooks that change while the agent exists, for example an extension host. The agent calls it at every
/// hook point, so that a new gate takes effect at once. Observers are an exception: the observers at the start of a
/// prompt stay for the whole run.
#[async_trait]
pub trait HookSource: Send + Sync {
    /// Returns the current hooks, in order.
    fn hooks(&self) -> HookSet;

    /// Returns the current hooks of one kind, in order. Hooks of other kinds in the set are ignored. The agent calls
    /// only this method, so a source with many hooks can leave out the others.
    fn hooks_of(&self, _kind: HookKind) -> HookSet {
        self.hooks()
    }

    /// Returns a tool that the model called and the agent does not have, for example the tool of an extension that is
    /// still starting. Returns `None` if there is no such tool or the run was cancelled.
    async fn late_tool(&self, _cancel: &CancellationToken, _name: &str) -> Option<Arc<dyn Tool>> {
        None
    }
}
