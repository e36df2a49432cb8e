//! The state that an agent shares with its runs and with extensions' tool calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use haft_protocol::event::AgentEvent;
use haft_protocol::message::Rfc3339Time;
use haft_protocol::names;

use crate::compact::CompactSettings;
use crate::emitter::notify_observers;
use crate::hooks::{HookSet, HookSource, ListedHook, Observer, PromptSection};
use crate::jobs::BackgroundJobs;
use crate::model::{Model, ModelSource, RequestOptions, RequestReview, ThinkingLevel};
use crate::prompt::SystemPrompt;
use crate::queue::MessageQueues;
use crate::schema::{SchemaError, SchemaValidator};
use crate::session::entry::{EntryBody, ModelChange, SessionSettings, ThinkingChange, ToolsChange};
use crate::stats::{ContextUsage, text_tokens};
use crate::tool::{Tool, ToolOwner, ToolSet, ToolSpec};
use crate::transcript::Transcript;

/// The state that all clones of an agent share.
pub(crate) struct AgentState {
    pub(crate) config: Arc<AgentConfig>,
    /// The queued messages, and the active run if there is one.
    pub(crate) queues: MessageQueues,
    pub(crate) transcript: Transcript,
    pub(crate) setup: Mutex<AgentSetup>,
    pub(crate) system: Mutex<Arc<SystemPrompt>>,
    pub(crate) tools: Mutex<Arc<ToolTable>>,
    pub(crate) jobs: BackgroundJobs,
}

/// The settings of an agent that do not change after `build`.
pub(crate) struct AgentConfig {
    pub(crate) hooks: HookSet,
    pub(crate) sources: Vec<Arc<dyn HookSource>>,
    pub(crate) max_steps: Option<u32>,
    pub(crate) compact: CompactSettings,
    pub(crate) gate_budget: Duration,
    pub(crate) clock: Arc<dyn Fn() -> Rfc3339Time + Send + Sync>,
    pub(crate) models: Option<Arc<dyn ModelSource>>,
    /// The options of requests before hooks change them.
    pub(crate) options: RequestOptions,
    /// True if a queued message skips the calls that have not started.
    pub(crate) steering_skips: bool,
}

impl AgentState {
    /// Returns the state of an agent with the same parts and settings, and with an empty transcript in memory.
    #[cfg(feature = "schemars")]
    pub(crate) fn with_empty_transcript(&self) -> Self {
        let cwd = self.transcript.session.header().cwd;
        Self {
            config: self.config.clone(),
            queues: MessageQueues::default(),
            transcript: Transcript::new(crate::session::Session::in_memory(cwd.as_ref())),
            setup: Mutex::new(self.setup()),
            system: Mutex::new(self.system_prompt()),
            tools: Mutex::new(self.tools()),
            jobs: BackgroundJobs::default(),
        }
    }

    pub(crate) fn tools(&self) -> Arc<ToolTable> {
        lock(&self.tools).clone()
    }

    /// Replaces the tools that are not of extensions.
    pub(crate) fn set_tools(&self, tools: ToolSet) -> Result<(), InvalidToolError> {
        let mut table = lock(&self.tools);
        *table = Arc::new(ToolTable::new(tools, table.of_extensions.clone())?);
        Ok(())
    }

    pub(crate) fn set_extension_tools(&self, tools: ToolSet) -> Result<(), InvalidToolError> {
        let mut table = lock(&self.tools);
        *table = Arc::new(ToolTable::new(table.own.clone(), tools)?);
        Ok(())
    }

    pub(crate) fn system_prompt(&self) -> Arc<SystemPrompt> {
        lock(&self.system).clone()
    }

    pub(crate) fn set_system_prompt(&self, system: SystemPrompt) {
        *lock(&self.system) = Arc::new(system);
    }

    pub(crate) fn setup(&self) -> AgentSetup {
        lock(&self.setup).clone()
    }

    /// Changes the setup, and reports another model or thinking level to the observers. A run does not report it.
    pub(crate) fn change_setup(&self, change: impl FnOnce(&mut AgentSetup)) {
        let (before, after) = {
            let mut setup = lock(&self.setup);
            let before = setup.clone();
            change(&mut setup);
            (before, setup.clone())
        };
        let events = after.events_since(&before);
        if events.is_empty() {
            return;
        }
        let observers = self.current_hooks::<dyn Observer>();
        events.iter().for_each(|event| notify_observers(&observers, event));
    }

    pub(crate) fn current_time(&self) -> Rfc3339Time {
        (self.config.clock)()
    }

    /// Returns the review of a request by the current hooks.
    pub(crate) fn request_review(&self) -> RequestReview {
        RequestReview::new(self.current_hooks())
    }

    /// Returns the usage of the context. It is the only source of the number before and after a compaction, and of the
    /// number that users see. Without a provider's count, the system prompt and the tools are estimated, too.
    pub(crate) fn context_usage(&self, setup: &AgentSetup, sections: &[PromptSection]) -> ContextUsage {
        let (tally, messages) = self.transcript.tally();
        let mut usage = tally.context_usage(&messages, setup.model.facts().window);
        if !tally.is_counted() && !messages.is_empty() {
            let fixed = self.fixed_tokens(setup, sections);
            usage.tokens += fixed;
            usage.estimated += fixed;
        }
        usage
    }

    /// Estimates the tokens of the system prompt and the tools.
    pub(crate) fn fixed_tokens(&self, setup: &AgentSetup, sections: &[PromptSection]) -> u64 {
        let tools = self.tools().offered_specs(setup);
        let system = text_tokens(&self.system_prompt().render(&tools, sections));
        let tools = tools.iter().map(|tool| {
            text_tokens(&tool.name) + text_tokens(&tool.description) + text_tokens(tool.schema.as_str())
        });
        system + tools.sum::<u64>()
    }

    /// Returns the current hooks of a kind, for example `dyn BeforeTurn`: the agent's own, then those of each source.
    pub(crate) fn current_hooks<H: ListedHook + ?Sized>(&self) -> Vec<Arc<H>> {
        let mut hooks = H::list(&self.config.hooks).to_vec();
        hooks.extend(self.config.sources.iter().flat_map(|source| H::take_list(source.hooks_of(H::KIND))));
        hooks
    }
}

/// These locks guard single assignments, which a panic cannot leave half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Clone)]
pub(crate) struct AgentSetup {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) thinking: ThinkingLevel,
    /// The names of the offered tools; `None` offers all tools.
    pub(crate) active: Option<Arc<[String]>>,
}

impl AgentSetup {
    pub(crate) fn is_tool_active(&self, name: &str) -> bool {
        self.active.as_ref().is_none_or(|active| active.iter().any(|offered| offered == name))
    }

    /// Returns the events about the changes since the setup `before`.
    fn events_since(&self, before: &Self) -> Vec<AgentEvent> {
        let (model, level) = (self.model.info(), self.effective_thinking());
        let model =
            (model != before.model.info()).then(|| AgentEvent::ModelChanged { model: model.to_string() });
        let level = (level != before.effective_thinking()).then_some(AgentEvent::ThinkingChanged { level });
        model.into_iter().chain(level).collect()
    }

    /// Returns the thinking level that the model uses.
    fn effective_thinking(&self) -> ThinkingLevel {
        self.model.facts().clamp_thinking(self.thinking)
    }

    /// Returns the log entries for the changes since the settings `known`, and the settings after them.
    pub(crate) fn changes_since(&self, known: &SessionSettings) -> (Vec<EntryBody>, SessionSettings) {
        let (mut changes, mut settings) = (Vec::new(), known.clone());
        let info = self.model.info();
        let model = ModelChange { provider: info.provider, model: info.model };
        if known.model.as_ref() != Some(&model) {
            settings.model = Some(model.clone());
            changes.push(model.into());
        }
        // The default level needs no entry when none was recorded.
        let level = self.thinking.name().to_owned();
        if known.thinking.as_ref() != Some(&level)
            && (known.thinking.is_some() || self.thinking != ThinkingLevel::default())
        {
            settings.thinking = Some(level.clone());
            changes.push(ThinkingChange { level }.into());
        }
        let active = self.active.as_deref().map(<[String]>::to_vec);
        if known.tools != active {
            settings.tools.clone_from(&active);
            changes.push(ToolsChange { active }.into());
        }
        (changes, settings)
    }
}

/// A tool set with its schemas. Each schema is compiled when it is first needed, because compilation takes longer than
/// all other work before the first request.
pub(crate) struct ToolTable {
    /// All tools.
    pub(crate) set: ToolSet,
    own: ToolSet,
    of_extensions: ToolSet,
    validators: HashMap<String, LazyValidator>,
}

/// A schema that is compiled at the first call of its tool.
pub(crate) struct LazyValidator {
    spec: Arc<ToolSpec>,
    compiled: OnceLock<Result<SchemaValidator, SchemaError>>,
}

impl ToolTable {
    /// Creates the table of these tools. A tool of an extension takes the place of another tool of the same name.
    pub(crate) fn new(own: ToolSet, of_extensions: ToolSet) -> Result<Self, InvalidToolError> {
        let mut set = own.clone();
        set.extend(of_extensions.iter().cloned());
        let mut validators = HashMap::new();
        for spec in set.specs() {
            let name = spec.name.clone();
            let late = LazyValidator::new(spec);
            // An embedder's tool has not been checked before. The tools of extensions are checked at registration, and
            // built-in tools are tested.
            if late.spec.owner == ToolOwner::Embedder {
                late.check_embedder_tool()?;
            }
            validators.insert(name, late);
        }
        Ok(Self { set, own, of_extensions, validators })
    }

    pub(crate) fn offered_specs(&self, setup: &AgentSetup) -> Vec<Arc<ToolSpec>> {
        let mut specs = self.set.specs();
        if setup.active.is_some() {
            specs.retain(|spec| setup.is_tool_active(&spec.name));
        }
        specs
    }

    pub(crate) fn get(&self, name: &str) -> Option<(&Arc<dyn Tool>, &LazyValidator)> {
        Some((self.set.get(name)?, self.validators.get(name)?))
    }
}

/// The tools that the model is offered in one step.
pub(crate) struct OfferedTools {
    tools: Arc<ToolTable>,
    setup: AgentSetup,
    /// A tool that became available when it was called.
    late: Option<(Arc<dyn Tool>, LazyValidator)>,
}

impl OfferedTools {
    pub(crate) fn new(tools: Arc<ToolTable>, setup: AgentSetup) -> Self {
        Self { tools, setup, late: None }
    }

    pub(crate) fn add(&mut self, tool: Arc<dyn Tool>) {
        let validator = LazyValidator::new(tool.spec());
        self.late = Some((tool, validator));
    }

    pub(crate) fn get(&self, name: &str) -> Option<(&Arc<dyn Tool>, &LazyValidator)> {
        self.find_tool(name).filter(|_| self.setup.is_tool_active(name))
    }

    /// True if no tool of this name is registered and the agent's selection does not exclude the name.
    pub(crate) fn is_unknown(&self, name: &str) -> bool {
        self.find_tool(name).is_none() && self.setup.is_tool_active(name)
    }

    fn find_tool(&self, name: &str) -> Option<(&Arc<dyn Tool>, &LazyValidator)> {
        let late = self.late.iter().find(|(tool, _)| tool.spec().name == name);
        self.tools.get(name).or_else(|| late.map(|(tool, validator)| (tool, validator)))
    }

    /// Returns the names of the offered tools, in order.
    pub(crate) fn names(&self) -> String {
        let names: Vec<String> =
            self.tools.offered_specs(&self.setup).iter().map(|spec| spec.name.clone()).collect();
        names.join(", ")
    }
}

impl LazyValidator {
    pub(crate) fn new(spec: Arc<ToolSpec>) -> Self {
        Self { spec, compiled: OnceLock::new() }
    }

    pub(crate) fn get(&self) -> Result<&SchemaValidator, &SchemaError> {
        self.compiled.get_or_init(|| SchemaValidator::compile(&self.spec.schema)).as_ref()
    }

    fn check_embedder_tool(&self) -> Result<(), InvalidToolError> {
        let tool = self.spec.name.clone();
        if !names::is_tool(&tool, MAX_TOOL_NAME) {
            return Err(InvalidToolError::Name { tool });
        }
        let checked = self.get().map_err(Clone::clone).and_then(SchemaValidator::check_type);
        checked.map_err(|error| InvalidToolError::Schema { tool, error })
    }
}

/// The maximum length of a tool's name that every provider accepts.
pub(crate) const MAX_TOOL_NAME: usize = 64;

/// The error for a tool that cannot be offered to a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidToolError {
    /// Providers reject the name of the tool.
    #[error(
        "tool {tool:?} has an invalid name; use a letter, then letters, digits, _ and -, at most {MAX_TOOL_NAME} in all"
    )]
    Name {
        /// The tool.
        tool: String,
    },
    /// The tool's schema does not compile, or does not describe an object.
    #[error("tool {tool:?} has an invalid schema: {error}")]
    Schema {
        /// The tool.
        tool: String,
        /// The error in its schema. Not an error source, because the message already includes it.
        error: SchemaError,
    },
}
