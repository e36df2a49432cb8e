//! `UiBackend`: the services of the program for the interface.
//!
//! The services run neither on the thread of the interface nor on that of the agent. File access runs on blocking
//! threads.

mod clipboard;
mod files;
mod history;
mod sessions;
mod settings;
mod shell;
mod working_tree;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use haft_config::{Home, ToolSettings, TrustDecision};
use haft_protocol::rpc::CommandFailure;
use haft_tools::HostEnvironment;
use haft_tui::app::{BackendReply as Reply, BackendRequest as Request, LoginProvider};
use haft_tui::terminal::ProgramServices;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinError;

use crate::args::RunArgs;
use crate::run::{ProviderSecrets, launcher};
use crate::tool_sandbox::{ProtectedDirs, tool_environment};
use crate::trust;

pub(super) use sessions::OpenSessions;
pub(super) use shell::RunningShells;
pub(super) use working_tree::SessionStart;

/// Answers the requests of the interface.
pub(super) struct UiBackend {
    /// The runtime for background work.
    pub(super) runtime: Handle,
    pub(super) context: Arc<UiContext>,
    pub(super) shells: Arc<RunningShells>,
}

/// The parts that do not change while haft runs.
pub(super) struct UiContext {
    pub(super) home: Home,
    pub(super) cwd: PathBuf,
    pub(super) args: Arc<RunArgs>,
    /// The access of commands of the user, as of the tool `bash`.
    pub(super) tools: ToolSettings,
    /// The keys of providers, which these commands do not get.
    pub(super) secrets: ProviderSecrets,
    pub(super) open: Arc<OpenSessions>,
    pub(super) start: SessionStart,
}

impl UiContext {
    /// Returns the environment of a command of the user.
    ///
    /// # Errors
    /// An invalid path in the settings, or no private directory for commands.
    fn tool_environment(&self) -> anyhow::Result<HostEnvironment> {
        // The person's own commands may change their extensions.
        let dirs = ProtectedDirs { home: &self.home, unpinned_code: &[] };
        let environment = tool_environment(dirs, &self.cwd, &self.tools, launcher()?)?;
        Ok(self.secrets.keep_from_commands(environment))
    }

    /// Decides about the project's trust now. A change applies to branches and themes immediately, and to extensions
    /// from the next session.
    fn trust_decision(&self) -> anyhow::Result<TrustDecision> {
        Ok(TrustDecision::decide(&self.home, self.cwd.clone(), self.args.ext.trust.trust_request())?)
    }
}

#[async_trait]
impl ProgramServices for UiBackend {
    async fn answer(&self, ask: Request, answers: mpsc::Sender<Reply>) {
        // A closed interface needs no answer.
        if let Some(answer) = self.respond(ask, &answers).await {
            let _ = answers.send(answer).await;
        }
    }

    async fn run_in_terminal(&self, command: Vec<String>) -> io::Result<Option<i32>> {
        let ended = self.runtime.spawn_blocking(move || shell::run_in_foreground(&command)).await;
        ended.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

impl UiBackend {
    /// Returns the last answer to a request; `None` if the request has no answer.
    async fn respond(&self, ask: Request, answers: &mpsc::Sender<Reply>) -> Option<Reply> {
        Some(match ask {
            Request::Conversation { session } => self.load_conversation(session).await,
            Request::Files => {
                Reply::Files(self.read_off_thread(|context| files::list_files(&context.cwd)).await)
            }
            Request::Directory { path } => Reply::Directory(self.list_directory(path).await),
            Request::Branch => Reply::Branch(self.read_off_thread(files::current_branch).await),
            Request::History => {
                Reply::History(self.try_off_thread(|context| history::read(&context.home)).await)
            }
            Request::Remember(prompt) => {
                self.read_off_thread(move |context| history::append_prompt(&context.home, &prompt)).await;
                return None;
            }
            Request::Image { number, path } => {
                let read = self.try_off_thread(move |context| files::read_image(&context.cwd, &path)).await;
                Reply::Image(number, read)
            }
            Request::Clipboard => Reply::Clipboard(self.read_clipboard().await),
            Request::Providers => Reply::Providers(self.list_providers().await),
            Request::ContextUse => Reply::ContextUse(self.try_off_thread(sessions::context_use).await),
            Request::Diff => {
                Reply::Diff(self.spawn_task(working_tree::diff_from_start(Arc::clone(&self.context))).await)
            }
            Request::Usage => Reply::Usage(self.try_off_thread(sessions::usage_text).await),
            Request::Demo => Reply::Demo(self.spawn_task(shell::play_demo()).await),
            Request::Login { provider, key } => {
                Reply::Login(self.spawn_task(settings::login(Arc::clone(&self.context), provider, key)).await)
            }
            Request::Logout { provider } => {
                Reply::Logout(self.try_off_thread(|context| settings::logout(&context.home, provider)).await)
            }
            Request::Export { session, to } => {
                Reply::Export(self.spawn_task(sessions::export(Arc::clone(&self.context), session, to)).await)
            }
            Request::Delete { session } => {
                Reply::Delete(self.try_off_thread(move |context| sessions::delete(context, &session)).await)
            }
            Request::Rename { session, name } => Reply::Rename(
                self.try_off_thread(move |context| sessions::rename(context, &session, &name)).await,
            ),
            Request::Trust => Reply::Trust(
                self.try_off_thread(|context| trust::describe_project(&context.home, &context.cwd)).await,
            ),
            Request::Grant { digest } => Reply::Grant(self.trust_project(digest).await),
            Request::Shell { number, shell } => self.run_shell(number, shell, answers).await,
            Request::StopShell { number } => {
                self.shells.stop(number);
                return None;
            }
            Request::Settings => Reply::Settings(self.read_off_thread(settings::setting_rows).await),
            Request::Set { name, value } => {
                Reply::Set(self.try_off_thread(move |context| settings::set(context, &name, &value)).await)
            }
            Request::Themes => Reply::Themes(self.read_off_thread(settings::list_themes).await),
        })
    }

    /// Makes a session the visible one. Its start is what `/diff` compares with.
    async fn load_conversation(&self, session: String) -> Reply {
        working_tree::record_start(&self.runtime, &self.context, &session);
        let id = session.clone();
        let messages = self.off_thread(move |context| context.open.switch_to(&id)).await;
        Reply::Conversation(session, messages.flatten())
    }

    async fn read_clipboard(&self) -> Result<String, CommandFailure> {
        let context = Arc::clone(&self.context);
        self.spawn_task(async move { clipboard::read_clipboard(&context).await }).await
    }

    async fn list_directory(&self, path: String) -> Vec<String> {
        self.read_off_thread(move |context| files::list_directory(&context.cwd, &path)).await
    }

    async fn list_providers(&self) -> Vec<LoginProvider> {
        let listed = self.runtime.spawn(settings::list_providers(Arc::clone(&self.context))).await;
        listed.unwrap_or_default()
    }

    async fn trust_project(&self, digest: String) -> Result<String, CommandFailure> {
        let trust = move |context: &UiContext| trust::trust_project(&context.home, &context.cwd, &digest);
        self.try_off_thread(trust).await
    }

    /// Runs blocking work; returns the default value if it is lost.
    async fn read_off_thread<T: Default + Send + 'static>(
        &self,
        work: impl FnOnce(&UiContext) -> T + Send + 'static,
    ) -> T {
        self.off_thread(work).await.unwrap_or_default()
    }

    async fn try_off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&UiContext) -> anyhow::Result<T> + Send + 'static,
    ) -> Result<T, CommandFailure> {
        self.off_thread(|context| into_failure(work(context))).await.flatten()
    }

    /// Runs blocking work. A panic and a shutdown of the runtime are errors, because the interface waits for an answer.
    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&UiContext) -> T + Send + 'static,
    ) -> Result<T, CommandFailure> {
        let context = Arc::clone(&self.context);
        self.runtime.spawn_blocking(move || work(&context)).await.map_err(lost_task_failure)
    }

    async fn spawn_task<T: Send + 'static>(
        &self,
        work: impl Future<Output = anyhow::Result<T>> + Send + 'static,
    ) -> Result<T, CommandFailure> {
        self.runtime.spawn(work).await.map_err(lost_task_failure).and_then(into_failure)
    }
}

/// Converts an error for the interface.
fn into_failure<T>(outcome: anyhow::Result<T>) -> Result<T, CommandFailure> {
    outcome.map_err(|error| CommandFailure::other(format!("{error:#}")))
}

/// Returns the failure for work that panicked or was cancelled.
fn lost_task_failure(error: JoinError) -> CommandFailure {
    tracing::error!(%error, "a task of the interface failed");
    CommandFailure::other("internal error; the log has the details. You can continue")
}

#[cfg(test)]
mod tests;
