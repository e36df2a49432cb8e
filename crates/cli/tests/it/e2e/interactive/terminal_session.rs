//! A person at a terminal: `haft` of a scene, and the person's actions.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::Duration;

use haft_test_support::pty::{Pty, PtySetup};

use crate::e2e::scene::Scene;

/// Longer than the time for which a dialog ignores keys.
const QUIET: Duration = Duration::from_millis(400);

/// The hint of a question that has ignored a key.
pub(super) const EARLY: &str = "too early, press again";

/// A scene and its `haft` in a terminal.
pub(in crate::e2e) struct TerminalSession {
    pub(in crate::e2e) scene: Scene,
    pub(super) pty: Pty,
}

impl TerminalSession {
    /// Starts `haft` with these arguments and waits for the composer.
    #[track_caller]
    pub(in crate::e2e) fn at(scene: Scene, args: &[&str]) -> Self {
        Self::with(scene, args, |setup| setup)
    }

    /// Starts `haft` like [`at`](Self::at), in another terminal.
    #[track_caller]
    pub(super) fn with(scene: Scene, args: &[&str], change: impl FnOnce(PtySetup) -> PtySetup) -> Self {
        let pty = change(setup(&scene, args)).spawn();
        pty.wait_for("›");
        Self { scene, pty }
    }

    /// Types a line and Enter while the agent is idle. While it works, prompts are queued and most commands are
    /// refused.
    #[track_caller]
    pub(in crate::e2e) fn say(&self, line: &str) {
        self.pty.wait_gone("Working…");
        self.say_meanwhile(line);
    }

    /// Types a line and Enter, whatever the agent does.
    #[track_caller]
    pub(super) fn say_meanwhile(&self, line: &str) {
        self.pty.send(line);
        // Enter is sent only when the line is visible, because it sends the visible text.
        self.pty.wait_for(line);
        self.pty.press(&["enter"]);
    }

    /// Waits until all of these texts are on the screen.
    #[track_caller]
    pub(in crate::e2e) fn sees(&self, texts: &[&str]) {
        texts.iter().for_each(|text| self.pty.wait_for(text));
    }

    /// Answers the dialog that shows this text. A dialog accepts a key only after it has been visible without input for
    /// a while; a key that was too early on a busy machine is pressed again.
    #[track_caller]
    pub(super) fn answer(&self, question: &str, key: &str) {
        loop {
            self.pty.printed_within(QUIET);
            if !self.is_too_early(question, key) {
                return;
            }
            // Otherwise the hint could belong to the previous key.
            self.pty.wait_gone(EARLY);
        }
    }

    /// Presses a key in the dialog that shows this text. Returns true if the key was too early.
    #[track_caller]
    pub(super) fn is_too_early(&self, question: &str, key: &str) -> bool {
        self.pty.press(&[key]);
        let mut is_early = false;
        self.pty.wait_until("an answered question, or a hint", |screen| {
            let shown = screen.contents();
            let is_open = shown.contains(question);
            is_early = is_open && shown.contains(EARLY);
            is_early || !is_open
        });
        is_early
    }

    /// Waits until the composer is empty, which shows only its prompt sign.
    #[track_caller]
    pub(super) fn editor_is_empty(&self) {
        self.pty.wait_until("an empty editor", |screen| {
            let columns = screen.size().1.get();
            screen.rows(0, columns).any(|row| row.trim_end() == "›")
        });
    }

    /// Waits until the numbers in the row with this text have changed three times: a time is running in it.
    #[track_caller]
    pub(super) fn changes(&self, text: &str) {
        let mut seen = BTreeSet::new();
        self.pty.wait_until(&format!("a time that goes on beside {text:?}"), |screen| {
            let columns = screen.size().1.get();
            let row = screen.rows(0, columns).find(|row| row.contains(text));
            seen.extend(row.map(|row| row.chars().filter(char::is_ascii_digit).collect::<String>()));
            seen.len() > 3
        });
    }

    /// Quits, and checks that the terminal is restored.
    #[track_caller]
    pub(in crate::e2e) fn leave(self) {
        self.pty.send(b"\x11");
        ends_with(&self.pty, 0);
    }
}

/// Returns `haft` of a scene in a terminal.
pub(super) fn terminal(scene: &Scene, args: &[&str]) -> Pty {
    setup(scene, args).spawn()
}

pub(in crate::e2e) fn setup(scene: &Scene, args: &[&str]) -> PtySetup {
    let command = scene.command(args);
    let args: Vec<OsString> = command.get_args().map(Into::into).collect();
    let setup = PtySetup::new(env!("CARGO_BIN_EXE_haft")).args(args).cwd(&scene.world.project());
    command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_str()?, value?)))
        .fold(setup, |setup, (name, value)| if name == "PATH" { setup } else { setup.env(name, value) })
}

/// Checks the end of the program: its exit code, and the restored screen.
#[track_caller]
pub(super) fn ends_with(pty: &Pty, code: u32) {
    let ended = pty.wait_for_end();
    assert_eq!((ended.code, ended.signal), (code, None), "{}", pty.rows().join("\n"));
    let bytes = pty.bytes();
    let printed = String::from_utf8_lossy(&bytes);
    let last = |what: &str| printed.rfind(what);
    assert!(last("\x1b[?1049h") < last("\x1b[?1049l"), "the screen is given back: {printed:?}");
    assert!(last("\x1b[?25l") <= last("\x1b[?25h"), "the cursor is seen: {printed:?}");
    assert!(last("\x1b[?2004h") < last("\x1b[?2004l"), "pastes are as usual: {printed:?}");
}
