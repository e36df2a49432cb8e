//! The questions a host asks, and what can be seen of the extension.

use haft_protocol::event::Level;
use haft_protocol::ext::{
    AssistantMessageDecision, BeforeAgentStartDecision, BeforeCompactDecision, CallTool, CommandAction,
    CompleteCommand, InterceptAssistantMessage, InterceptBeforeAgentStart, InterceptBeforeCompact,
    InterceptToolCall, InterceptTurnStart, InvokeCommand, Panel, RegisterCommand, RegisterTool,
    ToolCallDecision, TurnStartDecision,
};
use haft_protocol::ids::{ExtensionName, ToolCallId};
use serde_json::Value;

use super::Harness;
use crate::completion::Completion;
use crate::tool::ToolResult;

impl Harness {
    /// Runs a command as the user would: `/name args`.
    pub async fn command(&self, name: &str, args: &str) -> CommandAction {
        self.ask(InvokeCommand { name: name.into(), args: args.into() }).await
    }

    /// What a command offers while a user types `/name prefix`.
    pub async fn complete(&self, name: &str, prefix: &str) -> Vec<Completion> {
        let question = CompleteCommand { name: name.into(), prefix: prefix.into() };
        self.ask(question).await.into_iter().map(Completion::from).collect()
    }

    /// Calls a tool as the model would. Unlike a host, the harness does not check `args` against the tool's schema.
    pub async fn tool(&self, name: &str, args: Value) -> ToolResult {
        self.ask(CallTool { name: name.into(), args: args.into() }).await.into()
    }

    /// Asks whether a tool call may run.
    pub async fn intercept_tool_call(&self, tool: &str, args: Value) -> ToolCallDecision {
        let tool_id = ToolCallId::new("call-1");
        let (tool_name, tool_args) = (tool.into(), args.into());
        self.ask(InterceptToolCall { tool_id, tool_name, tool_args, caller: None }).await
    }

    /// Asks whether a tool may run that another extension has the host run.
    pub async fn intercept_host_call(&self, caller: &str, tool: &str, args: Value) -> ToolCallDecision {
        let (tool_id, caller) = (ToolCallId::new("host-1"), Some(ExtensionName::new(caller)));
        let (tool_name, tool_args) = (tool.into(), args.into());
        self.ask(InterceptToolCall { tool_id, tool_name, tool_args, caller }).await
    }

    /// Asks whether the model may be called. `step` counts from 1.
    pub async fn turn_start(&self, step: u32) -> TurnStartDecision {
        self.ask(InterceptTurnStart { step }).await
    }

    /// Asks what the user shall see of a message.
    pub async fn assistant_message(&self, text: &str) -> AssistantMessageDecision {
        self.ask(InterceptAssistantMessage { text: text.into() }).await
    }

    /// Asks what the system prompt shall get.
    pub async fn before_agent_start(&self, prompt: &str, system_prompt: &str) -> BeforeAgentStartDecision {
        self.ask(InterceptBeforeAgentStart { prompt: prompt.into(), system_prompt: system_prompt.into() })
            .await
    }

    /// Asks what becomes of a conversation that is about to be summed up.
    pub async fn before_compact(&self, question: InterceptBeforeCompact) -> BeforeCompactDecision {
        self.ask(question).await
    }

    /// The commands it registered, in order.
    pub fn commands(&self) -> Vec<RegisterCommand> {
        self.seen.borrow().commands()
    }

    /// The tools it registered, in order.
    pub fn tools(&self) -> Vec<RegisterTool> {
        self.seen.borrow().tools()
    }

    /// The notes the user sees now: sent and not taken back.
    pub fn notes(&self) -> Vec<(Level, String)> {
        self.seen.borrow().notes()
    }

    /// What it says in the status line now, by key.
    pub fn status(&self) -> Vec<(String, String)> {
        self.seen.borrow().status()
    }

    /// What an open panel shows now; `None` when it is not open.
    pub fn panel(&self, id: &str) -> Option<Panel> {
        self.seen.borrow().panel(id)
    }

    /// Every line so far, `→` to the extension and `←` from it. The data directory is shown as `[data_dir]`.
    pub fn transcript(&self) -> String {
        self.seen.borrow().transcript()
    }
}
