//! `haft login` and `haft logout`: a key is verified, saved, used, removed, and never shown.

use std::fs;
use std::io::{Read as _, Write as _};

use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use super::running::Running;
use super::scene::KEY;
use crate::world::World;

/// Runs `haft` with a provider's address and this standard input.
fn haft(world: &World, args: &[&str], url: &str, input: &str) -> (i32, String) {
    let mut command = world.command(args);
    command.env("ANTHROPIC_BASE_URL", url).env("OPENAI_BASE_URL", url).env("GEMINI_BASE_URL", url);
    command.env("HAFT_LOG", "trace");
    let ran = Running::start(command, Some(input)).wait();
    let shown = [KEY, "sk-refused"].iter().any(|key| format!("{ran:?}").contains(key));
    assert!(!shown, "a key shows: {ran:?}");
    (ran.code, ran.stderr)
}

fn stored(world: &World) -> String {
    fs::read_to_string(world.home().join("auth.json")).unwrap_or_default()
}

#[test]
fn verifies_saves_uses_and_removes_piped_key() {
    let cases = [
        (WireFormat::Anthropic, "anthropic", "/v1/models?limit=1", "x-api-key"),
        (WireFormat::OpenAiResponses, "openai", "/v1/models", "authorization"),
        (WireFormat::Gemini, "gemini", "/v1beta/models?pageSize=1", "x-goog-api-key"),
    ];
    for (wire, provider, path, header) in cases {
        let server = ModelServer::spawn_thread(wire, vec![Scenario::text("Hi.")]);
        let (world, url) = (World::new(), server.base_url());
        let (code, said) = haft(&world, &["login", provider], &url, &format!("{KEY}\n"));
        assert!(code == 0 && said.contains(&format!("saved the key of {provider}")), "{said}");
        let probe = &server.get_requests()[0];
        assert!(probe.path == path && probe.header(header).unwrap().contains(KEY), "{probe:?}");
        assert!(stored(&world).contains(KEY));
        let (code, said) = haft(&world, &["-p", "hi"], &url, "");
        assert_eq!(code, 0, "{said}");
        assert!(server.requests()[0].header(header).unwrap().contains(KEY));
        let (code, said) = haft(&world, &["logout"], &url, "");
        assert!(code == 0 && said.contains(&format!("removed the key of {provider}")), "{said}");
        assert!(!stored(&world).contains(KEY));
        let (code, said) = haft(&world, &["logout", provider], &url, "");
        assert!(code == 1 && said.contains("no key of"), "{said}");
    }
}

#[test]
fn rejected_key_is_saved_only_with_no_probe() {
    let server = ModelServer::spawn_thread(WireFormat::OpenAiChat, Vec::new());
    let (world, url) = (World::new(), server.base_url());
    // Two presets share this key.
    let (code, said) = haft(&world, &["login", "openai-chat"], &url, "sk-refused-1");
    assert!(code == 6 && said.contains("openai-chat refused the key (401)"), "{said}");
    assert_eq!(stored(&world), "");
    let unreachable = "http://127.0.0.1:1/v1";
    let (code, said) = haft(&world, &["login", "openai"], unreachable, "sk-refused-1");
    assert!(code == 5 && said.contains("--no-probe"), "{said}");
    assert_eq!(stored(&world), "");
    let (code, said) = haft(&world, &["login", "openai", "--no-probe"], unreachable, "sk-refused-1");
    assert_eq!(code, 0, "{said}");
    assert!(stored(&world).contains("sk-refused-1"));
}

#[test]
fn verifies_key_at_configured_address() {
    let usual = ModelServer::spawn_thread(WireFormat::Anthropic, Vec::new());
    let corp = ModelServer::spawn_thread(WireFormat::Anthropic, Vec::new());
    let (world, url) = (World::new(), usual.base_url());
    fs::create_dir_all(world.home()).unwrap();
    let file = format!("provider = 'anthropic'\nbase_url = '{}'\n", corp.base_url());
    fs::write(world.home().join("config.toml"), file).unwrap();
    let (code, said) = haft(&world, &["login", "anthropic"], &url, "sk-refused-1");
    assert!(code == 6 && said.contains("--no-probe") && said.contains(&corp.base_url()), "{said}");
    let (code, said) = haft(&world, &["login", "anthropic"], &url, KEY);
    assert_eq!(code, 0, "{said}");
    assert_eq!((corp.get_requests().len(), usual.get_requests().len()), (2, 0));
    // The address belongs to the provider in the same file.
    let (code, said) = haft(&world, &["login", "openai"], "http://127.0.0.1:1/v1", KEY);
    assert!(code == 5 && said.contains("http://127.0.0.1:1/v1"), "{said}");
    assert_eq!(corp.get_requests().len(), 2);
}

#[test]
fn rejects_invalid_keys_and_providers() {
    let world = World::new();
    for (args, input, says) in [
        (["login", "antropic"].as_slice(), "sk-1", "unknown provider \"antropic\""),
        (&["login", "openai"], " \n", "no key given"),
        (&["login", "openai"], "sk 1\nsk-2", "spaces"),
        (&["login", "openai", "--no-probe"], "k".repeat(64 * 1024 + 1).as_str(), "longer than 64 KiB"),
        (&["login"], "sk-1", "haft login PROVIDER"),
    ] {
        let (code, said) = haft(&world, args, "http://127.0.0.1:1", input);
        assert!(code == 2 && said.contains(says), "{said}");
    }
    let (code, said) = haft(&world, &["logout"], "http://127.0.0.1:1", "");
    assert!(code == 1 && said.contains("no key is saved"), "{said}");
    assert_eq!(stored(&world), "");
}

/// Runs `haft login` at a terminal, which receives this input at the prompt.
#[cfg(unix)]
struct AtTerminal {
    world: World,
    code: u32,
    shown: String,
    /// True if the terminal echoes input after the end of haft.
    echoes: bool,
}

#[cfg(unix)]
fn at_terminal(typed: &str) -> AtTerminal {
    let world = World::new();
    let pair = native_pty_system().openpty(PtySize::default()).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_haft"));
    command.args(["login", "openai", "--no-probe"]);
    command.env_clear();
    command.env("HAFT_HOME", world.home());
    command.cwd(world.project());
    // Kept open, so that the terminal outlives haft.
    let terminal = fs::File::open(pair.master.tty_name().unwrap()).unwrap();
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut writer = pair.master.take_writer().unwrap();
    let mut shown = String::new();
    let mut piece = [0; 256];
    while !shown.contains("(not shown): ") {
        let length = reader.read(&mut piece).unwrap();
        shown.push_str(&String::from_utf8_lossy(&piece[..length]));
    }
    writer.write_all(typed.as_bytes()).unwrap();
    let code = child.wait().unwrap().exit_code();
    let modes = rustix::termios::tcgetattr(&terminal).unwrap().local_modes;
    drop(terminal);
    // Reading from a terminal whose programs have ended is an error.
    while let Ok(length @ 1..) = reader.read(&mut piece) {
        shown.push_str(&String::from_utf8_lossy(&piece[..length]));
    }
    let echoes = modes.contains(rustix::termios::LocalModes::ECHO);
    AtTerminal { world, code, shown, echoes }
}

#[test]
#[cfg(unix)]
fn typed_key_is_hidden_and_file_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let AtTerminal { world, code, shown, echoes } = at_terminal(&format!("{KEY}\n"));
    assert!(code == 0 && echoes, "{shown}");
    assert!(!shown.contains(KEY) && shown.contains("saved the key of openai"), "{shown}");
    assert!(stored(&world).contains(KEY));
    let file = fs::metadata(world.home().join("auth.json")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
}

#[test]
#[cfg(unix)]
fn interrupted_prompt_restores_terminal() {
    let AtTerminal { world, code, shown, echoes } = at_terminal("sk-half\x03");
    assert_eq!((code, echoes), (130, true), "{shown}");
    assert!(shown.contains("nothing was saved") && !shown.contains("sk-half"), "{shown}");
    assert_eq!(stored(&world), "");
}
