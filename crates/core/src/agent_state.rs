//! The state that an agent shares with its runs, and with the calls that extensions make.

mod setup;
mod tools;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_protocol::message::Time;

use crate::compact::CompactSettings;
use crate::hooks::{HookSource, Hooks};
use crate::model::ModelSource;
use crate::prompt::SystemPrompt;
use crate::queue::Queues;
use crate::tool::ToolSet;
use crate::transcript::Transcript;

pub(crate) use setup::Setup;
pub use tools::ToolSchemaError;
pub(crate) use tools::{LateValidator, Offered, ToolTable};

/// Everything that the clones of an agent share.
pub(crate) struct AgentState {
    pub(crate) config: AgentConfig,
    /// The messages that wait, and the run that takes them, if there is one.
    pub(crate) queues: Queues,
    pub(crate) transcript: Transcript,
    setup: Mutex<Setup>,
    tools: Mutex<Arc<ToolTable>>,
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
    /// Finds the models that hooks name.
    pub(crate) models: Option<Arc<dyn ModelSource>>,
    /// A message that waits has calls that have not begun skipped.
    pub(crate) steering_skips: bool,
}

impl AgentState {
    pub(crate) fn new(
        config: AgentConfig,
        queues: Queues,
        transcript: Transcript,
        setup: Setup,
        tools: ToolTable,
    ) -> Self {
        let (setup, tools) = (Mutex::new(setup), Mutex::new(Arc::new(tools)));
        Self { config, queues, transcript, setup, tools }
    }

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
