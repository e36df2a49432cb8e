//! The main screens in both themes. With `HAFT_SCREENS=DIR`, each screen is written there as a page; `cargo xtask
//! screens` converts the pages to the pictures in `docs/screens`.

use std::fs;
use std::path::PathBuf;

use haft_test_support::pty::{self, ColorScheme};
use serde_json::{Value, json};

use super::terminal_session::TerminalSession;
use crate::e2e::scene::Scene;

/// The variable that names the directory for the pictures.
const PICTURES: &str = "HAFT_SCREENS";

/// A person at a terminal whose screen is recorded.
struct Studio {
    terminal: TerminalSession,
    ground: ColorScheme,
}

impl Studio {
    #[track_caller]
    fn at(scene: Scene, ground: ColorScheme) -> Self {
        let terminal = TerminalSession::with(scene, &[], |setup| {
            setup.size(100, 30).env("COLORTERM", "truecolor").background(ground.answer())
        });
        Self { terminal, ground }
    }

    /// Writes the current screen, if pictures are requested.
    fn shot(&self, name: &str) {
        let Some(dir) = std::env::var_os(PICTURES).map(PathBuf::from) else { return };
        let theme = match self.ground {
            ColorScheme::Dark => "dark",
            ColorScheme::Light => "light",
        };
        fs::create_dir_all(&dir).unwrap();
        let page = pty::render_page(&self.terminal.pty.screen(), self.ground);
        fs::write(dir.join(format!("{name}-{theme}.html")), page).unwrap();
    }
}

const LIB: &str = "\
/// The sum of all numbers.
pub fn sum(numbers: &[u64]) -> u64 {
    numbers[1..].iter().sum()
}
";

const ANSWER: &str = "\
The slice began at `1`, so the **first number** was left out. It begins at 0 now:

```rust
pub fn sum(numbers: &[u64]) -> u64 {
    numbers.iter().sum() // all of them
}
```

- `sum(&[])` is 0, and the *tests* pass now
";

fn script() -> Value {
    let edit = json!({"name": "edit", "args": {
        "path": "src/lib.rs",
        "edits": [{
            "oldText": "numbers[1..].iter()",
            "newText": "numbers.iter()",
        }],
    }});
    let read = json!({"name": "read", "args": {"path": "src/lib.rs", "limit": 1}});
    let test = json!({"name": "bash", "args": {"command": "echo 'test result: ok. 3 passed; 0 failed'"}});
    let usage = json!({"input": 12_400, "output": 800, "cost_usd": 0.04});
    json!({
        "model": "claude-opus-4-7",
        "context_window": 200_000,
        "steps": [
            {
                "say": [{"thinking": "The index begins at 1, so numbers[0] is never added."}, {"call": read}],
                "usage": usage,
            },
            {"say": [{"call": edit}], "usage": usage},
            {"say": [{"call": test}], "usage": usage},
            {"say": [{"text": ANSWER}], "usage": usage},
        ],
    })
}

fn scene(script: &Value) -> Scene {
    let scene = Scene::playing(script).installed("todo");
    let source = scene.world.project().join("src");
    fs::create_dir_all(&source).unwrap();
    fs::write(source.join("lib.rs"), LIB).unwrap();
    scene
}

fn conversation(ground: ColorScheme) {
    let studio = Studio::at(scene(&script()), ground);
    let Studio { terminal, .. } = &studio;
    terminal.say("sum(&[1, 2]) is 2. Find out why, and mend it.");
    terminal.sees(&["∴ thought", "numbers.iter().sum()", "3 passed", "the tests pass now", "› sum(&[1, 2])"]);
    terminal.pty.wait_gone("esc to stop");
    studio.shot("chat");
    for todo in ["write the tests", "mend the sum", "tell the others"] {
        terminal.say(&format!("/todo {todo}"));
        terminal.sees(&[&format!("added: {todo}")]);
    }
    terminal.pty.send("/t");
    terminal.sees(&["/todo", "/tree"]);
    studio.shot("completion");
    terminal.pty.press(&["esc"]);
    terminal.pty.wait_gone("/tree");
    terminal.pty.press(&["ctrl+u"]);
    terminal.editor_is_empty();
    terminal.say("/todo");
    terminal.sees(&["[todo] Todos", "□ tell the others"]);
    terminal.pty.press(&["x", "down"]);
    terminal.sees(&["✓ write the tests", "› □ mend the sum"]);
    studio.shot("panel");
    terminal.pty.press(&["esc"]);
    terminal.pty.wait_gone("[todo] Todos");
    terminal.pty.press(&["f1"]);
    terminal.sees(&["/compact", "esc close"]);
    studio.shot("help");
    terminal.pty.press(&["esc"]);
    terminal.pty.wait_gone("/compact");
    studio.terminal.leave();
}

fn question(ground: ColorScheme) {
    let call = json!({"name": "bash", "args": {"command": "git push --force origin main", "timeout": 60}});
    let script = json!({"model": "claude-opus-4-7", "context_window": 200_000, "steps": [
        {"say": [{"text": "The history is clean now. I publish it."}, {"call": call}], "usage": {"input": 4200}},
        {"say": [{"text": "Then not."}]},
    ]});
    let scene = scene(&script);
    fs::create_dir_all(scene.world.home()).unwrap();
    fs::write(scene.world.home().join("config.toml"), "[tools]\napprove = [\"bash\"]\n").unwrap();
    let studio = Studio::at(scene, ground);
    studio.terminal.say("Squash the last two commits and publish them.");
    studio.terminal.sees(&["haft asks", "git push --force origin main", "[Do not allow]"]);
    studio.shot("dialog");
    studio.terminal.leave();
}

fn choice(ground: ColorScheme) {
    let say = |text: &str| json!({"say": [{"text": text}], "usage": {"input": 2100}});
    let steps = ["One.", "Two.", "Three.", "Four."].map(say);
    let script = json!({"model": "claude-opus-4-7", "context_window": 200_000, "steps": steps});
    let scene = scene(&script);
    for prompt in
        ["Why does the build take so long?", "Write the notes of the release", "Mend the sum of numbers"]
    {
        scene.haft(&["-p", prompt]).expect(0);
    }
    let studio = Studio::at(scene, ground);
    studio.terminal.say("/resume");
    studio.terminal.sees(&["Why does the build take so long?", "Mend the sum of numbers"]);
    studio.shot("picker");
    studio.terminal.pty.press(&["esc"]);
    studio.terminal.pty.wait_gone("Mend the sum of numbers");
    studio.terminal.leave();
}

#[test]
fn main_screens_show_dark_theme() {
    [conversation, question, choice].into_iter().for_each(|screen| screen(ColorScheme::Dark));
}

/// Only the colors differ from the dark theme, so a run without pictures checks one screen only.
#[test]
fn main_screens_show_light_theme() {
    question(ColorScheme::Light);
    if std::env::var_os(PICTURES).is_some() {
        conversation(ColorScheme::Light);
        choice(ColorScheme::Light);
    }
}
