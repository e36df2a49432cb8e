//! Hooks that are shared: each trait for an `Arc`, so that one value can serve several hooks of several agents.

use std::sync::Arc;
use std::time::Duration;

use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ExtensionName;

use super::{
    AfterBlock, AfterModelResponse, AfterToolExecute, AgentStart, AgentStartAdditions, ApproveTool,
    ApproverDecision, BashDecision, BeforeAgentStart, BeforeAssistantMessage, BeforeCompact, BeforeFork,
    BeforeModelRequest, BeforeProviderRequest, BeforeSettle, BeforeSwitch, BeforeToolExecute, BeforeTree,
    BeforeTurn, BranchDecision, CancellationToken, CompactDecision, FinishedCall, HookKind, HookRole,
    HookSet, HookSource, MessageDecision, Observer, OnInput, OnUserBash, OnWaitPoint, OutgoingRequest,
    PendingCall, PendingFork, PendingMove, PendingSwitch, ProviderRequest, ProviderRequestDecision,
    ReceivedResponse, RequestDecision, ResponseDecision, ResultDecision, SessionChangeDecision,
    SettleDecision, SettlingRun, ToolDecision, TurnDecision, UserBash, UserInput, UserInputDecision,
    WaitPoint,
};
use crate::compact::PendingCompaction;
use crate::forward::forward_trait;
use crate::session::EntryId;
use crate::tool::{ApprovalRequest, Tool, ToolOutput};

forward_trait!(Observer for [Arc] {
    fn observe(event: &AgentEvent);
    fn name() -> &str;
});
forward_trait!(HookSource for [Arc] {
    async late_tool(cancel: &CancellationToken, name: &str) -> Option<Arc<dyn Tool>>;
    fn hooks() -> HookSet;
    fn hooks_of(kind: HookKind) -> HookSet;
});
forward_trait!(OnInput for [Arc] {
    async on_input(cancel: &CancellationToken, input: &UserInput) -> UserInputDecision;
    fn name() -> &str;
});
forward_trait!(OnUserBash for [Arc] {
    async on_user_bash(cancel: &CancellationToken, bash: &UserBash) -> BashDecision;
    fn name() -> &str;
});
forward_trait!(BeforeSwitch for [Arc] {
    async before_switch(cancel: &CancellationToken, switch: &PendingSwitch) -> SessionChangeDecision;
    fn name() -> &str;
});
forward_trait!(BeforeFork for [Arc] {
    async before_fork(cancel: &CancellationToken, fork: &PendingFork) -> SessionChangeDecision;
    fn name() -> &str;
});
forward_trait!(BeforeTree for [Arc] {
    async before_tree(cancel: &CancellationToken, pending: &PendingMove) -> BranchDecision;
    fn name() -> &str;
});
forward_trait!(BeforeAgentStart for [Arc] {
    async before_agent_start(cancel: &CancellationToken, start: &AgentStart) -> AgentStartAdditions;
    fn name() -> &str;
});
forward_trait!(BeforeTurn for [Arc] {
    async before_turn(cancel: &CancellationToken, step: u32) -> TurnDecision;
    fn name() -> &str;
});
forward_trait!(BeforeModelRequest for [Arc] {
    async before_model_request(cancel: &CancellationToken, request: &OutgoingRequest) -> RequestDecision;
    fn edit_refused(detail: &str);
    fn name() -> &str;
});
forward_trait!(BeforeProviderRequest for [Arc] {
    async before_provider_request(
        cancel: &CancellationToken,
        request: &ProviderRequest
    ) -> ProviderRequestDecision;
    fn name() -> &str;
});
forward_trait!(AfterModelResponse for [Arc] {
    async after_model_response(cancel: &CancellationToken, response: &ReceivedResponse) -> ResponseDecision;
    fn suppresses_deltas() -> bool;
    fn name() -> &str;
});
forward_trait!(BeforeAssistantMessage for [Arc] {
    async before_assistant_message(cancel: &CancellationToken, text: &str) -> MessageDecision;
    fn name() -> &str;
});
forward_trait!(BeforeToolExecute for [Arc] {
    async before_tool_execute(cancel: &CancellationToken, call: &ToolCall) -> ToolDecision;
    async decide_call(cancel: &CancellationToken, pending: &PendingCall<'_>) -> ToolDecision;
    async after_block(cancel: &CancellationToken, call: &ToolCall) -> AfterBlock;
    fn belongs_to(extension: &ExtensionName) -> bool;
    fn name() -> &str;
    fn role(tool: &str) -> Option<HookRole>;
    fn decision_time() -> Option<Duration>;
    fn handles_unknown_tools() -> bool;
    fn bypasses_approval(tool: &str) -> bool;
    fn rewrite_refused(call: &ToolCall, detail: &str);
});
forward_trait!(ApproveTool for [Arc] {
    async approve_tool(cancel: &CancellationToken, call: &ToolCall) -> ApproverDecision;
    async approve_call(cancel: &CancellationToken, pending: &PendingCall<'_>) -> ApproverDecision;
    async ask_person(
        cancel: &CancellationToken,
        pending: &PendingCall<'_>,
        request: &ApprovalRequest
    ) -> Option<ApproverDecision>;
    async after_denial(cancel: &CancellationToken, call: &ToolCall) -> AfterBlock;
    fn belongs_to(extension: &ExtensionName) -> bool;
    fn name() -> &str;
});
forward_trait!(AfterToolExecute for [Arc] {
    async after_tool_execute(
        cancel: &CancellationToken,
        finished: &FinishedCall,
        output: ToolOutput
    ) -> ResultDecision;
    fn belongs_to(extension: &ExtensionName) -> bool;
    fn name() -> &str;
});
forward_trait!(BeforeSettle for [Arc] {
    async before_settle(cancel: &CancellationToken, run: &SettlingRun) -> SettleDecision;
    fn name() -> &str;
});
forward_trait!(BeforeCompact for [Arc] {
    async before_compact(cancel: &CancellationToken, compacting: &PendingCompaction) -> CompactDecision;
    fn cut_refused(first_kept: EntryId);
    fn name() -> &str;
});
forward_trait!(OnWaitPoint for [Arc] {
    async on_wait_point(cancel: &CancellationToken, point: &WaitPoint) -> ();
    fn name() -> &str;
});
