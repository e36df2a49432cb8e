//! The screen and its thread.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use anyhow::Context as _;
use haft_config::{Config, Home, value_text};
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ExtensionName;
use haft_protocol::names::HAFT;
use haft_protocol::rpc::{EventLine, RpcRequest, ServerLine};
use haft_tui::app::settings::{SCREEN, Screen as Where, Settings, THEME};
use haft_tui::app::{AppOptions, AppState};
use haft_tui::keys::Keymap;
use haft_tui::terminal::{Connection, Environment, ExitReason, TerminalSetup, run, run_linear};
use haft_tui::theme::Appearance;
use tokio::sync::{mpsc, oneshot};

use super::ui_backend::UiBackend;
use crate::console::note;
use crate::login::SavedTerminal;
use crate::timeouts::SCREEN_END;

/// The number of rows of the conversation that remain on the normal screen.
const TAIL: usize = 40;

pub(super) struct ScreenOptions {
    /// The first prompt.
    pub(super) prompt: Option<String>,
    pub(super) opens_session_picker: bool,
    pub(super) keymap: Keymap,
    pub(super) settings: Settings,
    /// The level of the tools' sandbox, with the network if it is open.
    pub(super) sandbox: String,
    /// True if this machine cannot enforce a part of it.
    pub(super) has_sandbox_gap: bool,
    /// True if the user trusts the project.
    pub(super) is_trusted: bool,
}

pub(super) fn load_keymap(home: &Home) -> Keymap {
    let path = home.keybindings_file();
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Keymap::default(),
        Err(error) => {
            note(&format!("haft: cannot read {}: {error}", path.display()));
            return Keymap::default();
        }
        Ok(text) => text,
    };
    Keymap::read(&text).unwrap_or_else(|error| {
        note(&format!("haft: {} is not valid, so the default keys are used:\n{error}", path.display()));
        Keymap::default()
    })
}

/// Returns the settings of the interface. `screen` overrides the configured screen mode.
pub(super) fn load_settings(config: &Config, screen: Option<&str>) -> Settings {
    let mut settings = Settings::default();
    for row in config.rows() {
        let Some(value) = row.value.as_ref().map(value_text) else { continue };
        if let Err(error) = settings.set(&row.key, &value) {
            note(&format!("haft: {}: {error}", row.origin));
        }
    }
    if let Some(Err(error)) = screen.map(|screen| settings.set(SCREEN, screen)) {
        note(&format!("haft: {error}"));
    }
    settings
}

/// The thread of the screen.
pub(super) struct ScreenThread {
    over: oneshot::Receiver<()>,
    before: SavedTerminal,
    thread: Option<JoinHandle<anyhow::Result<ExitReason>>>,
}

impl ScreenThread {
    pub(super) fn begin(
        start: ScreenOptions,
        backend: UiBackend,
        requests: mpsc::UnboundedSender<RpcRequest>,
        lines: mpsc::Receiver<ServerLine>,
    ) -> anyhow::Result<Self> {
        let (ends, over) = oneshot::channel();
        let shown = move || {
            // Dropped when the thread ends for any reason, including a panic.
            let _ends: oneshot::Sender<()> = ends;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.context("cannot start the runtime of the screen")?;
            let outcome = runtime.block_on(run_screen(start, backend, requests, lines));
            runtime.shutdown_background();
            outcome
        };
        let before = SavedTerminal::save_stdin();
        let thread = thread::Builder::new().name("screen".to_owned()).spawn(shown);
        Ok(Self { over, before, thread: Some(thread.context("cannot start the thread of the screen")?) })
    }

    /// Waits until the user quits or the screen fails.
    pub(super) async fn wait_until_over(&mut self) {
        let _ = (&mut self.over).await;
    }

    /// Waits until the thread ends and returns the reason, unless the terminal blocks.
    pub(super) async fn end(mut self) -> anyhow::Result<Option<ExitReason>> {
        if !self.over.is_terminated() && tokio::time::timeout(SCREEN_END, &mut self.over).await.is_err() {
            tracing::warn!("the terminal accepts no output; its screen is not restored");
            self.before.restore();
            return Ok(None);
        }
        let Some(thread) = self.thread.take() else { return Ok(None) };
        match thread.join() {
            Ok(outcome) => outcome.map(Some),
            Err(_) => {
                anyhow::bail!("the interface failed; the conversation is saved, run `haft -c` to continue it")
            }
        }
    }
}

/// Returns a receiver that sends notes to the screen as lines in haft's name. The notes are part of the conversation,
/// so that the first prompt does not remove them.
pub(super) fn notes_as_lines(lines: mpsc::Sender<ServerLine>) -> impl Fn(&str) + Send + Sync {
    move |text| {
        let text = text.strip_prefix("haft: ").unwrap_or(text).to_owned();
        let event = AgentEvent::ExtDisplay { extension: ExtensionName::new(HAFT), text };
        let line = ServerLine::Event(EventLine { event: event.into(), session: None });
        if lines.try_send(line).is_err() {
            tracing::warn!("cannot show a note on the screen");
        }
    }
}

async fn run_screen(
    start: ScreenOptions,
    backend: UiBackend,
    requests: mpsc::UnboundedSender<RpcRequest>,
    lines: mpsc::Receiver<ServerLine>,
) -> anyhow::Result<ExitReason> {
    let ScreenOptions {
        prompt,
        opens_session_picker: picks,
        keymap,
        settings,
        sandbox,
        has_sandbox_gap,
        is_trusted,
    } = start;
    let environment = Environment::from_process();
    let appearance = match settings.get(THEME) {
        "dark" => Some(Appearance::Dark),
        "light" => Some(Appearance::Light),
        _ => None,
    };
    let (mouse, screen) = (settings.is_mouse_enabled(), settings.screen());
    let options = AppOptions {
        keymap,
        settings,
        prompt,
        resume: picks,
        appearance: appearance.unwrap_or_default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        sandbox: Some(sandbox),
        has_sandbox_gap,
        is_trusted,
        ..AppOptions::default()
    };
    let state = AppState::new(options, Instant::now());
    if screen == Where::Linear {
        return Ok(run_linear(state, Arc::new(backend), Connection { requests, lines }).await?);
    }
    let inline = screen == Where::Inline;
    let setup = TerminalSetup { environment, inline, mouse, appearance, depth: None, tail: TAIL };
    Ok(run(state, Arc::new(backend), Connection { requests, lines }, setup).await?)
}

#[cfg(test)]
mod tests {
    use haft_config::{ConfigFiles, ConfigLayer, LayerSource, Project, ProjectTrust};
    use haft_tui::keys::{Context, Edit};

    use super::*;

    #[test]
    fn keeps_default_keys_if_file_is_invalid() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        let usual = load_keymap(&home);
        std::fs::write(home.keybindings_file(), "[keys]\n\"editor.undo\" = [\"alt+u\"]\n").unwrap();
        let changed = load_keymap(&home);
        std::fs::write(home.keybindings_file(), "[keys]\n\"editor.undo\" = [\"what\"]\n").unwrap();
        let undo = |keymap: &Keymap| keymap.press("alt+u".parse().unwrap()).action(Context::Editor);
        assert_eq!([&usual, &changed, &load_keymap(&home)].map(undo), [None, Some(Edit::Undo.into()), None]);
    }

    #[test]
    fn uses_defaults_for_unset_settings() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project { dir: dir.path().into(), trust: ProjectTrust::Untrusted };
        let files = ConfigFiles::read(&Home::at(dir.path()), &project).unwrap();
        let config = files.merge_unchecked(
            ConfigLayer::empty(LayerSource::Flags),
            ConfigLayer::empty(LayerSource::Env),
            &|_, _| None,
        );
        let settings = load_settings(&config, None);
        assert_eq!(settings, Settings::default());
        assert_eq!(load_settings(&config, Some("linear")).screen(), Where::Linear);
        assert_eq!(load_settings(&config, Some("inline")).screen(), Where::Inline);
    }
}
