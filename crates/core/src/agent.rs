//! `Agent`: the public face of the loop.

mod builder;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use haft_protocol::content::Content;
use haft_protocol::message::{Message, Time, Usage};

use crate::hooks::{HookSource, Hooks};
use crate::model::{Model, ModelInfo, Thinking};
use crate::prompt::SystemPrompt;
use crate::run::Run;
use crate::schema::{SchemaError, Validator};
use crate::tool::{Tool, ToolOwner, ToolSet, ToolSpec};

pub(crate) use builder::now;
pub use builder::{AgentBuilder, BuildError};

/// A model, tools, hooks and a transcript. Cheap to clone; clones share everything.
///
/// One prompt is worked on at a time: see [`Agent::prompt`].
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
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) hooks: Hooks,
    pub(crate) sources: Vec<Arc<dyn HookSource>>,
    pub(crate) system: SystemPrompt,
    pub(crate) thinking: Thinking,
    pub(crate) max_steps: Option<u32>,
    pub(crate) gate_budget: std::time::Duration,
    pub(crate) clock: Arc<dyn Fn() -> Time + Send + Sync>,
    /// Held while a prompt is worked on.
    pub(crate) busy: Arc<tokio::sync::Mutex<()>>,
    tools: Mutex<Arc<ToolTable>>,
    messages: Mutex<Arc<Vec<Message>>>,
    usage: Mutex<Usage>,
}

/// What the user says: text, images, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The blocks in order.
    pub content: Vec<Content>,
}

impl<T: Into<String>> From<T> for Prompt {
    fn from(text: T) -> Self {
        Self { content: vec![Content::text(text)] }
    }
}

impl Agent {
    /// Starts building an agent on this model, which may be an `Arc<dyn Model>` that others share.
    pub fn builder(model: impl Model + 'static) -> AgentBuilder {
        AgentBuilder::new(Arc::new(model))
    }

    /// Works on a prompt. The returned [`Run`] does the work as it is polled: it is a stream of events, and
    /// [`Run::finish`] says how it ended. While one run lives, another fails as busy.
    pub fn prompt(&self, prompt: impl Into<Prompt>) -> Run {
        Run::new(self.inner.clone(), prompt.into())
    }

    /// Replaces the tools. A run that is under way offers them from its next step on, and looks calls up among them
    /// at once, so that a call of an extension's tool reaches the extension that is running now.
    ///
    /// # Errors
    /// [`ToolSchemaError`] when the schema of an embedder's tool does not compile; nothing is replaced then. Other
    /// tools' schemas are compiled at their first call, which is answered with an error if that fails.
    pub fn set_tools(&self, tools: ToolSet) -> Result<(), ToolSchemaError> {
        let table = Arc::new(ToolTable::new(tools)?);
        *lock(&self.inner.tools) = table;
        Ok(())
    }

    /// What the model is told about the tools of this moment, in order.
    pub fn tools(&self) -> Vec<Arc<ToolSpec>> {
        self.inner.tools().set.specs()
    }

    /// The transcript so far.
    pub fn messages(&self) -> Arc<Vec<Message>> {
        self.inner.messages()
    }

    /// Everything used so far.
    pub fn usage(&self) -> Usage {
        *lock(&self.inner.usage)
    }

    /// Who the model is.
    pub fn model(&self) -> ModelInfo {
        self.inner.model.info()
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("model", &self.model()).finish_non_exhaustive()
    }
}

impl Inner {
    pub(crate) fn tools(&self) -> Arc<ToolTable> {
        lock(&self.tools).clone()
    }

    pub(crate) fn messages(&self) -> Arc<Vec<Message>> {
        lock(&self.messages).clone()
    }

    pub(crate) fn push(&self, message: Message) {
        Arc::make_mut(&mut lock(&self.messages)).push(message);
    }

    /// Adds what one step used; returns the new total.
    pub(crate) fn add_usage(&self, usage: Usage) -> Usage {
        let mut total = lock(&self.usage);
        *total += usage;
        *total
    }

    /// The hooks at this moment: the agent's own, then each source's.
    pub(crate) fn hooks(&self) -> Hooks {
        let mut hooks = self.hooks.clone();
        for source in &self.sources {
            hooks.extend(source.hooks());
        }
        hooks
    }
}

/// These locks guard single assignments, which a panic cannot leave half done.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn new(set: ToolSet) -> Result<Self, ToolSchemaError> {
        let mut validators = HashMap::new();
        for spec in set.specs() {
            let name = spec.name.clone();
            let late = LateValidator { spec, compiled: OnceLock::new() };
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

    /// A tool, and what checks its arguments.
    pub(crate) fn get(&self, name: &str) -> Option<(&Arc<dyn Tool>, &LateValidator)> {
        Some((self.set.get(name)?, self.validators.get(name)?))
    }
}

impl LateValidator {
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
    /// What is wrong with its schema.
    pub source: SchemaError,
}
