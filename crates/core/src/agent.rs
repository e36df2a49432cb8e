//! `Agent`: the public face of the loop.

mod builder;

use std::sync::Arc;

use haft_protocol::message::{Message, TokenUsage};
use tokio_util::sync::CancellationToken;

use crate::agent_state::{AgentState, ToolSchemaError};
use crate::call::ExtensionToolRunner;
use crate::compact::{CompactError, CompactionOutcome};
use crate::error::TurnErrorKind;
use crate::model::{Model, ModelFacts, ModelInfo, ThinkingLevel};
use crate::queue::{Prompt, QueueDelivery, QueueError, QueueKind, QueuedMessages};
use crate::run::Run;
use crate::session::{Durability, Session, SessionError};
use crate::stats::SessionStats;
use crate::tool::{ToolSet, ToolSpec};
use crate::turn;

pub use builder::{AgentBuilder, BuildError};

/// A model, tools, hooks and a session. Cheap to clone; clones share everything.
///
/// One prompt is worked on at a time: see [`Agent::prompt`]. What is said meanwhile waits in a queue: see
/// [`Agent::steer`] and [`Agent::follow_up`].
///
/// ```
/// use haft_core::model::Model;
/// use haft_core::prompt::SystemPrompt;
/// use haft_core::protocol::message::Message;
/// use haft_core::tool::Tool;
/// use haft_core::{Agent, BuildError};
///
/// fn reviewer(model: impl Model + 'static, read: impl Tool + 'static) -> Result<Agent, BuildError> {
///     let system =
///         SystemPrompt { identity: Some("You review changes.".into()), ..SystemPrompt::default() };
///     Agent::builder(model).tool(read).system_prompt(system).max_steps(20).build()
/// }
///
/// async fn ask(agent: &Agent) -> Option<String> {
///     if let Err(error) = agent.prompt("Is src/lib.rs tidy?").finish().await {
///         eprintln!("no review: {error}");
///     }
///     // The transcript grows from prompt to prompt.
///     agent.messages().iter().rev().find_map(|message| match message {
///         Message::Assistant(message) => Some(message.text()),
///         Message::User { .. } | Message::Tool(_) => None,
///     })
/// }
/// ```
#[derive(Clone)]
pub struct Agent {
    inner: Arc<AgentState>,
}

impl Agent {
    /// Starts building an agent on this model, which may be an `Arc<dyn Model>` that others share.
    pub fn builder(model: impl Model + 'static) -> AgentBuilder {
        AgentBuilder::new(Arc::new(model))
    }

    /// Works on a prompt. The returned [`Run`] does the work as it is polled: it is a stream of events, and
    /// [`Run::finish`] says how it ended, [`Run::handle`] is for everybody else. While one run lives, another fails as busy.
    pub fn prompt(&self, prompt: impl Into<Prompt>) -> Run {
        Run::new(self.inner.clone(), Some(prompt.into()))
    }

    /// Works without a new prompt: on the messages that wait, or on a transcript whose last message has no answer yet,
    /// because the answer failed or the program ended. Fails as
    /// [`NothingToDo`](crate::error::TurnErrorKind::NothingToDo) when there is neither.
    pub fn resume(&self) -> Run {
        Run::new(self.inner.clone(), None)
    }

    /// Sums up the conversation, but for its end, so that the context is shorter from here on. The model is asked,
    /// unless a [`BeforeCompact`](crate::hooks::BeforeCompact) hook says otherwise; `instructions` say what the summary
    /// shall heed. Observers are told of it as in a run. While this works no run can, and the other way round.
    ///
    /// # Errors
    /// [`CompactError`], which says when the context is as it was before.
    pub async fn compact(
        &self,
        cancel: CancellationToken,
        instructions: Option<String>,
    ) -> Result<CompactionOutcome, CompactError> {
        turn::compact(self.inner.clone(), cancel, instructions).await
    }

    /// Returns the runner of tools for extensions, under the hooks of this agent, with or without a run. It does not
    /// keep the agent alive.
    pub fn tool_runner(&self) -> ExtensionToolRunner {
        ExtensionToolRunner::new(&self.inner)
    }

    /// The transcript so far.
    pub fn messages(&self) -> Arc<Vec<Message>> {
        self.inner.transcript.messages()
    }

    /// The session that everything is kept in; one in memory, unless the builder was given another.
    ///
    /// The agent has a copy of what the session says to the model. What somebody else adds to it that the model shall
    /// see, and where somebody else moves it to, counts after a [`reload`](Self::reload).
    pub fn session(&self) -> &Session {
        &self.inner.transcript.session
    }

    /// Goes on with what the session says by now, after somebody else has added to it or moved it. Model, thinking and
    /// tools stay what the agent was last given.
    ///
    /// # Errors
    /// [`TurnErrorKind::Busy`] while a run is under way; [`TurnErrorKind::Session`] when something that the session has
    /// not taken yet cannot be written.
    pub fn reload(&self) -> Result<(), TurnErrorKind> {
        turn::reload(&self.inner)
    }

    /// Everything used since the session began.
    pub fn usage(&self) -> TokenUsage {
        self.inner.transcript.usage()
    }

    /// Returns the usage of the session and of its context. Estimates the messages that no provider has counted yet:
    /// takes a while only in a long transcript without an answer.
    pub fn stats(&self) -> SessionStats {
        let (tally, messages) = self.inner.transcript.tally();
        let window = self.model_facts().window;
        SessionStats { usage: tally.usage, context: tally.context_usage(&messages, window) }
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("model", &self.model()).finish_non_exhaustive()
    }
}

/// Messages for the agent while it works.
///
/// ```
/// use haft_core::{Agent, QueueError, QueueDelivery};
///
/// fn more(agent: &Agent) -> Result<(), QueueError> {
///     let queued = agent.steer("Not in src/, in tests/.")?;
///     agent.follow_up("Then run the tests.").map(drop)?;
///     if queued == QueueDelivery::Idle {
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
    pub fn steer(&self, prompt: impl Into<Prompt>) -> Result<QueueDelivery, QueueError> {
        self.inner.queues.push(QueueKind::Steering, prompt.into())
    }

    /// Says what comes next: the agent is told when it would stop, and goes on. Its steps are counted anew.
    ///
    /// # Errors
    /// [`QueueError`] when too many messages wait, or this one is empty.
    pub fn follow_up(&self, prompt: impl Into<Prompt>) -> Result<QueueDelivery, QueueError> {
        self.inner.queues.push(QueueKind::FollowUp, prompt.into())
    }

    /// Puts a message before the next prompt. No run goes on or begins because of it.
    ///
    /// # Errors
    /// [`QueueError`] when too many messages wait, or this one is empty.
    pub fn next_turn(&self, prompt: impl Into<Prompt>) -> Result<QueueDelivery, QueueError> {
        self.inner.queues.push(QueueKind::NextTurn, prompt.into())
    }

    /// Has the run under way come to an end in good order: the tools that run now end, the calls that have not begun are
    /// skipped, and the model is asked once more, without tools, with `hint` as the user's message, or with words of
    /// haft's own if that is empty. What waits waits on. Where the model has stopped by itself meanwhile, it is asked once
    /// more only if the hint says something. Says whether there is a run to interrupt.
    pub fn interrupt(&self, hint: impl Into<Prompt>) -> bool {
        self.inner.queues.interrupt(None, hint.into())
    }

    /// The messages that wait.
    pub fn queued_messages(&self) -> QueuedMessages {
        self.inner.queues.queued_messages()
    }

    /// Takes back all messages that wait, so that the user can change them.
    pub fn take_queued(&self) -> QueuedMessages {
        self.inner.queues.clear()
    }

    /// True if a run is under way that takes what waits, and tells when that changes.
    pub fn takes_queued(&self) -> bool {
        self.inner.queues.has_active_run()
    }

    /// Returns the model.
    pub fn model(&self) -> ModelInfo {
        self.inner.setup().model.info()
    }

    /// Returns the known facts of the model that would be asked now: window, prices, thinking. May look into a large
    /// table.
    pub fn model_facts(&self) -> ModelFacts {
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
    pub async fn record_setup(&self, copy: &Session) -> Result<(), SessionError> {
        let (changes, _) = self.inner.setup().changes_since(&copy.context().settings);
        for change in changes {
            copy.append(change, Durability::Soon).await?;
        }
        Ok(())
    }

    /// Returns the thinking level.
    pub fn thinking(&self) -> ThinkingLevel {
        self.inner.setup().thinking
    }

    /// Has the model think more or less from the next step on.
    pub fn set_thinking(&self, thinking: ThinkingLevel) {
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

    /// Returns the specifications of the current tools, in order, as the model is told them.
    pub fn tools(&self) -> Vec<Arc<ToolSpec>> {
        self.inner.tools().offered_specs(&self.inner.setup())
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
