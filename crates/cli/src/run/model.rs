//! Which model answers, and which there are.

use std::sync::Arc;

use async_trait::async_trait;
use haft_config::{Auth, ExposeSecret as _, SecretString};
use haft_core::model::Model;
use haft_providers::{
    Machine, PRESETS, Surroundings, Wish, catalogue, choose as choose_model, local_servers,
};

use crate::args::RunArgs;
use crate::console::{note, print};
use crate::exit::{Exit, OrExit as _};
use crate::setup::Setup;

/// The model that flags, environment, files and this machine lead to.
pub(super) async fn choose(args: &RunArgs, setup: &Setup) -> anyhow::Result<Arc<dyn Model>> {
    let settings = &setup.settings;
    let wish = Wish {
        provider: settings.provider.as_ref().map(|sourced| sourced.value.clone()),
        model: settings.model.as_ref().map(|sourced| sourced.value.clone()),
        api_key: args.model.api_key.clone(),
        base_url: settings.base_url.as_ref().map(|sourced| sourced.value.clone()),
        ..Wish::default()
    };
    let machine = Keyed { machine: Machine::default(), auth: &setup.auth };
    let chosen = choose_model(wish, &machine).await.or_exit(Exit::NoProvider)?;
    tracing::info!(because = %chosen.because, "model chosen");
    chosen.choice.open().or_exit(Exit::Configuration)
}

/// This machine, with the keys of `auth.json` behind those of the environment.
struct Keyed<'a> {
    machine: Machine,
    auth: &'a Auth,
}

#[async_trait]
impl Surroundings for Keyed<'_> {
    fn var(&self, name: &str) -> Option<String> {
        self.machine.var(name).or_else(|| {
            let preset = PRESETS.iter().find(|preset| preset.key_env == Some(name))?;
            self.auth.key(preset.name).map(|key| key.expose_secret().to_owned())
        })
    }

    async fn listens(&self, port: u16) -> bool {
        self.machine.listens(port).await
    }

    async fn models(&self, base_url: &str, key: Option<&SecretString>) -> Vec<String> {
        self.machine.models(base_url, key).await
    }
}

/// `haft --list-models`: the models of servers on this machine, then the known ones, of one provider if one is named.
pub(super) async fn list(setup: &Setup) -> anyhow::Result<Exit> {
    let only = setup.settings.provider.as_ref().map(|sourced| sourced.value.as_str());
    let wanted = |provider: &str| only.is_none_or(|only| only == provider);
    let mut any = false;
    for server in local_servers(&Machine::default()).await.iter().filter(|server| wanted(server.preset.name))
    {
        for model in &server.models {
            any = true;
            print(&format!("{}/{model}", server.preset.name))?;
        }
    }
    for model in catalogue().iter().filter(|model| wanted(model.provider) && !model.deprecated) {
        any = true;
        let window =
            model.context_window.map(|tokens| format!("  {}k context", tokens / 1000)).unwrap_or_default();
        let reasoning = if model.reasoning { "  reasoning" } else { "" };
        print(&format!("{:<48}{window}{reasoning}", format!("{}/{}", model.provider, model.model)))?;
    }
    if !any {
        note("haft: no models known for this provider; ask the provider, then pass --model");
    }
    Ok(Exit::Ok)
}
