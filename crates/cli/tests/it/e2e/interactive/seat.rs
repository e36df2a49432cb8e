//! A person at a terminal: `haft` of a scene, and what people do there.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::Duration;

use haft_test_support::pty::{Pty, PtySetup};

use crate::e2e::scene::Scene;

/// Longer than the time for which a question that grants something takes no answer.
const QUIET: Duration = Duration::from_millis(400);

/// The hint of a question that has ignored a key.
pub(super) const EARLY: &str = "too early, press again";

/// A scene and `haft` of it in a terminal.
pub(super) struct Seat {
    pub(super) scene: Scene,
    pub(super) pty: Pty,
}

impl Seat {
    /// `haft` with these arguments, when its editor is there.
    #[track_caller]
    pub(super) fn at(scene: Scene, args: &[&str]) -> Self {
        Self::with(scene, args, |setup| setup)
    }

    /// As [`at`](Self::at), in another terminal.
    #[track_caller]
    pub(super) fn with(scene: Scene, args: &[&str], change: impl FnOnce(PtySetup) -> PtySetup) -> Self {
        let pty = change(setup(&scene, args)).spawn();
        pty.wait_for("›");
        Self { scene, pty }
    }

    /// Types a line, and enter, when the agent is idle: while it works, a prompt waits and most commands are refused.
    #[track_caller]
    pub(super) fn say(&self, line: &str) {
        self.pty.wait_gone("Working…");
        self.say_meanwhile(line);
    }

    /// Types a line, and enter, whatever the agent does.
    #[track_caller]
    pub(super) fn say_meanwhile(&self, line: &str) {
        self.pty.send(line);
        // It is sent as it stands, and not before it stands there.
        self.pty.wait_for(line);
        self.pty.press(&["enter"]);
    }

    /// Waits until all of these stand on the screen.
    #[track_caller]
    pub(super) fn sees(&self, texts: &[&str]) {
        texts.iter().for_each(|text| self.pty.wait_for(text));
    }

    /// Answers the question that shows this text. A key counts when the question stood on the screen, and nothing was
    /// typed, for a while; one that came too early on a busy machine is pressed again.
    #[track_caller]
    pub(super) fn answer(&self, question: &str, key: &str) {
        loop {
            self.pty.printed_within(QUIET);
            if !self.is_too_early(question, key) {
                return;
            }
            // Else the hint could be of the key before.
            self.pty.wait_gone(EARLY);
        }
    }

    /// Presses a key at the question that shows this text. Returns true if the key came too early to be an answer.
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

    /// Waits until the editor is empty, which asks for a prompt by its sign alone.
    #[track_caller]
    pub(super) fn editor_is_empty(&self) {
        self.pty.wait_until("an empty editor", |screen| {
            let columns = screen.size().1.get();
            screen.rows(0, columns).any(|row| row.trim_end() == "›")
        });
    }

    /// Waits until the row with this text has had other numbers three times: a time goes on in it.
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

    /// Leaves, and makes sure that the terminal is as it was.
    #[track_caller]
    pub(super) fn leave(self) {
        self.pty.send(b"\x11");
        ends_with(&self.pty, 0);
    }
}

/// `haft` of a scene in a terminal.
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

/// The end of the program: its code, and nothing of a screen left behind.
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
