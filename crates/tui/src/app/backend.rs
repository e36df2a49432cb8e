//! Requests to the backend, and its replies.

use std::path::PathBuf;
use std::sync::Arc;

use haft_protocol::content::Image;
use haft_protocol::message::Message;
use haft_protocol::rpc::CommandFailure;
use secrecy::SecretString;

/// A request to the backend: the program around the interface. Unless documented otherwise, each request has one
/// [`BackendReply`] with the same name.
#[derive(Debug)]
pub enum BackendRequest {
    /// Loads the conversation of an open session.
    Conversation {
        /// The session.
        session: String,
    },
    /// Lists the files of the project, except those that `.gitignore` excludes.
    Files,
    /// Lists one directory, which may be outside of the project or ignored.
    Directory {
        /// The path as it was typed, with `/` at its end.
        path: String,
    },
    /// Reads the git branch, if the project is trusted or needs no trust.
    Branch,
    /// Loads the prompt history.
    History,
    /// Adds a prompt to the history. Has no reply.
    Remember(String),
    /// Reads an image from a file.
    Image {
        /// The number that identifies the reply.
        number: u64,
        /// The file: absolute or relative to haft's working directory.
        path: PathBuf,
    },
    /// Reads the clipboard of the desktop.
    Clipboard,
    /// Lists the providers.
    Providers,
    /// Verifies a provider's API key with the provider and saves it.
    Login {
        /// The provider.
        provider: String,
        /// The API key.
        key: SecretString,
    },
    /// Removes a provider's saved API key.
    Logout {
        /// The provider.
        provider: String,
    },
    /// Exports a session to a file: an HTML page for `.html`, otherwise JSON lines.
    Export {
        /// The session.
        session: String,
        /// The file. `None` means a file in the project that is named after the session.
        to: Option<String>,
    },
    /// Deletes a stored session that is not open.
    Delete {
        /// The session.
        session: String,
    },
    /// Renames a stored session that is not open.
    Rename {
        /// The session.
        session: String,
        /// The new name; an empty name removes the present one.
        name: String,
    },
    /// Lists the items of the project that require trust.
    Trust,
    /// Trusts exactly the listed items.
    Grant {
        /// The value of [`TrustReview::digest`].
        digest: String,
    },
    /// Runs a shell command of the user. Each piece of output is a [`BackendReply::ShellOutput`]; the last reply is
    /// [`BackendReply::ShellEnd`]. [`BackendReply::TerminalNeeded`] may precede it.
    Shell {
        /// The number that identifies the reply.
        number: u64,
        /// The command.
        shell: ShellRequest,
    },
    /// Stops a shell command.
    StopShell {
        /// The number of the command.
        number: u64,
    },
    /// Lists the settings.
    Settings,
    /// Writes a setting to the user's configuration file.
    Set {
        /// The name of the setting.
        name: String,
        /// The new value.
        value: String,
    },
    /// Counts what fills the context of the shown session.
    ContextUse,
    /// Compares the files of the project with those at the start of the shown session.
    Diff,
    /// Summarizes the usage of all recorded sessions.
    Usage,
    /// Plays the demo: one turn of a scripted model, as `haft demo`.
    Demo,
    /// Loads the `theme.json` files of the user and of theme-only extensions.
    Themes,
}

/// The provider and the model of a session while no model is configured.
pub const NO_MODEL: &str = "none";

/// The files of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileList {
    /// The paths, with `/` as the separator, and after the name of a directory.
    pub paths: Vec<String>,
    /// True if the project has more files.
    pub is_cut: bool,
}

/// A shell command that the user wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellRequest {
    /// The command.
    pub command: String,
    /// True if the model does not get the output.
    pub excluded: bool,
}

/// A reply of the backend. Errors are messages for the user: what failed, why, and what to do.
#[derive(Debug)]
pub enum BackendReply {
    /// Reply to [`BackendRequest::Conversation`]: the session and its messages, oldest first.
    Conversation(String, Result<Arc<Vec<Message>>, CommandFailure>),
    /// Reply to [`BackendRequest::Files`].
    Files(FileList),
    /// Reply to [`BackendRequest::Directory`]: the paths of its entries, which begin with the typed path.
    Directory(Vec<String>),
    /// Reply to [`BackendRequest::Branch`].
    Branch(Option<String>),
    /// Reply to [`BackendRequest::History`]: the text of the history file.
    History(Result<String, CommandFailure>),
    /// Reply to [`BackendRequest::Image`].
    Image(u64, Result<Image, CommandFailure>),
    /// Reply to [`BackendRequest::Clipboard`]: its text, or the path of a file with its image.
    Clipboard(Result<String, CommandFailure>),
    /// Reply to [`BackendRequest::Providers`].
    Providers(Vec<LoginProvider>),
    /// Reply to [`BackendRequest::Login`].
    Login(Result<SavedKey, CommandFailure>),
    /// Reply to [`BackendRequest::Logout`]: a message for the user.
    Logout(Result<String, CommandFailure>),
    /// Reply to [`BackendRequest::Export`]: the path of the file.
    Export(Result<PathBuf, CommandFailure>),
    /// Reply to [`BackendRequest::Delete`]: the deleted session.
    Delete(Result<String, CommandFailure>),
    /// Reply to [`BackendRequest::Rename`]: the session, and its name if it has one.
    Rename(Result<(String, Option<String>), CommandFailure>),
    /// Reply to [`BackendRequest::Trust`].
    Trust(Result<TrustReview, CommandFailure>),
    /// Reply to [`BackendRequest::Grant`]: a message for the user.
    Grant(Result<String, CommandFailure>),
    /// A piece of the output of a shell command.
    ShellOutput(u64, String),
    /// A shell command needs a terminal. The reply has the command as it ran, and comes before the end.
    TerminalNeeded(u64, String),
    /// The end of a shell command: its output, truncated like that of the `bash` tool, and its exit status.
    ShellEnd(u64, Result<(String, Option<i32>), CommandFailure>),
    /// Reply to [`BackendRequest::Settings`].
    Settings(Vec<SettingRow>),
    /// Reply to [`BackendRequest::Set`]: the setting with its new value.
    Set(Result<SettingRow, CommandFailure>),
    /// Reply to [`BackendRequest::ContextUse`].
    ContextUse(Result<ContextUse, CommandFailure>),
    /// Reply to [`BackendRequest::Diff`].
    Diff(Result<WorkingTreeDiff, CommandFailure>),
    /// Reply to [`BackendRequest::Usage`]: Markdown.
    Usage(Result<String, CommandFailure>),
    /// Reply to [`BackendRequest::Demo`]: the printed text.
    Demo(Result<String, CommandFailure>),
    /// Reply to [`BackendRequest::Themes`]: the origin and the text of each file.
    Themes(Vec<(String, String)>),
}

/// The contents of a context.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextUse {
    /// The tokens of the context.
    pub tokens: u64,
    /// The window of the model in tokens, if known.
    pub window: Option<u64>,
    /// The parts and their tokens, estimated, the largest first.
    pub parts: Vec<(&'static str, u64)>,
}

/// The changes of the files of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkingTreeDiff {
    /// The output of `git diff`, empty without changes.
    pub text: String,
    /// True if there are more changes.
    pub is_cut: bool,
}

/// A verified and saved API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedKey {
    /// A message for the user.
    pub message: String,
    /// The model that the provider uses without a selection, as `PROVIDER/MODEL`.
    pub model: Option<String>,
}

/// A provider, for `/login` and `/logout`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginProvider {
    /// The name of the provider.
    pub name: String,
    /// The origin of its API key, if there is one: `auth.json` or an environment variable.
    pub key: Option<String>,
    /// True if `/logout` can remove the key.
    pub stored: bool,
    /// True if its server runs on this machine and needs no key.
    pub is_local: bool,
    /// The location of its server, if one answers on this machine.
    pub server: Option<String>,
    /// The model that it uses without a selection, as `PROVIDER/MODEL`.
    pub model: Option<String>,
}

/// The items of a project that require trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustReview {
    /// The project's directory.
    pub project: String,
    /// True if the user trusts the project in its present state.
    pub granted: bool,
    /// The items, one line each, as `haft trust` shows them.
    pub items: Vec<String>,
    /// The digest that identifies exactly these items.
    pub digest: String,
}

/// A setting, for `/settings`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingRow {
    /// The name of the setting in the configuration file.
    pub name: String,
    /// The present value.
    pub value: String,
    /// The origin of the value.
    pub origin: String,
    /// The possible values; empty for free text.
    pub choices: Vec<String>,
    /// The purpose of the setting, as a sentence.
    pub about: String,
}
