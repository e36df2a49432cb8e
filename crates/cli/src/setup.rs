//! What a run needs before anything starts: files, settings, keys, where to look for extensions.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use haft_config::{Auth, ConfigFile, ExtensionSettings, Home, Layer, Settings};
use haft_host::discovery::{Project, Search, Trust};
use haft_providers::Models;

use crate::args::{ExtensionArgs, RunArgs};
use crate::console::note;
use crate::exit::{Exit, OrExit as _};

/// What flags, environment and files together say.
#[derive(Debug)]
pub(crate) struct Setup {
    /// Where haft keeps its files.
    pub(crate) home: Home,
    /// Where the agent works, absolute.
    pub(crate) cwd: PathBuf,
    /// Provider, model and the like, each with its origin.
    pub(crate) settings: Settings,
    /// The keys in `auth.json`.
    pub(crate) auth: Auth,
    /// What the user says of models.
    pub(crate) models: Models,
    /// What the user set for single extensions.
    pub(crate) extensions: BTreeMap<String, ExtensionSettings>,
    /// Whether extensions may wait for their first use.
    pub(crate) lazy: bool,
    /// Where to look for extensions.
    pub(crate) search: Search,
}

impl Setup {
    /// Reads everything; nothing is started.
    pub(crate) fn read(args: &RunArgs) -> anyhow::Result<Self> {
        let home = Home::locate().or_exit(Exit::Configuration)?;
        let file = ConfigFile::load(&home.config_file()).or_exit(Exit::Configuration)?;
        let env = Layer::from_env(|name| std::env::var(name).ok()).or_exit(Exit::Configuration)?;
        let settings = Settings::merge(&[args.model.layer(&args.agent), env, file.layer()]);
        let auth = Auth::load(&home.auth_file()).unwrap_or_else(|error| {
            note(&format!("haft: {:#}", anyhow::Error::new(error)));
            Auth::default()
        });
        let models = Models::load(&home.models_file()).or_exit(Exit::Configuration)?;
        let cwd = cwd(args).or_exit(Exit::Usage)?;
        let search = search(&args.ext, &home, cwd.clone());
        Ok(Self {
            home,
            cwd,
            settings,
            auth,
            models,
            lazy: file.lazy_start.unwrap_or(true),
            extensions: file.extensions,
            search,
        })
    }
}

fn cwd(args: &RunArgs) -> anyhow::Result<PathBuf> {
    let dir = args.agent.cwd.clone().unwrap_or_else(|| ".".into());
    let dir = std::path::absolute(&dir).context("cannot tell the current directory")?;
    anyhow::ensure!(dir.is_dir(), "--cwd: there is no directory {}", dir.display());
    Ok(dir)
}

fn search(args: &ExtensionArgs, home: &Home, cwd: PathBuf) -> Search {
    let trust = if args.trust_project { Trust::Trusted } else { Trust::Untrusted };
    Search {
        explicit: args.ext.clone(),
        global: (!args.no_ext).then(|| home.extensions_dir()),
        project: (!args.no_ext).then_some(Project { dir: cwd, trust }),
        path: std::env::var_os("PATH"),
    }
}
