//! Which model answers, and which there are.

use std::sync::Arc;
use std::thread;

use async_trait::async_trait;
use haft_config::{Auth, ExposeSecret as _, Origin, SecretString, Sourced};
use haft_core::model::{Model, Thinking};
use haft_providers::{
    Choice, KnownModel, Machine, PRESETS, Surroundings, Wish, catalogue, choose as choose_model,
    local_servers,
};

use crate::args::RunArgs;
use crate::console::{note, print};
use crate::exit::{Exit, OrExit as _};
use crate::setup::Setup;

/// The model that flags, environment, files and this machine lead to.
pub(super) async fn choose(args: &RunArgs, setup: &Setup) -> anyhow::Result<Arc<dyn Model>> {
    open(wish(args, setup), setup).await
}

/// This model, with what flags, environment and files say beside its name.
pub(super) async fn choose_named(
    args: &RunArgs,
    setup: &Setup,
    provider: &str,
    model: &str,
) -> anyhow::Result<Arc<dyn Model>> {
    let mut wish = wish(args, setup);
    let other = wish.provider.as_ref().is_some_and(|wished| wished != provider);
    if other && args.model.base_url.is_none() {
        // It belongs to the provider that the settings name.
        wish.base_url = None;
    }
    let (provider, model) = (Some(provider.to_owned()), Some(model.to_owned()));
    open(Wish { provider, model, ..wish }, setup).await
}

fn wish(args: &RunArgs, setup: &Setup) -> Wish {
    let settings = &setup.settings;
    Wish {
        provider: settings.provider.as_ref().map(|sourced| sourced.value.clone()),
        model: settings.model.as_ref().map(|sourced| sourced.value.clone()),
        api_key: args.model.api_key.clone(),
        base_url: settings.base_url.as_ref().map(|sourced| sourced.value.clone()),
        ..Wish::default()
    }
}

async fn open(wish: Wish, setup: &Setup) -> anyhow::Result<Arc<dyn Model>> {
    let machine = Keyed { machine: Machine::default(), auth: &setup.auth };
    let chosen = choose_model(wish, &machine).await.or_exit(Exit::NoProvider)?;
    let exit = at_fault(&chosen.choice, setup);
    let model = chosen.choice.open().or_exit(exit)?;
    let info = model.info();
    tracing::info!("using {}/{}, {}", info.provider, info.model, chosen.because);
    Ok(model)
}

/// What to say when the model does not have the level that was asked for. Nothing is looked up where none was.
pub(super) fn clamped(model: &dyn Model, wanted: Thinking) -> Option<String> {
    if wanted == Thinking::Default {
        return None;
    }
    let level = model.facts().clamp(wanted);
    let info = model.info();
    (level != wanted).then(|| {
        if level == Thinking::Off {
            return format!("haft: {info} does not think; --thinking {wanted} changes nothing");
        }
        format!("haft: {info} has no thinking level {wanted}; {level} is used")
    })
}

/// Has what is known of models read on another thread, while extensions start: it takes longer than all else before the
/// first request. Not for a script, which needs none of it.
pub(super) fn preload(setup: &Setup) {
    let says = |set: &Option<Sourced<String>>, scripted: fn(&str) -> bool| {
        set.as_ref().is_some_and(|set| scripted(&set.value))
    };
    let scripted = says(&setup.settings.provider, |name| name == "scripted")
        || says(&setup.settings.model, |model| model.starts_with("scripted/"));
    if !scripted {
        // Without a thread the first request reads it itself.
        let _ = thread::Builder::new().name("catalogue".to_owned()).spawn(haft_providers::preload);
    }
}

/// How haft ends when the choice cannot be opened: who named the script or the address by a flag mistyped a flag.
fn at_fault(choice: &Choice, setup: &Setup) -> Exit {
    let settings = &setup.settings;
    let named = match choice {
        Choice::Scripted(_) => &settings.model,
        Choice::Http(_) => &settings.base_url,
    };
    match named {
        Some(Sourced { origin: Origin::Flag, .. }) => Exit::Usage,
        Some(_) | None => Exit::Configuration,
    }
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
    let mut known = catalogue();
    known.retain(|model| wanted(model.provider) && !model.deprecated);
    for row in table(&known) {
        any = true;
        print(&row)?;
    }
    if !any {
        note("haft: no models known for this provider; ask the provider, then pass --model");
    }
    Ok(Exit::Ok)
}

/// A row for each model, in columns: its name, its context window where known, whether it reasons.
fn table(models: &[KnownModel]) -> Vec<String> {
    let name = |model: &KnownModel| format!("{}/{}", model.provider, model.model);
    let width = models.iter().map(|model| name(model).chars().count()).max().unwrap_or_default();
    let row = |model: &KnownModel| {
        let window = model.facts.window.map(|tokens| format!("{}k context", tokens / 1000));
        let thinks = model.facts.thinking.as_ref().is_none_or(|levels| levels.len() > 1);
        let thinking = if thinks { "thinking" } else { "" };
        let row = format!("{:<width$}  {:>13}  {thinking}", name(model), window.unwrap_or_default());
        row.trim_end().to_owned()
    };
    models.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_of_unknown_size_keeps_the_columns() {
        let model = |model: &str, window| KnownModel {
            provider: "p",
            model: model.into(),
            facts: haft_core::model::ModelFacts { window, ..Default::default() },
            deprecated: false,
        };
        let rows = table(&[model("short", Some(1_000_000)), model("a-longer-one", None)]);
        assert_eq!(
            rows,
            ["p/short         1000k context  thinking", "p/a-longer-one                 thinking"]
        );
    }
}
