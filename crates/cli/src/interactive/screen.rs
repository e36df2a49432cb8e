//! The screen, on a thread of its own.

use std::thread::{self, JoinHandle};

use anyhow::Context as _;
use haft_config::Home;
use haft_protocol::event::{AgentEvent, Level};
use haft_protocol::ids::ExtensionName;
use haft_protocol::names::HAFT;
use haft_protocol::rpc::{EventLine, Line, Request};
use haft_tui::keys::Keymap;
use tokio::sync::{mpsc, oneshot};

use super::desk::Desk;
use crate::console::note;
use crate::timeouts::SCREEN_END;

/// What the screen begins with.
pub(super) struct Start {
    /// What is said at once.
    pub(super) prompt: Option<String>,
    /// Whether a session is chosen first.
    pub(super) picks: bool,
    /// What keys do.
    pub(super) keymap: Keymap,
}

impl Start {
    /// With the keys that the user's file names; a file with mistakes changes none, and they are told.
    pub(super) fn of(home: &Home) -> Self {
        let path = home.keybindings_file();
        let keymap = match std::fs::read_to_string(&path) {
            Ok(text) => Keymap::read(&text).unwrap_or_else(|error| {
                note(&format!("haft: {} is not used:\n{error}", path.display()));
                Keymap::default()
            }),
            Err(error) => {
                if error.kind() != std::io::ErrorKind::NotFound {
                    note(&format!("haft: cannot read {}: {error}", path.display()));
                }
                Keymap::default()
            }
        };
        Self { prompt: None, picks: false, keymap }
    }
}

/// The screen's thread.
pub(super) struct Screen {
    over: oneshot::Receiver<()>,
    thread: Option<JoinHandle<anyhow::Result<()>>>,
}

impl Screen {
    pub(super) fn begin(
        start: Start,
        desk: Desk,
        requests: mpsc::UnboundedSender<Request>,
        lines: mpsc::Receiver<Line>,
    ) -> anyhow::Result<Self> {
        let (ends, over) = oneshot::channel();
        let shown = move || {
            // Dropped when this thread ends, however it does.
            let _ends: oneshot::Sender<()> = ends;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.context("cannot start the runtime of the screen")?;
            let outcome = runtime.block_on(shown(start, desk, requests, lines));
            runtime.shutdown_background();
            outcome
        };
        let thread = thread::Builder::new().name("screen".to_owned()).spawn(shown);
        Ok(Self { over, thread: Some(thread.context("cannot start the thread of the screen")?) })
    }

    /// When the person has left, or the screen failed.
    pub(super) async fn over(&mut self) {
        let _ = (&mut self.over).await;
    }

    /// Waits for its end, unless the terminal takes nothing any more.
    ///
    /// # Errors
    /// Why there is no screen any more.
    pub(super) async fn end(mut self) -> anyhow::Result<()> {
        if !self.over.is_terminated() && tokio::time::timeout(SCREEN_END, &mut self.over).await.is_err() {
            tracing::warn!("the terminal takes nothing any more; it is left as it is");
            return Ok(());
        }
        let Some(thread) = self.thread.take() else { return Ok(()) };
        match thread.join() {
            Ok(outcome) => outcome,
            Err(_) => {
                anyhow::bail!("the screen failed; what was said is kept, and `haft -c` goes on with it")
            }
        }
    }
}

/// Notes as lines that the screen is told: haft signs them.
pub(super) fn as_lines(told: mpsc::Sender<Line>) -> impl Fn(&str) + Send + Sync {
    move |text| {
        let message = text.strip_prefix("haft: ").unwrap_or(text).to_owned();
        let event =
            AgentEvent::ExtNotify { extension: ExtensionName::new(HAFT), level: Level::Warn, message };
        let line = Line::Event(EventLine { event: event.into(), session: None });
        if told.try_send(line).is_err() {
            tracing::warn!(text, "a note is not shown");
        }
    }
}

/// Shows it, to its end.
async fn shown(
    start: Start,
    desk: Desk,
    requests: mpsc::UnboundedSender<Request>,
    lines: mpsc::Receiver<Line>,
) -> anyhow::Result<()> {
    drop((start, desk, requests, lines));
    Ok(())
}
