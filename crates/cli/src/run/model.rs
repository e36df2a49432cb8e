//! Which model answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use async_trait::async_trait;
use haft_config::{AuthFile, SecretString, SettingOrigin, Settings};
use haft_core::model::{Model, ModelInfo, ModelSource, ThinkingLevel};
use haft_providers::{
    EnvironmentProbe, FallbackModel, ModelChoice, ModelConfig, ModelPreference, ModelsFile, SystemProbe,
    choose_model, resolve_model,
};

use crate::args::RunArgs;
use crate::exit::{Exit, OrExit as _};
use crate::setup::RunSetup;

pub(super) async fn choose(args: &RunArgs, setup: &RunSetup) -> anyhow::Result<Arc<dyn Model>> {
    open(model_preferences(args, setup), setup).await
}

/// This model, with what flags, environment and files say beside its name.
pub(super) async fn choose_named(
    args: &RunArgs,
    setup: &RunSetup,
    provider: &str,
    model: &str,
) -> anyhow::Result<Arc<dyn Model>> {
    let mut wish = model_preferences(args, setup);
    let other = wish.provider.as_ref().is_some_and(|wished| wished != provider);
    if other && args.model.base_url.is_none() {
        // It belongs to the provider that the settings name.
        wish.base_url = None;
    }
    let (provider, model) = (Some(provider.to_owned()), Some(model.to_owned()));
    open(ModelPreference { provider, model, ..wish }, setup).await
}

/// The model that a client names while one of the provider `asked` answers. What is set for the provider of the `first`
/// model holds for no other one.
pub(crate) async fn choose_by_name(
    args: &RunArgs,
    setup: &RunSetup,
    first: &ModelInfo,
    name: &str,
    asked: &ModelInfo,
) -> anyhow::Result<Arc<dyn Model>> {
    let (_, fixed) = provider_of(&model_preferences(args, setup), setup.settings(), first);
    let (provider, model) =
        resolve_model(name, &asked.provider, fixed, &setup.models, &MachineWithKeys::new(&setup.auth));
    choose_for_client(args, setup, first, &provider, &model).await
}

/// The model that a client has chosen, with what is set for the provider of the `first` model where it is that one's.
pub(super) async fn choose_for_client(
    args: &RunArgs,
    setup: &RunSetup,
    first: &ModelInfo,
    provider: &str,
    model: &str,
) -> anyhow::Result<Arc<dyn Model>> {
    let wish = model_preferences(args, setup);
    let (owner, _) = provider_of(&wish, setup.settings(), first);
    open(preferences_for_model(&wish, &owner, provider, model), setup).await
}

/// The provider that a wish is about, and whether the user has set it, and not only a key for one.
fn provider_of(wish: &ModelPreference, settings: &Settings, asked: &ModelInfo) -> (String, bool) {
    let named = settings.provider.as_ref().map(|set| set.value.clone());
    let compatible = || wish.base_url.as_ref().map(|_| "compatible".to_owned());
    let fixed = named.or_else(compatible);
    (fixed.clone().unwrap_or_else(|| asked.provider.clone()), fixed.is_some())
}

/// Returns the wishes of flags, environment and files for the model.
pub(super) fn model_preferences(args: &RunArgs, setup: &RunSetup) -> ModelPreference {
    let settings = setup.settings();
    ModelPreference {
        provider: settings.provider.as_ref().map(|sourced| sourced.value.clone()),
        model: settings.model.as_ref().map(|sourced| sourced.value.clone()),
        api_key: args.model.api_key.clone(),
        base_url: settings.base_url.as_ref().map(|sourced| sourced.value.clone()),
        ..ModelPreference::default()
    }
}

async fn open(wish: ModelPreference, setup: &RunSetup) -> anyhow::Result<Arc<dyn Model>> {
    let machine = MachineWithKeys::new(&setup.auth);
    let settings = setup.settings();
    let first = wish.clone();
    let model = open_one(wish, setup, &machine).await?;
    let mut others: Vec<Arc<dyn Model>> = Vec::new();
    let fallback = settings.fallback.as_ref().map(|sourced| sourced.value.as_slice()).unwrap_or_default();
    for named in fallback {
        let other = fallback_preferences(named, &first, &model.info().provider)
            .or_exit(exit_for_origin(settings.fallback.as_ref().map(|set| set.origin.clone())))?;
        let other = open_one(other, setup, &machine).await.with_context(|| format!("fallback {named}"))?;
        if other.info() != model.info() {
            others.push(other);
        }
    }
    Ok(if others.is_empty() { model } else { Arc::new(FallbackModel::new(model, others)) })
}

async fn open_one(
    wish: ModelPreference,
    setup: &RunSetup,
    machine: &MachineWithKeys<'_>,
) -> anyhow::Result<Arc<dyn Model>> {
    let chosen = choose_model(wish, &setup.models, machine).await.or_exit(Exit::NoProvider)?;
    let named = match &chosen.choice {
        ModelChoice::Scripted(_) => &setup.settings().model,
        ModelChoice::Http(_) => &setup.settings().base_url,
    };
    let model =
        chosen.choice.open().or_exit(exit_for_origin(named.as_ref().map(|set| set.origin.clone())))?;
    let info = model.info();
    tracing::info!("using {}/{}, {}", info.provider, info.model, chosen.because);
    Ok(model)
}

fn fallback_preferences(
    named: &str,
    first: &ModelPreference,
    first_provider: &str,
) -> anyhow::Result<ModelPreference> {
    let parts = named.split_once('/').filter(|(provider, model)| !provider.is_empty() && !model.is_empty());
    let (provider, model) =
        parts.with_context(|| format!("fallback {named:?} is not of the form provider/model"))?;
    Ok(preferences_for_model(first, first_provider, provider, model))
}

/// Address and key that are set belong to the first model's provider: another model of it is asked there and with that, and
/// one of another provider is not.
fn preferences_for_model(
    first: &ModelPreference,
    first_provider: &str,
    provider: &str,
    model: &str,
) -> ModelPreference {
    let same = if provider == first_provider { first.clone() } else { ModelPreference::default() };
    ModelPreference { provider: Some(provider.to_owned()), model: Some(model.to_owned()), ..same }
}

/// Returns a note when the model does not have the level that was asked for. Nothing is looked up where none was.
pub(crate) fn thinking_level_note(model: &dyn Model, wanted: ThinkingLevel) -> Option<String> {
    if wanted == ThinkingLevel::Default {
        return None;
    }
    let level = model.facts().clamp_thinking(wanted);
    let info = model.info();
    (level != wanted).then(|| {
        if level == ThinkingLevel::Off {
            return format!("haft: {info} does not think; --thinking {wanted} changes nothing");
        }
        format!("haft: {info} has no thinking level {wanted}; {level} is used")
    })
}

/// Returns the exit code when something that was named cannot be used: who named it by a flag mistyped a flag.
fn exit_for_origin(named: Option<SettingOrigin>) -> Exit {
    if matches!(named, Some(SettingOrigin::Flag(_))) { Exit::Usage } else { Exit::Configuration }
}

/// This machine, with the keys of `auth.json` behind those of the environment.
pub(super) struct MachineWithKeys<'a> {
    machine: SystemProbe,
    auth: &'a AuthFile,
}

impl<'a> MachineWithKeys<'a> {
    pub(super) fn new(auth: &'a AuthFile) -> Self {
        Self { machine: SystemProbe::default(), auth }
    }
}

#[async_trait]
impl EnvironmentProbe for MachineWithKeys<'_> {
    fn var(&self, name: &str) -> Option<String> {
        self.machine.var(name)
    }

    fn key(&self, provider: &str) -> Option<SecretString> {
        self.auth.key(provider).cloned()
    }

    async fn is_listening(&self, port: u16) -> bool {
        self.machine.is_listening(port).await
    }

    async fn list_models(&self, server: &ModelConfig) -> Vec<String> {
        self.machine.list_models(server).await
    }
}

/// The most models that are kept: each has connections of its own.
const MOST: usize = 16;

/// Finds a model as `--model` does. One of the provider that the user has set an address or a key for is asked there and with
/// that; one of another provider is not.
pub(crate) struct ModelResolver {
    first: ModelPreference,
    /// The provider that `first` is about.
    provider: String,
    /// True if the user has set the provider, and not only a key for one.
    fixed: bool,
    models: ModelsFile,
    auth: AuthFile,
    /// Those that were named, by provider and id.
    opened: Mutex<HashMap<(String, String), Arc<dyn Model>>>,
}

impl ModelResolver {
    /// `first`: what flags, environment and files say of the model that is asked when the run begins.
    pub(super) fn new(
        first: ModelPreference,
        settings: &Settings,
        models: ModelsFile,
        auth: AuthFile,
        asked: &ModelInfo,
    ) -> Self {
        let (provider, fixed) = provider_of(&first, settings, asked);
        Self { fixed, provider, first, models, auth, opened: Mutex::default() }
    }

    async fn open(&self, provider: &str, model: &str) -> anyhow::Result<Arc<dyn Model>> {
        let wish = preferences_for_model(&self.first, &self.provider, provider, model);
        Ok(choose_model(wish, &self.models, &MachineWithKeys::new(&self.auth)).await?.choice.open()?)
    }
}

#[async_trait]
impl ModelSource for ModelResolver {
    async fn model(&self, name: &str, asked: &ModelInfo) -> Result<Arc<dyn Model>, String> {
        let at =
            resolve_model(name, &asked.provider, self.fixed, &self.models, &MachineWithKeys::new(&self.auth));
        let opened = || self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = opened().get(&at) {
            return Ok(Arc::clone(model));
        }
        let model = self.open(&at.0, &at.1).await.map_err(|error| format!("{error:#}"))?;
        let mut opened = opened();
        if opened.len() >= MOST {
            opened.clear();
        }
        opened.insert(at, Arc::clone(&model));
        Ok(model)
    }
}
