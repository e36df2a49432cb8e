//! Before a prompt is worked on, and before each step.

use async_trait::async_trait;
use haft_protocol::content::Content;

use super::CancellationToken;

/// A prompt is about to be worked on.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{AgentStart, BeforeAgentStart, CancellationToken, PromptSection};
///
/// struct HouseRules;
///
/// #[async_trait]
/// impl BeforeAgentStart for HouseRules {
///     async fn before_agent_start(&self, _: &CancellationToken, _: &AgentStart) -> Vec<PromptSection> {
///         vec![PromptSection { owner: "house-rules".into(), text: "Tests come first.".into() }]
///     }
/// }
/// ```
#[async_trait]
pub trait BeforeAgentStart: Send + Sync {
    /// Adds sections to the system prompt.
    async fn before_agent_start(&self, cancel: &CancellationToken, start: &AgentStart) -> Vec<PromptSection>;
}

/// What [`BeforeAgentStart`] is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentStart {
    /// What the user said.
    pub prompt: Vec<Content>,
    /// The system prompt as it stands, sections of earlier hooks included.
    pub system_prompt: String,
}

/// A section that somebody else than haft adds to the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSection {
    /// Who adds it; the section is headed by this name.
    pub owner: String,
    /// Its text.
    pub text: String,
}

/// The model is about to be called. There is an example at the [module](super).
#[async_trait]
pub trait BeforeTurn: Send + Sync {
    /// Decides whether the turn goes on. `step` is counted from 1 within one prompt.
    async fn before_turn(&self, cancel: &CancellationToken, step: u32) -> TurnDecision;
}

/// Whether the turn goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnDecision {
    /// It does.
    Allow,
    /// It ends here.
    Block {
        /// Who blocked it.
        by: String,
        /// What the user is told.
        reason: String,
    },
}
