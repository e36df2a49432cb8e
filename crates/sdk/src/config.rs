//! Reads the user's settings for the extension.

use serde::de::DeserializeOwned;

/// The user's settings for this extension are invalid.
#[derive(Debug, thiserror::Error)]
#[error("{setting}{}: {problem}; correct [extension.NAME] in config.toml", if setting.is_empty() { "the settings" } else { "" })]
pub struct ConfigError {
    setting: String,
    problem: String,
}

impl ConfigError {
    pub(crate) fn read<T: DeserializeOwned>(json: &str) -> Result<T, Self> {
        let mut reader = serde_json::Deserializer::from_str(json);
        serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let path = error.path().to_string();
            let setting = if path == "." { String::new() } else { path };
            Self { setting, problem: without_value(&error.inner().to_string()) }
        })
    }
}

/// Returns serde's message without the quoted value, which may be a secret, and without the
/// position in JSON that the user never wrote.
fn without_value(message: &str) -> String {
    let message = message.rsplit_once(" at line ").map_or(message, |(message, _)| message);
    match message.strip_prefix("invalid ").and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((_, expected)) => format!("expected {expected}"),
        None if message.starts_with("unknown variant") => {
            let expected = message.split_once(", expected ").map_or("another word", |(_, expected)| expected);
            format!("expected {expected}")
        }
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Settings {
        units: Units,
        days: u8,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Units {
        #[default]
        Si,
        Imperial,
    }

    #[track_caller]
    fn check(json: &str, expect: &str) {
        let error = ConfigError::read::<Settings>(json).unwrap_err().to_string();
        assert_eq!(error, format!("{expect}; correct [extension.NAME] in config.toml"));
    }

    #[test]
    fn error_names_the_setting_without_its_value() {
        check(r#"{"days":"sk-1"}"#, "days: expected u8");
        check(r#"{"days":70000}"#, "days: expected u8");
        check(r#"{"units":"sk-1"}"#, "units: expected `si` or `imperial`");
        check(r#"{"unit":"si"}"#, "unit: unknown field `unit`, expected `units` or `days`");
        assert_eq!(ConfigError::read::<Settings>("{}").unwrap(), Settings::default());
        let set = ConfigError::read::<Settings>(r#"{"units":"imperial","days":3}"#).unwrap();
        assert_eq!(set, Settings { units: Units::Imperial, days: 3 });
    }
}
