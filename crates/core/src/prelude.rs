//! The names that most embedding programs need: `use haft_core::prelude::*;`.
//!
//! ```
//! use haft_core::prelude::*;
//!
//! fn agent(model: impl Model + 'static) -> Result<Agent, BuildError> {
//!     let time = function("time", "Returns the time.", |NoArgs {}, _| async { "noon" });
//!     Agent::builder(model).instructions("You are a clock.").tool(time).build()
//! }
//! ```

pub use async_trait::async_trait;
#[cfg(feature = "schemars")]
pub use schemars::{self, JsonSchema};

pub use haft_protocol::content::{ContentBlock, ToolCall, joined_text};
pub use haft_protocol::event::AgentEvent;
pub use haft_protocol::ids::ToolCallId;
pub use haft_protocol::message::{AssistantBlock, Message};

pub use crate::agent::{Agent, AgentBuilder, BuildError};
pub use crate::error::{OutputError, TurnError, TurnErrorKind};
pub use crate::hooks::{
    AfterToolExecute, AgentStartAdditions, ApproveTool, ApproverDecision, BeforeAgentStart,
    BeforeAssistantMessage, BeforeToolExecute, BeforeTurn, CancellationToken, HookSet, MessageDecision,
    Observer, PromptSection, ResultDecision, ToolDecision, TurnDecision, allow, deny,
};
pub use crate::model::{
    Advice, Model, ModelError, ModelErrorKind, ModelEvent, ModelId, ModelRequest, ModelResponse, ModelStream,
    OutputSchema, ThinkingLevel, ToolChoice,
};
pub use crate::prompt::SystemPrompt;
pub use crate::queue::{Prompt, QueueError};
pub use crate::run::{Run, RunHandle};
pub use crate::session::store::SessionStore;
pub use crate::session::{Durability, EntryId, EntryStore, Session, SessionError};
#[cfg(feature = "schemars")]
pub use crate::tool::{IntoToolOutput, JsonOutput, NoArgs, function};
pub use crate::tool::{Tool, ToolContext, ToolOutput, ToolSet, ToolSpec};
