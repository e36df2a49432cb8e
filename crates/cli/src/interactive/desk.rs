//! `Desk`: what the interface asks the program, answered.
//!
//! Nothing here happens on the thread that asks, nor on the agent's: what reads files does that where it holds up nobody.

mod editor;
mod files;
mod history;
mod image;
mod keys;
mod sessions;
mod settings;
mod shell;
mod themes;

use std::path::PathBuf;
use std::sync::Arc;

use haft_config::{Decision, Home};
use haft_protocol::rpc::Failure;
use haft_tui::app::{Answer, Ask};
use tokio::runtime::Handle;

use crate::args::RunArgs;
use crate::trust;

pub(super) use editor::run as run_editor;
pub(super) use sessions::Open;
pub(super) use shell::Shells;

/// Where answers go.
pub(super) type Say = Arc<dyn Fn(Answer) + Send + Sync>;

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

impl Desk {
    /// Sees to it that a question is answered.
    pub(super) fn ask(&self, ask: Ask, say: Say) {
        let ground = Arc::clone(&self.ground);
        match ask {
            Ask::Conversation { session } => self.answer(say, move || {
                let messages = ground.open.conversation(&session);
                Answer::Conversation(session, messages)
            }),
            Ask::Files => self.answer(say, move || Answer::Files(files::below(&ground.cwd))),
            Ask::Branch => self.answer(say, move || Answer::Branch(files::branch(&ground))),
            Ask::History => self.answer(say, move || Answer::History(plain(history::read(&ground.home)))),
            Ask::Remember(prompt) => self.work(move || history::remember(&ground.home, &prompt)),
            Ask::Image { number, path } => {
                self.answer(say, move || Answer::Image(number, plain(image::read(&ground.cwd, &path))))
            }
            Ask::Providers => self.answer(say, move || Answer::Providers(keys::providers(&ground.home))),
            Ask::Login { provider, key } => {
                drop(self.runtime.spawn(keys::login(ground, provider, key, say)));
            }
            Ask::Logout { provider } => {
                self.answer(say, move || Answer::Logout(plain(keys::logout(&ground.home, provider))));
            }
            Ask::Export { session, to } => drop(self.runtime.spawn(async move {
                say(Answer::Export(plain(sessions::export(ground, session, to).await)));
            })),
            Ask::Delete { session } => {
                self.answer(say, move || Answer::Delete(plain(sessions::delete(&ground, &session))));
            }
            Ask::Trust => {
                self.answer(say, move || Answer::Trust(plain(trust::shown(&ground.home, &ground.cwd))))
            }
            Ask::Grant { digest } => self.answer(say, move || {
                let told = trust::trust(&ground.home, &ground.cwd, &digest);
                Answer::Grant(plain(
                    told.map(|told| format!("{told}; it counts from the next session on: /new")),
                ))
            }),
            Ask::Shell { number, command } => self.shell(number, command, say),
            Ask::StopShell { number } => self.shells.stop(number),
            Ask::Settings => self.answer(say, move || Answer::Settings(settings::rows(&ground))),
            Ask::Set { name, value } => {
                self.answer(say, move || Answer::Set(plain(settings::set(&ground, &name, &value))));
            }
            Ask::Themes => self.answer(say, move || Answer::Themes(themes::all(&ground))),
        }
    }

    /// Does what may block, and says what came of it.
    fn answer(&self, say: Say, work: impl FnOnce() -> Answer + Send + 'static) {
        self.work(move || say(work()));
    }

    fn work(&self, work: impl FnOnce() + Send + 'static) {
        drop(self.runtime.spawn_blocking(work));
    }
}

/// An error, as the interface shows it.
fn plain<T>(outcome: anyhow::Result<T>) -> Result<T, Failure> {
    outcome.map_err(|error| Failure::other(format!("{error:#}")))
}
