//! Where a model is that is named beside another.

use std::collections::HashMap;

use haft_providers::{KnownModel, ModelsFile, model_catalog, resolve_model};

use crate::choosing::Stage;

/// Where a model is that is named while one of another provider answers, as `provider model`.
#[track_caller]
fn check_place(model: &str, asked: &str, fixed: bool, expect: &str) {
    let stage = Stage { vars: HashMap::from([("ANTHROPIC_API_KEY", "k")]), ..Stage::default() };
    let (provider, id) = resolve_model(model, asked, fixed, &ModelsFile::default(), &stage);
    assert_eq!(format!("{provider} {id}"), expect);
}

#[test]
fn a_model_that_is_named_beside_another_has_its_place() {
    check_place("gpt-4o", "openai", false, "openai gpt-4o");
    check_place("anthropic/claude-haiku-4-5", "openai", true, "anthropic claude-haiku-4-5");
    check_place("openai/gpt-4o", "openai", false, "openai gpt-4o");
    check_place("claude-haiku-4-5", "openai", false, "anthropic claude-haiku-4-5");
    // The user's own server may have any model.
    check_place("claude-haiku-4-5", "lab", true, "lab claude-haiku-4-5");
    check_place("lab/m", "lab", true, "lab m");
    check_place("nobody-knows", "anthropic", false, "anthropic nobody-knows");
    // No key for it is there.
    check_place("gemini-2.5-pro", "anthropic", false, "anthropic gemini-2.5-pro");
    // It is part of the id there.
    let whole = model_catalog();
    let routed =
        |known: &&KnownModel| known.provider == "openrouter" && known.model.starts_with("anthropic/");
    let id = whole.iter().find(routed).unwrap().model.clone();
    check_place(&id, "openrouter", false, &format!("openrouter {id}"));
}
