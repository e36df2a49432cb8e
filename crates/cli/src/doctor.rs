//! `haft doctor`: what is trusted, approved, confined and failing, and the next step for each.
//!
//! It looks and changes nothing: no extension is started, no server is asked, nothing is written.

mod extensions;
mod files;
mod finding;
mod hooks;
mod keys;
mod machine;
mod project;
mod report;
mod sessions;
mod settings;

use std::path::PathBuf;

use haft_config::{Auth, Config, Files, Home, Layer, Place, ProcessHook, Project};
use haft_core::sanitize::sanitize_line;
use haft_packages::discovery::Discovery;
use haft_packages::install::lock::{Approved, LockFile};
use haft_providers::{Models, take_apart};

use crate::args::{DoctorArgs, ExtensionArgs};
use crate::console;
use crate::exit::{Exit, OrExit as _};
use crate::hooks::{self as of_run, Ground};
use crate::setup;
use finding::{Finding, Words};

/// What is looked at, read once.
struct Seen {
    home: Home,
    words: Words,
    cwd: PathBuf,
    project: Project,
    /// Why the project is not trusted any more.
    told: Option<String>,
    config: Config,
    auth: Auth,
    models: Models,
    /// Extensions, and the process hooks beside them.
    extensions: Discovery,
    /// A hook that has the name of an extension.
    ambiguous: Option<ProcessHook>,
    /// What the user approved. Why it is not read is told of the file.
    approved: LockFile,
    /// What is wrong with files that were read: the file, and what.
    mistakes: Vec<(PathBuf, String)>,
}

/// Runs the command.
pub(crate) fn run(args: DoctorArgs) -> anyhow::Result<Exit> {
    let home = Home::locate().or_exit(Exit::Configuration)?;
    let cwd = setup::cwd(args.cwd).or_exit(Exit::Usage)?;
    let seen = Seen::look(home, cwd);
    let findings = seen.findings();
    let exit = if findings.iter().any(Finding::is_wrong) { Exit::Unwell } else { Exit::Ok };
    match args.json {
        true => console::print(&report::json(&seen, &findings)?)?,
        false => console::print(&report::text(&seen, &findings))?,
    }
    Ok(exit)
}

impl Seen {
    fn look(home: Home, cwd: PathBuf) -> Self {
        let words = Words::new(std::env::home_dir());
        let (project, told) = project::decided(&home, cwd.clone());
        let (files, found) = Files::read_what_can_be(&home, &project);
        let mut mistakes: Vec<_> =
            found.iter().map(|mistake| (mistake.path().to_owned(), mistake.to_string())).collect();
        let models = Models::load(&home.models_file()).unwrap_or_else(|mistake| {
            mistakes.push((home.models_file(), mistake.to_string()));
            Models::default()
        });
        let apart = |model: &str, beside: Option<&str>| take_apart(model, beside, &models);
        // What is wrong with the environment is told by itself.
        let env = Layer::from_env(|name| std::env::var(name).ok());
        let env = env.unwrap_or_else(|_| Layer::empty(Place::Env));
        let config = files.below_unchecked(Layer::empty(Place::Flags), env, &apart);
        let search = setup::search(&ExtensionArgs::default(), &home, &config, project.clone());
        let mut extensions = Discovery::run(&search);
        let ambiguous = of_run::ambiguous(&extensions.specs, &config.hooks);
        let ambiguous = ambiguous.map(|(hook, _)| hook.clone());
        let ground = Ground { home: home.clone(), cwd: cwd.clone(), is_trusted: project.is_trusted() };
        extensions.specs = of_run::join(extensions.specs, &config.hooks, &ground).specs;
        // Why it could not be read is told of the file.
        let auth = Auth::load(&home.auth_file()).unwrap_or_default();
        let approved = Approved::at(home.root()).load().unwrap_or_default();
        Self {
            approved,
            ambiguous,
            words,
            cwd,
            project,
            told,
            config,
            auth,
            models,
            extensions,
            mistakes,
            home,
        }
    }

    /// All of them, in the order of the report; nobody who wrote a manifest or a file name writes to a terminal.
    fn findings(&self) -> Vec<Finding> {
        let all = files::look(self)
            .into_iter()
            .chain(settings::look(self))
            .chain(keys::look(self))
            .chain(project::look(self))
            .chain(extensions::look(self))
            .chain(machine::look(self))
            .chain(sessions::look(self));
        all.map(|finding| Finding {
            name: sanitize_line(&finding.name),
            text: self.words.sentence(&sanitize_line(&finding.text)),
            next: finding.next.map(|next| sanitize_line(&next)),
            ..finding
        })
        .collect()
    }
}
