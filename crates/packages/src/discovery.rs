//! Discovery of the extensions to run: `--ext`, then the user's, then the project's; after each of the last two, the
//! extensions that its configuration adds.
//!
//! The order decides about names and about the order of interceptors. An earlier extension keeps its name; a later
//! one with the same name is reported and does not run. So a cloned repository can add an extension but never replace
//! one of the user's.

mod approved_extensions;
mod required;
mod skip_reason;
mod user_extensions;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use haft_protocol::defense::{Defense, is_up};
use haft_protocol::event::ExtensionFault;
use haft_protocol::ids::ExtensionName;

use crate::approval::lock::{ApprovalStore, LockError};
use crate::file_name::dir_name;
use crate::manifest::permission::Permissions;
use crate::manifest::{ExecError, LaunchPlan, MANIFEST_FILE, Manifest, ManifestError};
use crate::spec::{ExtensionDialect, ExtensionOrigin, ExtensionSpec};

pub use haft_protocol::project::{Project, ProjectTrust};
pub use required::{MissingExtension, REQUIRED_MISSING, RestoreStep, missing_extensions};
pub use skip_reason::{PIN_MISMATCH, SkipReason, SkippedExtension};
pub(crate) use user_extensions::{ApprovedVersion, UserExtension, load_approvals, user_extensions};

/// The stable code of an invalid manifest, as in `extension_error` events.
const MANIFEST_INVALID: &str = "manifest_invalid";

/// The places to look in.
#[derive(Debug, Clone, Default)]
pub struct DiscoveryOptions {
    /// `--ext`, as given: directories, or the `extension.json` in them. Relative to the process's own directory.
    pub explicit: Vec<PathBuf>,
    /// `$HAFT_HOME/extensions`, or `None` with `--no-ext`.
    pub global: Option<PathBuf>,
    /// The project, or `None` with `--no-ext`.
    pub project: Option<Project>,
    /// The places that the configuration adds, or none with `--no-ext`.
    pub extra_locations: Vec<ExtraLocation>,
    /// The user's approvals. Only approved extensions of the global directory and of the store run. Without this, all
    /// extensions of the global directory run as they are.
    pub approved: Option<ApprovalStore>,
    /// The value of `PATH`, for an `exec` that is a bare name.
    pub path: Option<OsString>,
}

/// An additional place of extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraLocation {
    /// The directory of an extension, or of several. Relative to the process's own directory.
    pub dir: PathBuf,
    /// The origin: [`ExtensionOrigin::Global`] comes after the user's installed extensions,
    /// [`ExtensionOrigin::Project`] after the project's. A place in an untrusted project runs as well: the caller
    /// decides which places to name.
    pub origin: ExtensionOrigin,
}

/// The result of a discovery. Discovery runs no extension code.
#[derive(Debug, Default)]
pub struct Discovery {
    /// The extensions that run, in order.
    pub specs: Vec<ExtensionSpec>,
    /// The extensions that do not run, with the reasons.
    pub skipped: Vec<SkippedExtension>,
    /// Mistakes that do not prevent a start: ignored fields of manifests.
    pub warnings: Vec<ExtensionFault>,
    /// The extensions that should run and cannot. An extension with `required` whose program is missing is also in
    /// `specs`: the host cannot start it, and blocks the actions that it guards.
    pub errors: Vec<DiscoveryError>,
}

/// An extension that should run and cannot.
#[derive(Debug, thiserror::Error)]
#[error("extension in {} cannot be used", dir.display())]
pub struct DiscoveryError {
    /// The manifest's name, or the directory's if the manifest cannot be read.
    pub name: String,
    /// The absolute path of its directory.
    pub dir: PathBuf,
    /// The origin of the extension.
    pub origin: ExtensionOrigin,
    /// The problem.
    #[source]
    pub kind: DiscoveryErrorKind,
}

/// The problem of an extension.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryErrorKind {
    /// The manifest is not valid.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The `exec` does not lead to a program.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// `--ext` names a file where it must name the directory of the extension.
    #[error("{} is a file; --ext takes the extension's directory", path.display())]
    IsFile {
        /// The file.
        path: PathBuf,
    },
    /// The lock file cannot be used. No extension is approved, and the required extensions are unknown.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The directory of extensions cannot be listed.
    #[error("cannot list {}", dir.display())]
    List {
        /// The directory.
        dir: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// A directory that may be an extension.
#[derive(Debug)]
pub(crate) struct ExtensionCandidate {
    pub(crate) dir: PathBuf,
    pub(crate) manifest: Result<Manifest, DiscoveryErrorKind>,
}

impl ExtensionCandidate {
    /// Returns the manifest's name, or the directory's if the manifest cannot be read.
    pub(crate) fn name(&self) -> String {
        match &self.manifest {
            Ok(manifest) => manifest.name.as_str().to_owned(),
            Err(_) => dir_name(&self.dir),
        }
    }
}

impl DiscoveryError {
    /// Returns the stable code of the problem, as in `extension_error` events.
    pub fn code(&self) -> &'static str {
        match &self.kind {
            DiscoveryErrorKind::Manifest(_) | DiscoveryErrorKind::IsFile { .. } => MANIFEST_INVALID,
            DiscoveryErrorKind::Exec(_) => "spawn_failed",
            DiscoveryErrorKind::Lock(_) => "lock_invalid",
            DiscoveryErrorKind::List { .. } => "discovery_failed",
        }
    }

    /// Returns the reason to block all tools, if any: a required extension may be among the unknown ones.
    fn blocking_reason(&self) -> Option<String> {
        let why = || format!("{} cannot be used, so the required extensions are unknown", self.name);
        matches!(self.kind, DiscoveryErrorKind::Lock(_)).then(why)
    }
}

/// The extensions to run, and the faults to report.
#[derive(Debug, Clone, Default)]
pub struct DiscoveredExtensions {
    /// The extensions to run, in order of precedence.
    pub specs: Vec<ExtensionSpec>,
    /// The files that could not be read; reported by the host.
    pub faults: Vec<ExtensionFault>,
    /// The reason to block all tools, if any: the required extensions are unknown, and one of them may be a gate. The
    /// text continues a sentence after "because". The cause is among the faults.
    pub blocked: Option<String>,
}

impl From<Vec<ExtensionSpec>> for DiscoveredExtensions {
    fn from(specs: Vec<ExtensionSpec>) -> Self {
        Self { specs, ..Self::default() }
    }
}

impl From<Discovery> for DiscoveredExtensions {
    /// Converts a discovery for the host. Of the skipped extensions, it reports the user's own that need attention.
    /// The front end reports the rest.
    fn from(found: Discovery) -> Self {
        let fault = |error: DiscoveryError| {
            let (code, message) = (error.code(), format!("{error}: {}", error.kind));
            ExtensionFault::new(ExtensionName::new(error.name), code, message)
        };
        let skipped: Vec<_> = found.skipped.iter().filter_map(SkippedExtension::to_fault).collect();
        let blocked = found.errors.iter().find_map(DiscoveryError::blocking_reason);
        let faults = found.errors.into_iter().map(fault).chain(found.warnings).chain(skipped).collect();
        Self { specs: found.specs, faults, blocked }
    }
}

impl Discovery {
    /// Looks in all places. A broken extension becomes an entry of [`errors`](Self::errors) and does not stop the
    /// discovery.
    pub fn run(search: &DiscoveryOptions) -> Self {
        let mut collect = DiscoveryCollector {
            search,
            found: Self::default(),
            names: HashMap::new(),
            firsts: HashMap::new(),
            dirs: HashSet::new(),
            programs: HashMap::new(),
        };
        for path in &search.explicit {
            let dir = explicit_dir(path);
            let manifest = read_explicit(&dir);
            collect.add_candidate(ExtensionOrigin::Explicit, ExtensionCandidate { dir, manifest });
        }
        match &search.approved {
            Some(approved) => collect.add_user_extensions(approved),
            None => {
                for candidate in search.global.iter().flat_map(|dir| scan(&make_absolute(dir))) {
                    collect.add_candidate(ExtensionOrigin::Global, candidate);
                }
            }
        }
        collect.add_extra_locations(ExtensionOrigin::Global);
        for candidate in search.project.iter().flat_map(|project| scan(&extensions_dir(project))) {
            collect.add_candidate(ExtensionOrigin::Project, candidate);
        }
        collect.add_extra_locations(ExtensionOrigin::Project);
        collect.found
    }

    fn warn_about_ignored(&mut self, extension: &ExtensionName, ignored: &[String]) {
        let warning = |message: &String| {
            ExtensionFault::new(extension.clone(), MANIFEST_INVALID.to_owned(), message.clone())
        };
        self.warnings.extend(ignored.iter().map(warning));
    }
}

fn build_spec(
    manifest: Manifest,
    dir: PathBuf,
    launch: LaunchPlan,
    origin: ExtensionOrigin,
) -> ExtensionSpec {
    ExtensionSpec {
        name: manifest.name,
        version: manifest.version,
        dir,
        launch,
        dialect: ExtensionDialect::Native,
        origin,
        roles: manifest.roles,
        permissions: manifest.permissions,
        level: None,
        description: manifest.description,
        lifecycle: manifest.lifecycle,
        pin: None,
    }
}

/// Returns the absolute path of the project's extensions.
pub fn extensions_dir(project: &Project) -> PathBuf {
    make_absolute(&project.haft_dir()).join("extensions")
}

struct DiscoveryCollector<'a> {
    search: &'a DiscoveryOptions,
    found: Discovery,
    /// The names in use, in lower case, with the directory of the extension that has each.
    names: HashMap<String, PathBuf>,
    /// The first directory of each manifest name. Another path to the same directory has the same name, so the
    /// canonical path is needed only for a second directory with that name.
    firsts: HashMap<String, PathBuf>,
    /// The canonical paths of further directories, and of directories without a readable manifest.
    dirs: HashSet<PathBuf>,
    /// Resolved programs outside of the extensions, by their name in the manifests: many extensions share one
    /// interpreter.
    programs: HashMap<String, PathBuf>,
}

/// Returns the canonical path of a directory. Inode numbers do not suffice: some file systems reuse them, and an
/// extension must not be dropped silently.
fn canonical_dir(dir: &Path) -> PathBuf {
    dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
}

impl DiscoveryCollector<'_> {
    fn add_extra_locations(&mut self, origin: ExtensionOrigin) {
        for further in self.search.extra_locations.iter().filter(|further| further.origin == origin) {
            let dir = make_absolute(&further.dir);
            match Manifest::read(&dir) {
                Err(error) if error.is_missing() => {
                    scan(&dir).into_iter().for_each(|candidate| self.add_candidate(origin, candidate));
                }
                manifest => self.add_candidate(
                    origin,
                    ExtensionCandidate { dir, manifest: manifest.map_err(Into::into) },
                ),
            }
        }
    }

    fn add_candidate(&mut self, origin: ExtensionOrigin, candidate: ExtensionCandidate) {
        if self.is_known(&candidate) {
            return;
        }
        let ExtensionCandidate { dir, manifest } = candidate;
        match manifest {
            Ok(manifest) => self.add_manifest(origin, dir, manifest),
            Err(kind) => {
                let name = dir_name(&dir);
                // The name stays reserved, so that a project cannot replace a gate whose manifest is broken.
                if origin == ExtensionOrigin::Global {
                    self.names.entry(name_key(&name)).or_insert_with(|| dir.clone());
                }
                self.found.errors.push(DiscoveryError { name, dir, origin, kind });
            }
        }
    }

    /// True if another path led to the same directory before.
    fn is_known(&mut self, candidate: &ExtensionCandidate) -> bool {
        self.is_known_as(&candidate.dir, candidate.manifest.as_ref().ok())
    }

    /// [`is_known`](Self::is_known) for a directory with this manifest.
    fn is_known_as(&mut self, dir: &Path, manifest: Option<&Manifest>) -> bool {
        if let Some(manifest) = manifest {
            match self.firsts.entry(name_key(manifest.name.as_str())) {
                Entry::Vacant(first) => {
                    first.insert(dir.to_owned());
                    // The extension approved there may have had another name.
                    return !self.dirs.is_empty() && self.dirs.contains(&canonical_dir(dir));
                }
                Entry::Occupied(first) => _ = self.dirs.insert(canonical_dir(first.get())),
            }
        }
        !self.dirs.insert(canonical_dir(dir))
    }

    fn add_manifest(&mut self, origin: ExtensionOrigin, dir: PathBuf, manifest: Manifest) {
        if let Some(reason) = self.reason_to_skip(origin, &manifest) {
            // A disabled extension keeps its name, so that a project cannot run another one under it.
            if origin == ExtensionOrigin::Global && reason == SkipReason::Disabled {
                self.names.insert(name_key(manifest.name.as_str()), dir.clone());
            }
            self.found.skipped.push(SkippedExtension { name: manifest.name, dir, origin, reason });
            return;
        }
        self.names.insert(name_key(manifest.name.as_str()), dir.clone());
        let launch = match self.resolve_launch(&manifest, &dir) {
            Ok(launch) => launch,
            // The host must know of a gate that cannot start, to block the actions that it guards.
            Err(error) if manifest.roles.required => LaunchPlan::Impossible { why: error.to_string() },
            Err(error) => {
                let name = manifest.name.as_str().to_owned();
                self.found.errors.push(DiscoveryError { name, dir, origin, kind: error.into() });
                return;
            }
        };
        self.found.warn_about_ignored(&manifest.name, &manifest.ignored);
        // An extension from the command line is in development and runs without a sandbox; the user is told.
        let level = manifest.permissions.as_ref().filter(|_| origin != ExtensionOrigin::Explicit);
        let level = level.map(Permissions::level);
        self.found.specs.push(ExtensionSpec { level, ..build_spec(manifest, dir, launch, origin) });
    }

    fn resolve_launch(&mut self, manifest: &Manifest, dir: &Path) -> Result<LaunchPlan, ExecError> {
        let shared = manifest.exec.as_ref().filter(|exec| exec.is_shared());
        if let Some(exec) = shared
            && let Some(program) = self.programs.get(&exec.program)
        {
            return Ok(LaunchPlan::Process { program: program.clone(), args: exec.args.clone() });
        }
        let launch = manifest.resolve_launch(dir, self.search.path.as_deref())?;
        if let (Some(exec), LaunchPlan::Process { program, .. }) = (shared, &launch) {
            self.programs.insert(exec.program.clone(), program.clone());
        }
        Ok(launch)
    }

    fn reason_to_skip(&self, origin: ExtensionOrigin, manifest: &Manifest) -> Option<SkipReason> {
        let trusted = self.search.project.as_ref().is_some_and(Project::is_trusted);
        if let Some(by) =
            self.names.get(&name_key(manifest.name.as_str())).filter(|_| is_up(Defense::NamesTaken))
        {
            Some(SkipReason::NameTaken { by: by.clone() })
        } else if !manifest.enabled {
            Some(SkipReason::Disabled)
        } else if origin == ExtensionOrigin::Project && !trusted {
            Some(SkipReason::Untrusted)
        } else {
            None
        }
    }
}

/// Returns the key of a name. Names that differ only in case are the same, because many systems would use one log
/// file for both.
fn name_key(name: &str) -> String {
    name.to_ascii_lowercase()
}

/// Returns the directory that `--ext` names, directly or by its manifest.
fn explicit_dir(path: &Path) -> PathBuf {
    let path = make_absolute(path);
    match path.parent() {
        Some(parent) if path.ends_with(MANIFEST_FILE) && path.is_file() => parent.into(),
        Some(_) | None => path,
    }
}

/// Reads the manifest in a directory that `--ext` names.
fn read_explicit(dir: &Path) -> Result<Manifest, DiscoveryErrorKind> {
    if dir.is_file() {
        return Err(DiscoveryErrorKind::IsFile { path: dir.into() });
    }
    Ok(Manifest::read(dir)?)
}

/// Returns the absolute path, or the path as it is if the current directory no longer exists.
fn make_absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

/// Returns the extensions in `dir`, ordered by name. Follows symlinks to directories. Ignores files, hidden
/// directories and directories without a manifest. A missing directory is empty.
pub(crate) fn scan(dir: &Path) -> Vec<ExtensionCandidate> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(source) => {
            let kind = DiscoveryErrorKind::List { dir: dir.into(), source };
            return vec![ExtensionCandidate { dir: dir.into(), manifest: Err(kind) }];
        }
    };
    let mut candidates: Vec<_> = entries
        .flatten()
        // The directory listing already has the file type.
        .map(|entry| (entry.file_type().is_ok_and(|kind| kind.is_dir()), entry.path()))
        .filter(|(is_dir, path)| {
            !dir_name(path).starts_with('.') && (*is_dir || path.is_dir() || is_dangling(path))
        })
        .map(|(_, path)| path)
        .filter_map(|dir| match Manifest::read(&dir) {
            Err(error) if error.is_missing() => None,
            manifest => Some(ExtensionCandidate { dir, manifest: manifest.map_err(Into::into) }),
        })
        .collect();
    candidates.sort_by_cached_key(|candidate| (candidate.name(), dir_name(&candidate.dir)));
    candidates
}

/// True for a dangling symlink. It is an error, because an extension was meant to be there.
fn is_dangling(path: &Path) -> bool {
    path.is_symlink() && !path.exists()
}
