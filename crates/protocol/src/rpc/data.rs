//! The data of replies, by subject.

mod extension;
mod greeting;
mod job;
mod message;
mod record;
mod session;
mod setup;
mod state;

use serde::{Deserialize, Serialize};

pub use crate::agent_state::{ContextData, QueueData, ToolInfo};
pub use extension::{
    CommandActionKind, CommandInfo, CommandResult, CommandsData, CompletionsData, ExtensionInfo,
    ExtensionsData, ReloadData, ShortcutInfo, StatusItem,
};
pub use greeting::{HelloData, PongData};
pub use job::{JobInfo, JobsData};
pub use message::{MessagesData, ShownBlock, ShownMessage};
pub use record::{AppendedData, SentData};
pub use session::{EntryInfo, MovedData, SessionData, SessionInfo, SessionsData, TreeData};
pub use setup::{ModelData, ModelInfo, ModelPrices, ModelsData, ThinkingData, ToolsData, ToolsSet};
pub use state::{InterruptData, QueuedData, StartedData, StateData};

/// No data: the reply has no `data`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoData {}
