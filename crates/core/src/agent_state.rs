//! The state that an agent shares with its runs, and with the calls that extensions make.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use haft_protocol::message::Rfc3339Time;

use crate::compact::CompactSettings;
use crate::hooks::{HookSet, HookSource};
use crate::model::{Model, ModelSource, ThinkingLevel};
use crate::prompt::SystemPrompt;
use crate::queue::MessageQueues;
use crate::schema::{SchemaError, SchemaValidator};
use crate::session::entry::{EntryBody, ModelChange, SessionSettings, ThinkingChange, ToolsChange};
use crate::tool::{Tool, ToolOwner, ToolSet, ToolSpec};
use crate::transcript::Transcript;

/// Everything that the clones of an agent share.
pub(crate) struct AgentState {
    pub(crate) config: AgentConfig,
    /// The messages that wait, and the run that takes them, if there is one.
    pub(crate) queues: MessageQueues,
    pub(crate) transcript: Transcript,
    pub(crate) setup: Mutex<AgentSetup>,
    pub(crate) tools: Mutex<Arc<ToolTable>>,
}

/// The parts of an agent that stay as the builder made them.
pub(crate) struct AgentConfig {
    pub(crate) hooks: HookSet,
    pub(crate) sources: Vec<Arc<dyn HookSource>>,
    pub(crate) system: SystemPrompt,
    pub(crate) max_steps: Option<u32>,
    pub(crate) compact: CompactSettings,
    pub(crate) gate_budget: Duration,
    pub(crate) clock: Arc<dyn Fn() -> Rfc3339Time + Send + Sync>,
    pub(crate) models: Option<Arc<dyn ModelSource>>,
    /// A message that waits has calls that have not begun skipped.
    pub(crate) steering_skips: bool,
}

impl AgentState {
    pub(crate) fn tools(&self) -> Arc<ToolTable> {
        lock(&self.tools).clone()
    }

    pub(crate) fn set_tools(&self, tools: ToolSet) -> Result<(), ToolSchemaError> {
        let table = Arc::new(ToolTable::new(tools)?);
        *lock(&self.tools) = table;
        Ok(())
    }

    pub(crate) fn setup(&self) -> AgentSetup {
        lock(&self.setup).clone()
    }

    pub(crate) fn change_setup(&self, change: impl FnOnce(&mut AgentSetup)) {
        change(&mut lock(&self.setup));
    }

    pub(crate) fn current_time(&self) -> Rfc3339Time {
        (self.config.clock)()
    }

    /// The hooks at this moment: the agent's own, then each source's.
    pub(crate) fn current_hooks(&self) -> HookSet {
        let mut hooks = self.config.hooks.clone();
        for source in &self.config.sources {
            hooks.extend(source.hooks());
        }
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
    /// The names of the tools that are offered; all there are if none are named.
    pub(crate) active: Option<Arc<[String]>>,
}

impl AgentSetup {
    pub(crate) fn is_tool_active(&self, name: &str) -> bool {
        self.active.as_ref().is_none_or(|active| active.iter().any(|offered| offered == name))
    }

    /// Returns the entries for a log with the settings `known`, and its settings then.
    pub(crate) fn changes_since(&self, known: &SessionSettings) -> (Vec<EntryBody>, SessionSettings) {
        let (mut changes, mut settings) = (Vec::new(), known.clone());
        let info = self.model.info();
        let model = ModelChange { provider: info.provider, model: info.model };
        if known.model.as_ref() != Some(&model) {
            settings.model = Some(model.clone());
            changes.push(model.into());
        }
        // Nothing was said and nothing is wanted: that is not worth an entry.
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

/// A tool set with its schemas, each compiled when it is first needed: compiling takes longer than all else before the
/// first request.
pub(crate) struct ToolTable {
    pub(crate) set: ToolSet,
    validators: HashMap<String, LazyValidator>,
}

/// A schema that is compiled by the first call of its tool.
pub(crate) struct LazyValidator {
    spec: Arc<ToolSpec>,
    compiled: OnceLock<Result<SchemaValidator, SchemaError>>,
}

impl ToolTable {
    pub(crate) fn new(set: ToolSet) -> Result<Self, ToolSchemaError> {
        let mut validators = HashMap::new();
        for spec in set.specs() {
            let name = spec.name.clone();
            let late = LazyValidator::new(spec);
            // Nobody has looked at an embedder's schema before. An extension's was compiled when it was registered,
            // and those of haft's own tools are tested.
            if late.spec.owner == ToolOwner::Embedder {
                late.get()
                    .map_err(|source| ToolSchemaError { tool: name.clone(), source: source.clone() })?;
            }
            validators.insert(name, late);
        }
        Ok(Self { set, validators })
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

/// The tools of a moment, as far as the model is offered them.
pub(crate) struct OfferedTools {
    tools: Arc<ToolTable>,
    setup: AgentSetup,
    /// One that came when it was called.
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

    /// True if nobody has registered a tool of this name, and none of the agent's own choices leaves it out.
    pub(crate) fn is_unknown(&self, name: &str) -> bool {
        self.find_tool(name).is_none() && self.setup.is_tool_active(name)
    }

    fn find_tool(&self, name: &str) -> Option<(&Arc<dyn Tool>, &LazyValidator)> {
        let late = self.late.iter().find(|(tool, _)| tool.spec().name == name);
        self.tools.get(name).or_else(|| late.map(|(tool, validator)| (tool, validator)))
    }

    /// The names of those that are offered, in order.
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
}

/// A tool whose schema does not compile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tool {tool:?} cannot be offered to a model")]
pub struct ToolSchemaError {
    /// The tool.
    pub tool: String,
    /// The mistake in its schema.
    pub source: SchemaError,
}
