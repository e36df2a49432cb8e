//! The format of `models.json`, and its errors.

use std::collections::BTreeMap;

use haft_core::model::{ModelFacts, ThinkingLevel, TokenPrices};
use reqwest::Url;
use reqwest::header::HeaderName;
use serde::Deserialize;

use super::ConfiguredProvider;
use super::is_variable;
use crate::config::ApiDialect;
use crate::presets::find_preset;

#[derive(Debug)]
pub(super) enum FileParseError {
    Syntax(String),
    Field { field: String, detail: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModelsFile {
    #[serde(default, rename = "$schema")]
    _schema: Option<String>,
    providers: BTreeMap<String, RawProvider>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProvider {
    dialect: Option<ApiDialect>,
    base_url: Option<String>,
    key_env: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    default_model: Option<String>,
    #[serde(default)]
    models: BTreeMap<String, RawModel>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModel {
    name: Option<String>,
    window: Option<u64>,
    max_output: Option<u64>,
    thinking: Option<Vec<ThinkingLevel>>,
    images: Option<bool>,
    prices: Option<RawPrices>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPrices {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

pub(super) fn parse(bytes: &[u8]) -> Result<BTreeMap<String, ConfiguredProvider>, FileParseError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let written: RawModelsFile = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let field = error.path().to_string();
        let inner = error.into_inner();
        if !inner.is_data() || field == "." {
            return FileParseError::Syntax(inner.to_string());
        }
        // Values of headers may be secrets, and serde quotes invalid values.
        let place = format!("line {}, column {}", inner.line(), inner.column());
        let secret = field.contains(".headers") || field.ends_with("key_env");
        let detail = if secret { format!("must be a string, at {place}") } else { inner.to_string() };
        FileParseError::Field { field, detail }
    })?;
    reader.end().map_err(|error| FileParseError::Syntax(error.to_string()))?;
    written.providers.into_iter().map(|(name, own)| Ok((name.clone(), parse_provider(&name, own)?))).collect()
}

fn parse_provider(name: &str, written: RawProvider) -> Result<ConfiguredProvider, FileParseError> {
    let at = |field: &str, detail: &str| FileParseError::Field {
        field: format!("providers.{name}{field}"),
        detail: detail.to_owned(),
    };
    if name.trim().is_empty() || name.contains(['/', ',']) || name == "scripted" {
        return Err(at("", "is not a valid provider name; use a name without / and ,"));
    }
    if written.base_url.as_deref().is_some_and(|url| !is_address(url)) {
        return Err(at(".base_url", "must be an http or https address"));
    }
    if written.base_url.is_none() && find_preset(name).is_none_or(|preset| preset.base_url.is_none()) {
        return Err(at(".base_url", "is missing; set the address of this provider"));
    }
    if written.key_env.as_deref().is_some_and(|variable| !is_variable(variable)) {
        return Err(at(".key_env", "must be the name of a variable, not a key"));
    }
    if let Some(header) = written.headers.keys().find(|name| name.parse::<HeaderName>().is_err()) {
        return Err(at(
            &format!(".headers.{header}"),
            "has characters that HTTP does not allow in a header name",
        ));
    }
    let mut models = BTreeMap::new();
    for (id, written) in written.models {
        if id.trim().is_empty() {
            return Err(at(".models", "has a model without a name"));
        }
        let wrong = |(field, detail): (&str, &str)| at(&format!(".models.{id}.{field}"), detail);
        models.insert(id.clone(), parse_facts(written).map_err(wrong)?);
    }
    Ok(ConfiguredProvider {
        dialect: written.dialect,
        base_url: written.base_url,
        key_env: written.key_env,
        headers: written.headers.into_iter().collect(),
        default_model: written.default_model,
        models,
    })
}

/// Returns the facts, or the invalid field and its expected value.
fn parse_facts(written: RawModel) -> Result<ModelFacts, (&'static str, &'static str)> {
    for (field, tokens) in [("window", written.window), ("max_output", written.max_output)] {
        if tokens == Some(0) {
            return Err((field, "must be at least 1 token"));
        }
    }
    let thinking = match written.thinking {
        Some(levels) if levels.is_empty() || levels.contains(&ThinkingLevel::Default) => {
            return Err(("thinking", "must list levels: off, minimal, low, medium, high, xhigh"));
        }
        Some(mut levels) => {
            levels.sort_unstable();
            levels.dedup();
            Some(levels)
        }
        None => None,
    };
    if let Some(prices) = &written.prices {
        let all = [Some(prices.input), Some(prices.output), prices.cache_read, prices.cache_write];
        if all.into_iter().flatten().any(|price| !price.is_finite() || price < 0.0) {
            return Err(("prices", "must be dollars per million tokens, 0 or more"));
        }
    }
    let prices = written.prices.map(|prices| {
        TokenPrices::new(prices.input, prices.output)
            .with_cache_read(prices.cache_read)
            .with_cache_write(prices.cache_write)
    });
    let mut facts = ModelFacts::default()
        .with_window(written.window)
        .with_max_output(written.max_output)
        .with_thinking(thinking)
        .with_images(written.images)
        .with_prices(prices);
    facts.name = written.name;
    Ok(facts)
}

fn is_address(text: &str) -> bool {
    Url::parse(text.trim()).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAB: &str = r#"{"providers": {"lab": {"base_url": "http://lab:1/v1", "models": {"m": MODEL}}}}"#;

    #[track_caller]
    fn check(text: &str, place: &str, says: &str) {
        match parse(text.as_bytes()).unwrap_err() {
            FileParseError::Syntax(detail) => assert!(place == "-" && detail.contains(says), "{detail}"),
            FileParseError::Field { field, detail } => {
                assert!(field == place && detail.contains(says), "{field}: {detail}");
                assert!(!detail.contains("sk-"), "{detail}");
            }
        }
    }

    #[track_caller]
    fn check_model(model: &str, place: &str, says: &str) {
        check(&LAB.replace("MODEL", model), &format!("providers.lab.models.m{place}"), says);
    }

    #[test]
    fn reports_position_of_every_error() {
        check("{", "-", "line 1");
        check("7", "-", "invalid type");
        check("{} {}", "-", "missing field `providers`");
        check(r#"{"providers": {}} x"#, "-", "trailing");
        let lab = |fields: &str| format!(r#"{{"providers": {{"lab": {{{fields}}}}}}}"#);
        check(&lab(r#""dialect": "soap""#), "providers.lab.dialect", "openai-chat");
        check(&lab(r#""url": "http://x""#), "providers.lab.url", "unknown field");
        check(&lab(r#""base_url": "lab:8000""#), "providers.lab.base_url", "http");
        check(&lab(""), "providers.lab.base_url", "is missing");
        let at = |more: &str| lab(&format!(r#""base_url": "http://lab:1", {more}"#));
        check(&at(r#""key_env": "sk-123""#), "providers.lab.key_env", "not a key");
        check(&at(r#""headers": {"x-key": ["sk-123"]}"#), "providers.lab.headers.x-key", "line 1");
        check(&at(r#""headers": {"a b": "c"}"#), "providers.lab.headers.a b", "header");
        check(r#"{"providers": {"a/b": {"base_url": "http://x"}}}"#, "providers.a/b", "provider name");
    }

    #[test]
    fn reports_position_of_every_model_error() {
        check_model(r#"{"window": 0}"#, ".window", "at least 1");
        check_model(r#"{"window": "128k"}"#, ".window", "invalid type");
        check_model(r#"{"max_output": -1}"#, ".max_output", "-1");
        check_model(r#"{"thinking": ["lots"]}"#, ".thinking[0]", "xhigh");
        check_model(r#"{"thinking": []}"#, ".thinking", "must list");
        check_model(r#"{"prices": {"input": 1}}"#, ".prices", "missing field `output`");
        check_model(r#"{"prices": {"input": 1, "output": -2}}"#, ".prices", "0 or more");
        check_model(r#"{"contextWindow": 1}"#, ".contextWindow", "unknown field");
    }

    #[test]
    fn a_whole_entry_is_read() {
        let model = r#"{"name": "M", "window": 9, "max_output": 3, "thinking": ["high", "off", "high"], "images": true,
            "prices": {"input": 1, "output": 2.5, "cache_read": 0}}"#;
        let providers = parse(LAB.replace("MODEL", model).as_bytes()).unwrap();
        let facts = &providers["lab"].models["m"];
        assert_eq!((facts.window, facts.max_output, facts.images), (Some(9), Some(3), Some(true)));
        assert_eq!(facts.thinking, Some(vec![ThinkingLevel::Off, ThinkingLevel::High]));
        let prices = TokenPrices::new(1.0, 2.5).with_cache_read(0.0);
        assert_eq!(facts.prices, Some(prices));
    }

    #[test]
    fn a_preset_needs_no_address() {
        let text = r#"{"$schema": "s", "providers": {"anthropic": {"models": {"claude-x": {}}}}}"#;
        assert_eq!(parse(text.as_bytes()).unwrap()["anthropic"].models.len(), 1);
    }
}
