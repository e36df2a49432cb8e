//! `Intent`: what a component wants done beyond its own state, and the uses of answers and choices.

use haft_protocol::rpc::{EntryInfo, SessionInfo, UiAnswer};

use crate::editor::Submission;
use crate::queue::When;

use super::SettingRow;

/// Something that a component wants done beyond its own state.
#[derive(Debug)]
pub(super) enum Intent {
    /// Shows a word in the status line.
    Flash(String),
    /// Adds a note of haft's own to the conversation.
    Info(String),
    /// Prints a row, where lines are printed.
    Print(String),
    /// Prints the output of the last call.
    PrintOutput,
    /// Prints the rows of the list that come next, or the first ones.
    PrintRows { anew: bool },
    /// Says something that was typed as a line.
    Say(Box<Submission>, When),
    /// Carries out the answer to a question.
    Answer(AnswerUse, UiAnswer),
    /// Shows a theme that is not chosen yet.
    PreviewTheme(String),
    /// Carries out the choice of a row, by its key.
    Pick(ChoiceUse, String),
    /// Gives a session another name. The flag is true for a session that is open.
    Rename(String, String, bool),
    /// A list was closed without a choice.
    CloseMenu(ChoiceUse),
    /// Stays at the match of a search in the conversation.
    ShowMatch,
    /// Says what could not be said so far.
    SayUnsent,
    /// Sends the prompt that is written.
    Submit(When),
    /// Stops the work, or takes away what stands in the way.
    Abort,
    /// Takes back what waits at the agent.
    TakeBack,
    /// Quits if the key was pressed a moment ago, too.
    QuitTwice,
}

/// What becomes of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AnswerUse {
    /// It goes to whoever asked.
    Reply {
        /// The question's id.
        id: String,
        session: Option<String>,
    },
    /// It is the key of a provider.
    Key { provider: String },
    /// It trusts what the project brings.
    Grant { digest: String },
    /// It is the value of a setting.
    Setting { name: String },
    /// It begins a new session.
    NewSession,
}

/// The use of what is picked.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ChoiceUse {
    Model,
    Thinking,
    Session(Vec<SessionInfo>),
    Tree(Vec<EntryInfo>),
    Tools,
    Extensions,
    /// The action on an extension.
    Extension(String),
    Skills,
    Settings(Vec<SettingRow>),
    /// The value of a setting.
    Value(String),
    Theme,
    Login,
    Logout,
}
