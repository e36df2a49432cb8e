//! Building an [`Agent`].

use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_protocol::message::{Message, Time, Usage};

use super::{Agent, Inner, ToolSchemaError, ToolTable};
use crate::hooks::{
    AfterToolExecute, BeforeAgentStart, BeforeAssistantMessage, BeforeToolExecute, BeforeTurn, HookSource,
    Hooks, Observer,
};
use crate::model::{Model, Thinking};
use crate::prompt::SystemPrompt;
use crate::timeouts;
use crate::tool::{NameTaken, Tool, ToolSet};

/// Collects what an [`Agent`] is made of. Hooks are asked in the order they are added, those of sources last.
#[must_use = "call build() to get the agent"]
pub struct AgentBuilder {
    model: Arc<dyn Model>,
    tools: ToolSet,
    taken: Option<NameTaken>,
    hooks: Hooks,
    sources: Vec<Arc<dyn HookSource>>,
    system: SystemPrompt,
    thinking: Thinking,
    max_steps: Option<u32>,
    gate_budget: Duration,
    messages: Vec<Message>,
    clock: Arc<dyn Fn() -> Time + Send + Sync>,
}

impl AgentBuilder {
    pub(super) fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            tools: ToolSet::default(),
            taken: None,
            hooks: Hooks::default(),
            sources: Vec::new(),
            system: SystemPrompt::default(),
            thinking: Thinking::default(),
            max_steps: None,
            gate_budget: timeouts::GATE_BUDGET,
            messages: Vec::new(),
            clock: Arc::new(now),
        }
    }

    /// Adds a tool. Two of one name make [`build`](Self::build) fail.
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        if let Err(taken) = self.tools.add(Arc::new(tool)) {
            self.taken.get_or_insert(taken);
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
        self.hooks.before_agent_start.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked before each call of the model.
    pub fn before_turn(mut self, hook: impl BeforeTurn + 'static) -> Self {
        self.hooks.before_turn.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked before each tool call.
    pub fn before_tool_execute(mut self, hook: impl BeforeToolExecute + 'static) -> Self {
        self.hooks.before_tool_execute.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked after each tool call.
    pub fn after_tool_execute(mut self, hook: impl AfterToolExecute + 'static) -> Self {
        self.hooks.after_tool_execute.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is asked before the user sees a message.
    pub fn before_assistant_message(mut self, hook: impl BeforeAssistantMessage + 'static) -> Self {
        self.hooks.before_assistant_message.push(Arc::new(hook));
        self
    }

    /// Adds an observer.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.hooks.observers.push(Arc::new(observer));
        self
    }

    /// Adds hooks that come and go, such as those of running extensions.
    pub fn hook_source(mut self, source: Arc<dyn HookSource>) -> Self {
        self.sources.push(source);
        self
    }

    /// Sets the system prompt's fixed parts.
    pub fn system_prompt(mut self, system: SystemPrompt) -> Self {
        self.system = system;
        self
    }

    /// Sets how much the model thinks.
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.thinking = thinking;
        self
    }

    /// Ends a prompt after this many calls of the model; without it there is no limit.
    pub fn max_steps(mut self, limit: u32) -> Self {
        self.max_steps = Some(limit);
        self
    }

    /// Sets how long all hooks together may take over one tool call, 30 s if nothing is said. When it is used up, the
    /// call is blocked.
    pub fn gate_budget(mut self, budget: Duration) -> Self {
        self.gate_budget = budget;
        self
    }

    /// Begins with this transcript instead of an empty one.
    pub fn messages(mut self, messages: Vec<Message>) -> Self {
        self.messages = messages;
        self
    }

    /// Replaces the clock that stamps messages, for output that is the same each time.
    pub fn clock(mut self, clock: impl Fn() -> Time + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Makes the agent.
    ///
    /// # Errors
    /// [`BuildError`] when two tools have one name or a tool's schema does not compile.
    pub fn build(self) -> Result<Agent, BuildError> {
        if let Some(taken) = self.taken {
            return Err(taken.into());
        }
        let tools = ToolTable::new(self.tools)?;
        Ok(Agent {
            inner: Arc::new(Inner {
                model: self.model,
                hooks: self.hooks,
                sources: self.sources,
                system: self.system,
                thinking: self.thinking,
                max_steps: self.max_steps,
                gate_budget: self.gate_budget,
                clock: self.clock,
                busy: Arc::default(),
                tools: Mutex::new(Arc::new(tools)),
                messages: Mutex::new(Arc::new(self.messages)),
                usage: Mutex::new(Usage::default()),
            }),
        })
    }
}

impl std::fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentBuilder")
            .field("tools", &self.tools)
            .field("hooks", &self.hooks)
            .finish_non_exhaustive()
    }
}

pub(crate) fn now() -> Time {
    let now = jiff::Timestamp::now();
    Time(format!("{now:.3}"))
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
}
