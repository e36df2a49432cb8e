//! Short constructors for those who write extensions: decisions, actions and panels in one call.

use serde_json::Value;

use super::{
    AssistantMessageDecision, BeforeAgentStartDecision, BeforeCompactDecision, CommandAction, Panel,
    PanelRender, ToolCallDecision, TurnStartDecision,
};
use crate::ids::PanelId;
use crate::json::RawJson;

impl CommandAction {
    /// Submit this as a new user message; the agent works on it.
    pub fn prompt(text: impl Into<String>) -> Self {
        Self::Prompt(text.into())
    }

    /// Put this in the editor at the cursor.
    pub fn insert(text: impl Into<String>) -> Self {
        Self::Insert(text.into())
    }

    /// Show this as a note, outside the transcript.
    pub fn display(text: impl Into<String>) -> Self {
        Self::Display(text.into())
    }

    /// Open a panel.
    pub fn open_panel(panel: Panel) -> Self {
        Self::OpenPanel(panel)
    }

    /// Nothing; the extension dealt with it.
    pub fn noop() -> Self {
        Self::Noop
    }

    /// The command failed; the user is shown why.
    pub fn error(reason: impl Into<String>) -> Self {
        Self::Failed(reason.into())
    }
}

impl ToolCallDecision {
    /// The call runs as it is.
    pub fn allow() -> Self {
        Self::Allow
    }

    /// The call runs with these arguments: an object that fits the tool's schema.
    pub fn rewrite(args: impl Into<RawJson>) -> Self {
        Self::Rewrite { args: args.into() }
    }

    /// The call does not run; the model reads the reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block { reason: reason.into() }
    }
}

impl TurnStartDecision {
    /// The turn goes on.
    pub fn allow() -> Self {
        Self::Allow
    }

    /// The turn ends here; the user reads the reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block { reason: reason.into() }
    }
}

impl AssistantMessageDecision {
    /// The user sees the text as it is.
    pub fn show() -> Self {
        Self::Show
    }

    /// The user sees this instead. An empty text counts as no change: to hide a message, [`suppress`](Self::suppress) it.
    pub fn replace(text: impl Into<String>) -> Self {
        Self::Replace { text: text.into() }
    }

    /// The user sees nothing but the reason.
    pub fn suppress(reason: impl Into<String>) -> Self {
        Self::Suppress { reason: reason.into() }
    }
}

impl BeforeAgentStartDecision {
    /// The system prompt stays as it is.
    pub fn unchanged() -> Self {
        Self::Unchanged
    }

    /// This section is appended to the system prompt, under the extension's name.
    pub fn append(text: impl Into<String>) -> Self {
        Self::Append { text: text.into() }
    }
}

impl BeforeCompactDecision {
    /// The conversation stays as it is; the user reads the reason.
    pub fn cancel(reason: impl Into<String>) -> Self {
        Self::Cancel { reason: reason.into() }
    }

    /// This is the summary. An empty one counts as none: then the model sums up.
    pub fn replace(summary: impl Into<String>) -> Self {
        Self::Replace { summary: summary.into(), first_kept: None }
    }
}

impl Panel {
    /// An empty panel.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: PanelId::new(id), title: String::new(), lines: Vec::new(), footer: String::new() }
    }

    /// Sets the heading.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the rows.
    #[must_use]
    pub fn lines(mut self, lines: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.lines = lines.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the muted last row.
    #[must_use]
    pub fn footer(mut self, footer: impl Into<String>) -> Self {
        self.footer = footer.into();
        self
    }
}

impl From<Panel> for PanelRender {
    fn from(panel: Panel) -> Self {
        Self { panel_id: panel.id, title: panel.title, lines: panel.lines, footer: panel.footer }
    }
}

impl From<Value> for RawJson {
    fn from(value: Value) -> Self {
        Self::from_value(&value).expect("a `Value` has string keys only, so it always has a JSON text")
    }
}
