//! `/login` and `/logout`: a key is typed without echo, verified, saved and removed.

use std::fs;

use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};

use super::seat::{Seat, ends_with};
use crate::e2e::running::eventually;
use crate::e2e::scene::Scene;

const TYPED: &str = "sk-typed-0123456789";

#[test]
fn verifies_saves_and_removes_key_without_showing_it() {
    let server = ModelServer::spawn_thread(WireFormat::Anthropic, Vec::new());
    let url = server.base_url();
    let scene = Scene::new(vec![Scenario::text("Hello.")]);
    let seat = Seat::with(scene, &[], |setup| setup.env("ANTHROPIC_BASE_URL", &url));
    let auth = seat.scene.world.home().join("auth.json");
    let stored = || fs::read_to_string(&auth).unwrap_or_default();
    seat.say("/login anthropic");
    seat.sees(&["API key for anthropic"]);
    seat.pty.send("sk-refused-1");
    seat.pty.press(&["enter"]);
    seat.sees(&["refused the key"]);
    assert!(!stored().contains("sk-"));
    seat.say("/login anthropic");
    seat.sees(&["API key for anthropic"]);
    seat.pty.send(TYPED);
    seat.pty.press(&["enter"]);
    seat.sees(&["saved the key of anthropic"]);
    assert!(stored().contains(TYPED));
    assert!(server.get_requests().last().unwrap().header("x-api-key").unwrap().contains(TYPED));
    seat.say("/logout anthropic");
    seat.sees(&["removed the key of anthropic"]);
    assert!(eventually(|| !stored().contains(TYPED)));
    seat.pty.send(b"\x11");
    ends_with(&seat.pty, 0);
    let printed = String::from_utf8_lossy(&seat.pty.bytes()).into_owned();
    assert!(!printed.contains(TYPED) && !printed.contains("sk-typed"), "the key was shown");
}

#[test]
fn picks_provider_and_cancels_dialog() {
    let seat = Seat::at(Scene::new(Vec::new()), &[]);
    seat.say("/login");
    seat.sees(&["Save an API key for", "gemini"]);
    seat.pty.send("gemi");
    seat.pty.wait_gone("anthropic");
    seat.pty.press(&["enter"]);
    seat.sees(&["API key for gemini"]);
    seat.pty.press(&["esc"]);
    seat.sees(&["nothing changed"]);
    seat.leave();
}
