//! `config.toml`: what the user set once for all runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use haft_protocol::thinking::Thinking;
use serde::Deserialize;

use crate::settings::{Layer, Origin};

/// The content of `config.toml`. A key that haft does not know is an error, so that a typing mistake does not
/// pass for a setting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigFile {
    /// The provider to ask: `anthropic`, `openai`, …
    pub provider: Option<String>,
    /// The model's id at that provider.
    pub model: Option<String>,
    /// Where the provider is reached, for compatible servers.
    pub base_url: Option<String>,
    /// How much the model should think; also read as `reasoning`, its former name.
    #[serde(alias = "reasoning")]
    pub thinking: Option<Thinking>,
    /// Models to ask while the first cannot be asked, each as `provider/model`.
    pub fallback: Option<Vec<String>>,
    /// How many steps one prompt may take; at least 1.
    pub max_steps: Option<std::num::NonZeroU32>,
    /// Whether an extension that has not changed since it last ran may wait for its first use; it may unless this is
    /// `false`.
    pub lazy_start: Option<bool>,
    /// Settings of single extensions, by the name in their manifests.
    #[serde(default)]
    pub extensions: BTreeMap<String, ExtensionSettings>,
}

/// What the user set for one extension.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtensionSettings {
    /// Environment variables that the extension gets beside those that all get, by name.
    #[serde(default)]
    pub env: Vec<String>,
    /// What happens when the extension, asked as a gate, does not answer.
    pub on_timeout: Option<OnTimeout>,
}

/// What a gate's silence means. Only the user can choose; an extension cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnTimeout {
    /// The action does not happen; haft's default for gates.
    Block,
    /// The action happens, and the failure is reported.
    Allow,
}

/// `config.toml` could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file is there and cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("{} has a mistake: {detail}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line, a mark below the place, and what was expected.
        detail: String,
    },
}

impl ConfigFile {
    /// Reads the file; a file that does not exist sets nothing.
    ///
    /// # Errors
    /// [`ConfigError`] when it cannot be read or has a mistake in it.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text)
                .map_err(|error| ConfigError::Parse { path: path.into(), detail: error.to_string() }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(ConfigError::Read { path: path.into(), source }),
        }
    }

    fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// The settings that flags and environment can overrule.
    pub fn layer(&self) -> Layer {
        Layer {
            origin: Origin::File,
            provider: self.provider.clone(),
            model: self.model.clone(),
            base_url: self.base_url.clone(),
            thinking: self.thinking,
            fallback: self.fallback.clone(),
            max_steps: self.max_steps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_key() {
        let file = ConfigFile::parse(
            "provider = 'anthropic'\nmodel = 'm'\nbase_url = 'http://127.0.0.1:1'\nthinking = 'high'\n\
             max_steps = 7\nfallback = ['a/b']\nlazy_start = false\n[extensions.guard]\non_timeout = 'allow'\n\
             [extensions.weather]\nenv = ['WEATHER_TOKEN']\n",
        )
        .unwrap();
        assert_eq!(file.layer().max_steps.map(u32::from), Some(7));
        assert_eq!(file.thinking, Some(Thinking::High));
        assert_eq!(file.fallback.unwrap(), ["a/b"]);
        assert_eq!(file.lazy_start, Some(false));
        assert_eq!(file.extensions["guard"].on_timeout, Some(OnTimeout::Allow));
        assert_eq!(file.extensions["weather"].env, ["WEATHER_TOKEN"]);
    }

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let error = ConfigFile::parse(text).unwrap_err().to_string();
        for part in expect {
            assert!(error.contains(part), "{error} should contain {part}");
        }
    }

    #[test]
    fn a_mistake_is_shown_with_its_line() {
        check("provider = 'a'\nmodle = 'b'\n", &["line 2", "modle = 'b'", "unknown field", "`model`"]);
        check("thinking = 'hard'", &["line 1", "unknown variant", "high"]);
        check("max_steps = 0", &["line 1", "nonzero"]);
        check("[extensions.guard]\non_timeout = 'alow'", &["line 2", "`allow`"]);
        check("[extensions.guard]\ntimeout = 3", &["line 2", "unknown field", "on_timeout"]);
        check("provider = ", &["line 1"]);
    }

    #[test]
    fn no_file_sets_nothing_and_an_unreadable_one_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(ConfigFile::load(&dir.path().join("none.toml")).unwrap(), ConfigFile::default());
        assert!(matches!(ConfigFile::load(dir.path()), Err(ConfigError::Read { .. })));
        let path = dir.path().join("config.toml");
        std::fs::write(&path, "x = 1").unwrap();
        let error = ConfigFile::load(&path).unwrap_err().to_string();
        assert!(error.contains("config.toml has a mistake: ") && error.contains("line 1"), "{error}");
    }
}
