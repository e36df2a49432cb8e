//! Builder of an [`Agent`].

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::{Message, Rfc3339Time};
use tokio_util::sync::CancellationToken;

use super::Agent;
use crate::agent_state::{AgentConfig, AgentSetup, AgentState, InvalidToolError, ToolTable};
use crate::compact::CompactSettings;
use crate::error::write_report;
use crate::hooks::{
    AfterModelResponse, AfterToolExecute, ApproveTool, ApproverDecision, ApproverFn, BeforeAgentStart,
    BeforeAssistantMessage, BeforeCompact, BeforeFork, BeforeModelRequest, BeforeProviderRequest,
    BeforeSettle, BeforeSwitch, BeforeToolExecute, BeforeTree, BeforeTurn, HookSet, HookSource, Observer,
    ObserverFn, OnInput, OnUserBash, OnWaitPoint,
};
use crate::jobs::BackgroundJobs;
use crate::model::{Model, ModelSource, RequestOptions, ThinkingLevel, ToolChoice};
use crate::prompt::SystemPrompt;
use crate::queue::MessageQueues;
use crate::session::{Session, SessionError, complete_tool_calls, current_time};
use crate::timeouts;
use crate::tool::{NameTaken, Tool, ToolSet};
use crate::transcript::Transcript;
use crate::turn;

/// Builder of an [`Agent`]. Hooks are asked in the order in which they are added; hooks of sources come last.
///
/// ```
/// use std::path::Path;
///
/// use haft_core::model::{Model, ThinkingLevel};
/// use haft_core::prompt::SystemPrompt;
/// use haft_core::session::Session;
/// use haft_core::session::store::SessionStore;
/// use haft_core::{Agent, BuildError};
///
/// fn agent(model: impl Model + 'static, home: &Path, project: &Path) -> Result<Agent, BuildError> {
///     let facts = vec![format!("Working directory: {}", project.display())];
///     let session: Session = SessionStore::new(home.join("sessions")).create(project);
///     Agent::builder(model)
///         .system_prompt(SystemPrompt::default().with_facts(facts))
///         .session(session) // saved to disk; the default is in memory
///         .thinking(ThinkingLevel::Low)
///         .max_steps(50) // requests to the model per prompt
///         .build()
/// }
/// ```
#[must_use = "call build() to get the agent"]
pub struct AgentBuilder {
    model: Arc<dyn Model>,
    tools: ToolSet,
    taken: Option<NameTaken>,
    config: AgentConfig,
    system: SystemPrompt,
    instructions: Option<String>,
    thinking: Option<ThinkingLevel>,
    messages: Vec<Message>,
    session: Option<Session>,
}

impl AgentBuilder {
    pub(super) fn new(model: Arc<dyn Model>) -> Self {
        let config = AgentConfig {
            hooks: HookSet::default(),
            sources: Vec::new(),
            max_steps: None,
            compact: CompactSettings::default(),
            gate_budget: timeouts::GATE_BUDGET,
            clock: Arc::new(current_time),
            models: None,
            options: RequestOptions::default(),
            steering_skips: false,
        };
        Self {
            model,
            tools: ToolSet::default(),
            taken: None,
            system: SystemPrompt::default(),
            instructions: None,
            config,
            thinking: None,
            messages: Vec::new(),
            session: None,
        }
    }

    /// Adds a tool. [`build`](Self::build) fails if two tools have the same name.
    /// Use [`function`](crate::tool::function) for a tool from a closure.
    pub fn tool(self, tool: impl Tool + 'static) -> Self {
        self.tools([Arc::new(tool) as Arc<dyn Tool>])
    }

    /// Adds existing tools, for example those of `haft_tools::builtin_tools` or `haft_host::Host::tools`.
    /// [`build`](Self::build) fails if two tools have the same name.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        for tool in tools {
            if let Err(taken) = self.tools.add(tool) {
                self.taken.get_or_insert(taken);
            }
        }
        self
    }

    /// Replaces all tools that were added so far.
    pub fn replace_tools(mut self, tools: ToolSet) -> Self {
        (self.tools, self.taken) = (tools, None);
        self
    }

    /// Returns the names of the tools that were added so far.
    pub fn tool_names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.spec().name.clone()).collect()
    }

    /// Adds all hooks of a set, for example those of one value that implements several hooks; see [`HookSet`].
    pub fn hooks(mut self, hooks: impl Into<HookSet>) -> Self {
        self.config.hooks.extend(hooks.into());
        self
    }

    /// Adds a hook that [`Agent::review_input`] asks.
    pub fn on_input(mut self, hook: impl OnInput + 'static) -> Self {
        self.config.hooks.on_input.push(Arc::new(hook));
        self
    }

    /// Adds a hook that [`Agent::review_user_bash`] asks.
    pub fn on_user_bash(mut self, hook: impl OnUserBash + 'static) -> Self {
        self.config.hooks.on_user_bash.push(Arc::new(hook));
        self
    }

    /// Adds a hook that [`Agent::review_switch`] asks.
    pub fn before_switch(mut self, hook: impl BeforeSwitch + 'static) -> Self {
        self.config.hooks.before_switch.push(Arc::new(hook));
        self
    }

    /// Adds a hook that [`Agent::review_fork`] asks.
    pub fn before_fork(mut self, hook: impl BeforeFork + 'static) -> Self {
        self.config.hooks.before_fork.push(Arc::new(hook));
        self
    }

    /// Adds a hook that [`Agent::review_move`] asks.
    pub fn before_tree(mut self, hook: impl BeforeTree + 'static) -> Self {
        self.config.hooks.before_tree.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked when a prompt arrives.
    pub fn before_agent_start(mut self, hook: impl BeforeAgentStart + 'static) -> Self {
        self.config.hooks.before_agent_start.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked before each step.
    pub fn before_turn(mut self, hook: impl BeforeTurn + 'static) -> Self {
        self.config.hooks.before_turn.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked before each request to the model.
    pub fn before_model_request(mut self, hook: impl BeforeModelRequest + 'static) -> Self {
        self.config.hooks.before_model_request.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked before an encoded request is sent.
    pub fn before_provider_request(mut self, hook: impl BeforeProviderRequest + 'static) -> Self {
        self.config.hooks.before_provider_request.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked about each response of the model.
    pub fn after_model_response(mut self, hook: impl AfterModelResponse + 'static) -> Self {
        self.config.hooks.after_model_response.push(Arc::new(hook));
        self
    }

    /// Sets the source of models that a [`BeforeModelRequest`] hook can select by name. Without a source, hooks cannot
    /// switch the model.
    pub fn models(mut self, source: impl ModelSource + 'static) -> Self {
        self.config.models = Some(Arc::new(source));
        self
    }

    /// Adds a hook that is asked before each tool call.
    pub fn before_tool_execute(mut self, hook: impl BeforeToolExecute + 'static) -> Self {
        self.config.hooks.before_tool_execute.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked about each tool call that the other hooks allowed.
    pub fn approve_tool(mut self, hook: impl ApproveTool + 'static) -> Self {
        self.config.hooks.approve_tool.push(Arc::new(hook));
        self
    }

    /// Adds a closure that is asked about each tool call that the other hooks allowed. It returns true to approve the
    /// call, or [`allow()`](crate::hooks::allow) or [`deny(reason)`](crate::hooks::deny). The run drops its future when it
    /// is cancelled. The name of this approver is `the user`.
    ///
    /// ```
    /// # use haft_core::AgentBuilder;
    /// # use haft_core::hooks::{allow, deny};
    /// # async fn yes_or_no(_question: String) -> bool { true }
    /// fn ask(agent: AgentBuilder) -> AgentBuilder {
    ///     agent.approve(|_, call| async move { yes_or_no(format!("Run {}?", call.name)).await })
    /// }
    ///
    /// fn limit(agent: AgentBuilder) -> AgentBuilder {
    ///     agent.approve(|_, call| async move {
    ///         if call.args.as_str().len() < 1_000 { allow() } else { deny("the arguments are too long") }
    ///     })
    /// }
    /// ```
    pub fn approve<Answer>(
        self,
        decide: impl Fn(CancellationToken, ToolCall) -> Answer + Send + Sync + 'static,
    ) -> Self
    where
        Answer: Future<Output: Into<ApproverDecision>> + Send + 'static,
    {
        self.approve_tool(ApproverFn(decide))
    }

    /// Adds a hook that is asked after each tool call.
    pub fn after_tool_execute(mut self, hook: impl AfterToolExecute + 'static) -> Self {
        self.config.hooks.after_tool_execute.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked before the user sees an assistant message.
    pub fn before_assistant_message(mut self, hook: impl BeforeAssistantMessage + 'static) -> Self {
        self.config.hooks.before_assistant_message.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked before a run ends.
    pub fn before_settle(mut self, hook: impl BeforeSettle + 'static) -> Self {
        self.config.hooks.before_settle.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked before a compaction.
    pub fn before_compact(mut self, hook: impl BeforeCompact + 'static) -> Self {
        self.config.hooks.before_compact.push(Arc::new(hook));
        self
    }

    /// Adds a hook that the agent waits for at points of a run.
    pub fn on_wait_point(mut self, hook: impl OnWaitPoint + 'static) -> Self {
        self.config.hooks.wait_points.push(Arc::new(hook));
        self
    }

    /// Sets when the context is compacted and how much of it is kept.
    pub fn compaction(mut self, settings: CompactSettings) -> Self {
        self.config.compact = settings;
        self
    }

    /// Adds an observer.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.config.hooks.observers.push(Arc::new(observer));
        self
    }

    /// Adds a closure that receives all events, like an [`Observer`].
    ///
    /// ```
    /// # use haft_core::{AgentBuilder, protocol::event::AgentEvent};
    /// fn log(agent: AgentBuilder) -> AgentBuilder {
    ///     agent.observe(|event| {
    ///         if let AgentEvent::ToolCall { name, .. } = event {
    ///             eprintln!("call of {name}");
    ///         }
    ///     })
    /// }
    /// ```
    pub fn observe(self, watch: impl Fn(&AgentEvent) + Send + Sync + 'static) -> Self {
        self.observer(ObserverFn(watch))
    }

    /// Adds a source of hooks that change over time, for example those of running extensions.
    pub fn hook_source(mut self, source: Arc<dyn HookSource>) -> Self {
        self.config.sources.push(source);
        self
    }

    /// Sets the instructions for the model: the beginning of the system prompt, in place of haft's default text. The
    /// model receives them unchanged. The list of tools and the other parts of [`system_prompt`](Self::system_prompt)
    /// follow.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Sets the fixed parts of the system prompt. [`instructions`](Self::instructions) replace its identity.
    pub fn system_prompt(mut self, system: impl Into<SystemPrompt>) -> Self {
        self.system = system.into();
        self
    }

    /// Sets the thinking level. The default is the level in the session.
    pub fn thinking(mut self, thinking: ThinkingLevel) -> Self {
        self.thinking = Some(thinking);
        self
    }

    /// Limits each answer of the model to this number of tokens. The default is the model's limit.
    pub fn max_tokens(mut self, limit: u64) -> Self {
        self.config.options.max_tokens = Some(limit);
        self
    }

    /// Sets the temperature: at least 0, at most 2. Models that do not accept one ignore it.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.config.options.temperature = Some(temperature);
        self
    }

    /// Sets the share of the most likely tokens that an answer is chosen from: more than 0, at most 1. Models that do
    /// not accept a temperature ignore it.
    pub fn top_p(mut self, share: f64) -> Self {
        self.config.options.top_p = Some(share);
        self
    }

    /// Sets the texts that end an answer. The answer does not contain them. A request to an API without stop words
    /// fails.
    pub fn stop(mut self, words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.config.options.stop = words.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the tool calls that answers may or must have. [`ToolChoice::Required`] and [`ToolChoice::Tool`] apply to
    /// the first answer of a run only, because a run ends with an answer without calls.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.config.options.tool_choice = Some(choice);
        self
    }

    /// Limits the steps of a prompt. The default is no limit.
    pub fn max_steps(mut self, limit: u32) -> Self {
        self.config.max_steps = Some(limit);
        self
    }

    /// Sets the time that all hooks share for one tool call; the default is 30 s. When the time is used up, the call is
    /// blocked. A hook with its own [decision time](crate::hooks::BeforeToolExecute::decision_time) has that time in
    /// addition.
    pub fn gate_budget(mut self, budget: Duration) -> Self {
        self.config.gate_budget = budget;
        self
    }

    /// Sets the initial transcript. If there is a [session](Self::session), the messages are appended to it. Calls
    /// without a result receive one that says so, because servers reject them otherwise.
    pub fn messages(mut self, messages: Vec<Message>) -> Self {
        self.messages = messages;
        self
    }

    /// Sets the session to continue: its transcript, tools and thinking level. The session records everything from here
    /// on. [`Session::context`] names its model; the caller opens that model. The default is a new session in memory.
    pub fn session(mut self, session: Session) -> Self {
        self.session = Some(session);
        self
    }

    /// Sets whether a message of [`Agent::steer`] skips the calls that have not started. By default the model receives
    /// the message after all calls have finished.
    pub fn steering_skips(mut self, skips: bool) -> Self {
        self.config.steering_skips = skips;
        self
    }

    /// Replaces the clock for the time stamps of messages, for reproducible output.
    pub fn clock(mut self, clock: impl Fn() -> Rfc3339Time + Send + Sync + 'static) -> Self {
        self.config.clock = Arc::new(clock);
        self
    }

    /// Builds the agent.
    ///
    /// # Errors
    /// [`BuildError`] if two tools have the same name, a tool's name or schema is invalid, an option of requests is not
    /// valid, or the session cannot be written.
    pub fn build(self) -> Result<Agent, BuildError> {
        if let Some(taken) = self.taken {
            return Err(taken.into());
        }
        turn::check_options(&self.config.options).map_err(BuildError::Options)?;
        let tools = ToolTable::new(self.tools, ToolSet::default())?;
        let mut system = self.system;
        system.identity = self.instructions.or(system.identity);
        let session = self.session.unwrap_or_else(|| Session::in_memory(Path::new(".")));
        let transcript = Transcript::new(session);
        let unsaved = |error: SessionError| BuildError::Session(error.to_string());
        if !self.messages.is_empty() {
            transcript.complete_calls(|| (self.config.clock)()).map_err(unsaved)?;
        }
        for message in complete_tool_calls(self.messages) {
            drop(transcript.add(message).map_err(unsaved)?);
        }
        let settings = transcript.settings();
        // A level that only a newer version knows is ignored.
        let restored = || settings.thinking.as_deref()?.parse().ok();
        let setup = AgentSetup {
            model: self.model,
            thinking: self.thinking.or_else(restored).unwrap_or_default(),
            active: settings.tools.clone().map(Arc::from),
        };
        let inner = AgentState {
            config: Arc::new(self.config),
            queues: MessageQueues::default(),
            transcript,
            setup: Mutex::new(setup),
            system: Mutex::new(Arc::new(system)),
            tools: Mutex::new(Arc::new(tools)),
            jobs: BackgroundJobs::default(),
        };
        Ok(Agent { inner: Arc::new(inner) })
    }
}

impl std::fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentBuilder")
            .field("tools", &self.tools)
            .field("hooks", &self.config.hooks)
            .finish_non_exhaustive()
    }
}

/// The reasons why an agent cannot be built.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two tools have the same name.
    #[error(transparent)]
    NameTaken(#[from] NameTaken),
    /// A tool has an invalid name or schema.
    #[error(transparent)]
    InvalidTool(#[from] InvalidToolError),
    /// No model accepts an option of requests.
    #[error("{0}")]
    Options(String),
    /// The initial transcript cannot be saved in the session.
    #[error("cannot save the transcript in the session: {0}")]
    Session(String),
}

impl std::fmt::Debug for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write_report(self, f)
    }
}
