//! `Desk`: what the interface asks the program, answered.
//!
//! Nothing here happens on the thread that asks, nor on the agent's: what reads files does that where it holds up nobody.

mod editor;
mod files;
mod history;
mod image;
mod keys;
mod lost;
mod sessions;
mod settings;
mod shell;
mod themes;

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

use crate::args::RunArgs;
use crate::trust;

pub(super) use sessions::Open;
pub(super) use shell::Shells;

/// What the questions are about.
pub(super) struct Desk {
    /// What takes time is done there.
    pub(super) runtime: Handle,
    pub(super) ground: Arc<Ground>,
    /// The person's commands that run.
    pub(super) shells: Arc<Shells>,
}

/// What does not change while haft runs.
pub(super) struct Ground {
    pub(super) home: Home,
    /// Where haft works.
    pub(super) cwd: PathBuf,
    pub(super) args: Arc<RunArgs>,
    /// The sessions that are open.
    pub(super) open: Arc<Open>,
}

impl Ground {
    /// Whether the project is trusted now. What changes of that counts for branches and themes at once, and for what runs
    /// from the next session on.
    fn decision(&self) -> anyhow::Result<Decision> {
        Ok(Decision::make(&self.home, self.cwd.clone(), self.args.ext.trust.asked())?)
    }
}

#[async_trait]
impl Program for Desk {
    async fn answer(&self, ask: Ask, answers: mpsc::Sender<Answer>) {
        let ground = Arc::clone(&self.ground);
        let lost = lost::answer(&ask);
        let answer = match ask {
            Ask::Remember(prompt) => {
                return self.off_thread(move || history::remember(&ground.home, &prompt)).await.unwrap_or(());
            }
            Ask::StopShell { number } => return self.shells.stop(number),
            Ask::Shell { number, command } => Some(self.shell(number, command, &answers).await),
            Ask::Login { provider, key } => {
                let answered = self.runtime.spawn(keys::login(ground, provider, key)).await;
                answered.map_or(lost, |outcome| Some(Answer::Login(plain(outcome))))
            }
            Ask::Export { session, to } => {
                let answered = self.runtime.spawn(sessions::export(ground, session, to)).await;
                answered.map_or(lost, |outcome| Some(Answer::Export(plain(outcome))))
            }
            ask @ (Ask::Conversation { .. }
            | Ask::Files
            | Ask::Branch
            | Ask::History
            | Ask::Image { .. }
            | Ask::Providers
            | Ask::Logout { .. }
            | Ask::Delete { .. }
            | Ask::Rename { .. }
            | Ask::Trust
            | Ask::Grant { .. }
            | Ask::Settings
            | Ask::Set { .. }
            | Ask::Themes) => self.blocking(ask, blocking).await,
        };
        // An interface that is gone needs nothing more.
        if let Some(answer) = answer {
            let _ = answers.send(answer).await;
        }
    }

    async fn edit(&self, command: Vec<String>) -> io::Result<Option<i32>> {
        let edited = self.runtime.spawn_blocking(move || editor::run(&command)).await;
        edited.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

impl Desk {
    /// Answers a question where it may block. When whoever works on it is lost, that is the answer.
    async fn blocking(
        &self,
        ask: Ask,
        work: impl FnOnce(&Ground, Ask) -> Option<Answer> + Send + 'static,
    ) -> Option<Answer> {
        let (ground, lost) = (Arc::clone(&self.ground), lost::answer(&ask));
        self.off_thread(move || work(&ground, ask)).await.unwrap_or(lost)
    }

    /// Does what may block; nothing where it panics, or haft ends meanwhile.
    async fn off_thread<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let done = self.runtime.spawn_blocking(work).await;
        done.inspect_err(|error| tracing::error!(%error, "a question of the interface was lost")).ok()
    }
}

/// Answers what is read or written at once.
fn blocking(ground: &Ground, ask: Ask) -> Option<Answer> {
    let Ground { home, cwd, .. } = ground;
    Some(match ask {
        Ask::Conversation { session } => {
            let messages = ground.open.conversation(&session);
            Answer::Conversation(session, messages)
        }
        Ask::Files => Answer::Files(files::below(cwd)),
        Ask::Branch => Answer::Branch(files::branch(ground)),
        Ask::History => Answer::History(plain(history::read(home))),
        Ask::Image { number, path } => Answer::Image(number, plain(image::read(cwd, &path))),
        Ask::Providers => Answer::Providers(keys::providers(home)),
        Ask::Logout { provider } => Answer::Logout(plain(keys::logout(home, provider))),
        Ask::Delete { session } => Answer::Delete(plain(sessions::delete(ground, &session))),
        Ask::Rename { session, name } => Answer::Rename(plain(sessions::rename(ground, &session, &name))),
        Ask::Trust => Answer::Trust(plain(trust::shown(home, cwd))),
        Ask::Grant { digest } => Answer::Grant(plain(trust::trust(home, cwd, &digest))),
        Ask::Settings => Answer::Settings(settings::rows(ground)),
        Ask::Set { name, value } => Answer::Set(plain(settings::set(ground, &name, &value))),
        Ask::Themes => Answer::Themes(themes::all(ground)),
        Ask::Remember(_)
        | Ask::Login { .. }
        | Ask::Export { .. }
        | Ask::Shell { .. }
        | Ask::StopShell { .. } => return None,
    })
}

/// An error, as the interface shows it.
fn plain<T>(outcome: anyhow::Result<T>) -> Result<T, Failure> {
    outcome.map_err(|error| Failure::other(format!("{error:#}")))
}

#[cfg(test)]
mod tests;
