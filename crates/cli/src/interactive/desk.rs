//! `Desk`: what the interface asks the program, answered.
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
use haft_config::{Decision, Home};
use haft_protocol::rpc::Failure;
use haft_tui::app::{Answer, Ask};
use haft_tui::terminal::Program;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinError;

use crate::args::RunArgs;
use crate::trust;

pub(super) use sessions::Open;
pub(super) use shell::Shells;

/// The answers to the questions of the interface.
pub(super) struct Desk {
    /// The runtime for what takes time.
    pub(super) runtime: Handle,
    pub(super) ground: Arc<Ground>,
    pub(super) shells: Arc<Shells>,
}

/// The part that does not change while haft runs.
pub(super) struct Ground {
    pub(super) home: Home,
    pub(super) cwd: PathBuf,
    pub(super) args: Arc<RunArgs>,
    pub(super) open: Arc<Open>,
}

impl Ground {
    /// Decides about the project's trust now. What changes of that counts for branches and themes at once, and for what
    /// runs from the next session on.
    fn decision(&self) -> anyhow::Result<Decision> {
        Ok(Decision::make(&self.home, self.cwd.clone(), self.args.ext.trust.asked())?)
    }
}

#[async_trait]
impl Program for Desk {
    async fn answer(&self, ask: Ask, answers: mpsc::Sender<Answer>) {
        // An interface that is gone needs nothing more.
        if let Some(answer) = self.answered(ask, &answers).await {
            let _ = answers.send(answer).await;
        }
    }

    async fn edit(&self, command: Vec<String>) -> io::Result<Option<i32>> {
        let edited = self.runtime.spawn_blocking(move || shell::edit(&command)).await;
        edited.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

impl Desk {
    /// Returns the last answer to a question; none to what is not answered.
    async fn answered(&self, ask: Ask, answers: &mpsc::Sender<Answer>) -> Option<Answer> {
        let ground = || Arc::clone(&self.ground);
        Some(match ask {
            Ask::Conversation { session } => {
                let id = session.clone();
                let messages = self.off_thread(move |ground| ground.open.conversation(&id)).await;
                Answer::Conversation(session, messages.flatten())
            }
            Ask::Files => Answer::Files(self.read(|ground| files::below(&ground.cwd)).await),
            Ask::Branch => Answer::Branch(self.read(files::branch).await),
            Ask::History => Answer::History(self.attempt(|ground| history::read(&ground.home)).await),
            Ask::Remember(prompt) => {
                self.read(move |ground| history::remember(&ground.home, &prompt)).await;
                return None;
            }
            Ask::Image { number, path } => {
                Answer::Image(number, self.attempt(move |ground| files::image(&ground.cwd, &path)).await)
            }
            Ask::Providers => Answer::Providers(self.read(|ground| settings::providers(&ground.home)).await),
            Ask::Login { provider, key } => {
                Answer::Login(self.spawned(settings::login(ground(), provider, key)).await)
            }
            Ask::Logout { provider } => {
                Answer::Logout(self.attempt(|ground| settings::logout(&ground.home, provider)).await)
            }
            Ask::Export { session, to } => {
                Answer::Export(self.spawned(sessions::export(ground(), session, to)).await)
            }
            Ask::Delete { session } => {
                Answer::Delete(self.attempt(move |ground| sessions::delete(ground, &session)).await)
            }
            Ask::Rename { session, name } => {
                Answer::Rename(self.attempt(move |ground| sessions::rename(ground, &session, &name)).await)
            }
            Ask::Trust => Answer::Trust(self.attempt(|ground| trust::shown(&ground.home, &ground.cwd)).await),
            Ask::Grant { digest } => Answer::Grant(
                self.attempt(move |ground| trust::trust(&ground.home, &ground.cwd, &digest)).await,
            ),
            Ask::Shell { number, command } => self.shell(number, command, answers).await,
            Ask::StopShell { number } => {
                self.shells.stop(number);
                return None;
            }
            Ask::Settings => Answer::Settings(self.read(settings::rows).await),
            Ask::Set { name, value } => {
                Answer::Set(self.attempt(move |ground| settings::set(ground, &name, &value)).await)
            }
            Ask::Themes => Answer::Themes(self.read(settings::themes).await),
        })
    }

    /// Reads what may block; nothing where that is lost.
    async fn read<T: Default + Send + 'static>(&self, work: impl FnOnce(&Ground) -> T + Send + 'static) -> T {
        self.off_thread(work).await.unwrap_or_default()
    }

    async fn attempt<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Ground) -> anyhow::Result<T> + Send + 'static,
    ) -> Result<T, Failure> {
        self.off_thread(|ground| plain(work(ground))).await.flatten()
    }

    /// Does what may block. The interface waits for an answer, so that this is lost (it panics, or haft ends meanwhile) is
    /// one, too.
    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Ground) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let ground = Arc::clone(&self.ground);
        self.runtime.spawn_blocking(move || work(&ground)).await.map_err(lost)
    }

    async fn spawned<T: Send + 'static>(
        &self,
        work: impl Future<Output = anyhow::Result<T>> + Send + 'static,
    ) -> Result<T, Failure> {
        self.runtime.spawn(work).await.map_err(lost).and_then(plain)
    }
}

/// An error, as the interface shows it.
fn plain<T>(outcome: anyhow::Result<T>) -> Result<T, Failure> {
    outcome.map_err(|error| Failure::other(format!("{error:#}")))
}

/// Returns the answer when the work on a question is lost.
fn lost(error: JoinError) -> Failure {
    tracing::error!(%error, "a question of the interface was lost");
    Failure::other("haft failed here; the log says where. All else goes on")
}

#[cfg(test)]
mod tests;
