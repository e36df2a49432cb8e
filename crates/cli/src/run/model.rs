//! Selects the model of a run.

mod no_model;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use async_trait::async_trait;
use haft_config::{
    AuthFile, MachineWithKeys, SettingOrigin, Settings, fallback_preference, nearest_name,
    preference_for_model,
};
use haft_core::model::{Model, ModelId, ModelSource, ThinkingLevel};
use haft_providers::{
    ChooseError, FallbackModel, ModelChoice, ModelPreference, ModelsFile, choose_model, resolve_model,
};

use crate::advice::{error_advice, error_text};
use crate::args::RunArgs;
use crate::console::note;
use crate::exit::{Exit, OrExit as _};
use crate::setup::RunSetup;
use haft_core::sanitize::sanitize_line;

use super::list::model_ids;
use no_model::NoModel;

pub(super) async fn choose(args: &RunArgs, setup: &RunSetup) -> anyhow::Result<Arc<dyn Model>> {
    open(model_preferences(args, setup), setup).await
}

/// Returns a model without answers in place of one that is not configured. The user then selects one. Other errors
/// remain, and those about flags, because the user just typed them.
pub(super) fn or_no_model(
    args: &RunArgs,
    chosen: anyhow::Result<Arc<dyn Model>>,
) -> anyhow::Result<Arc<dyn Model>> {
    let flags = &args.model;
    let is_typed = flags.provider.is_some()
        || flags.model.is_some()
        || flags.base_url.is_some()
        || flags.api_key.is_some();
    let error = match chosen {
        Err(error) if !is_typed && Exit::from_error(&error) == Exit::NoProvider => error,
        other => return other,
    };
    if !matches!(Exit::error_beneath(&error), Some(ChooseError::Nothing)) {
        note(&format!("haft: {}", sanitize_line(&error_text(&error))));
    }
    let (reason, advice) = (sanitize_line(&format!("{error:#}")), error_advice(&error));
    Ok(Arc::new(NoModel { reason, advice }))
}

/// Opens the named model, with the other settings of flags, environment and files.
pub(super) async fn choose_named(
    args: &RunArgs,
    setup: &RunSetup,
    provider: &str,
    model: &str,
) -> anyhow::Result<Arc<dyn Model>> {
    let mut preference = model_preferences(args, setup);
    let other = preference.provider.as_ref().is_some_and(|wished| wished != provider);
    if other && args.model.base_url.is_none() {
        // A model without a provider belongs to the configured provider.
        preference.base_url = None;
    }
    preference.provider = Some(provider.to_owned());
    preference.model = Some(model.to_owned());
    open(preference, setup).await
}

/// Opens the model that a client names while a model of the provider `asked` answers. Settings for the provider of the
/// `first` model apply to that provider only.
pub(crate) async fn choose_by_name(
    args: &RunArgs,
    setup: &RunSetup,
    first: &ModelId,
    name: &str,
    asked: &ModelId,
) -> anyhow::Result<Arc<dyn Model>> {
    let preference = model_preferences(args, setup);
    let (owner, fixed) = provider_of(&preference, setup.settings(), first);
    let (provider, model) =
        resolve_model(name, &asked.provider, fixed, &setup.models, &MachineWithKeys::new(&setup.auth));
    // A name with its provider is used even if haft does not know the model. haft does not know the models of a server
    // whose address the user set.
    let is_own_server = preference.base_url.is_some() && provider == owner;
    if name != format!("{provider}/{model}") && !is_own_server {
        check_known_model(setup, &provider, &model).await?;
    }
    choose_for_client(args, setup, first, &provider, &model).await
}

/// Fails if the models of the provider are known and this one is not among them.
async fn check_known_model(setup: &RunSetup, provider: &str, model: &str) -> anyhow::Result<()> {
    let known = model_ids(setup, provider).await;
    if known.is_empty() || known.iter().any(|id| id == model) {
        return Ok(());
    }
    let hint = match nearest_name(model, known.iter().map(String::as_str)) {
        Some(id) => format!("did you mean {id}?"),
        None => "haft --list-models lists the known models;".to_owned(),
    };
    anyhow::bail!("unknown model {model:?} of {provider}; {hint} {provider}/{model} uses the name anyway")
}

/// Opens the model that a client selected. Settings for the provider of the `first` model apply to that provider only.
pub(super) async fn choose_for_client(
    args: &RunArgs,
    setup: &RunSetup,
    first: &ModelId,
    provider: &str,
    model: &str,
) -> anyhow::Result<Arc<dyn Model>> {
    let preference = model_preferences(args, setup);
    let (owner, _) = provider_of(&preference, setup.settings(), first);
    open(preference_for_model(&preference, &owner, provider, model), setup).await
}

/// Returns the provider of a preference; true if the user configured it beyond a key.
fn provider_of(preference: &ModelPreference, settings: &Settings, asked: &ModelId) -> (String, bool) {
    let named = settings.provider.as_ref().map(|set| set.value.clone());
    let compatible = || preference.base_url.as_ref().map(|_| "compatible".to_owned());
    let fixed = named.or_else(compatible);
    (fixed.clone().unwrap_or_else(|| asked.provider.clone()), fixed.is_some())
}

/// Returns the preferences of flags, environment and files for the model.
pub(super) fn model_preferences(args: &RunArgs, setup: &RunSetup) -> ModelPreference {
    let mut preference = ModelPreference::from(setup.settings());
    preference.api_key = args.model.api_key.clone();
    preference
}

async fn open(preference: ModelPreference, setup: &RunSetup) -> anyhow::Result<Arc<dyn Model>> {
    let machine = MachineWithKeys::new(&setup.auth);
    let settings = setup.settings();
    let first = preference.clone();
    let model = open_one(preference, setup, &machine).await?;
    let mut others: Vec<Arc<dyn Model>> = Vec::new();
    let fallback = settings.fallback.as_ref().map(|sourced| sourced.value.as_slice()).unwrap_or_default();
    for named in fallback {
        let other = fallback_preference(named, &first, &model.info().provider)
            .with_context(|| format!("fallback {named:?} is not of the form provider/model"))
            .or_exit(exit_for_origin(settings.fallback.as_ref().map(|set| set.origin.clone())))?;
        let other = open_one(other, setup, &machine).await.with_context(|| format!("fallback {named}"))?;
        if other.info() != model.info() {
            others.push(other);
        }
    }
    Ok(if others.is_empty() { model } else { Arc::new(FallbackModel::new(model, others)) })
}

async fn open_one(
    preference: ModelPreference,
    setup: &RunSetup,
    machine: &MachineWithKeys<'_>,
) -> anyhow::Result<Arc<dyn Model>> {
    let chosen = choose_model(preference, &setup.models, machine).await.or_exit(Exit::NoProvider)?;
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

/// Returns a note if the model does not support the requested thinking level. Without a request, there is no lookup.
pub(crate) fn thinking_level_note(model: &dyn Model, wanted: ThinkingLevel) -> Option<String> {
    if wanted == ThinkingLevel::Default {
        return None;
    }
    let level = model.facts().clamp_thinking(wanted);
    let info = model.info();
    (level != wanted).then(|| {
        if level == ThinkingLevel::Off {
            return format!("haft: {info} does not support thinking; --thinking {wanted} has no effect");
        }
        format!("haft: {info} does not support thinking level {wanted}; using {level}")
    })
}

/// Returns the exit code for an invalid name: `Usage` if a flag set it, `Configuration` otherwise.
fn exit_for_origin(named: Option<SettingOrigin>) -> Exit {
    if matches!(named, Some(SettingOrigin::Flag(_))) { Exit::Usage } else { Exit::Configuration }
}

/// The maximum number of cached models; each has its own connections.
const MOST: usize = 16;

/// Opens models by name like `--model`. A configured address and key apply only to models of the configured provider.
pub(crate) struct ModelResolver {
    first: ModelPreference,
    /// The provider of the preference `first`.
    provider: String,
    /// True if the user configured the provider beyond a key.
    fixed: bool,
    models: ModelsFile,
    auth: AuthFile,
    /// The opened models, by provider and id.
    opened: Mutex<HashMap<(String, String), Arc<dyn Model>>>,
}

impl ModelResolver {
    /// Creates an opener. `first` is the preference for the model that the run begins with.
    pub(super) fn new(
        first: ModelPreference,
        settings: &Settings,
        models: ModelsFile,
        auth: AuthFile,
        asked: &ModelId,
    ) -> Self {
        let (provider, fixed) = provider_of(&first, settings, asked);
        Self { fixed, provider, first, models, auth, opened: Mutex::default() }
    }

    async fn open(&self, provider: &str, model: &str) -> anyhow::Result<Arc<dyn Model>> {
        let preference = preference_for_model(&self.first, &self.provider, provider, model);
        Ok(choose_model(preference, &self.models, &MachineWithKeys::new(&self.auth)).await?.choice.open()?)
    }
}

#[async_trait]
impl ModelSource for ModelResolver {
    async fn model(&self, name: &str, asked: &ModelId) -> Result<Arc<dyn Model>, String> {
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
