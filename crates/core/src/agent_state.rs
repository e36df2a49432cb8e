//! The state that an agent shares with its runs, and with the calls that extensions make.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use haft_protocol::message::Time;

use crate::compact::CompactSettings;
use crate::hooks::{HookSource, Hooks};
use crate::model::{Model, ModelSource, Thinking};
use crate::prompt::SystemPrompt;
use crate::queue::Queues;
use crate::schema::{SchemaError, Validator};
use crate::session::entry::{EntryBody, ModelChange, Settings, ThinkingChange, ToolsChange};
use crate::tool::{Tool, ToolOwner, ToolSet, ToolSpec};
use crate::transcript::Transcript;

/// Everything that the clones of an agent share.
pub(crate) struct AgentState {
    pub(crate) config: AgentConfig,
    /// The messages that wait, and the run that takes them, if there is one.
    pub(crate) queues: Queues,
    pub(crate) transcript: Transcript,
    pub(crate) setup: Mutex<Setup>,
    pub(crate) tools: Mutex<Arc<ToolTable>>,
}

/// The parts of an agent that stay as the builder made them.
pub(crate) struct AgentConfig {
    pub(crate) hooks: Hooks,
    pub(crate) sources: Vec<Arc<dyn HookSource>>,
    pub(crate) system: SystemPrompt,
    pub(crate) max_steps: Option<u32>,
    pub(crate) compact: CompactSettings,
    pub(crate) gate_budget: Duration,
    pub(crate) clock: Arc<dyn Fn() -> Time + Send + Sync>,
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

    pub(crate) fn setup(&self) -> Setup {
        lock(&self.setup).clone()
    }

    pub(crate) fn change_setup(&self, change: impl FnOnce(&mut Setup)) {
        change(&mut lock(&self.setup));
    }

    pub(crate) fn now(&self) -> Time {
        (self.config.clock)()
    }

    /// The hooks at this moment: the agent's own, then each source's.
    pub(crate) fn hooks(&self) -> Hooks {
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
pub(crate) struct Setup {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) thinking: Thinking,
    /// The names of the tools that are offered; all there are if none are named.
    pub(crate) active: Option<Arc<[String]>>,
}

impl Setup {
    pub(crate) fn offers(&self, name: &str) -> bool {
        self.active.as_ref().is_none_or(|active| active.iter().any(|offered| offered == name))
    }

    /// Returns the entries for a log with the settings `known`, and its settings then.
    pub(crate) fn changes(&self, known: &Settings) -> (Vec<EntryBody>, Settings) {
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
            && (known.thinking.is_some() || self.thinking != Thinking::default())
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
    validators: HashMap<String, LateValidator>,
}

/// A schema that is compiled by the first call of its tool.
pub(crate) struct LateValidator {
    spec: Arc<ToolSpec>,
    compiled: OnceLock<Result<Validator, SchemaError>>,
}

impl ToolTable {
    pub(crate) fn new(set: ToolSet) -> Result<Self, ToolSchemaError> {
        let mut validators = HashMap::new();
        for spec in set.specs() {
            let name = spec.name.clone();
            let late = LateValidator::new(spec);
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

    pub(crate) fn offered(&self, setup: &Setup) -> Vec<Arc<ToolSpec>> {
        let mut specs = self.set.specs();
        if setup.active.is_some() {
            specs.retain(|spec| setup.offers(&spec.name));
        }
        specs
    }

    pub(crate) fn get(&self, name: &str) -> Option<(&Arc<dyn Tool>, &LateValidator)> {
        Some((self.set.get(name)?, self.validators.get(name)?))
    }
}

/// The tools of a moment, as far as the model is offered them.
pub(crate) struct Offered {
    tools: Arc<ToolTable>,
    setup: Setup,
    /// One that came when it was called.
    late: Option<(Arc<dyn Tool>, LateValidator)>,
}

impl Offered {
    pub(crate) fn new(tools: Arc<ToolTable>, setup: Setup) -> Self {
        Self { tools, setup, late: None }
    }

    pub(crate) fn add(&mut self, tool: Arc<dyn Tool>) {
        let validator = LateValidator::new(tool.spec());
        self.late = Some((tool, validator));
    }

    pub(crate) fn get(&self, name: &str) -> Option<(&Arc<dyn Tool>, &LateValidator)> {
        self.known(name).filter(|_| self.setup.offers(name))
    }

    /// True if nobody has registered a tool of this name, and none of the agent's own choices leaves it out.
    pub(crate) fn is_unknown(&self, name: &str) -> bool {
        self.known(name).is_none() && self.setup.offers(name)
    }

    fn known(&self, name: &str) -> Option<(&Arc<dyn Tool>, &LateValidator)> {
        let late = self.late.iter().find(|(tool, _)| tool.spec().name == name);
        self.tools.get(name).or_else(|| late.map(|(tool, validator)| (tool, validator)))
    }

    /// The names of those that are offered, in order.
    pub(crate) fn names(&self) -> String {
        let names: Vec<String> =
            self.tools.offered(&self.setup).iter().map(|spec| spec.name.clone()).collect();
        names.join(", ")
    }
}

impl LateValidator {
    pub(crate) fn new(spec: Arc<ToolSpec>) -> Self {
        Self { spec, compiled: OnceLock::new() }
    }

    pub(crate) fn get(&self) -> Result<&Validator, &SchemaError> {
        self.compiled.get_or_init(|| Validator::compile(&self.spec.schema)).as_ref()
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
