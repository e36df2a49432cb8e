//! What can be done with an agent while it works: say more, change what it works with.

use std::sync::Arc;

use super::Agent;
use crate::agent_state::ToolSchemaError;
use crate::model::{Model, ModelFacts, ModelInfo, Thinking};
use crate::queue::{Prompt, Queue, QueueError, Queued, Waiting};
use crate::session::{Durability, Session, SessionError};
use crate::tool::{ToolSet, ToolSpec};

/// What is said while the agent works.
///
/// ```
/// use haft_core::{Agent, QueueError, Queued};
///
/// fn more(agent: &Agent) -> Result<(), QueueError> {
///     let queued = agent.steer("Not in src/, in tests/.")?;
///     agent.follow_up("Then run the tests.").map(drop)?;
///     if queued == Queued::Idle {
///         // The work ended a moment ago. The messages wait; `agent.go_on()` works on them.
///     }
///     Ok(())
/// }
///
/// fn edit(agent: &Agent) -> Vec<String> {
///     // For Esc: what the model has not been told yet goes back into the editor.
///     let taken = agent.take_queued();
///     let texts = taken.steering.iter().chain(&taken.follow_up).flat_map(|prompt| &prompt.content);
///     texts.filter_map(|block| block.as_text().map(str::to_owned)).collect()
/// }
/// ```
impl Agent {
    /// Says something to the agent at work: it is told when the tools that run now are done, before the model is asked
    /// again. When the model calls no tool, it is told instead of stopping.
    ///
    /// # Errors
    /// [`QueueError`] when too many messages wait, or this one is empty.
    pub fn steer(&self, prompt: impl Into<Prompt>) -> Result<Queued, QueueError> {
        self.inner.queues.push(Queue::Steering, prompt.into())
    }

    /// Says what comes next: the agent is told when it would stop, and goes on. Its steps are counted anew.
    ///
    /// # Errors
    /// [`QueueError`] when too many messages wait, or this one is empty.
    pub fn follow_up(&self, prompt: impl Into<Prompt>) -> Result<Queued, QueueError> {
        self.inner.queues.push(Queue::FollowUp, prompt.into())
    }

    /// Puts a message before the next prompt. No run goes on or begins because of it.
    ///
    /// # Errors
    /// [`QueueError`] when too many messages wait, or this one is empty.
    pub fn next_turn(&self, prompt: impl Into<Prompt>) -> Result<Queued, QueueError> {
        self.inner.queues.push(Queue::NextTurn, prompt.into())
    }

    /// Has the run under way come to an end in good order: the tools that run now end, the calls that have not begun are
    /// skipped, and the model is asked once more, without tools, with `hint` as the user's message, or with words of
    /// haft's own if that is empty. What waits waits on. Where the model has stopped by itself meanwhile, it is asked once
    /// more only if the hint says something. Says whether there is a run to interrupt.
    pub fn interrupt(&self, hint: impl Into<Prompt>) -> bool {
        self.inner.queues.interrupt(None, hint.into())
    }

    /// The messages that wait.
    pub fn queued(&self) -> Waiting {
        self.inner.queues.waiting()
    }

    /// Takes back all messages that wait, so that the user can change them.
    pub fn take_queued(&self) -> Waiting {
        self.inner.queues.clear()
    }

    /// Whether a run is under way that takes what waits, and tells when that changes.
    pub fn takes_queued(&self) -> bool {
        self.inner.queues.is_taken_from()
    }

    /// Who the model is.
    pub fn model(&self) -> ModelInfo {
        self.inner.setup().model.info()
    }

    /// What is known of the model that would be asked now: window, prices, thinking. May look into a large table.
    pub fn facts(&self) -> ModelFacts {
        self.inner.setup().model.facts()
    }

    /// Asks another model from the next step on. Kept in the session when it is first asked.
    pub fn set_model(&self, model: impl Model + 'static) {
        let model: Arc<dyn Model> = Arc::new(model);
        self.inner.change_setup(|setup| setup.model = model);
    }

    /// Says in a copy of its session what the agent works with by now, which its own session is told with the next
    /// request: model, thinking, tools.
    ///
    /// # Errors
    /// [`SessionError`], as [`Session::append`].
    pub async fn note_setup(&self, copy: &Session) -> Result<(), SessionError> {
        let (changes, _) = self.inner.setup().changes(&copy.context().settings);
        for change in changes {
            copy.append(change, Durability::Soon).await?;
        }
        Ok(())
    }

    /// How much the model thinks.
    pub fn thinking(&self) -> Thinking {
        self.inner.setup().thinking
    }

    /// Has the model think more or less from the next step on.
    pub fn set_thinking(&self, thinking: Thinking) {
        self.inner.change_setup(|setup| setup.thinking = thinking);
    }

    /// Replaces the tools. A run that is under way offers them from its next step on, and looks calls up among them
    /// at once, so that a call of an extension's tool reaches the extension that is running now.
    ///
    /// # Errors
    /// [`ToolSchemaError`] when the schema of an embedder's tool does not compile; nothing is replaced then. Other
    /// tools' schemas are compiled at their first call, which is answered with an error if that fails.
    pub fn set_tools(&self, tools: ToolSet) -> Result<(), ToolSchemaError> {
        self.inner.set_tools(tools)
    }

    /// What the model is told about the tools of this moment, in order.
    pub fn tools(&self) -> Vec<Arc<ToolSpec>> {
        self.inner.tools().offered(&self.inner.setup())
    }

    /// All tools there are, offered or not, in order.
    pub fn all_tools(&self) -> Vec<Arc<ToolSpec>> {
        self.inner.tools().set.specs()
    }

    /// Offers the tools of these names alone from the next step on, or all there are if `None`. A name without a tool
    /// counts as soon as there is one. The model cannot call what it is not offered.
    pub fn set_active_tools(&self, names: Option<Vec<String>>) {
        self.inner.change_setup(|setup| setup.active = names.map(Arc::from));
    }
}
