//! Events, as a client is told them: the events of the agent and those of this dialect, each with its session.
//!
//! ```json
//! {"type":"text_delta","delta":"Hi","session":"0199"}
//! {"type":"session_closed","reason":"requested","session":"0199"}
//! ```

use serde::{Deserialize, Serialize};

use super::{UiEnd, UiRequest, line};
use crate::event::AgentEvent;
use crate::ids::{ExtensionName, PanelId};

/// One line that is no reply: an event, and the session that it is about as its last field.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct EventLine {
    /// The event.
    #[serde(flatten)]
    pub event: ClientEvent,
    /// The session; absent for what concerns all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl EventLine {
    /// The line, newline included.
    ///
    /// # Errors
    /// None for what this crate can build; kept, so that no caller has to assume it.
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        line(self).map(|line| line + "\n")
    }
}

/// The event.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
// Only ever written, so that no reader has to guess which of both it is.
pub enum ClientEvent {
    /// In a run, or to an extension: as `--json` prints it.
    Agent(AgentEvent),
    /// Between client and process.
    Rpc(RpcEvent),
}

impl From<AgentEvent> for ClientEvent {
    fn from(event: AgentEvent) -> Self {
        Self::Agent(event)
    }
}

impl From<RpcEvent> for ClientEvent {
    fn from(event: RpcEvent) -> Self {
        Self::Rpc(event)
    }
}

/// Events of this dialect only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RpcEvent {
    /// The conversation was summed up, as the command `compact` wanted.
    CompactDone {
        /// The text for the model in place of what was summarized.
        summary: String,
    },
    /// A question for the person; answered by `ui_response`.
    UiRequest(UiRequest),
    /// A question is over; its answer does not matter any more.
    UiDone {
        /// The question.
        id: String,
        /// Why.
        why: UiEnd,
    },
    /// An extension's command opens a panel; it replaces an open one.
    PanelOpen {
        /// Whose.
        extension: ExtensionName,
        /// The content.
        #[serde(flatten)]
        panel: PanelContent,
    },
    /// New content of an open panel. Lines and footer are replaced, an empty title keeps the old one. When a client reads
    /// too slowly, only the newest counts.
    PanelRender {
        /// Whose.
        extension: ExtensionName,
        /// The content.
        #[serde(flatten)]
        panel: PanelContent,
    },
    /// A panel is over: its extension closed it, or is gone.
    PanelClose {
        /// Whose.
        extension: ExtensionName,
        /// Which panel.
        panel_id: PanelId,
    },
    /// An extension's command puts text into the editor, at the cursor.
    Insert {
        /// Whose.
        extension: ExtensionName,
        /// The text.
        text: String,
    },
    /// An extension's item in the status line is another one, or is gone. When a client reads too slowly, only the newest
    /// counts. `list_extensions` says which there are.
    ExtStatus {
        /// Whose.
        extension: ExtensionName,
        /// Which item: the extension's name for it.
        key: String,
        /// The text; absent when the item is gone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A session is open; the field `session` says which.
    SessionOpened {
        /// True if it leaves no file.
        ephemeral: bool,
        /// Its file, which is there as soon as something was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// A session is closed, its file free for others.
    SessionClosed {
        /// Why.
        reason: SessionEnd,
    },
}

/// The content of a panel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PanelContent {
    /// Which panel: the extension's name for it.
    pub panel_id: PanelId,
    /// The heading; empty means the extension's name.
    pub title: String,
    /// One string a row.
    pub lines: Vec<String>,
    /// A muted last row.
    pub footer: String,
}

/// Why a session was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionEnd {
    /// The client asked for it.
    Requested,
    /// The process ends.
    Shutdown,
    /// It cannot go on; an `error` came before.
    Failed,
}
