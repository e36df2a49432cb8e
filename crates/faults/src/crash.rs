//! Kills installation, update, rollback and removal before each system call that changes the disk.

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

/// The first argument of a process that is killed.
pub(crate) const CRASH: &str = "crash";

/// The name of the extension.
const NAME: &str = "gift";

/// A change of extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreChange {
    Install,
    Update,
    RollBack,
    Remove,
}

/// The state after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
enum InstalledState {
    Nothing,
    /// All files of a version.
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

    /// True if the change may leave that state when it is killed.
    fn may_leave(self, there: &InstalledState) -> bool {
        let whole = |text: &str| *there == InstalledState::Whole(text.to_owned());
        match self {
            Self::Install | Self::Remove => *there == InstalledState::Nothing || whole("one"),
            Self::Update | Self::RollBack => whole("one") || whole("two"),
        }
    }

    /// Installs the versions that the change needs, and puts the new version into the source directory.
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
                let row = find_row(store)?.context("the extension is not installed")?;
                store.roll_back(&row, &store.find_rollback_target(&row)?).map(drop).map_err(Into::into)
            }
            Self::Remove => store
                .remove(&find_row(store)?.context("the extension is not installed")?)
                .map(drop)
                .map_err(Into::into),
        }
    }

    /// Kills the change before each system call that changes the disk, each time in a new home directory. A first run
    /// without kills lists the calls. Returns their number.
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
            ensure!(strace::is_killed(&output), "{}: the process ended with {}", at(), output.status);
            self.check_outcome(&home).with_context(at)?;
            installer::clear(&home)?;
        }
        Ok(calls.len())
    }

    /// Runs the change in a separate process with a new home directory.
    fn run_traced(self, dir: &Path, inject: Option<&str>) -> Result<Output> {
        fs::create_dir_all(dir).context("create a home directory")?;
        self.prepare(&store(dir), dir)?;
        let calls: Vec<String> = CALLS.iter().map(|call| format!("?{call}")).collect();
        let args = [CRASH.as_ref(), self.name().as_ref(), dir.as_os_str()];
        strace::run(&args, &log(dir), &calls.join(","), inject)
    }

    /// Checks that a killed change left all files of a version or none, and that a start and another installation
    /// remove all leftovers.
    fn check_outcome(self, dir: &Path) -> Result<()> {
        let store = store(dir);
        let there = installed_state(&store)?;
        ensure!(self.may_leave(&there), "unexpected state {there:?}");
        // A start of haft does the same.
        let search = DiscoveryOptions {
            global: Some(store.global.clone()),
            approved: Some(store.approved.clone()),
            ..DiscoveryOptions::default()
        };
        let found = Discovery::run(&search);
        ensure!(found.errors.is_empty(), "discovery reports {:?}", found.errors);
        ensure!(
            found.specs.len() == usize::from(there != InstalledState::Nothing),
            "discovery finds {:?}",
            found.specs
        );
        let scraps = leftovers(store.approved.tree_store().dir());
        ensure!(scraps.is_empty(), "leftovers after a start: {scraps:?}");
        // The next installation must succeed and clean up.
        install(&store, dir, "two")?;
        let there = installed_state(&store)?;
        ensure!(
            there == InstalledState::Whole("two".to_owned()),
            "unexpected state {there:?} after another installation"
        );
        check_swept(&store, dir)
    }
}

/// The system calls of an installer that change names, content or permissions on the disk. `strace` skips those that
/// the processor lacks. Calls that only wait for the disk (`fsync`) are excluded, because a kill after them leaves the
/// same state.
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

/// Returns the calls in a log that changed the disk: the name, and its index among the calls of this name, counted from
/// 1.
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

/// Returns the path of the log, next to the home directory.
fn log(dir: &Path) -> PathBuf {
    dir.with_extension("strace")
}

/// Runs a prepared change in the process to be killed. Prints nothing on success, so that every `write` goes to the
/// disk.
pub(crate) fn run(change: &str, dir: &Path) -> ExitCode {
    let change = StoreChange::ALL.into_iter().find(|known| known.name() == change).context("unknown change");
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

/// Puts a version into the source directory: files, a directory, a link, and a file that only this version has.
fn source(dir: &Path, version: &str) -> Result<()> {
    let source = dir.join("source");
    if source.exists() {
        fs::remove_dir_all(&source).context("remove the previous version")?;
    }
    fs::create_dir_all(source.join("lib")).context("create the source directory")?;
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
        .context("create the program executable")?;
    fs::write(source.join(version), version).context("write the version's own file")?;
    #[cfg(unix)]
    std::os::unix::fs::symlink("lib/version", source.join("link")).context("create a link")?;
    Ok(())
}

fn find_row(store: &ExtensionStore) -> Result<Option<InstalledExtension>> {
    let (rows, error) = store.list();
    if let Some(error) = error {
        return Err(error).context("read the lock file");
    }
    Ok(rows.into_iter().find(|row| row.name == NAME))
}

/// Returns the installed state according to the lock file, after checking the files.
fn installed_state(store: &ExtensionStore) -> Result<InstalledState> {
    let Some(row) = find_row(store)? else { return Ok(InstalledState::Nothing) };
    let entry = row.entry.context("the extension is installed but not approved")?;
    let trees = store.approved.tree_store();
    trees.verify(&entry.tree).context("the approved files are incomplete")?;
    let place = trees.tree_path(&entry.tree);
    let version = fs::read_to_string(place.join("lib/version")).context("read the version")?;
    ensure!(place.join(&version).is_file(), "version {version} is incomplete");
    Ok(InstalledState::Whole(version))
}

/// Returns the leftovers of preparations and removals.
fn leftovers(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.join(".scraps")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Checks that no leftovers of preparations or removals exist.
fn check_swept(store: &ExtensionStore, dir: &Path) -> Result<()> {
    let file = store.approved.load().context("read the lock file")?;
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
    ensure!(scraps.is_empty(), "leftovers: {scraps:?}");
    // The extension runs in a copy with all files of the new version. The copy may also keep a file of the previous
    // version, which could be the extension's own.
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
    ensure!(files == expected, "the copy contains {files:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_calls_that_change_disk() {
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
