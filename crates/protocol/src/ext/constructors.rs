//! Short constructors for authors of extensions: decisions, actions and panels in one call.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    ApproveDecision, AssistantMessageDecision, BeforeAgentStartDecision, BeforeCompactDecision,
    BeforeForkDecision, BeforeProviderRequestDecision, BeforeSettleDecision, BeforeSwitchDecision,
    BeforeTreeDecision, CommandAction, ContextChange, ContextDecision, InputDecision, MessageEndDecision,
    Panel, PanelRender, ResourcesDecision, ResultBlock, StartMessage, StopScope, ToolCallAnswer,
    ToolCallDecision, ToolResultChange, ToolResultDecision, TurnStartDecision, TurnStop, UserBashDecision,
    UserBashResult,
};
use crate::ids::PanelId;
use crate::json::RawJson;
use crate::message::{AssistantBlock, Message};

impl CommandAction {
    /// Submits the text as a new user message; the agent works on it.
    pub fn prompt(text: impl Into<String>) -> Self {
        Self::Prompt(text.into())
    }

    /// Inserts the text into the editor at the cursor.
    pub fn insert(text: impl Into<String>) -> Self {
        Self::Insert(text.into())
    }

    /// Shows the text as a note, outside the transcript.
    pub fn display(text: impl Into<String>) -> Self {
        Self::Display(text.into())
    }

    /// Opens a panel.
    pub fn open_panel(panel: Panel) -> Self {
        Self::OpenPanel(panel)
    }

    /// Does nothing; the extension has handled the command.
    pub fn noop() -> Self {
        Self::Noop
    }

    /// Reports that the command failed; the user sees the reason.
    pub fn error(reason: impl Into<String>) -> Self {
        Self::Failed(reason.into())
    }
}

impl ToolCallDecision {
    /// Allows the call unchanged.
    pub fn allow() -> Self {
        Self::Allow
    }

    /// Runs the call with these arguments: an object that fits the tool's schema.
    pub fn rewrite(args: impl Into<RawJson>) -> Self {
        Self::Rewrite { args: args.into() }
    }

    /// Calls another tool with these arguments: an object that fits the schema of that tool.
    pub fn redirect_to(tool: impl Into<String>, args: impl Into<RawJson>) -> Self {
        Self::Redirect { tool: tool.into(), args: Some(args.into()) }
    }

    /// Blocks the call; the model reads the reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block { reason: reason.into() }
    }

    /// Uses this text as the result. The tool does not run.
    pub fn answer(text: impl Into<String>) -> Self {
        let content = vec![ResultBlock::Text { text: text.into() }];
        Self::Answer(ToolCallAnswer { content, ..ToolCallAnswer::default() }.into())
    }
}

impl ApproveDecision {
    /// Blocks the call; the model reads the reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block { reason: reason.into() }
    }
}

impl TurnStop {
    /// Ends the turn with an error; the user reads the reason.
    pub fn end_turn(reason: impl Into<String>) -> Self {
        Self { scope: StopScope::Turn, reason: reason.into() }
    }

    /// Ends the turn without an error, and removes it from the conversation.
    pub fn discard_turn(reason: impl Into<String>) -> Self {
        Self { scope: StopScope::Discard, reason: reason.into() }
    }
}

impl TurnStartDecision {
    /// Continues the turn.
    pub fn allow() -> Self {
        Self::Allow
    }

    /// Ends the turn; the user reads the reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block { reason: reason.into() }
    }
}

impl AssistantMessageDecision {
    /// Shows the text unchanged.
    pub fn show() -> Self {
        Self::Show
    }

    /// Shows this text instead. An empty text means no change; use [`suppress`](Self::suppress) to
    /// hide a message.
    pub fn replace(text: impl Into<String>) -> Self {
        Self::Replace { text: text.into() }
    }

    /// Hides the text; the user sees only the reason.
    pub fn suppress(reason: impl Into<String>) -> Self {
        Self::Suppress { reason: reason.into() }
    }
}

impl BeforeAgentStartDecision {
    /// Adds nothing.
    pub fn unchanged() -> Self {
        Self::default()
    }

    /// Appends this section to the system prompt, under the extension's name.
    pub fn append(text: impl Into<String>) -> Self {
        Self { section: text.into(), ..Self::default() }
    }

    /// Adds a message after the prompt, before the first request to the model.
    #[must_use]
    pub fn with_message(mut self, message: StartMessage) -> Self {
        self.messages.push(message);
        self
    }
}

impl BeforeCompactDecision {
    /// Cancels the compaction; the user reads the reason.
    pub fn cancel(reason: impl Into<String>) -> Self {
        Self::Cancel { reason: reason.into() }
    }

    /// Uses this text as the summary. If it is empty, the model writes the summary.
    pub fn replace(summary: impl Into<String>) -> Self {
        Self::Replace { summary: summary.into(), first_kept: None }
    }
}

impl ToolResultDecision {
    /// Replaces the content by this text, and drops the details.
    pub fn replace(text: impl Into<String>) -> Self {
        let content = Some(vec![ResultBlock::Text { text: text.into() }]);
        Self::Change(ToolResultChange { content, ..ToolResultChange::default() })
    }
}

impl BeforeSettleDecision {
    /// Continues the run with this message; an empty text ends the run.
    pub fn go_on(text: impl Into<String>) -> Self {
        Self::GoOn { text: text.into() }
    }
}

impl BeforeSwitchDecision {
    /// Blocks the command; the person reads the reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block { reason: reason.into() }
    }
}

impl BeforeForkDecision {
    /// Blocks the command; the person reads the reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block { reason: reason.into() }
    }
}

impl BeforeTreeDecision {
    /// Gives the summary of the branch that the session leaves. If it is empty, the model writes
    /// the summary that the command requests.
    pub fn with_summary(summary: impl Into<String>) -> Self {
        Self::Summarize { summary: summary.into() }
    }

    /// Blocks the command; the person reads the reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block { reason: reason.into() }
    }
}

impl ResourcesDecision {
    /// Adds a skill's directory, its `SKILL.md`, or a directory that contains skills.
    #[must_use]
    pub fn with_skills(mut self, path: impl Into<String>) -> Self {
        self.skills.push(path.into());
        self
    }

    /// Adds a Markdown file, or a directory that contains some.
    #[must_use]
    pub fn with_templates(mut self, path: impl Into<String>) -> Self {
        self.templates.push(path.into());
        self
    }
}

impl ContextDecision {
    /// Sends these messages instead, for this request only.
    pub fn replace(messages: Vec<Message>) -> Self {
        Self::Change(ContextChange { messages: Some(messages), ..ContextChange::default() }.into())
    }
}

impl MessageEndDecision {
    /// Stores these blocks instead: at least one.
    pub fn replace(content: Vec<AssistantBlock>) -> Self {
        Self::Replace { content }
    }
}

impl BeforeProviderRequestDecision {
    /// Sends this body instead: an object.
    pub fn replace(payload: impl Into<RawJson>) -> Self {
        Self::Change { payload: Some(payload.into()), headers: BTreeMap::new() }
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let (payload, mut headers) = match self {
            Self::Unchanged => (None, BTreeMap::new()),
            Self::Change { payload, headers } => (payload, headers),
        };
        headers.insert(name.into(), value.into());
        Self::Change { payload, headers }
    }
}

impl UserBashDecision {
    /// Runs this command instead.
    pub fn replace(command: impl Into<String>) -> Self {
        Self::Rewrite { command: command.into() }
    }

    /// Blocks the command; the person reads the reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block { reason: reason.into() }
    }

    /// Gives the output and the exit status, so that the command does not run.
    pub fn answer(output: impl Into<String>, exit_code: i32) -> Self {
        Self::Answer(UserBashResult { output: output.into(), exit_code: Some(exit_code) })
    }
}

impl InputDecision {
    /// Replaces the text, and keeps the images.
    pub fn replace(text: impl Into<String>) -> Self {
        Self::Change { text: Some(text.into()), images: None }
    }
}

impl Panel {
    /// Creates an empty panel.
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
