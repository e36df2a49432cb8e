//! Intents of components, and the uses of answers and choices.

use haft_protocol::rpc::{EntryInfo, SessionInfo, UiAnswer};

use crate::editor::Submission;
use crate::queue::DeliveryTime;

use super::{SettingRow, TerminalCommand};

/// An action that a component requests outside its own state.
#[derive(Debug)]
pub(super) enum ComponentIntent {
    Flash(String),
    Info(String),
    Print(String),
    PrintOutput,
    /// Prints the next rows of the list, or the first ones.
    PrintRows {
        from_start: bool,
    },
    SendMessage(Box<Submission>, DeliveryTime),
    Answer(AnswerUse, UiAnswer),
    /// Stops the turn of a session, or of the shown one.
    StopTurn(Option<String>),
    /// Shows a theme without selecting it.
    PreviewTheme(String),
    Pick(ChoiceUse, String),
    Rename(String, String, bool),
    /// Handles a picker that was closed without a choice.
    CloseMenu(ChoiceUse),
    ShowMatch,
    /// Sends the messages that could not be sent so far.
    SendUnsent,
    Submit(DeliveryTime),
    Abort,
    TakeBack,
    /// Quits on the second press of the key within the time limit.
    QuitTwice,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AnswerUse {
    Reply { id: String, session: Option<String> },
    Key { provider: String },
    Grant { digest: String },
    Setting { name: String },
    NewSession,
    RunInTerminal(TerminalCommand),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ChoiceUse {
    Model,
    Thinking,
    Session(Vec<SessionInfo>),
    Tree(Vec<EntryInfo>),
    Tools,
    Extensions,
    Extension(String),
    Jobs,
    Skills,
    Settings(Vec<SettingRow>),
    Value(String),
    Theme,
    Login,
    Logout,
}
