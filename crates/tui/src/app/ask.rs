//! Questions that only the program can answer, and its answers.

use std::path::PathBuf;
use std::sync::Arc;

use haft_protocol::content::Image;
use haft_protocol::message::Message;
use haft_protocol::rpc::CommandFailure;
use secrecy::SecretString;

/// A question for the program, or something that only it can do. Each is answered once, by the [`Answer`] of its name,
/// unless it says otherwise.
#[derive(Debug)]
pub enum BackendRequest {
    /// The conversation of a session that is open.
    Conversation {
        /// The session.
        session: String,
    },
    /// The files of the project, without what `.gitignore` leaves out.
    Files,
    /// The branch of git, where the project is trusted or brings nothing that would have to be.
    Branch,
    /// The prompts of before.
    History,
    /// A prompt for the history. Not answered.
    Remember(String),
    /// An image, read from a file.
    Image {
        /// Given back.
        number: u64,
        /// The file, absolute or as seen from where haft works.
        path: PathBuf,
    },
    /// The providers.
    Providers,
    /// Stores a provider's key, once the provider has taken it.
    Login {
        /// The provider.
        provider: String,
        /// The key.
        key: SecretString,
    },
    /// Removes a provider's stored key.
    Logout {
        /// The provider.
        provider: String,
    },
    /// Writes a session into a file: a page for `.html`, lines for anything else.
    Export {
        /// The session.
        session: String,
        /// The file; without it, one beside the project's that is named after the session.
        to: Option<String>,
    },
    /// Deletes a session that is on the disk and not open.
    Delete {
        /// The session.
        session: String,
    },
    /// Gives a session that is on the disk and not open another name.
    Rename {
        /// The session.
        session: String,
        /// The name; without text, it has none.
        name: String,
    },
    /// Asks for what the project would run or have haft obey.
    Trust,
    /// Trusts exactly that.
    Grant {
        /// As [`TrustReview::digest`] said it.
        digest: String,
    },
    /// Runs a command of the person's in the shell. Answered by [`Answer::ShellOutput`] for each piece, and by
    /// [`Answer::ShellEnd`] at last.
    Shell {
        /// Given back.
        number: u64,
        /// The command.
        command: String,
    },
    /// Stops that.
    StopShell {
        /// Which.
        number: u64,
    },
    /// The settings.
    Settings,
    /// Writes a setting into the user's file.
    Set {
        /// Its name.
        name: String,
        /// The new value.
        value: String,
    },
    /// The `theme.json` files there are: the user's and those of theme-only extensions.
    Themes,
}

/// An answer of the program. Errors are for people: what went wrong and what to do next.
#[derive(Debug)]
pub enum BackendReply {
    /// [`Ask::Conversation`]: the messages, oldest first.
    Conversation(String, Result<Arc<Vec<Message>>, CommandFailure>),
    /// [`Ask::Files`]: with `/` between names and behind directories.
    Files(Vec<String>),
    /// [`Ask::Branch`].
    Branch(Option<String>),
    /// [`Ask::History`]: the file's text.
    History(Result<String, CommandFailure>),
    /// [`Ask::Image`].
    Image(u64, Result<Image, CommandFailure>),
    /// [`Ask::Providers`].
    Providers(Vec<LoginProvider>),
    /// [`Ask::Login`]: what is said to the person.
    Login(Result<String, CommandFailure>),
    /// [`Ask::Logout`]: what is said to the person.
    Logout(Result<String, CommandFailure>),
    /// [`Ask::Export`]: where it was written.
    Export(Result<PathBuf, CommandFailure>),
    /// [`Ask::Delete`]: the session that is gone.
    Delete(Result<String, CommandFailure>),
    /// [`Ask::Rename`]: the session, and its name if it has one.
    Rename(Result<(String, Option<String>), CommandFailure>),
    /// [`Ask::Trust`].
    Trust(Result<TrustReview, CommandFailure>),
    /// [`Ask::Grant`]: what is said to the person.
    Grant(Result<String, CommandFailure>),
    /// A piece of what a command of the person's prints.
    ShellOutput(u64, String),
    /// A command of the person's is over: all that it printed, cut as the tool `bash` cuts it, and its status.
    ShellEnd(u64, Result<(String, Option<i32>), CommandFailure>),
    /// [`Ask::Settings`].
    Settings(Vec<SettingRow>),
    /// [`Ask::Set`]: the setting as it is now.
    Set(Result<SettingRow, CommandFailure>),
    /// [`Ask::Themes`]: where each comes from, and its text.
    Themes(Vec<(String, String)>),
}

/// A provider, for `/login` and `/logout`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginProvider {
    /// Its name.
    pub name: String,
    /// Where its key comes from, if it has one: `auth.json`, a variable.
    pub key: Option<String>,
    /// True if that key is one that `/logout` can remove.
    pub stored: bool,
}

/// The parts of the project that haft would run or obey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustReview {
    /// The project's directory.
    pub project: String,
    /// True if the user trusts it as it is.
    pub granted: bool,
    /// Everything, a line each, as `haft trust` shows it.
    pub items: Vec<String>,
    /// Stands for exactly that.
    pub digest: String,
}

/// A setting, for `/settings`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingRow {
    /// Its name in the file.
    pub name: String,
    /// The present value.
    pub value: String,
    /// Where that comes from.
    pub origin: String,
    /// The possible values, where those are few.
    pub choices: Vec<String>,
    /// The purpose of the setting, as a sentence.
    pub about: String,
}
