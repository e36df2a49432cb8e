//! Installing, updating, going back and removing, each ended before one of its changes of the disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use haft_host::discovery::{Discovery, Search};
use haft_host::install::lock::How;
use haft_host::install::{Row, Source, Store};
use haft_protocol::defence;
use haft_protocol::step::{steps, stop_at};

use crate::installer;
use crate::world::beside;

/// The first argument of a process that is ended.
pub(crate) const CRASH: &str = "crash";

/// The name of what is installed.
const NAME: &str = "gift";

/// What is done to extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Install,
    Update,
    RollBack,
    Remove,
}

/// What is there afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
enum There {
    Nothing,
    /// All of a version.
    Whole(String),
}

impl Change {
    pub(crate) const ALL: [Self; 4] = [Self::Install, Self::Update, Self::RollBack, Self::Remove];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Update => "update",
            Self::RollBack => "roll back",
            Self::Remove => "remove",
        }
    }

    /// What may be there when it was stopped.
    fn may_leave(self, there: &There) -> bool {
        let whole = |text: &str| *there == There::Whole(text.to_owned());
        match self {
            Self::Install | Self::Remove => *there == There::Nothing || whole("one"),
            Self::Update | Self::RollBack => whole("one") || whole("two"),
        }
    }

    /// Does what must have been done before.
    fn prepare(self, store: &Store, dir: &Path) -> Result<()> {
        let installed: &[&str] = match self {
            Self::Install => &[],
            Self::Update | Self::Remove => &["one"],
            Self::RollBack => &["one", "two"],
        };
        installed.iter().try_for_each(|version| install(store, dir, version))
    }

    fn make(self, store: &Store, dir: &Path) -> Result<()> {
        match self {
            Self::Install => install(store, dir, "one"),
            Self::Update => install(store, dir, "two"),
            Self::RollBack => {
                let row = found(store)?.context("nothing is there")?;
                store.roll_back(&row, &store.older(&row)?).map(drop).map_err(Into::into)
            }
            Self::Remove => {
                store.remove(&found(store)?.context("nothing is there")?).map(drop).map_err(Into::into)
            }
        }
    }

    /// Ends it before each change of the disk, one after the other, each in a home of its own. Returns how many there
    /// were.
    pub(crate) fn at_every_step(self, dir: &Path) -> Result<u64> {
        for step in 1.. {
            let dir = dir.join(format!("{}-{step}", self.name().replace(' ', "-")));
            fs::create_dir_all(&dir).context("make a home")?;
            let came = self
                .stopped(&dir, step)
                .with_context(|| format!("{} stopped at step {step}", self.name()))?;
            installer::clear(&dir)?;
            if !came {
                return Ok(step - 1);
            }
        }
        bail!("it has no end")
    }

    /// Whether there was such a step; then what was left is looked at.
    #[expect(clippy::disallowed_methods, reason = "this program again")]
    fn stopped(self, dir: &Path, step: u64) -> Result<bool> {
        let mut command = Command::new(beside("haft-faults"));
        command.args([CRASH, self.name()]).arg(dir).args([&step.to_string(), &defence::taken_down()]);
        // What an abort says is no news.
        let output = command.stdin(Stdio::null()).output().context("start a process to end")?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            ensure!(said == "done\n", "it said {said:?}");
            return Ok(false);
        }
        ensure!(output.status.code().is_none(), "{}: {said}", String::from_utf8_lossy(&output.stderr));
        let store = store(dir);
        let there = there(&store)?;
        ensure!(self.may_leave(&there), "there is {there:?}");
        // As a start of haft does.
        let search = Search {
            global: Some(store.global.clone()),
            approved: Some(store.approved.clone()),
            ..Search::default()
        };
        let found = Discovery::run(&search);
        ensure!(found.errors.is_empty(), "a start finds {:?}", found.errors);
        ensure!(found.specs.len() == usize::from(there != There::Nothing), "a start finds {:?}", found.specs);
        let scraps = scraps(store.approved.trees().dir());
        ensure!(scraps.is_empty(), "left behind by a start: {scraps:?}");
        // It goes on as if nothing had happened, and sweeps up.
        install(&store, dir, "two")?;
        let there = self::there(&store)?;
        ensure!(there == There::Whole("two".to_owned()), "there is {there:?} after another installation");
        swept(&store, dir)?;
        Ok(true)
    }
}

/// A process that prepares a change, begins it, and is ended.
pub(crate) fn run(change: &str, dir: &Path, step: &str, down: &str) -> ExitCode {
    installer::take_down_all(down);
    let outcome = || {
        let change =
            Change::ALL.into_iter().find(|known| known.name() == change).context("no such change")?;
        let store = store(dir);
        change.prepare(&store, dir)?;
        stop_at(steps() + step.parse::<u64>()?);
        change.make(&store, dir)
    };
    match outcome() {
        Ok(()) => {
            println!("done");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn store(dir: &Path) -> Store {
    Store::of_home(&dir.join("home"), std::env::var_os("PATH"))
}

fn install(store: &Store, dir: &Path, version: &str) -> Result<()> {
    let source = source(dir, version)?;
    store.propose(&Source::Directory(source))?.accept(How::Yes, "test")?;
    Ok(())
}

/// A version of it: files, a directory, a link, and what only this version has.
fn source(dir: &Path, version: &str) -> Result<PathBuf> {
    let source = dir.join("source");
    if source.exists() {
        fs::remove_dir_all(&source).context("remove the version before")?;
    }
    fs::create_dir_all(source.join("lib")).context("make a source")?;
    let files = [
        ("extension.json", format!(r#"{{"name":"{NAME}","exec":"./run"}}"#)),
        ("run", "#!/bin/sh\n".to_owned()),
        ("lib/version", version.to_owned()),
    ];
    for (name, text) in files {
        fs::write(source.join(name), text).with_context(|| name.to_owned())?;
    }
    #[cfg(unix)]
    fs::set_permissions(source.join("run"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .context("run")?;
    fs::write(source.join(version), version).context("a file of its own")?;
    #[cfg(unix)]
    std::os::unix::fs::symlink("lib/version", source.join("link")).context("a link")?;
    Ok(source)
}

fn found(store: &Store) -> Result<Option<Row>> {
    let (rows, error) = store.list();
    if let Some(error) = error {
        return Err(error).context("the lock file");
    }
    Ok(rows.into_iter().find(|row| row.name == NAME))
}

/// What may run according to the lock file, if all of it is there.
fn there(store: &Store) -> Result<There> {
    let Some(row) = found(store)? else { return Ok(There::Nothing) };
    let entry = row.entry.context("it is there and not approved")?;
    let trees = store.approved.trees();
    trees.verify(&entry.tree).context("it may run and is not whole")?;
    let place = trees.place(&entry.tree);
    let version = fs::read_to_string(place.join("lib/version")).context("its version")?;
    ensure!(place.join(&version).is_file(), "{version} lacks a file");
    Ok(There::Whole(version))
}

/// What was prepared or thrown away there.
fn scraps(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let is_scrap = |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b".scrap-");
    entries.filter(is_scrap).map(|entry| entry.path()).collect()
}

/// Nothing of what was prepared or thrown away is left.
fn swept(store: &Store, dir: &Path) -> Result<()> {
    let file = store.approved.load().context("the lock file")?;
    let entries = file.extensions.values().flat_map(|entry| std::iter::once(entry).chain(&entry.previous));
    let trees: Vec<PathBuf> = entries.map(|entry| store.approved.trees().place(&entry.tree)).collect();
    let names = |place: &Path| {
        let entries = fs::read_dir(place).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let known = ["copies", "extensions", "extensions.lock", "extensions.lock.json", "store"];
    let scraps = names(&dir.join("home"))
        .into_iter()
        .filter(|path| !known.iter().any(|name| path.ends_with(name)))
        .chain(
            names(store.approved.trees().dir())
                .into_iter()
                .filter(|path| !path.ends_with(".lock") && !trees.contains(path)),
        )
        .collect::<Vec<_>>();
    ensure!(scraps.is_empty(), "left behind: {scraps:?}");
    // It runs in a copy, which has all of the new version; a file of the one before may be taken for the extension's own.
    let mut files: Vec<_> = names(&dir.join("home/copies").join(NAME))
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .filter(|name| name != "one")
        .collect();
    files.sort();
    let expected: &[&str] = match cfg!(unix) {
        true => &["extension.json", "lib", "link", "run", "two"],
        false => &["extension.json", "lib", "run", "two"],
    };
    ensure!(files == expected, "its copy holds {files:?}");
    Ok(())
}
