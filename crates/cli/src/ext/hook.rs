//! Process hooks in the list of extensions.

use std::path::Path;

use haft_config::{Config, Files, Home, Layer, Owner, Place, ProcessHook, Project, SettingOrigin, Trust};
use haft_host::Origin;
use haft_host::install::{InstallError, Row, State, Store};
use haft_host::manifest::Exec;

use crate::hooks::{self, Ground};

/// What a list says of a process hook alone.
#[derive(Debug, Clone)]
pub(crate) struct OfHook {
    /// Where it is named.
    pub(crate) origin: SettingOrigin,
    /// Where it is asked, and whether it is told what happens; empty for one that does not run.
    pub(crate) asked: String,
}

/// All hooks that are named, those of the project as if it were trusted; whether it is decides over the user's.
pub(crate) fn all(home: &Home, cwd: &Path, is_trusted: bool) -> Vec<(Row, OfHook)> {
    let project = Project { dir: cwd.into(), trust: Trust::Trusted };
    // Mistakes in a file are told of the file.
    let (files, _) = Files::read_what_can_be(home, &project);
    let config: Config =
        files.below_unchecked(Layer::empty(Place::Flags), Layer::empty(Place::Env), &|_, _| None);
    let ground = Ground { home: home.clone(), cwd: cwd.into(), is_trusted };
    let enabled = config.hooks.iter().map(|hook| {
        let of = OfHook { origin: hook.origin.clone(), asked: hooks::asked(hook) };
        let row = row(&hook.name, hook.owner, cwd, Some(hook));
        match ground.forbids(hook) {
            None => (row, of),
            Some(why) => (Row { state: State::Broken(why), ..row }, of),
        }
    });
    let disabled = config.disabled_hooks.iter().map(|hook| {
        let of = OfHook { origin: hook.origin.clone(), asked: String::new() };
        (row(&hook.name, hook.owner, cwd, None), of)
    });
    let mut all: Vec<_> = enabled.chain(disabled).collect();
    all.sort_by(|(one, _), (other, _)| (one.origin, &one.name).cmp(&(other.origin, &other.name)));
    all
}

/// Makes sure that a name is no hook's: what is written of one in `config.toml` is the user's to change.
///
/// # Errors
/// Where the hook is named, and what to change there.
pub(super) fn refuse(store: &Store, home: &Home, cwd: &Path, name: &str) -> anyhow::Result<()> {
    if !matches!(store.find(name, None), Err(InstallError::NotFound { .. })) {
        return Ok(());
    }
    match all(home, cwd, true).into_iter().find(|(row, _)| row.name == name) {
        None => Ok(()),
        Some((_, OfHook { origin, .. })) => anyhow::bail!(
            "{name} is a process hook; change `enabled` in its [hooks.processes.{name}], {origin}, or remove it there"
        ),
    }
}

fn row(name: &str, owner: Owner, cwd: &Path, runs: Option<&ProcessHook>) -> Row {
    let dir = runs.and_then(|hook| hook.dir.as_ref()).map_or_else(|| cwd.to_owned(), |dir| cwd.join(dir));
    let exec = runs.and_then(|hook| {
        let (program, args) = hook.command.split_first()?;
        Some(Exec { program: program.clone(), args: args.to_vec() })
    });
    Row {
        origin: match owner {
            Owner::User => Origin::Hook,
            Owner::Project => Origin::Project,
        },
        name: name.to_owned(),
        version: None,
        language: None,
        description: None,
        exec,
        runs_in: dir.clone(),
        dir,
        level: None,
        entry: None,
        state: if runs.is_some() { State::Enabled } else { State::Disabled },
    }
}
