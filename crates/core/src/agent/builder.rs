//! Building an [`Agent`].

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_protocol::message::{Message, Rfc3339Time};

use super::Agent;
use crate::agent_state::{AgentConfig, AgentSetup, AgentState, ToolSchemaError, ToolTable};
use crate::compact::CompactSettings;
use crate::hooks::{
    AfterModelResponse, AfterToolExecute, ApproveTool, BeforeAgentStart, BeforeAssistantMessage,
    BeforeCompact, BeforeModelRequest, BeforeToolExecute, BeforeTurn, HookSet, HookSource, Observer,
};
use crate::model::{Model, ModelSource, ThinkingLevel};
use crate::prompt::SystemPrompt;
use crate::queue::MessageQueues;
use crate::session::{Session, SessionError, complete_tool_calls, current_time};
use crate::timeouts;
use crate::tool::{NameTaken, Tool, ToolSet};
use crate::transcript::Transcript;

/// Collects what an [`Agent`] is made of. Hooks are asked in the order they are added, those of sources last.
///
/// ```
/// use std::path::Path;
///
/// use haft_core::model::{Model, Thinking};
/// use haft_core::prompt::SystemPrompt;
/// use haft_core::session::Session;
/// use haft_core::session::store::SessionStore;
/// use haft_core::{Agent, BuildError};
///
/// fn agent(model: impl Model + 'static, home: &Path, project: &Path) -> Result<Agent, BuildError> {
///     let facts = vec![format!("Working directory: {}", project.display())];
///     let session: Session = SessionStore::new(home.join("sessions")).create(project);
///     Agent::builder(model)
///         .system_prompt(SystemPrompt { facts, ..SystemPrompt::default() })
///         .session(session) // kept on the disk; without it, in memory
///         .thinking(Thinking::Low)
///         .max_steps(50) // calls of the model for one prompt
///         .build()
/// }
/// ```
#[must_use = "call build() to get the agent"]
pub struct AgentBuilder {
    model: Arc<dyn Model>,
    tools: ToolSet,
    taken: Option<NameTaken>,
    config: AgentConfig,
    thinking: Option<ThinkingLevel>,
    messages: Vec<Message>,
    session: Option<Session>,
}

impl AgentBuilder {
    pub(super) fn new(model: Arc<dyn Model>) -> Self {
        let config = AgentConfig {
            hooks: HookSet::default(),
            sources: Vec::new(),
            system: SystemPrompt::default(),
            max_steps: None,
            compact: CompactSettings::default(),
            gate_budget: timeouts::GATE_BUDGET,
            clock: Arc::new(current_time),
            models: None,
            steering_skips: false,
        };
        Self {
            model,
            tools: ToolSet::default(),
            taken: None,
            config,
            thinking: None,
            messages: Vec::new(),
            session: None,
        }
    }

    /// Adds a tool. Two of one name make [`build`](Self::build) fail.
    pub fn tool(self, tool: impl Tool + 'static) -> Self {
        self.add_tools([Arc::new(tool) as Arc<dyn Tool>])
    }

    /// Adds tools that are there already, as those of `haft_tools::builtin_tools` or of `haft_host::Host::tools`. Two of
    /// one name make [`build`](Self::build) fail.
    pub fn add_tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        for tool in tools {
            if let Err(taken) = self.tools.add(tool) {
                self.taken.get_or_insert(taken);
            }
        }
        self
    }

    /// Replaces all tools by a set made elsewhere.
    pub fn tools(mut self, tools: ToolSet) -> Self {
        self.tools = tools;
        self
    }

    /// Adds a hook that is asked when a prompt arrives.
    pub fn before_agent_start(mut self, hook: impl BeforeAgentStart + 'static) -> Self {
        self.config.hooks.before_agent_start.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked before each call of the model.
    pub fn before_turn(mut self, hook: impl BeforeTurn + 'static) -> Self {
        self.config.hooks.before_turn.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked before each request to the model.
    pub fn before_model_request(mut self, hook: impl BeforeModelRequest + 'static) -> Self {
        self.config.hooks.before_model_request.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked about each answer of the model.
    pub fn after_model_response(mut self, hook: impl AfterModelResponse + 'static) -> Self {
        self.config.hooks.after_model_response.push(Arc::new(hook));
        self
    }

    /// Sets how models are found that a [`BeforeModelRequest`] hook names. Without it a hook cannot have another model
    /// asked.
    pub fn models(mut self, source: impl ModelSource + 'static) -> Self {
        self.config.models = Some(Arc::new(source));
        self
    }

    /// Adds a hook that is asked before each tool call.
    pub fn before_tool_execute(mut self, hook: impl BeforeToolExecute + 'static) -> Self {
        self.config.hooks.before_tool_execute.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked about each tool call that has passed the others.
    pub fn approve_tool(mut self, hook: impl ApproveTool + 'static) -> Self {
        self.config.hooks.approve_tool.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked after each tool call.
    pub fn after_tool_execute(mut self, hook: impl AfterToolExecute + 'static) -> Self {
        self.config.hooks.after_tool_execute.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked before the user sees a message.
    pub fn before_assistant_message(mut self, hook: impl BeforeAssistantMessage + 'static) -> Self {
        self.config.hooks.before_assistant_message.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked before the context is summed up.
    pub fn before_compact(mut self, hook: impl BeforeCompact + 'static) -> Self {
        self.config.hooks.before_compact.push(Arc::new(hook));
        self
    }

    /// Sets when the context is summed up, and how much of it is kept.
    pub fn compaction(mut self, settings: CompactSettings) -> Self {
        self.config.compact = settings;
        self
    }

    /// Adds an observer.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.config.hooks.observers.push(Arc::new(observer));
        self
    }

    /// Adds hooks that come and go, such as those of running extensions.
    pub fn hook_source(mut self, source: Arc<dyn HookSource>) -> Self {
        self.config.sources.push(source);
        self
    }

    /// Sets the system prompt's fixed parts.
    pub fn system_prompt(mut self, system: SystemPrompt) -> Self {
        self.config.system = system;
        self
    }

    /// Sets how much the model thinks; without it, what the session says.
    pub fn thinking(mut self, thinking: ThinkingLevel) -> Self {
        self.thinking = Some(thinking);
        self
    }

    /// Ends a prompt after this many calls of the model; without it there is no limit.
    pub fn max_steps(mut self, limit: u32) -> Self {
        self.config.max_steps = Some(limit);
        self
    }

    /// Sets how long all hooks together may take over one tool call, 30 s if nothing is said. When it is used up, the
    /// call is blocked. Hooks that keep [a time of their own](crate::hooks::BeforeToolExecute::decision_time) have that beside
    /// it.
    pub fn gate_budget(mut self, budget: Duration) -> Self {
        self.config.gate_budget = budget;
        self
    }

    /// Begins with this transcript instead of an empty one. With a [session](Self::session), it goes in behind what the
    /// session says. A call in it that has no result is given one that says so, since servers refuse it otherwise.
    pub fn messages(mut self, messages: Vec<Message>) -> Self {
        self.messages = messages;
        self
    }

    /// Goes on with this session: its transcript, its tools and its level of thinking. Everything that happens from here
    /// on is kept in it. Its model is named by [`Session::context`]; whoever makes the agent opens that model. Without a
    /// session, one in memory is used.
    pub fn session(mut self, session: Session) -> Self {
        self.session = Some(session);
        self
    }

    /// Sets whether the calls of a message that have not begun are skipped when a message of [`Agent::steer`] waits. If
    /// not, which is usual, it is told when all of them are done.
    pub fn steering_skips(mut self, skips: bool) -> Self {
        self.config.steering_skips = skips;
        self
    }

    /// Replaces the clock that stamps messages, for output that is the same each time.
    pub fn clock(mut self, clock: impl Fn() -> Rfc3339Time + Send + Sync + 'static) -> Self {
        self.config.clock = Arc::new(clock);
        self
    }

    /// Makes the agent.
    ///
    /// # Errors
    /// [`BuildError`] when two tools have one name, a tool's schema does not compile, or the session cannot be written.
    pub fn build(self) -> Result<Agent, BuildError> {
        if let Some(taken) = self.taken {
            return Err(taken.into());
        }
        let tools = ToolTable::new(self.tools)?;
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
        // A level that only a newer version has is none.
        let restored = || settings.thinking.as_deref()?.parse().ok();
        let setup = AgentSetup {
            model: self.model,
            thinking: self.thinking.or_else(restored).unwrap_or_default(),
            active: settings.tools.clone().map(Arc::from),
        };
        let inner = AgentState {
            config: self.config,
            queues: MessageQueues::default(),
            transcript,
            setup: Mutex::new(setup),
            tools: Mutex::new(Arc::new(tools)),
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

/// Why an agent cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two tools of one name.
    #[error(transparent)]
    NameTaken(#[from] NameTaken),
    /// A schema that does not compile.
    #[error(transparent)]
    Schema(#[from] ToolSchemaError),
    /// The transcript that the builder was given cannot be put into the session.
    #[error("cannot save the transcript in the session: {0}")]
    Session(String),
}
