//! `UiBackend`: what the interface asks the program, answered.
//!
//! Nothing here happens on the thread that asks, nor on the agent's: what reads files does that where it holds up nobody.

mod files;
mod history;
mod sessions;
mod settings;
mod shell;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use haft_config::{Home, TrustDecision};
use haft_protocol::rpc::CommandFailure;
use haft_tui::app::{BackendReply, BackendRequest};
use haft_tui::terminal::ProgramServices;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinError;

use crate::args::RunArgs;
use crate::trust;

pub(super) use sessions::OpenSessions;
pub(super) use shell::RunningShells;

/// The answers to the questions of the interface.
pub(super) struct UiBackend {
    /// The runtime for what takes time.
    pub(super) runtime: Handle,
    pub(super) context: Arc<UiContext>,
    pub(super) shells: Arc<RunningShells>,
}

/// The part that does not change while haft runs.
pub(super) struct UiContext {
    pub(super) home: Home,
    pub(super) cwd: PathBuf,
    pub(super) args: Arc<RunArgs>,
    pub(super) open: Arc<OpenSessions>,
}

impl UiContext {
    /// Decides about the project's trust now. What changes of that counts for branches and themes at once, and for what
    /// runs from the next session on.
    fn trust_decision(&self) -> anyhow::Result<TrustDecision> {
        Ok(TrustDecision::decide(&self.home, self.cwd.clone(), self.args.ext.trust.trust_request())?)
    }
}

#[async_trait]
impl ProgramServices for UiBackend {
    async fn answer(&self, ask: BackendRequest, answers: mpsc::Sender<BackendReply>) {
        // An interface that is gone needs nothing more.
        if let Some(answer) = self.respond(ask, &answers).await {
            let _ = answers.send(answer).await;
        }
    }

    async fn edit(&self, command: Vec<String>) -> io::Result<Option<i32>> {
        let edited = self.runtime.spawn_blocking(move || shell::run_editor(&command)).await;
        edited.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

impl UiBackend {
    /// Returns the last answer to a question; none to what is not answered.
    async fn respond(
        &self,
        ask: BackendRequest,
        answers: &mpsc::Sender<BackendReply>,
    ) -> Option<BackendReply> {
        let ground = || Arc::clone(&self.context);
        Some(match ask {
            BackendRequest::Conversation { session } => {
                let id = session.clone();
                let messages = self.off_thread(move |ground| ground.open.switch_to(&id)).await;
                BackendReply::Conversation(session, messages.flatten())
            }
            BackendRequest::Files => {
                BackendReply::Files(self.read_off_thread(|ground| files::list_files(&ground.cwd)).await)
            }
            BackendRequest::Branch => BackendReply::Branch(self.read_off_thread(files::current_branch).await),
            BackendRequest::History => {
                BackendReply::History(self.try_off_thread(|ground| history::read(&ground.home)).await)
            }
            BackendRequest::Remember(prompt) => {
                self.read_off_thread(move |ground| history::append_prompt(&ground.home, &prompt)).await;
                return None;
            }
            BackendRequest::Image { number, path } => BackendReply::Image(
                number,
                self.try_off_thread(move |ground| files::read_image(&ground.cwd, &path)).await,
            ),
            BackendRequest::Providers => BackendReply::Providers(
                self.read_off_thread(|ground| settings::list_providers(&ground.home)).await,
            ),
            BackendRequest::Login { provider, key } => {
                BackendReply::Login(self.spawn_task(settings::login(ground(), provider, key)).await)
            }
            BackendRequest::Logout { provider } => BackendReply::Logout(
                self.try_off_thread(|ground| settings::logout(&ground.home, provider)).await,
            ),
            BackendRequest::Export { session, to } => {
                BackendReply::Export(self.spawn_task(sessions::export(ground(), session, to)).await)
            }
            BackendRequest::Delete { session } => BackendReply::Delete(
                self.try_off_thread(move |ground| sessions::delete(ground, &session)).await,
            ),
            BackendRequest::Rename { session, name } => BackendReply::Rename(
                self.try_off_thread(move |ground| sessions::rename(ground, &session, &name)).await,
            ),
            BackendRequest::Trust => BackendReply::Trust(
                self.try_off_thread(|ground| trust::describe_project(&ground.home, &ground.cwd)).await,
            ),
            BackendRequest::Grant { digest } => BackendReply::Grant(
                self.try_off_thread(move |ground| trust::trust_project(&ground.home, &ground.cwd, &digest))
                    .await,
            ),
            BackendRequest::Shell { number, command } => self.run_shell(number, command, answers).await,
            BackendRequest::StopShell { number } => {
                self.shells.stop(number);
                return None;
            }
            BackendRequest::Settings => {
                BackendReply::Settings(self.read_off_thread(settings::setting_rows).await)
            }
            BackendRequest::Set { name, value } => BackendReply::Set(
                self.try_off_thread(move |ground| settings::set(ground, &name, &value)).await,
            ),
            BackendRequest::Themes => BackendReply::Themes(self.read_off_thread(settings::list_themes).await),
        })
    }

    /// Reads what may block; nothing where that is lost.
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
        self.off_thread(|ground| into_failure(work(ground))).await.flatten()
    }

    /// Does what may block. The interface waits for an answer, so that this is lost (it panics, or haft ends meanwhile) is
    /// one, too.
    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&UiContext) -> T + Send + 'static,
    ) -> Result<T, CommandFailure> {
        let ground = Arc::clone(&self.context);
        self.runtime.spawn_blocking(move || work(&ground)).await.map_err(lost_task_failure)
    }

    async fn spawn_task<T: Send + 'static>(
        &self,
        work: impl Future<Output = anyhow::Result<T>> + Send + 'static,
    ) -> Result<T, CommandFailure> {
        self.runtime.spawn(work).await.map_err(lost_task_failure).and_then(into_failure)
    }
}

/// An error, as the interface shows it.
fn into_failure<T>(outcome: anyhow::Result<T>) -> Result<T, CommandFailure> {
    outcome.map_err(|error| CommandFailure::other(format!("{error:#}")))
}

/// Returns the answer when the work on a question is lost.
fn lost_task_failure(error: JoinError) -> CommandFailure {
    tracing::error!(%error, "a question of the interface was lost");
    CommandFailure::other("haft failed here; the log says where. All else goes on")
}

#[cfg(test)]
mod tests;
