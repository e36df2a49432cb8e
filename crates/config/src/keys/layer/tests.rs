//! Tests of merging layers.

use std::num::NonZeroU32;

use haft_protocol::thinking::ThinkingLevel;

use super::*;
use crate::file::ParsedConfigFile;

fn layer(
    place: LayerSource,
    provider: Option<&str>,
    model: Option<&str>,
    base_url: Option<&str>,
) -> ConfigLayer {
    let values = ConfigFile {
        provider: provider.map(Into::into),
        model: model.map(Into::into),
        base_url: base_url.map(Into::into),
        ..ConfigFile::default()
    };
    ConfigLayer::new(place, values)
}

fn in_file() -> LayerSource {
    let text = "provider = 'p'\nmodel = 'm'\nbase_url = 'u'";
    LayerSource::File(ParsedConfigFile::parse(std::path::Path::new("config.toml"), text).unwrap().source)
}

fn shown(value: &Option<SourcedValue<String>>) -> String {
    value.as_ref().map_or_else(|| "-".into(), |value| format!("{} ({})", value.value, value.origin))
}

#[track_caller]
fn check(layers: &[ConfigLayer], expect: [&str; 3]) {
    check_apart(layers.to_vec(), expect);
}

/// Same as [`check`], with `lab` and `dn` as known providers.
#[track_caller]
fn check_apart(mut layers: Vec<ConfigLayer>, expect: [&str; 3]) {
    let got = Settings::merge(&mut layers, &|model, beside| {
        let (provider, id) = model.split_once('/')?;
        let known = ["lab", "dn"].contains(&provider) && beside.is_none_or(|beside| beside == provider);
        known.then(|| (provider.to_owned(), id.to_owned()))
    });
    assert_eq!([shown(&got.provider), shown(&got.model), shown(&got.base_url)], expect);
}

fn merge(layer: ConfigLayer) -> Settings {
    Settings::merge(&mut [layer], &|_, _| None)
}

#[test]
fn stronger_layer_wins_with_its_origin() {
    let flags = layer(LayerSource::Flags, None, Some("f"), None);
    let env = layer(LayerSource::Env, Some("openai"), Some("e"), None);
    let file = layer(in_file(), Some("openai"), None, Some("http://c"));
    check(&[flags, env, file], ["openai (HAFT_PROVIDER)", "f (--model)", "http://c (config.toml:3)"]);
    check(&[], ["-", "-", "-"]);
}

#[test]
fn drops_model_and_address_of_another_provider() {
    let flags = layer(LayerSource::Flags, Some("openai"), None, None);
    let file = layer(in_file(), Some("anthropic"), Some("claude"), Some("http://proxy"));
    check(&[flags.clone(), file], ["openai (--provider)", "-", "-"]);
    let nameless = layer(in_file(), None, None, Some("http://proxy"));
    check(&[flags, nameless], ["openai (--provider)", "-", "http://proxy (config.toml:3)"]);
}

#[test]
fn unset_keys_have_defaults() {
    let got =
        merge(ConfigLayer::from_env(|name| (name == "HAFT_THINKING").then(|| "low".to_owned())).unwrap());
    assert_eq!(
        got.thinking,
        SourcedValue { value: ThinkingLevel::Low, origin: SettingOrigin::Env("HAFT_THINKING") }
    );
    assert_eq!(got.max_steps, None);
}

#[test]
fn reads_and_validates_environment() {
    let with = |name: &'static str, value: &'static str| {
        ConfigLayer::from_env(move |asked| (asked == name).then(|| value.to_owned()))
    };
    assert_eq!(with("HAFT_MAX_STEPS", "3").unwrap().values.max_steps, NonZeroU32::new(3));
    assert_eq!(with("HAFT_FALLBACK", "a/b, c/d").unwrap().values.fallback.unwrap(), ["a/b", "c/d"]);
    assert_eq!(with("HAFT_FALLBACK", "a/b, ,").unwrap().values.fallback.unwrap(), ["a/b"]);
    assert_eq!(with("HAFT_MODEL", "").unwrap(), ConfigLayer::empty(LayerSource::Env));
    let error = with("HAFT_MAX_STEPS", "0").unwrap_err().to_string();
    assert_eq!(error, r#"HAFT_MAX_STEPS="0" is not valid: expected a whole number of at least 1"#);
    assert_eq!(with("HAFT_THINKING", "xhigh").unwrap().values.thinking, Some(ThinkingLevel::XHigh));
    let former = merge(with("HAFT_REASONING", "low").unwrap()).thinking;
    assert_eq!(
        former,
        SourcedValue { value: ThinkingLevel::Low, origin: SettingOrigin::Env("HAFT_REASONING") }
    );
    let error = with("HAFT_REASONING", "lots").unwrap_err().to_string();
    assert!(
        error.starts_with("HAFT_REASONING") && error.contains(&ThinkingLevel::NAMES[..6].join("`, `")),
        "{error}"
    );
}

#[test]
fn only_former_names_are_reported() {
    let variable = |name: &'static str, value: &'static str| {
        ConfigLayer::from_env(move |asked| (asked == name).then(|| value.to_owned())).unwrap()
    };
    let flags = ConfigLayer::empty(LayerSource::Flags);
    let former = |mut layer: ConfigLayer| {
        // A model's name with a provider sets the provider as well.
        Settings::merge(std::slice::from_mut(&mut layer), &|model, _| {
            model.split_once('/').map(|(provider, id)| (provider.to_owned(), id.to_owned()))
        });
        layer.former_names().collect::<Vec<_>>()
    };
    assert_eq!(
        former(variable("HAFT_REASONING", "low")),
        ["the variable `HAFT_REASONING` is now `HAFT_THINKING`; the former name still works"]
    );
    assert_eq!(
        former(flags.with_former_flag("thinking", "--reasoning")),
        ["the flag `--reasoning` is now `--thinking`; the former name still works"]
    );
    assert!(former(variable("HAFT_THINKING", "low")).is_empty());
    assert!(former(variable("HAFT_MODEL", "anthropic/claude")).is_empty());
}

#[test]
fn every_thinking_level_is_read_under_both_names() {
    for (name, level) in ThinkingLevel::NAMES.into_iter().zip(ThinkingLevel::ALL.iter().copied()) {
        for key in ["thinking", "reasoning"] {
            let text = format!("\n{key} = '{name}'");
            let file = ParsedConfigFile::parse(std::path::Path::new("c"), &text).unwrap();
            assert_eq!(file.content.thinking, Some(level));
            let settings = merge(file.layer());
            assert_eq!(settings.thinking.origin.to_string(), "c:2");
        }
    }
}

#[test]
fn provider_in_model_name_overrides_weaker_provider_and_address() {
    let file = || layer(in_file(), Some("lab"), Some("big"), Some("http://lab"));
    let flags = |model| layer(LayerSource::Flags, None, Some(model), None);
    check_apart(vec![flags("dn/x"), file()], ["dn (--model)", "x (--model)", "-"]);
    let lab = ["lab (--model)", "tiny (--model)", "http://lab (config.toml:3)"];
    check_apart(vec![flags("lab/tiny"), file()], lab);
    check_apart(vec![flags("x/y"), file()], ["lab (config.toml:1)", "x/y (--model)", lab[2]]);
    let variables = layer(LayerSource::Env, None, Some("dn/x"), None);
    check_apart(
        vec![layer(LayerSource::Flags, None, None, None), variables, file()],
        ["dn (HAFT_MODEL)", "x (HAFT_MODEL)", "-"],
    );
    let in_file = layer(in_file(), None, Some("dn/x"), None);
    check_apart(vec![in_file.clone()], ["dn (config.toml:2)", "x (config.toml:2)", "-"]);
    check_apart(
        vec![layer(LayerSource::Flags, Some("lab"), None, None), in_file],
        ["lab (--provider)", "-", "-"],
    );
}

#[test]
fn strips_only_the_given_provider_from_model_name() {
    let beside = |provider, model, url| layer(LayerSource::Flags, Some(provider), Some(model), Some(url));
    check_apart(
        vec![beside("lab", "lab/tiny", "u")],
        ["lab (--provider)", "tiny (--model)", "u (--base-url)"],
    );
    check_apart(vec![beside("lab", "dn/x", "u")], ["lab (--provider)", "dn/x (--model)", "u (--base-url)"]);
    let variables = layer(LayerSource::Env, None, Some("lab/tiny"), None);
    check_apart(
        vec![layer(LayerSource::Flags, Some("lab"), None, None), variables],
        ["lab (--provider)", "tiny (HAFT_MODEL)", "-"],
    );
}

#[test]
fn a_server_without_a_name_is_asked_for_any_model() {
    let flags = layer(LayerSource::Flags, None, Some("dn/x"), None);
    let variables = layer(LayerSource::Env, None, None, Some("http://vllm"));
    let all = ["-", "dn/x (--model)", "http://vllm (HAFT_BASE_URL)"];
    check_apart(vec![flags.clone(), variables.clone()], all);
    let file = layer(in_file(), Some("lab"), None, None);
    check_apart(vec![flags, variables, file], ["lab (config.toml:1)", all[1], all[2]]);
}
