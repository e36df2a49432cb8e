//! `ConfiguredAgent`: an agent with the user's settings, for programs that embed one.

use std::sync::Arc;

use haft_core::compact::CompactSettings;
use haft_core::model::Model;
use haft_core::{Agent, AgentBuilder};
use haft_protocol::project::{Project, ProjectTrust};
use haft_providers::{
    ChooseError, FallbackModel, ModelPreference, ModelsError, ModelsFile, OpenError, choose_model,
    split_provider,
};

use crate::auth::{AuthError, AuthFile};
use crate::file::ConfigError;
use crate::home::{Home, HomeError};
use crate::keys::{CompactionSettings, ConfigLayer, LayerError, LayerSource, Settings};
use crate::layers::{Config, ConfigFiles};
use crate::machine::MachineWithKeys;

/// An agent with the settings of the user: the model with its fallbacks, the thinking level and the limits.
///
/// Reads `config.toml`, `models.json` and `auth.json` in the user's directory of haft, and the environment variables that
/// set keys of `config.toml`. Does not read files of projects. The agent has no tools, because the user's gates, process
/// hooks and sandbox apply to the tools of `haft` and not to those of your program.
///
/// ```no_run
/// use haft_config::ConfiguredAgent;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let configured = ConfiguredAgent::of_user()?;
/// let agent = configured.agent_builder().await?.instructions("You answer in one word.").build()?;
/// println!("{}", agent.prompt("Which planet is the largest?").await?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ConfiguredAgent {
    config: Config,
    models: ModelsFile,
    auth: AuthFile,
}

/// The reason why the user's settings give no agent.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ConfiguredAgentError {
    /// The user's directory of haft is not known.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// `config.toml` has a mistake.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An environment variable has an invalid value.
    #[error(transparent)]
    Environment(#[from] LayerError),
    /// `models.json` has a mistake.
    #[error(transparent)]
    Models(#[from] ModelsError),
    /// `auth.json` cannot be used.
    #[error(transparent)]
    Keys(#[from] AuthError),
    /// No model can be chosen.
    #[error(transparent)]
    Choose(#[from] ChooseError),
    /// The model cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A name in `fallback` is not valid.
    #[error("fallback {name:?} is not of the form provider/model")]
    Fallback {
        /// The name.
        name: String,
    },
}

impl std::fmt::Debug for ConfiguredAgentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        haft_core::error::write_report(self, f)
    }
}

impl ConfiguredAgent {
    /// Reads the settings of the user.
    ///
    /// # Errors
    /// [`ConfiguredAgentError`] when the directory of haft is not known, or a file has a mistake.
    pub fn of_user() -> Result<Self, ConfiguredAgentError> {
        Self::from_home(&Home::locate()?)
    }

    /// Reads the settings in this directory of haft.
    ///
    /// # Errors
    /// [`ConfiguredAgentError`] when a file has a mistake.
    pub fn from_home(home: &Home) -> Result<Self, ConfiguredAgentError> {
        // Files of an untrusted project are not read.
        let project = Project { dir: home.root().to_owned(), trust: ProjectTrust::Untrusted };
        let models = ModelsFile::load(&home.models_file())?;
        let split = |model: &str, beside: Option<&str>| split_provider(model, beside, &models);
        let env = ConfigLayer::from_env(|name| std::env::var(name).ok())?;
        let flags = ConfigLayer::empty(LayerSource::Flags);
        let config = ConfigFiles::read(home, &project)?.merge(flags, env, &split)?;
        let auth = AuthFile::load(&home.auth_file())?;
        Ok(Self { config, models, auth })
    }

    /// Returns the settings, each with its origin.
    pub fn user_config(&self) -> &Config {
        &self.config
    }

    /// Opens the model, and returns the builder of the agent.
    ///
    /// # Errors
    /// [`ConfiguredAgentError`] when no model is available.
    pub async fn agent_builder(&self) -> Result<AgentBuilder, ConfiguredAgentError> {
        let settings = &self.config.settings;
        let builder = Agent::builder(self.open_model().await?)
            .thinking(settings.thinking.value)
            .compaction(CompactSettings::from(&self.config.compaction));
        Ok(match &settings.max_steps {
            Some(limit) => builder.max_steps(limit.value.get()),
            None => builder,
        })
    }

    /// Opens the model, with those in `fallback` behind it.
    ///
    /// # Errors
    /// [`ConfiguredAgentError`] when one of them cannot be opened.
    pub async fn open_model(&self) -> Result<Arc<dyn Model>, ConfiguredAgentError> {
        let settings = &self.config.settings;
        let first = ModelPreference::from(settings);
        let model = self.open(first.clone()).await?;
        let mut others = Vec::new();
        for name in settings.fallback.iter().flat_map(|set| &set.value) {
            let preference = fallback_preference(name, &first, &model.info().provider);
            let preference =
                preference.ok_or_else(|| ConfiguredAgentError::Fallback { name: name.clone() })?;
            let other = self.open(preference).await?;
            if other.info() != model.info() {
                others.push(other);
            }
        }
        Ok(if others.is_empty() { model } else { Arc::new(FallbackModel::new(model, others)) })
    }

    async fn open(&self, preference: ModelPreference) -> Result<Arc<dyn Model>, ConfiguredAgentError> {
        let chosen = choose_model(preference, &self.models, &MachineWithKeys::new(&self.auth)).await?;
        Ok(chosen.choice.open()?)
    }
}

impl From<&CompactionSettings> for CompactSettings {
    /// Returns the settings for the agent.
    fn from(settings: &CompactionSettings) -> Self {
        Self::default()
            .with_auto(settings.auto.value)
            .with_reserve(settings.reserve.as_ref().map(|sourced| sourced.value.get()))
            .with_keep(settings.keep.as_ref().map(|sourced| sourced.value.get()))
    }
}

impl From<&Settings> for ModelPreference {
    /// Returns the preference for the model of the settings.
    fn from(settings: &Settings) -> Self {
        let mut preference = Self::default();
        preference.provider = settings.provider.as_ref().map(|sourced| sourced.value.clone());
        preference.model = settings.model.as_ref().map(|sourced| sourced.value.clone());
        preference.base_url = settings.base_url.as_ref().map(|sourced| sourced.value.clone());
        preference
    }
}

/// Returns the preference for a model in `fallback`; `None` if the name is not of the form `provider/model`.
pub fn fallback_preference(
    name: &str,
    first: &ModelPreference,
    first_provider: &str,
) -> Option<ModelPreference> {
    let parts = name.split_once('/').filter(|(provider, model)| !provider.is_empty() && !model.is_empty());
    let (provider, model) = parts?;
    Some(preference_for_model(first, first_provider, provider, model))
}

/// Returns the preference for another model. A configured address and key belong to the provider of the first model,
/// so they apply only to models of that provider.
pub fn preference_for_model(
    first: &ModelPreference,
    first_provider: &str,
    provider: &str,
    model: &str,
) -> ModelPreference {
    let mut preference = if provider == first_provider { first.clone() } else { ModelPreference::default() };
    preference.provider = Some(provider.to_owned());
    preference.model = Some(model.to_owned());
    preference
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the settings of a home directory with this `config.toml` and the script `script.json`.
    fn configured(config: &str) -> (tempfile::TempDir, Result<ConfiguredAgent, ConfiguredAgentError>) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        std::fs::create_dir_all(home.root()).unwrap();
        let script = home.root().join("script.json");
        std::fs::write(&script, r#"{"steps": [{"say": [{"text": "ok"}]}]}"#).unwrap();
        let model = format!("provider = \"scripted\"\nmodel = {script:?}\n");
        std::fs::write(home.config_file(), format!("{model}{config}")).unwrap();
        let configured = ConfiguredAgent::from_home(&home);
        (dir, configured)
    }

    #[tokio::test]
    async fn agent_has_model_and_limits_of_the_user() {
        let (_dir, configured) = configured("max_steps = 3\nthinking = \"low\"\n");
        let agent = configured.unwrap().agent_builder().await.unwrap().build().unwrap();
        assert_eq!(agent.model().to_string(), "scripted/script");
        assert_eq!(agent.thinking().name(), "low");
        assert!(agent.tools().is_empty(), "the gates of the user would not see their calls");
        assert_eq!(agent.prompt("Hi").await.unwrap(), "ok");
    }

    #[tokio::test]
    async fn mistakes_in_the_settings_are_errors() {
        let (_dir, unknown) = configured("hue = 1\n");
        assert!(matches!(unknown, Err(ConfiguredAgentError::Config(_))), "{unknown:?}");
        let (_dir, named) = configured("fallback = [\"x\"]\n");
        let error = named.unwrap().agent_builder().await.unwrap_err();
        assert_eq!(error.to_string(), "fallback \"x\" is not of the form provider/model");
    }
}
