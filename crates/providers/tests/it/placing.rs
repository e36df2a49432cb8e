//! Tests of resolving the provider of a model's name.

use std::collections::HashMap;

use haft_providers::{KnownModel, ModelsFile, model_catalog, resolve_model};

use crate::choosing::Stage;

/// Checks the provider of a model that is named while a model of another provider is in use, as `provider model`.
#[track_caller]
fn check_place(model: &str, asked: &str, fixed: bool, expect: &str) {
    let stage = Stage { vars: HashMap::from([("ANTHROPIC_API_KEY", "k")]), ..Stage::default() };
    let (provider, id) = resolve_model(model, asked, fixed, &ModelsFile::default(), &stage);
    assert_eq!(format!("{provider} {id}"), expect);
}

#[test]
fn resolves_model_named_beside_another() {
    check_place("gpt-4o", "openai", false, "openai gpt-4o");
    check_place("anthropic/claude-haiku-4-5", "openai", true, "anthropic claude-haiku-4-5");
    check_place("openai/gpt-4o", "openai", false, "openai gpt-4o");
    check_place("claude-haiku-4-5", "openai", false, "anthropic claude-haiku-4-5");
    // The user's own server may have any model.
    check_place("claude-haiku-4-5", "lab", true, "lab claude-haiku-4-5");
    check_place("lab/m", "lab", true, "lab m");
    check_place("nobody-knows", "anthropic", false, "anthropic nobody-knows");
    // There is no key for the provider.
    check_place("gemini-2.5-pro", "anthropic", false, "anthropic gemini-2.5-pro");
    // The prefix is part of the id.
    let whole = model_catalog();
    let routed =
        |known: &&KnownModel| known.provider == "openrouter" && known.model.starts_with("anthropic/");
    let id = whole.iter().find(routed).unwrap().model.clone();
    check_place(&id, "openrouter", false, &format!("openrouter {id}"));
}
