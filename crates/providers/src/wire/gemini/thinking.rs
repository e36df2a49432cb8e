//! The thinking options of each family of models (<https://ai.google.dev/gemini-api/docs/thinking>).
//!
//! The names of families also cover models that the catalog does not list, such as previews and revisions.

use serde::Serialize;

use crate::wire::ThinkingOption;

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThinkingConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
}

/// The families without the level `minimal`.
const WITHOUT_MINIMAL: [&str; 4] = ["gemini-3-pro", "gemini-3.1-pro", "gemini-3.7-flash", "gemini-3.8-flash"];

/// True for Gemini 3 and later, and for aliases without a version, such as `gemini-flash-latest`.
pub(super) fn is_gemini_3(model: &str) -> bool {
    let name = family_name(model);
    let Some(version) = name.strip_prefix("gemini-") else { return false };
    let major: String = version.chars().take_while(char::is_ascii_digit).collect();
    major.is_empty() || major.parse().is_ok_and(|major: u32| major >= 3)
}

/// Returns the thinking options; `None` if the model does not have this option.
pub(super) fn thinking_config(model: &str, thinking: ThinkingOption) -> Option<ThinkingConfig> {
    let name = family_name(model);
    let level = |level| Some(ThinkingConfig { thinking_level: Some(level), thinking_budget: None });
    let budget = |tokens| Some(ThinkingConfig { thinking_level: None, thinking_budget: Some(tokens) });
    match thinking {
        ThinkingOption::Off if name.starts_with("gemini-2.5-flash") => budget(0),
        ThinkingOption::Off if name.starts_with("gemma-") => level("minimal"),
        // Other models always think, or never.
        ThinkingOption::Off => None,
        ThinkingOption::Budget(tokens) => budget(tokens),
        ThinkingOption::Effort(_) if name.starts_with("gemini-") && !is_gemini_3(&name) => None,
        ThinkingOption::Effort(effort) => level(nearest_level(&name, effort)),
    }
}

fn nearest_level(name: &str, effort: &'static str) -> &'static str {
    match effort {
        "minimal" if WITHOUT_MINIMAL.iter().any(|family| name.starts_with(family)) => "low",
        "medium" if name.starts_with("gemini-3-pro") => "high",
        "xhigh" | "max" => "high",
        other => other,
    }
}

fn family_name(model: &str) -> String {
    let name = model.to_ascii_lowercase();
    name.strip_prefix("models/").map(str::to_owned).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_current_models() {
        for model in ["gemini-3-pro-preview", "models/Gemini-3.8-flash", "gemini-flash-latest", "gemini-12"] {
            assert!(is_gemini_3(model), "{model}");
        }
        for model in ["gemini-2.5-pro", "gemini-1.5-flash", "gemma-4-31b-it", "learnlm"] {
            assert!(!is_gemini_3(model), "{model}");
        }
    }

    #[track_caller]
    fn check(model: &str, thinking: ThinkingOption, expect: &str) {
        let config = thinking_config(model, thinking);
        assert_eq!(serde_json::to_string(&config).unwrap(), expect, "{model} {thinking:?}");
    }

    #[test]
    fn options_become_the_nearest_that_the_family_has() {
        use ThinkingOption::{Budget, Effort, Off};
        check("gemini-2.5-flash-lite-preview-09-2025", Off, r#"{"thinkingBudget":0}"#);
        check("gemini-2.5-flash", Budget(1_024), r#"{"thinkingBudget":1024}"#);
        check("gemini-2.5-flash-latest", Effort("high"), "null");
        check("gemini-2.5-pro", Off, "null");
        check("gemini-2.0-flash", Effort("high"), "null");
        check("gemini-3.8-flash-001", Effort("minimal"), r#"{"thinkingLevel":"low"}"#);
        check("gemini-3.6-flash", Effort("minimal"), r#"{"thinkingLevel":"minimal"}"#);
        check("gemini-3-pro-preview", Effort("medium"), r#"{"thinkingLevel":"high"}"#);
        check("gemini-9-pro", Effort("xhigh"), r#"{"thinkingLevel":"high"}"#);
        check("gemini-3.8-flash", Off, "null");
        check("gemma-4-31b-it", Off, r#"{"thinkingLevel":"minimal"}"#);
    }
}
