//! The list of providers that opens while no model is configured.

use haft_tui::app::AppOptions;

use super::fake::Fake;

fn log(fake: &mut Fake) -> String {
    let log = fake.take_log();
    let asks = log.lines().filter(|line| !line.contains("get_state") && !line.starts_with("Title"));
    asks.collect::<Vec<_>>().join("\n")
}

#[test]
fn opens_without_a_model_and_uses_a_local_server() {
    let mut fake = Fake::without_model(AppOptions::default());
    insta::assert_snapshot!(fake.screen());
    fake.keys("enter");
    assert_eq!(log(&mut fake), "> set_model model=\"ollama/qwen3\"");
    assert!(fake.screen().contains("qwen3"), "{}", fake.screen());
}

#[test]
fn saved_key_selects_the_model_of_its_provider() {
    let mut fake = Fake::without_model(AppOptions::default());
    fake.keys("down down enter");
    fake.type_text("sk-new");
    fake.take_log();
    fake.keys("enter");
    let log = log(&mut fake);
    assert!(log.contains("Login { provider: \"openai\""), "{log}");
    assert!(log.ends_with("> set_model model=\"openai/default\""), "{log}");
}

#[test]
fn prompt_without_a_model_returns_to_the_composer() {
    let mut fake =
        Fake::without_model(AppOptions { prompt: Some("fix it".to_owned()), ..AppOptions::default() });
    fake.keys("esc");
    assert!(fake.screen().contains("› fix it"), "{}", fake.screen());
    assert!(fake.screen().contains("no model"), "{}", fake.screen());
    fake.keys("enter");
    assert_eq!(log(&mut fake), "? Providers");
    fake.keys("down enter");
    assert_eq!(log(&mut fake), "> set_model model=\"anthropic/claude-opus\"");
    fake.keys("enter");
    assert!(log(&mut fake).contains("> prompt message=\"fix it\""));
}

#[test]
fn demo_and_second_look_are_offered() {
    let mut fake = Fake::without_model(AppOptions::default());
    fake.keys("up enter");
    assert_eq!(log(&mut fake), "? Demo");
    assert!(fake.screen().contains("Berlin: 16°C, fog"), "{}", fake.screen());
    fake.keys("esc");
    fake.enter("/login");
    log(&mut fake);
    fake.keys("up up enter");
    assert_eq!(log(&mut fake), "? Providers");
}

#[test]
fn models_without_a_key_come_last_and_ask_for_one() {
    let mut fake = Fake::new();
    fake.enter("/model");
    assert!(!fake.screen().contains("gemini-3"), "{}", fake.screen());
    fake.keys("ctrl+end");
    assert!(fake.screen().contains("more models  1 of providers without a key"), "{}", fake.screen());
    fake.keys("enter ctrl+end");
    let screen = fake.screen();
    assert!(screen.contains("gemini-3  no key · 1M · $1.5/$9 per M · thinking off–high"), "{screen}");
    fake.keys("enter");
    assert!(fake.screen().contains("API key for gemini"), "{}", fake.screen());
}

#[test]
fn login_with_a_model_replaces_a_key() {
    let mut fake = Fake::new();
    fake.enter("/login");
    fake.keys("enter");
    assert!(fake.screen().contains("API key for anthropic"), "{}", fake.screen());
    fake.type_text("sk-new");
    fake.take_log();
    fake.keys("enter");
    assert!(!fake.take_log().contains("set_model"));
}

#[test]
fn template_waits_for_a_model_and_command_of_an_extension_does_not() {
    let mut fake = Fake::without_model(AppOptions::default());
    fake.keys("esc");
    fake.take_log();
    fake.enter("/review main");
    assert_eq!(log(&mut fake), "? Providers");
    fake.keys("esc ctrl+u");
    fake.enter("/todo");
    assert!(log(&mut fake).contains("> run_command"), "an extension may do without a model");
}
