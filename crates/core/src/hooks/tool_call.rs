//! Hooks before a tool call, for its approval, and after it.

use std::time::Duration;

use async_trait::async_trait;
use haft_protocol::RawJson;
use haft_protocol::content::{CallPreview, ResolvedPath, ToolCall};
use haft_protocol::ids::ExtensionName;

use super::{CancellationToken, GateClock, Refusal, RefusalScope, UNNAMED_HOOK};
use crate::tool::{ApprovalRequest, LazyPreview, ToolOutput};

/// A tool call before it runs, with what the agent knows about it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct PendingCall<'a> {
    /// The call, with [canonical](crate::tool::Tool::canonical_args) arguments.
    pub call: &'a ToolCall,
    /// The places that the paths in the arguments mean. Empty for tools without paths.
    pub resolved_paths: &'a [ResolvedPath],
    /// The extension that makes the call (see [`ExtensionToolRunner`](crate::ExtensionToolRunner)); `None` for a call
    /// of the model.
    pub caller: Option<&'a ExtensionName>,
    /// The common time of all hooks, for a hook that waits for a person; `None` if there is none.
    pub clock: Option<&'a GateClock>,
    pub(crate) preview: Option<&'a LazyPreview<'a>>,
}

impl<'a> PendingCall<'a> {
    /// Creates a call of the model without paths.
    pub fn new(call: &'a ToolCall) -> Self {
        Self { call, resolved_paths: &[], caller: None, clock: None, preview: None }
    }

    /// Returns the effect that the call would have, for an approver that shows it to a person. Computes it at the first
    /// call of this method, and has the tool reject the call if the state changes afterwards. `None` if the tool has no
    /// preview, and before approvals.
    pub async fn request_preview(&self) -> Option<&'a CallPreview> {
        self.preview?.get().await
    }
}

/// Hook before a tool call. See the [module](super) for an example.
#[async_trait]
pub trait BeforeToolExecute: Send + Sync {
    /// Decides about the call. An ordered hook may be asked again after a later hook changed the arguments; then only a
    /// refusal counts. The future is dropped if an earlier hook refuses, or when the shared
    /// [`AgentBuilder::gate_budget`](crate::AgentBuilder::gate_budget) is used up. Each hook may use its [own
    /// time](Self::decision_time) in addition.
    async fn before_tool_execute(&self, cancel: &CancellationToken, call: &ToolCall) -> ToolDecision;

    /// Decides about a call with all facts about it, in place of [`before_tool_execute`](Self::before_tool_execute), which
    /// the default calls.
    async fn decide_call(&self, cancel: &CancellationToken, pending: &PendingCall<'_>) -> ToolDecision {
        self.before_tool_execute(cancel, pending.call).await
    }

    /// True if the hook belongs to this extension. It is not asked about the extension's own calls, because the
    /// extension waits for them.
    fn belongs_to(&self, _extension: &ExtensionName) -> bool {
        false
    }

    /// Returns the name of the hook, see the [module](super#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
    }

    /// Returns the role of the hook in calls of this tool; `None` if it is not asked. Called again when a hook selects
    /// another tool.
    fn role(&self, _tool: &str) -> Option<HookRole> {
        Some(HookRole::Ordered)
    }

    /// Returns the hook's own limit for one decision. This time does not count against
    /// [`AgentBuilder::gate_budget`](crate::AgentBuilder::gate_budget).
    fn decision_time(&self) -> Option<Duration> {
        None
    }

    /// True if the hook can answer calls of unregistered tools. While such a hook exists, a call of an unknown tool
    /// passes the chain before the model receives an error. Its arguments must be an object, but there is no schema to
    /// check them against.
    fn handles_unknown_tools(&self) -> bool {
        false
    }

    /// True if this hook's result in place of the tool needs no [`ApproveTool`](super::ApproveTool).
    fn bypasses_approval(&self, _tool: &str) -> bool {
        false
    }

    /// Reports that the hook's rewrite does not match the tool's schema or selects a tool that cannot be called. The
    /// call is blocked; `detail` is the reason.
    fn rewrite_refused(&self, _call: &ToolCall, _detail: &str) {}

    /// Decides whether the run ends after this hook blocked the call or returned an invalid rewrite. A hook that keeps
    /// failing can ask the user here, because no time limit applies.
    async fn after_block(&self, _cancel: &CancellationToken, _call: &ToolCall) -> AfterBlock {
        AfterBlock::GoOn
    }
}

/// The role of a hook in the chain over a tool call, see [`ToolChain`](crate::chain::ToolChain).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookRole {
    /// Asked in order, with the arguments that the previous hook left. Can change the arguments, return a result, or
    /// refuse.
    Ordered,
    /// Asked about the final arguments, concurrently with all other gates. Can only allow or refuse.
    Gate,
}

/// The effect of a blocked call on the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterBlock {
    /// The model receives the reason, and the run continues.
    GoOn,
    /// The run ends, as with [`RefusalScope::Run`].
    AbortAgent {
        /// The reason, for the user.
        reason: String,
    },
}

/// The decision of one hook about a tool call.
///
/// An answer has four forms on its way: the line of an extension
/// ([`EventInterceptResponse`](haft_protocol::ext::EventInterceptResponse)), the decision in that line
/// ([`ToolCallDecision`](haft_protocol::ext::ToolCallDecision)), this type, which every hook returns, and the
/// [`Verdict`](crate::chain::Verdict) of all hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolDecision {
    /// The call runs with the current arguments.
    Allow,
    /// The call runs with other arguments, or another tool runs.
    Rewrite {
        /// Another tool, which must be offered to the model; `None` keeps the tool. The transcript keeps the model's
        /// call.
        tool: Option<String>,
        /// An object that matches the tool's schema.
        args: RawJson,
    },
    /// The call does not run, and this is its result. Counts only if no other hook refuses.
    Respond {
        /// The result.
        output: ToolOutput,
    },
    /// The call does not run.
    Refuse(Refusal),
}

impl ToolDecision {
    /// Creates a refusal of the call only: the model receives the reason, and the turn continues.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Refuse(Refusal::new(RefusalScope::Call, reason))
    }
}

/// Hook that approves a tool call after the [chain](crate::chain::ToolChain) allowed it. Approvers are asked in order
/// about the final call; the first denial decides. A panic counts as a denial.
///
/// An approver may ask a person, so its time does not count against
/// [`AgentBuilder::gate_budget`](crate::AgentBuilder::gate_budget). Approvers are also asked if a hook returns a result
/// in place of the tool, unless that hook [vouches](super::BeforeToolExecute::bypasses_approval) for it. They are not
/// asked about tools that only hooks know.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{ApproverDecision, ApproveTool, CancellationToken};
/// use haft_core::protocol::content::ToolCall;
///
/// /// Asks a person, and withdraws the question when the run is cancelled.
/// struct Ask;
///
/// #[async_trait]
/// impl ApproveTool for Ask {
///     async fn approve_tool(&self, cancel: &CancellationToken, call: &ToolCall) -> ApproverDecision {
///         let question = format!("Run {} with {}?", call.name, call.args);
///         match cancel.run_until_cancelled(yes_or_no(question)).await {
///             Some(true) => ApproverDecision::Approve,
///             Some(false) | None => ApproverDecision::Deny { reason: "denied by user".into() },
///         }
///     }
///
///     fn name(&self) -> &str {
///         "you"
///     }
/// }
///
/// async fn yes_or_no(_question: String) -> bool {
///     true // show the question and wait for the answer
/// }
/// ```
#[diagnostic::on_unimplemented(note = "a closure is passed to `AgentBuilder::approve`")]
#[async_trait]
pub trait ApproveTool: Send + Sync {
    /// Decides whether the call may run.
    async fn approve_tool(&self, cancel: &CancellationToken, call: &ToolCall) -> ApproverDecision;

    /// Decides about a call with all facts about it, in place of [`approve_tool`](Self::approve_tool), which the default
    /// calls.
    async fn approve_call(&self, cancel: &CancellationToken, pending: &PendingCall<'_>) -> ApproverDecision {
        self.approve_tool(cancel, pending.call).await
    }

    /// Asks a person about a call whose tool requires it, in place of [`approve_call`](Self::approve_call). `None` if
    /// this approver cannot ask a person. If no approver can, the call does not run.
    async fn ask_person(
        &self,
        _cancel: &CancellationToken,
        _pending: &PendingCall<'_>,
        _request: &ApprovalRequest,
    ) -> Option<ApproverDecision> {
        None
    }

    /// True if the approver belongs to this extension. It is not asked about the extension's own calls, because the
    /// extension waits for them.
    fn belongs_to(&self, _extension: &ExtensionName) -> bool {
        false
    }

    /// Returns the name of the hook, see the [module](super#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
    }

    /// Decides whether the run ends after this approver denied the call. See
    /// [`BeforeToolExecute::after_block`](super::BeforeToolExecute::after_block).
    async fn after_denial(&self, _cancel: &CancellationToken, _call: &ToolCall) -> AfterBlock {
        AfterBlock::GoOn
    }
}

/// The decision about the final call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApproverDecision {
    /// The approver allows the call.
    Approve,
    /// The approver denies the call.
    Deny {
        /// The reason, for the model.
        reason: String,
    },
}

/// Hook after a tool call. If a hook panics or the run is cancelled, the result is withheld, because the hook may have
/// been there to redact it.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{AfterToolExecute, CancellationToken, FinishedCall, ResultDecision};
/// use haft_core::protocol::content::ContentBlock;
/// use haft_core::tool::ToolOutput;
///
/// /// Hides text that looks like a key from the model.
/// struct Redact;
///
/// #[async_trait]
/// impl AfterToolExecute for Redact {
///     async fn after_tool_execute(
///         &self,
///         _: &CancellationToken,
///         _: &FinishedCall,
///         mut output: ToolOutput,
///     ) -> ResultDecision {
///         for block in &mut output.content {
///             if let ContentBlock::Text { text } = block {
///                 let words = text.split(' ').map(|word| if word.starts_with("sk-") { "[key]" } else { word });
///                 *text = words.collect::<Vec<_>>().join(" ");
///             }
///         }
///         output.into()
///     }
/// }
/// ```
#[async_trait]
pub trait AfterToolExecute: Send + Sync {
    /// Decides which result the model receives: `output` or another one. If the content changes and the
    /// [details](ToolOutput::details) do not, the details are dropped.
    async fn after_tool_execute(
        &self,
        cancel: &CancellationToken,
        finished: &FinishedCall,
        output: ToolOutput,
    ) -> ResultDecision;

    /// True if the hook belongs to this extension. It is not asked about the results of the extension's own calls,
    /// because the extension waits for them.
    fn belongs_to(&self, _extension: &ExtensionName) -> bool {
        false
    }

    /// Returns the name of the hook, see the [module](super#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
    }
}

/// The input of [`AfterToolExecute`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FinishedCall {
    /// The tool that ran and the arguments that every gate allowed.
    pub call: ToolCall,
    /// The duration of the call.
    pub took: Duration,
}

impl FinishedCall {
    /// Creates the input of a hook.
    pub fn new(call: ToolCall, took: Duration) -> Self {
        Self { call, took }
    }
}

/// The decision about a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultDecision {
    /// The model receives this result.
    Show(ToolOutput),
    /// The result is withheld, and the turn ends.
    Refuse(Refusal),
}

impl From<ToolOutput> for ResultDecision {
    fn from(output: ToolOutput) -> Self {
        Self::Show(output)
    }
}
