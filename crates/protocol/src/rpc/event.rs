//! Events for a client: the events of the agent and those of this dialect, each with its session.
//!
//! ```json
//! {"type":"text_delta","delta":"Hi","session":"0199"}
//! {"type":"session_closed","reason":"requested","session":"0199"}
//! ```

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::{UiEnd, UiRequest, line};
use crate::event::AgentEvent;
use crate::ext::{SetWorkingCall, StyledSpan};
use crate::ids::{ExtensionName, PanelId};
use crate::json::RawJson;
use crate::tagged::{read_tagged, tagged_enum};

/// A line that is not a reply: an event, with its session as the last field.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventLine {
    /// The event.
    #[serde(flatten)]
    pub event: ClientEvent,
    /// The session; absent for an event about all sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl EventLine {
    /// Encodes the line, newline included.
    ///
    /// # Errors
    /// None for values that this crate can build; callers must not rely on that.
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        line(self).map(|line| line + "\n")
    }
}

impl<'de> Deserialize<'de> for EventLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Head<'a> {
            #[serde(borrow, rename = "type")]
            kind: Cow<'a, str>,
            session: Option<String>,
        }
        let object = RawJson::deserialize(deserializer)?;
        let Head { kind, session } = serde_json::from_str(object.as_str()).map_err(D::Error::custom)?;
        let event = match read_tagged(&kind, object.as_str()).map_err(D::Error::custom)? {
            Some(event) => ClientEvent::Agent(event),
            None => match read_tagged(&kind, object.as_str()).map_err(D::Error::custom)? {
                Some(event) => ClientEvent::Rpc(event),
                None => ClientEvent::Unknown { kind: kind.into_owned() },
            },
        };
        Ok(Self { event, session })
    }
}

/// The event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ClientEvent {
    /// An event of a run or of an extension, as `--json` prints it.
    Agent(AgentEvent),
    /// An event between client and process.
    Rpc(RpcEvent),
    /// An event of a later version, which a client ignores. Only read, never written.
    #[serde(skip_serializing)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Unknown {
        /// The type of the event.
        kind: String,
    },
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

tagged_enum! {
    /// Events of this dialect only.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum RpcEvent = "RpcEvent" {
        /// A compaction that the command `compact` started has finished.
        CompactDone {
            /// The summary that replaces the older messages.
            summary: String,
        },
        /// A question for the person; answered by `ui_response`.
        UiRequest(Box<UiRequest>),
        /// A question is closed; haft ignores later answers.
        UiDone {
            /// The id of the question.
            id: String,
            /// The reason.
            why: UiEnd,
        },
        /// An extension opens a panel, which replaces an open one.
        PanelOpen {
            /// The extension that owns the panel.
            extension: ExtensionName,
            /// The content.
            #[serde(flatten)]
            panel: PanelContent,
        },
        /// New content of an open panel. Replaces the lines and the footer; an empty title keeps the
        /// old title. For slow clients, only the newest content is sent.
        PanelRender {
            /// The extension that owns the panel.
            extension: ExtensionName,
            /// The content.
            #[serde(flatten)]
            panel: PanelContent,
        },
        /// A panel is closed, because its extension closed it or ended.
        PanelClose {
            /// The extension that owned the panel.
            extension: ExtensionName,
            /// The id of the panel.
            panel_id: PanelId,
        },
        /// An extension inserts text into the input field, at the cursor.
        Insert {
            /// The extension.
            extension: ExtensionName,
            /// The text.
            text: String,
        },
        /// An extension sets the title of the window. For slow clients, only the newest title is sent.
        SetTitle {
            /// The extension.
            extension: ExtensionName,
            /// The title; empty for the client's own.
            text: String,
        },
        /// An extension changes the line that shows that the agent works. Absent fields keep their values.
        SetWorking {
            /// The extension.
            extension: ExtensionName,
            /// The changes.
            #[serde(flatten)]
            working: SetWorkingCall,
        },
        /// An extension replaces the text in the input field.
        SetEditor {
            /// The extension.
            extension: ExtensionName,
            /// The new text.
            text: String,
        },
        /// An extension changed or removed its item in the status line. For slow clients, only the
        /// newest value is sent. `list_extensions` returns all items.
        ExtStatus {
            /// The extension.
            extension: ExtensionName,
            /// The key of the item.
            key: String,
            /// The text; absent if the item was removed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            text: Option<String>,
            /// The same text in parts with colors; absent for a text without colors.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            styled: Vec<StyledSpan>,
        },
        /// An extension changed its commands, tools or shortcuts after its start. For slow clients, only one
        /// event of an extension waits. `list_commands` and `list_extensions` return the current ones.
        RegistrationsChanged {
            /// The extension.
            extension: ExtensionName,
        },
        /// A session was opened; `session` has its id.
        SessionOpened {
            /// True if the session has no file.
            ephemeral: bool,
            /// The session file, which exists after the first message.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            path: Option<String>,
        },
        /// An extension made another session the current one; `session` has its id. A client with a screen
        /// shows it.
        SessionSwitched {
            /// The extension.
            extension: ExtensionName,
        },
        /// A session was closed; other processes can open its file.
        SessionClosed {
            /// The reason.
            reason: SessionEnd,
        },
    }
}

/// The content of a panel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PanelContent {
    /// The id of the panel.
    pub panel_id: PanelId,
    /// The heading; empty means the extension's name.
    pub title: String,
    /// The rows, one string each.
    pub lines: Vec<String>,
    /// The last row, in a muted color.
    pub footer: String,
}

/// Why a session was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionEnd {
    /// The client asked for it.
    Requested,
    /// The process ends.
    Shutdown,
    /// The session failed; an `error` came before.
    Failed,
}
