//! `/login` and `/logout`: a key is typed without echo, verified, saved and removed.

use std::fs;

use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};
use haft_test_support::pty::PtySetup;

use super::terminal_session::{TerminalSession, ends_with};
use crate::e2e::running::eventually;
use crate::e2e::scene::Scene;
use crate::world::World;

const TYPED: &str = "sk-typed-0123456789";

#[test]
fn verifies_saves_and_removes_key_without_showing_it() {
    let server = ModelServer::spawn_thread(WireFormat::Anthropic, Vec::new());
    let url = server.base_url();
    let scene = Scene::new(vec![Scenario::text("Hello.")]);
    let terminal = TerminalSession::with(scene, &[], |setup| setup.env("ANTHROPIC_BASE_URL", &url));
    let auth = terminal.scene.world.home().join("auth.json");
    let stored = || fs::read_to_string(&auth).unwrap_or_default();
    terminal.say("/login anthropic");
    terminal.sees(&["API key for anthropic"]);
    terminal.pty.send("sk-refused-1");
    terminal.pty.press(&["enter"]);
    terminal.sees(&["refused the key"]);
    assert!(!stored().contains("sk-"));
    terminal.say("/login anthropic");
    terminal.sees(&["API key for anthropic"]);
    terminal.pty.send(TYPED);
    terminal.pty.press(&["enter"]);
    terminal.sees(&["saved the key of anthropic"]);
    assert!(stored().contains(TYPED));
    assert!(server.get_requests().last().unwrap().header("x-api-key").unwrap().contains(TYPED));
    terminal.say("/logout anthropic");
    terminal.sees(&["removed the key of anthropic"]);
    assert!(eventually(|| !stored().contains(TYPED)));
    terminal.pty.send(b"\x11");
    ends_with(&terminal.pty, 0);
    let printed = String::from_utf8_lossy(&terminal.pty.bytes()).into_owned();
    assert!(!printed.contains(TYPED) && !printed.contains("sk-typed"), "the key was shown");
}

#[test]
fn opens_without_a_model_and_takes_a_key() {
    let server = ModelServer::spawn_thread(WireFormat::Anthropic, vec![Scenario::text("Connected.")]);
    let url = server.base_url();
    let world = World::new();
    let pty = PtySetup::new(env!("CARGO_BIN_EXE_haft")).cwd(&world.project()).env("ANTHROPIC_BASE_URL", &url);
    let command = world.command(&[]);
    let vars = command.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?)));
    let pty =
        vars.fold(pty, |pty, (name, value)| if name == "PATH" { pty } else { pty.env(name, value) }).spawn();
    pty.wait_for("Connect a model");
    pty.wait_for("paste an API key");
    pty.press(&["enter"]);
    pty.wait_for("API key for anthropic");
    pty.send(TYPED);
    pty.press(&["enter"]);
    pty.wait_for("saved the key of anthropic");
    pty.wait_gone("no model");
    pty.send("hi");
    pty.wait_for("› hi");
    pty.press(&["enter"]);
    pty.wait_for("Connected.");
    pty.send(b"\x11");
    ends_with(&pty, 0);
}

#[test]
fn picks_provider_and_cancels_dialog() {
    let terminal = TerminalSession::at(Scene::new(Vec::new()), &[]);
    terminal.say("/login");
    terminal.sees(&["Save an API key for", "gemini"]);
    terminal.pty.send("gemi");
    terminal.pty.wait_gone("anthropic");
    terminal.pty.press(&["enter"]);
    terminal.sees(&["API key for gemini"]);
    terminal.pty.press(&["esc"]);
    terminal.sees(&["nothing changed"]);
    terminal.leave();
}
