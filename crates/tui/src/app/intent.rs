//! `ComponentIntent`: what a component wants done beyond its own state, and the uses of answers and choices.

use haft_protocol::rpc::{EntryInfo, SessionInfo, UiAnswer};

use crate::editor::Submission;
use crate::queue::DeliveryTime;

use super::SettingRow;

/// Something that a component wants done beyond its own state.
#[derive(Debug)]
pub(super) enum ComponentIntent {
    Flash(String),
    Info(String),
    Print(String),
    PrintOutput,
    /// Prints the rows of the list that come next, or the first ones.
    PrintRows {
        anew: bool,
    },
    SendMessage(Box<Submission>, DeliveryTime),
    Answer(AnswerUse, UiAnswer),
    /// Shows a theme that is not chosen yet.
    PreviewTheme(String),
    Pick(ChoiceUse, String),
    Rename(String, String, bool),
    /// A list was closed without a choice.
    CloseMenu(ChoiceUse),
    ShowMatch,
    /// Says what could not be said so far.
    SendUnsent,
    Submit(DeliveryTime),
    Abort,
    TakeBack,
    /// Quits if the key was pressed a moment ago, too.
    QuitTwice,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AnswerUse {
    Reply { id: String, session: Option<String> },
    Key { provider: String },
    Grant { digest: String },
    Setting { name: String },
    NewSession,
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
    Skills,
    Settings(Vec<SettingRow>),
    Value(String),
    Theme,
    Login,
    Logout,
}
