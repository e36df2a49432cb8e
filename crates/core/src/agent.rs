//! `Agent`: the public interface of the agent loop.

mod builder;
#[cfg(feature = "schemars")]
mod sub_agent;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::ToolInfo;
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::{Message, TokenUsage};
use tokio_util::sync::CancellationToken;

use crate::agent_state::{AgentState, InvalidToolError};
use crate::call::ExtensionToolRunner;
use crate::compact::{CompactError, CompactionOutcome};
use crate::completion::{self, CompletionAnswer, CompletionError, CompletionRequest};
use crate::error::TurnErrorKind;
use crate::hooks::{
    self, HookSummary, OnInput, OnUserBash, PendingFork, PendingMove, PendingSwitch, ReviewedUserBash,
    SessionChangeError, UserBash, UserInput, UserInputDecision, review_command,
};
use crate::jobs::BackgroundJobs;
use crate::model::{Model, ModelFacts, ModelId, ThinkingLevel};
use crate::prompt::SystemPrompt;
use crate::queue::{
    AddMessageError, MessageDelivery, Prompt, QueueDelivery, QueueError, QueueKind, QueuedMessages,
};
use crate::run::Run;
use crate::session::entry::{BranchSummary, CustomMessage, SessionEntry};
use crate::session::{Durability, Session, SessionError};
use crate::stats::SessionStats;
use crate::tool::{Tool, ToolSet, ToolSpec};
use crate::turn;

pub use builder::{AgentBuilder, BuildError};

/// A model, tools, hooks and a session. Cheap to clone; all clones share the same state.
///
/// The agent runs one prompt at a time; see [`Agent::prompt`]. Messages that arrive during a run wait in a queue; see
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
///     let system = SystemPrompt::from("You review changes.");
///     Agent::builder(model).tool(read).system_prompt(system).max_steps(20).build()
/// }
///
/// async fn ask(agent: &Agent) -> Option<String> {
///     if let Err(error) = agent.prompt("Is src/lib.rs tidy?").finish().await {
///         eprintln!("no review: {error}");
///     }
///     // The next prompt continues the same transcript.
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

    /// Creates a run for a prompt. The returned [`Run`] does the work while it is polled: it is a stream of events, and
    /// [`Run::finish`] returns the outcome. Other tasks use [`Run::handle`].
    ///
    /// The run begins with its first poll. From then until its end, another run that is polled fails with
    /// [`TurnErrorKind::Busy`]; a run that nobody polls does not hinder others. A prompt without text and images fails
    /// with [`TurnErrorKind::EmptyPrompt`].
    pub fn prompt(&self, prompt: impl Into<Prompt>) -> Run {
        Run::new(self.inner.clone(), Some(prompt.into()))
    }

    /// Asks the [`OnInput`](crate::hooks::OnInput) hooks about an input, one after the other. Call it with what the user
    /// wrote, before templates are expanded, and make a prompt of the input that it returns. Returns `None` if a hook
    /// handled the input or left nothing of it, or the wait was cancelled.
    pub async fn review_input(&self, cancel: &CancellationToken, mut input: UserInput) -> Option<UserInput> {
        for hook in self.inner.current_hooks::<dyn OnInput>() {
            let asked = AssertUnwindSafe(hook.on_input(cancel, &input)).catch_unwind();
            match cancel.run_until_cancelled(asked).await? {
                Ok(UserInputDecision::Keep) | Err(_) => {}
                Ok(UserInputDecision::Change(changed)) => {
                    input = UserInput { source: input.source, ..changed };
                    if input.text.trim().is_empty() && input.images.is_empty() {
                        return None;
                    }
                }
                Ok(UserInputDecision::Handled) => return None,
            }
        }
        (!cancel.is_cancelled()).then_some(input)
    }

    /// True if there are hooks for input, so that [`review_input`](Self::review_input) may take time.
    pub fn reviews_input(&self) -> bool {
        !self.inner.current_hooks::<dyn OnInput>().is_empty()
    }

    /// Asks the [`OnUserBash`](crate::hooks::OnUserBash) hooks about a shell command of the user, before the program runs
    /// it.
    pub async fn review_user_bash(&self, cancel: &CancellationToken, bash: UserBash) -> ReviewedUserBash {
        let hooks = self.inner.current_hooks::<dyn OnUserBash>();
        review_command(&hooks, cancel, bash).await
    }

    /// Asks the [`BeforeSwitch`](hooks::BeforeSwitch) hooks about a session that is about to be opened.
    ///
    /// # Errors
    /// [`SessionChangeError`] if a hook blocks it, or the wait was cancelled.
    pub async fn review_switch(
        &self,
        cancel: &CancellationToken,
        switch: &PendingSwitch,
    ) -> Result<(), SessionChangeError> {
        hooks::review_switch(self.inner.current_hooks(), cancel, switch).await
    }

    /// Asks the [`BeforeFork`](hooks::BeforeFork) hooks about a copy of the conversation.
    ///
    /// # Errors
    /// [`SessionChangeError`] if a hook blocks it, or the wait was cancelled.
    pub async fn review_fork(
        &self,
        cancel: &CancellationToken,
        fork: &PendingFork,
    ) -> Result<(), SessionChangeError> {
        hooks::review_fork(self.inner.current_hooks(), cancel, fork).await
    }

    /// Asks the [`BeforeTree`](hooks::BeforeTree) hooks about a move of the session. Returns the summary of a hook.
    ///
    /// # Errors
    /// [`SessionChangeError`] if a hook blocks it, or the wait was cancelled.
    pub async fn review_move(
        &self,
        cancel: &CancellationToken,
        pending: &PendingMove,
    ) -> Result<Option<HookSummary>, SessionChangeError> {
        hooks::review_move(self.inner.current_hooks(), cancel, pending).await
    }

    /// Asks the model for a summary of a branch that the session is about to leave. The caller moves the session and
    /// appends the summary. A summary and a run exclude each other.
    ///
    /// # Errors
    /// [`CompactError`] if there is nothing to summarize, the agent is busy, or the request fails or is cancelled.
    pub async fn summarize_branch(
        &self,
        cancel: CancellationToken,
        left: &[Arc<SessionEntry>],
        instructions: Option<String>,
    ) -> Result<BranchSummary, CompactError> {
        turn::summarize_branch(self.inner.clone(), cancel, left, instructions).await
    }

    /// Starts a run without a new prompt. The run works on queued messages, or on a transcript whose last message has
    /// no answer because the request failed or the program ended. Fails with
    /// [`NothingToDo`](crate::error::TurnErrorKind::NothingToDo) if there is neither.
    pub fn resume(&self) -> Run {
        Run::new(self.inner.clone(), None)
    }

    /// Summarizes the conversation except its end, to free context. The model writes the summary, unless a
    /// [`BeforeCompact`](crate::hooks::BeforeCompact) hook decides otherwise. `instructions` tell the model which parts
    /// matter most. Observers receive the same events as during a run. A compaction and a run exclude each other.
    ///
    /// # Errors
    /// [`CompactError`]; the context is then unchanged, except as documented there.
    pub async fn compact(
        &self,
        cancel: CancellationToken,
        instructions: Option<String>,
    ) -> Result<CompactionOutcome, CompactError> {
        turn::compact(self.inner.clone(), cancel, instructions).await
    }

    /// Asks a model for an extension, outside of the conversation. `on_text` receives the text of the answer in pieces.
    /// The session records the usage, which `tell` and the observers receive as an event. A run can be active.
    ///
    /// # Errors
    /// [`CompletionError`] if there is no such model, or it gives no answer.
    pub async fn request_completion(
        &self,
        cancel: &CancellationToken,
        request: CompletionRequest,
        on_text: impl FnMut(&str) + Send,
        tell: Arc<dyn Fn(AgentEvent) + Send + Sync>,
    ) -> Result<CompletionAnswer, CompletionError> {
        completion::request_completion(self.inner.clone(), cancel, request, on_text, tell).await
    }

    /// Returns a runner with which extensions call tools. The hooks of this agent apply to these calls, with or without
    /// a run. The runner does not keep the agent alive.
    pub fn tool_runner(&self) -> ExtensionToolRunner {
        ExtensionToolRunner::new(&self.inner)
    }

    /// Returns the agent of a runner, if it still exists.
    pub fn of_tool_runner(runner: &ExtensionToolRunner) -> Option<Self> {
        runner.agent_state().map(|inner| Self { inner })
    }

    /// Returns the background jobs, which its tools start. They end when the last clone of the agent is dropped.
    pub fn background_jobs(&self) -> &BackgroundJobs {
        &self.inner.jobs
    }

    /// Returns the transcript so far.
    pub fn messages(&self) -> Arc<Vec<Message>> {
        self.inner.transcript.messages()
    }

    /// Returns the session that records everything. The default is a session in memory.
    ///
    /// The agent keeps a copy of the session's messages for the model. After other code appends to the session or moves
    /// it to another entry, call [`reload`](Self::reload).
    pub fn session(&self) -> &Session {
        &self.inner.transcript.session
    }

    /// Reloads the transcript after other code has appended to the session or moved it. Model, thinking level and tools
    /// keep the agent's current values.
    ///
    /// # Errors
    /// [`TurnErrorKind::Busy`] during a run; [`TurnErrorKind::Session`] if unsaved entries cannot be written to the
    /// session.
    pub fn reload(&self) -> Result<(), TurnErrorKind> {
        turn::reload(&self.inner)
    }

    /// Returns the total usage since the session began.
    pub fn usage(&self) -> TokenUsage {
        self.inner.transcript.usage()
    }

    /// Returns the usage of the session and of its context. Messages without a provider's count are estimated, which
    /// takes time only in a long transcript without an answer.
    pub fn stats(&self) -> SessionStats {
        let context = self.inner.context_usage(&self.inner.setup(), &[]);
        SessionStats { usage: self.inner.transcript.usage(), context }
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("model", &self.model()).finish_non_exhaustive()
    }
}

/// Messages for the agent during a run.
///
/// ```
/// use haft_core::{Agent, QueueError, QueueDelivery};
///
/// fn more(agent: &Agent) -> Result<(), QueueError> {
///     let queued = agent.steer("Not in src/, in tests/.")?;
///     agent.follow_up("Then run the tests.").map(drop)?;
///     if queued == QueueDelivery::Idle {
///         // The run has just ended. The messages stay queued; `agent.resume()` processes them.
///     }
///     Ok(())
/// }
///
/// fn edit(agent: &Agent) -> Vec<String> {
///     // For Esc: queued messages go back into the editor.
///     let taken = agent.take_queued();
///     let texts = taken.steering.iter().chain(&taken.follow_up).flat_map(|prompt| &prompt.content);
///     texts.filter_map(|block| block.as_text().map(str::to_owned)).collect()
/// }
/// ```
impl Agent {
    /// Queues a message for the running agent. The model receives it after the current tool calls, before the next
    /// request. If the model calls no tool, the run continues with the message instead of stopping.
    ///
    /// # Errors
    /// [`QueueError`] if the queue is full or the message is empty.
    pub fn steer(&self, prompt: impl Into<Prompt>) -> Result<QueueDelivery, QueueError> {
        self.inner.queues.push(QueueKind::Steering, prompt.into())
    }

    /// Queues a message for the end of the turn. The agent receives it when it would stop, and starts the next turn.
    /// The step limit counts from 1 again.
    ///
    /// # Errors
    /// [`QueueError`] if the queue is full or the message is empty.
    pub fn follow_up(&self, prompt: impl Into<Prompt>) -> Result<QueueDelivery, QueueError> {
        self.inner.queues.push(QueueKind::FollowUp, prompt.into())
    }

    /// Queues a message in front of the next prompt. The message neither continues nor starts a run.
    ///
    /// # Errors
    /// [`QueueError`] if the queue is full or the message is empty.
    pub fn next_turn(&self, prompt: impl Into<Prompt>) -> Result<QueueDelivery, QueueError> {
        self.inner.queues.push(QueueKind::NextTurn, prompt.into())
    }

    /// Adds a custom message of an extension to the conversation. During a run, the message waits as a steering message;
    /// during a compaction, it waits for the next run. Starts no run; [`resume`](Self::resume) does.
    ///
    /// ```
    /// use haft_core::session::entry::CustomMessage;
    /// use haft_core::protocol::content::ContentBlock;
    /// use haft_core::{AddMessageError, Agent};
    ///
    /// fn remind(agent: &Agent) -> Result<(), AddMessageError> {
    ///     let (owner, kind) = ("clock".to_owned(), "reminder".to_owned());
    ///     let content = vec![ContentBlock::text("It is noon.")];
    ///     agent.add_message(CustomMessage::new(owner, kind, content)).map(drop)
    /// }
    /// ```
    ///
    /// # Errors
    /// [`AddMessageError`] if the message is empty, the queue is full, or the session cannot be written.
    pub fn add_message(&self, message: CustomMessage) -> Result<MessageDelivery, AddMessageError> {
        turn::add_message(&self.inner, message)
    }

    /// True if [`resume`](Self::resume) has work: the model has not answered the last message, or a steering message or
    /// a follow-up waits.
    pub fn has_unanswered_message(&self) -> bool {
        let QueuedMessages { steering, follow_up, next_turn: _ } = self.queued_messages();
        !steering.is_empty() || !follow_up.is_empty() || turn::is_answer_due(&self.inner)
    }

    /// Ends the current run in good order; returns true if there is a run to interrupt. Running tools finish, and calls
    /// that have not started are skipped. The model is then asked once more, without tools. Its last message is `hint`,
    /// or a default text if `hint` is empty. Queued messages stay in the queue. If the model has already stopped, it is
    /// asked again only if `hint` has content.
    pub fn interrupt(&self, hint: impl Into<Prompt>) -> bool {
        self.inner.queues.interrupt(None, hint.into())
    }

    /// Returns the queued messages.
    pub fn queued_messages(&self) -> QueuedMessages {
        self.inner.queues.queued_messages()
    }

    /// Removes and returns the queued messages of the user, so that the user can edit them. Custom messages of
    /// extensions stay in the queue.
    pub fn take_queued(&self) -> QueuedMessages {
        self.inner.queues.clear()
    }

    /// True if a run is active that takes queued messages and reports changes of the queue.
    pub fn takes_queued(&self) -> bool {
        self.inner.queues.has_active_run()
    }

    /// True while a run or a compaction goes on.
    pub fn is_running(&self) -> bool {
        self.inner.queues.has_run()
    }

    /// Returns the model.
    pub fn model(&self) -> ModelId {
        self.inner.setup().model.info()
    }

    /// Returns the known facts of the current model: window, prices, thinking. May search a large table.
    pub fn model_facts(&self) -> ModelFacts {
        self.inner.setup().model.facts()
    }

    /// Switches the model from the next step on. The session records the change with the next request.
    pub fn set_model(&self, model: impl Model + 'static) {
        let model: Arc<dyn Model> = Arc::new(model);
        self.inner.change_setup(|setup| setup.model = model);
    }

    /// Records the current model, thinking level and tools in a copy of the session. The agent's own session records
    /// them with the next request.
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

    /// Sets the thinking level from the next step on.
    pub fn set_thinking(&self, thinking: ThinkingLevel) {
        self.inner.change_setup(|setup| setup.thinking = thinking);
    }

    /// Returns the fixed parts of the system prompt, with the [instructions](AgentBuilder::instructions) as its identity.
    pub fn system_prompt(&self) -> SystemPrompt {
        SystemPrompt::clone(&self.inner.system_prompt())
    }

    /// Replaces the fixed parts of the system prompt, from the next request on. The transcript stays. The next request
    /// has a new beginning, which the provider's cache does not have, so call this method rarely.
    ///
    /// ```
    /// use haft_core::Agent;
    /// use haft_core::prompt::SystemPrompt;
    ///
    /// fn set_date(agent: &Agent, today: &str) {
    ///     agent.set_system_prompt(agent.system_prompt().with_facts(vec![format!("Date: {today}")]));
    /// }
    /// ```
    pub fn set_system_prompt(&self, system: impl Into<SystemPrompt>) {
        self.inner.set_system_prompt(system.into());
    }

    /// Replaces the tools, except those of [`set_extension_tools`](Self::set_extension_tools). A running agent offers the new tools from its next step on. Calls use the new tools at once,
    /// so that a call reaches the extension that is running now.
    ///
    /// # Errors
    /// [`InvalidToolError`] if the name or the schema of an embedder's tool is invalid; nothing is replaced then. Schemas
    /// of other tools are compiled at their first call, which returns an error if that fails.
    pub fn set_tools(&self, tools: ToolSet) -> Result<(), InvalidToolError> {
        self.inner.set_tools(tools)
    }

    /// Replaces the tools of extensions; the other tools stay, which [`set_tools`](Self::set_tools) replaces. As long as
    /// an extension has a tool, the tool takes the place of another one of the same name.
    ///
    /// # Errors
    /// As of [`set_tools`](Self::set_tools).
    pub fn set_extension_tools(
        &self,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Result<(), InvalidToolError> {
        self.inner.set_extension_tools(tools.into_iter().collect())
    }

    /// Returns the specifications of the offered tools, in the order in which the model receives them.
    pub fn tools(&self) -> Vec<Arc<ToolSpec>> {
        self.inner.tools().offered_specs(&self.inner.setup())
    }

    /// Returns all tools, offered or not, in order.
    pub fn all_tools(&self) -> Vec<Arc<ToolSpec>> {
        self.inner.tools().set.specs()
    }

    /// Returns all tools as clients and extensions see them, in order.
    pub fn tool_infos(&self) -> Vec<ToolInfo> {
        let (table, setup) = (self.inner.tools(), self.inner.setup());
        let info = |tool: Arc<ToolSpec>| ToolInfo {
            name: tool.name.clone(),
            description: tool.description.clone(),
            schema: tool.schema.clone(),
            active: setup.is_tool_active(&tool.name),
            extension: tool.owner.extension().map(ExtensionName::new),
            label: tool.label.clone(),
        };
        table.set.specs().into_iter().map(info).collect()
    }

    /// Restricts the offered tools to these names from the next step on; `None` offers all tools. A name without a tool
    /// takes effect when the tool is added. The model cannot call a tool that is not offered.
    pub fn set_active_tools(&self, names: Option<Vec<String>>) {
        self.inner.change_setup(|setup| setup.active = names.map(Arc::from));
    }
}
