//! Installing, updating, going back and removing, each killed before one of its changes of the disk.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Output};

use anyhow::{Context, Result, ensure};
use haft_packages::discovery::{Discovery, DiscoveryOptions};
use haft_packages::install::lock::ApprovalMethod;
use haft_packages::install::{ExtensionStore, InstallSource, InstalledExtension};

use crate::installer;
use crate::strace;

/// The first argument of a process that is ended.
pub(crate) const CRASH: &str = "crash";

/// The name of what is installed.
const NAME: &str = "gift";

/// A change of extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreChange {
    Install,
    Update,
    RollBack,
    Remove,
}

/// The state afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
enum InstalledState {
    Nothing,
    /// All of a version.
    Whole(String),
}

impl StoreChange {
    pub(crate) const ALL: [Self; 4] = [Self::Install, Self::Update, Self::RollBack, Self::Remove];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Update => "update",
            Self::RollBack => "roll back",
            Self::Remove => "remove",
        }
    }

    /// True if this change may leave that state when it is stopped.
    fn may_leave(self, there: &InstalledState) -> bool {
        let whole = |text: &str| *there == InstalledState::Whole(text.to_owned());
        match self {
            Self::Install | Self::Remove => *there == InstalledState::Nothing || whole("one"),
            Self::Update | Self::RollBack => whole("one") || whole("two"),
        }
    }

    /// Installs what must be there before, and puts the new version into the source directory.
    fn prepare(self, store: &ExtensionStore, dir: &Path) -> Result<()> {
        let installed: &[&str] = match self {
            Self::Install => &[],
            Self::Update | Self::Remove => &["one"],
            Self::RollBack => &["one", "two"],
        };
        installed.iter().try_for_each(|version| install(store, dir, version))?;
        match self {
            Self::Install => source(dir, "one"),
            Self::Update => source(dir, "two"),
            Self::RollBack | Self::Remove => Ok(()),
        }
    }

    fn apply(self, store: &ExtensionStore, dir: &Path) -> Result<()> {
        match self {
            Self::Install | Self::Update => accept_source(store, dir),
            Self::RollBack => {
                let row = find_row(store)?.context("nothing is there")?;
                store.roll_back(&row, &store.find_rollback_target(&row)?).map(drop).map_err(Into::into)
            }
            Self::Remove => {
                store.remove(&find_row(store)?.context("nothing is there")?).map(drop).map_err(Into::into)
            }
        }
    }

    /// Kills the change before each of its calls that change the disk, each time in a home of its own. A rehearsal says
    /// which calls those are. Returns their number.
    pub(crate) fn at_every_call(self, dir: &Path) -> Result<usize> {
        let dir = dir.join(self.name().replace(' ', "-"));
        let rehearsal = dir.join("rehearsal");
        let output = self.run_traced(&rehearsal, None)?;
        ensure!(output.status.success(), "{}: {}", self.name(), String::from_utf8_lossy(&output.stderr));
        let log = fs::read_to_string(log(&rehearsal)).context("read the calls")?;
        installer::clear(&rehearsal)?;
        let calls = disk_changes(&log);
        for (call, n) in &calls {
            let home = dir.join(format!("{call}-{n}"));
            let output = self.run_traced(&home, Some(&format!("{call}:signal=KILL:when={n}")))?;
            let at = || format!("{} killed at {call} {n}", self.name());
            ensure!(strace::is_killed(&output), "{}: it ended with {}", at(), output.status);
            self.check_outcome(&home).with_context(at)?;
            installer::clear(&home)?;
        }
        Ok(calls.len())
    }

    /// Makes the change in a process of its own and in a new home.
    fn run_traced(self, dir: &Path, inject: Option<&str>) -> Result<Output> {
        fs::create_dir_all(dir).context("make a home")?;
        self.prepare(&store(dir), dir)?;
        let calls: Vec<String> = CALLS.iter().map(|call| format!("?{call}")).collect();
        let args = [CRASH.as_ref(), self.name().as_ref(), dir.as_os_str()];
        strace::run(&args, &log(dir), &calls.join(","), inject)
    }

    /// Checks that a killed change left all of a version or nothing, and that nothing is left of it after a start and
    /// another installation.
    fn check_outcome(self, dir: &Path) -> Result<()> {
        let store = store(dir);
        let there = installed_state(&store)?;
        ensure!(self.may_leave(&there), "there is {there:?}");
        // As a start of haft does.
        let search = DiscoveryOptions {
            global: Some(store.global.clone()),
            approved: Some(store.approved.clone()),
            ..DiscoveryOptions::default()
        };
        let found = Discovery::run(&search);
        ensure!(found.errors.is_empty(), "a start finds {:?}", found.errors);
        ensure!(
            found.specs.len() == usize::from(there != InstalledState::Nothing),
            "a start finds {:?}",
            found.specs
        );
        let scraps = leftovers(store.approved.tree_store().dir());
        ensure!(scraps.is_empty(), "left behind by a start: {scraps:?}");
        // It goes on as if nothing had happened, and sweeps up.
        install(&store, dir, "two")?;
        let there = self::installed_state(&store)?;
        ensure!(
            there == InstalledState::Whole("two".to_owned()),
            "there is {there:?} after another installation"
        );
        check_swept(&store, dir)
    }
}

/// The system calls that change names, content or permissions on the disk, as far as an installer makes them; `strace`
/// skips those that this processor does not have. After a call that only waits for the disk (`fsync`) a kill leaves the
/// same as before it.
const CALLS: &[&str] = &[
    "chmod",
    "copy_file_range",
    "creat",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "ftruncate",
    "link",
    "linkat",
    "mkdir",
    "mkdirat",
    "open",
    "openat",
    "openat2",
    "pwrite64",
    "rename",
    "renameat",
    "renameat2",
    "rmdir",
    "sendfile",
    "symlink",
    "symlinkat",
    "truncate",
    "unlink",
    "unlinkat",
    "write",
    "writev",
];

/// The calls in a log that changed the disk: the name, and which of the calls of this name it is, counted from 1.
fn disk_changes(log: &str) -> Vec<(String, usize)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut changes = Vec::new();
    for line in log.lines() {
        let call = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        let Some((name, rest)) = call.split_once('(') else { continue };
        let count = counts.entry(name).or_default();
        *count += 1;
        let only_opens = name.starts_with("open") && !rest.contains("O_CREAT");
        let does_nothing = rest.contains(" = -1 ") || rest.ends_with(" = 0") && name == "copy_file_range";
        if !only_opens && !does_nothing {
            changes.push((name.to_owned(), *count));
        }
    }
    changes
}

/// The log of the tracer, beside the home that it is about.
fn log(dir: &Path) -> PathBuf {
    dir.with_extension("strace")
}

/// Makes a change that is prepared: the process that is killed. Prints nothing when all is well, so that every `write`
/// is one to the disk.
pub(crate) fn run(change: &str, dir: &Path) -> ExitCode {
    let change = StoreChange::ALL.into_iter().find(|known| known.name() == change).context("no such change");
    match change.and_then(|change| change.apply(&store(dir), dir)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn store(dir: &Path) -> ExtensionStore {
    ExtensionStore::for_home(&dir.join("home"), std::env::var_os("PATH"))
}

fn install(store: &ExtensionStore, dir: &Path, version: &str) -> Result<()> {
    source(dir, version)?;
    accept_source(store, dir)
}

/// Installs the version in the source directory.
fn accept_source(store: &ExtensionStore, dir: &Path) -> Result<()> {
    store.propose(&InstallSource::Directory(dir.join("source")))?.accept(ApprovalMethod::Yes, "test")?;
    Ok(())
}

/// Puts a version into the source directory: files, a directory, a link, and what only this version has.
fn source(dir: &Path, version: &str) -> Result<()> {
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
    Ok(())
}

fn find_row(store: &ExtensionStore) -> Result<Option<InstalledExtension>> {
    let (rows, error) = store.list();
    if let Some(error) = error {
        return Err(error).context("the lock file");
    }
    Ok(rows.into_iter().find(|row| row.name == NAME))
}

/// Returns the extensions that may run according to the lock file, if all of it is there.
fn installed_state(store: &ExtensionStore) -> Result<InstalledState> {
    let Some(row) = find_row(store)? else { return Ok(InstalledState::Nothing) };
    let entry = row.entry.context("it is there and not approved")?;
    let trees = store.approved.tree_store();
    trees.verify(&entry.tree).context("it may run and is not whole")?;
    let place = trees.tree_path(&entry.tree);
    let version = fs::read_to_string(place.join("lib/version")).context("its version")?;
    ensure!(place.join(&version).is_file(), "{version} lacks a file");
    Ok(InstalledState::Whole(version))
}

/// Returns the leftovers of preparations and removals there.
fn leftovers(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.join(".scraps")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Nothing of what was prepared or thrown away is left.
fn check_swept(store: &ExtensionStore, dir: &Path) -> Result<()> {
    let file = store.approved.load().context("the lock file")?;
    let entries = file.extensions.values().flat_map(|entry| std::iter::once(entry).chain(&entry.previous));
    let trees: Vec<PathBuf> =
        entries.map(|entry| store.approved.tree_store().tree_path(&entry.tree)).collect();
    let names = |place: &Path| {
        let entries = fs::read_dir(place).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let known = ["copies", "extensions", "extensions.lock", "extensions.lock.json", "store"];
    let scraps =
        names(&dir.join("home"))
            .into_iter()
            .filter(|path| !known.iter().any(|name| path.ends_with(name)))
            .chain(names(store.approved.tree_store().dir()).into_iter().filter(|path| {
                !path.ends_with(".lock") && !path.ends_with(".scraps") && !trees.contains(path)
            }))
            .chain(leftovers(store.approved.tree_store().dir()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_that_change_the_disk_are_interrupted() {
        let log = r#"7  openat(AT_FDCWD, "/lib/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
7  mkdir("/h/store", 0777)           = -1 ENOENT (No such file or directory)
7  mkdir("/h", 0777)       = 0
7  openat(AT_FDCWD, "/h/.lock", O_WRONLY|O_CREAT|O_CLOEXEC, 0666) = 3
7  copy_file_range(5, NULL, 6, NULL, 209715201, 0) = 3
7  copy_file_range(5, NULL, 6, NULL, 209715198, 0) = 0
7  fchmod(6, 0644)                   = 0
7  write(6, "{\n  \"version\"", 506) = 506
7  +++ exited with 0 +++
"#;
        let calls: Vec<String> = disk_changes(log).iter().map(|(call, n)| format!("{call} {n}")).collect();
        assert_eq!(calls, ["mkdir 2", "openat 2", "copy_file_range 1", "fchmod 1", "write 1"]);
    }
}
