//! `models.json`, `--list-models`, thinking levels and fallback models.

use std::fs;

use haft_test_support::model_server::{ModelServer, Scenario, TokenCounts, WireFormat};
use serde_json::{Value, json};

use super::running::{Ran, Running};
use super::scene::KEY;
use crate::world::World;

fn with_models(text: &str) -> World {
    let world = World::new();
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("models.json"), text).unwrap();
    world
}

fn lab(server: &ModelServer) -> World {
    let model = json!({"window": 32768, "thinking": ["off", "high"], "prices": {"input": 1, "output": 2}});
    let provider = json!({"base_url": server.base_url(), "key_env": "LAB_KEY",
        "headers": {"x-team": "blue-$LAB_TEAM"}, "models": {"small": model}});
    with_models(&json!({"providers": {"lab": provider}}).to_string())
}

fn run(world: &World, args: &[&str], vars: &[(&str, &str)]) -> Ran {
    let mut command = world.command(args);
    command.envs(vars.iter().copied());
    Running::start(command, None).wait()
}

#[test]
fn custom_server_uses_configured_headers_levels_and_prices() {
    let tokens = TokenCounts { input: 1_000_000, output: 500_000, cache_read: 0, cache_write: 0 };
    let server = ModelServer::spawn_thread(WireFormat::OpenAiChat, vec![Scenario::text("Hi.").usage(tokens)]);
    let world = lab(&server);
    let vars = [("LAB_KEY", KEY), ("LAB_TEAM", "7")];
    let ran = run(&world, &["--json", "--model", "lab/small", "--thinking", "medium", "hi"], &vars);
    ran.expect(0);
    assert_eq!(ran.of("usage")[0]["cost_usd"], 2.0);
    assert_eq!(ran.of("usage")[0]["cumulative"]["cost_usd"], 2.0);
    assert!(
        ran.stderr.contains("lab/small does not support thinking level medium; using high"),
        "{}",
        ran.stderr
    );
    let sent = &server.requests()[0];
    assert_eq!((sent.header("x-team"), &sent.body["reasoning_effort"]), (Some("blue-7"), &json!("high")));
    assert_eq!(sent.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let missing = run(&world, &["-p", "--model", "lab/small", "hi"], &[("LAB_KEY", KEY)]);
    missing.expect(6);
    assert!(missing.stderr.contains("the environment variable LAB_TEAM is not set"), "{}", missing.stderr);
}

/// The name of the variable does not look like that of a secret.
#[test]
fn commands_do_not_inherit_configured_key_variable() {
    let answers = || {
        let command = r#"{"command": "echo \"key:${LAB_KEY-unset}\" team:$LAB_TEAM"}"#;
        vec![Scenario::new().tool("t1", "bash", command), Scenario::text("Done.")]
    };
    let server = ModelServer::spawn_thread(WireFormat::OpenAiChat, answers());
    let world = lab(&server);
    let vars = [("LAB_KEY", KEY), ("LAB_TEAM", "7")];
    let result = |ran: &Ran| {
        ran.expect(0);
        server.requests().last().unwrap().body.to_string()
    };
    let withheld = result(&run(&world, &["-p", "--model", "lab/small", "hi"], &vars));
    assert!(withheld.contains("key:unset team:7"), "{withheld}");
    fs::write(world.home().join("config.toml"), "tools.env = ['LAB_KEY']\n").unwrap();
    answers().into_iter().for_each(|answer| server.push(answer));
    let permitted = result(&run(&world, &["-p", "--model", "lab/small", "hi"], &vars));
    assert!(permitted.contains("key:[redacted] team:7"), "{permitted}");
}

#[test]
fn reports_mistake_in_models_file() {
    let world =
        with_models(r#"{"providers": {"lab": {"base_url": "http://x", "models": {"m": {"window": "8k"}}}}}"#);
    let ran = world.haft(&["-p", "hi"]);
    assert_eq!(ran.code, 9);
    let place = "models.json: providers.lab.models.m.window: invalid type: string \"8k\"";
    assert!(ran.stderr.contains(place), "{}", ran.stderr);
}

#[test]
fn list_has_one_model_per_line() {
    let server = ModelServer::spawn_thread(WireFormat::OpenAiChat, Vec::new());
    let world = lab(&server);
    let all = world.haft(&["--list-models"]);
    assert_eq!((all.code, all.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = all.stdout.lines().collect();
    assert!(lines[0].starts_with("MODEL") && lines[1].starts_with("lab/small"), "{}", lines[1]);
    assert!(lines[1].ends_with("models.json") && lines[1].contains("off–high"), "{}", lines[1]);
    assert!(lines.iter().any(|line| line.starts_with("anthropic/claude-haiku-4-5 ")));
    let found = world.haft(&["--list-models", "HAIKU", "--provider", "anthropic", "--json"]);
    let models: Vec<Value> = found.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(models[0]["model"], "claude-haiku-4-5");
    assert_eq!((&models[0]["window"], &models[0]["prices"]["output"]), (&json!(200_000), &json!(5.0)));
    assert_eq!(models[0]["thinking"][0], "off");
    let none = world.haft(&["--list-models", "no-such-model"]);
    assert_eq!((none.code, none.stdout.as_str()), (1, ""));
    assert!(none.stderr.contains("use --provider and --model"), "{}", none.stderr);
}

#[test]
fn fallback_answers_and_is_reported() {
    let refused = Scenario::status(401, "authentication_error", "expired key {key}");
    let first = ModelServer::spawn_thread(WireFormat::Anthropic, vec![refused]);
    let second = ModelServer::spawn_thread(
        WireFormat::OpenAiChat,
        vec![Scenario::text("Here."), Scenario::text("Here.")],
    );
    let world = lab(&second);
    let file = "provider = 'anthropic'\nmodel = 'm'\nfallback = ['lab/small']\n";
    fs::write(world.home().join("config.toml"), file).unwrap();
    let url = first.base_url();
    let vars =
        [("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", &url), ("LAB_KEY", KEY), ("LAB_TEAM", "7")];
    let ran = run(&world, &["-p", "hi"], &vars);
    ran.expect(0);
    assert_eq!(ran.stdout, "Here.\n");
    assert!(
        ran.stderr.contains("401") && ran.stderr.contains("switching from anthropic/m to lab/small"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains(KEY), "{}", ran.stderr);
    first.push(Scenario::status(401, "authentication_error", "no"));
    let ran = run(&world, &["--json", "hi"], &vars);
    assert_eq!(ran.of("model_fallback")[0]["to"], "lab/small");
    let wrong = run(&world, &["-p", "--fallback", "small", "hi"], &vars);
    wrong.expect(2);
    assert!(wrong.stderr.contains("not of the form provider/model"), "{}", wrong.stderr);
    let keyless = run(&world, &["-p", "--fallback", "groq/m", "hi"], &vars);
    keyless.expect(6);
    assert!(
        keyless.stderr.contains("fallback groq/m") && keyless.stderr.contains("GROQ_API_KEY"),
        "{}",
        keyless.stderr
    );
}

#[test]
fn fallback_of_same_provider_uses_same_address_and_key() {
    let refused = || Scenario::status(401, "authentication_error", "no");
    let usual = ModelServer::spawn_thread(WireFormat::Anthropic, vec![Scenario::text("Wrong.")]);
    let corp = ModelServer::spawn_thread(
        WireFormat::Anthropic,
        vec![refused(), Scenario::text("Here."), refused(), Scenario::text("Here.")],
    );
    let usual_url = usual.base_url();
    let world = with_models(r#"{"providers": {}}"#);
    let file = format!("provider = 'anthropic'\nmodel = 'm'\nbase_url = '{}'\n", corp.base_url());
    fs::write(world.home().join("config.toml"), file).unwrap();
    let args = ["-p", "--fallback", "anthropic/other", "hi"];
    for (args, vars) in [
        (args.to_vec(), vec![("ANTHROPIC_API_KEY", KEY)]),
        ([&["--provider", "anthropic", "--api-key", KEY], args.as_slice()].concat(), Vec::new()),
    ] {
        let vars = [vars, vec![("ANTHROPIC_BASE_URL", usual_url.as_str())]].concat();
        let ran = run(&world, &args, &vars);
        ran.expect(0);
        assert_eq!(ran.stdout, "Here.\n");
    }
    assert!(usual.requests().is_empty());
    let models: Vec<_> = corp.requests().into_iter().map(|request| request.body["model"].clone()).collect();
    assert_eq!(models, ["m", "other", "m", "other"]);
}

/// Two custom providers, `lab` and `dn`, each with a server.
fn two(lab: &ModelServer, dn: &ModelServer, config: &str) -> World {
    let at = |server: &ModelServer| json!({"base_url": server.base_url()});
    let world = with_models(&json!({"providers": {"lab": at(lab), "dn": at(dn)}}).to_string());
    fs::write(world.home().join("config.toml"), config).unwrap();
    world
}

#[test]
fn provider_prefix_of_model_overrides_settings() {
    let answers = |count| (0..count).map(|_| Scenario::text("Hi.")).collect();
    let lab = ModelServer::spawn_thread(WireFormat::OpenAiChat, answers(4));
    let dn = ModelServer::spawn_thread(WireFormat::OpenAiChat, answers(5));
    let config = format!("provider = 'lab'\nmodel = 'big'\nbase_url = '{}'\n", lab.base_url());
    let world = two(&lab, &dn, &config);
    for (args, vars) in [
        (&["-p", "--model", "dn/x", "hi"][..], &[][..]),
        (&["-p", "-c", "hi"], &[]),
        (&["-p", "--model", "dn/x", "hi"], &[("HAFT_PROVIDER", "lab")]),
        (&["-p", "hi"], &[("HAFT_MODEL", "dn/x")]),
        (&["-p", "-c", "--model", "lab/tiny", "hi"], &[]),
        (&["-p", "-c", "--model", "dn/x", "hi"], &[]),
        (&["-p", "--provider", "lab", "--model", "lab/tiny", "hi"], &[]),
        (&["-p", "--provider", "lab", "--model", "dn/x", "hi"], &[]),
        (&["-p", "--model", "other/x", "hi"], &[]),
    ] {
        run(&world, args, vars).expect(0);
    }
    let asked = |server: &ModelServer| -> Vec<String> {
        server.requests().iter().map(|request| request.body["model"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(asked(&dn), ["x", "x", "x", "x", "x"]);
    assert_eq!(asked(&lab), ["tiny", "tiny", "dn/x", "other/x"]);
    let shown = run(&world, &["config", "show", "--origin"], &[("HAFT_MODEL", "dn/x")]);
    shown.expect(0);
    let lines: Vec<&str> = shown.stdout.lines().take(3).collect();
    assert!(lines[0].starts_with("provider = \"dn\" ") && lines[0].ends_with("# HAFT_MODEL"), "{lines:?}");
    assert!(
        lines[1].starts_with("model = \"x\" ") && lines[2].starts_with("# base_url is not set"),
        "{lines:?}"
    );
}

#[test]
fn fallback_with_provider_prefix_uses_that_provider() {
    let down = Scenario::status(401, "authentication_error", "no");
    let lab = ModelServer::spawn_thread(WireFormat::OpenAiChat, vec![Scenario::text("Here.")]);
    let dn = ModelServer::spawn_thread(WireFormat::OpenAiChat, vec![down]);
    let world = two(&lab, &dn, "provider = 'lab'\nmodel = 'big'\nfallback = ['lab/tiny']\n");
    let ran = run(&world, &["-p", "--model", "dn/x", "hi"], &[]);
    ran.expect(0);
    assert_eq!(lab.requests()[0].body["model"], "tiny");
}

#[test]
fn provider_prefix_of_model_does_not_filter_list() {
    let server = ModelServer::spawn_thread(WireFormat::OpenAiChat, Vec::new());
    let world = lab(&server);
    fs::write(world.home().join("config.toml"), "model = 'lab/small'\n").unwrap();
    let all = world.haft(&["--list-models"]);
    assert!(all.stdout.contains("\nanthropic/"), "{}", all.stdout);
    fs::write(world.home().join("config.toml"), "provider = 'lab'\n").unwrap();
    let labs = world.haft(&["--list-models"]);
    assert!(labs.stdout.contains("lab/small") && !labs.stdout.contains("anthropic/"), "{}", labs.stdout);
}
