//! Which extensions shall run: `--ext`, then the user's, then the project's; behind those of each, what its
//! configuration adds.
//!
//! One order serves names and interceptors alike. An earlier extension keeps its name; a later one of the same
//! name is reported and not run, so a cloned repository can add an extension and never replace the user's.

mod approved;
mod owned;
mod skipped;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use haft_protocol::defence::{Defence, is_up};
use haft_protocol::event::ExtensionFault;
use haft_protocol::ids::ExtensionName;

use crate::approved::lock::{ApprovalStore, LockError};
use crate::file_name::dir_name;
use crate::manifest::permission::Permissions;
use crate::manifest::{ExecError, LaunchPlan, MANIFEST_FILE, Manifest, ManifestError};
use crate::spec::{ExtensionDialect, ExtensionOrigin, ExtensionSpec};

pub use haft_protocol::project::{Project, ProjectTrust};
pub(crate) use owned::{ApprovedVersion, UserExtension, load_approvals, user_extensions};
pub use skipped::{PIN_MISMATCH, SkipReason, SkippedExtension};

/// The stable name of a manifest with a mistake, as `extension_error` events carry it.
const MANIFEST_INVALID: &str = "manifest_invalid";

/// Where to look.
#[derive(Debug, Clone, Default)]
pub struct DiscoveryOptions {
    /// `--ext`, as given: directories, or the `extension.json` in them. Relative to the process's own directory.
    pub explicit: Vec<PathBuf>,
    /// `$HAFT_HOME/extensions`; none with `--no-ext`.
    pub global: Option<PathBuf>,
    /// The project; none with `--no-ext`.
    pub project: Option<Project>,
    /// The places that the configuration adds; none with `--no-ext`.
    pub extra_locations: Vec<ExtraLocation>,
    /// The user's approvals: of the global directory nothing else runs, and what was installed beside it. Without this
    /// all of the global directory runs, as it is there.
    pub approved: Option<ApprovalStore>,
    /// The value of `PATH`, for an `exec` that is a bare name.
    pub path: Option<OsString>,
}

/// A further place of extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraLocation {
    /// The directory of an extension, or of several. Relative to the process's own.
    pub dir: PathBuf,
    /// The origin: [`ExtensionOrigin::Global`] stands behind the user's installed ones, [`ExtensionOrigin::Project`] behind the
    /// project's. Whoever names a place of an untrusted project runs it.
    pub origin: ExtensionOrigin,
}

/// The outcome of a discovery. Nothing is run by finding it.
#[derive(Debug, Default)]
pub struct Discovery {
    /// The extensions that run, in order.
    pub specs: Vec<ExtensionSpec>,
    /// The extensions that do not run, with the reasons.
    pub skipped: Vec<SkippedExtension>,
    /// Mistakes that keep nothing from running: fields of manifests that count as left out.
    pub warnings: Vec<ExtensionFault>,
    /// The extensions that should run and cannot. An extension whose manifest says `required` and whose program is not
    /// there is in `specs` all the same: the host cannot start it, and blocks what it guards.
    pub errors: Vec<DiscoveryError>,
}

/// An extension that should run and cannot.
#[derive(Debug, thiserror::Error)]
#[error("extension in {} cannot be used", dir.display())]
pub struct DiscoveryError {
    /// The manifest's name, or the directory's when there is no readable manifest.
    pub name: String,
    /// The directory, absolute.
    pub dir: PathBuf,
    /// Where it was found.
    pub origin: ExtensionOrigin,
    /// The mistake.
    #[source]
    pub kind: DiscoveryErrorKind,
}

/// The mistake in an extension.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryErrorKind {
    /// Its manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// Its `exec`.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// `--ext` names a file where it should name the directory around it.
    #[error("{} is a file; --ext takes the extension's directory", path.display())]
    IsFile {
        /// The file.
        path: PathBuf,
    },
    /// The lock file cannot be used, so nothing is approved, and nobody knows what is required.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The directory of extensions cannot be listed.
    #[error("cannot list {}", dir.display())]
    List {
        /// The directory.
        dir: PathBuf,
        /// Why.
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
    /// The manifest's name, or the directory's when there is no readable manifest.
    pub(crate) fn name(&self) -> String {
        match &self.manifest {
            Ok(manifest) => manifest.name.as_str().to_owned(),
            Err(_) => dir_name(&self.dir),
        }
    }
}

impl DiscoveryError {
    /// The stable name of the case, as `extension_error` events carry it.
    pub fn code(&self) -> &'static str {
        match &self.kind {
            DiscoveryErrorKind::Manifest(_) | DiscoveryErrorKind::IsFile { .. } => MANIFEST_INVALID,
            DiscoveryErrorKind::Exec(_) => "spawn_failed",
            DiscoveryErrorKind::Lock(_) => "lock_invalid",
            DiscoveryErrorKind::List { .. } => "discovery_failed",
        }
    }

    /// Why no tool may run as long as this is wrong, if so: one that is required may be among those that nobody knows of.
    fn blocking_reason(&self) -> Option<String> {
        let why =
            || format!("{} cannot be used and nobody knows which extensions have to be in place", self.name);
        matches!(self.kind, DiscoveryErrorKind::Lock(_)).then(why)
    }
}

/// The extensions to run, and the faults to report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiscoveredExtensions {
    /// The extensions to run, in order of precedence.
    pub specs: Vec<ExtensionSpec>,
    /// The files that could not be read; reported by the host.
    pub faults: Vec<ExtensionFault>,
    /// Why no tool may run, if so: nobody can tell which extensions have to be in place, and one of them may be a guard.
    /// Fit to follow "because". The cause is among the faults.
    pub blocked: Option<String>,
}

impl From<Vec<ExtensionSpec>> for DiscoveredExtensions {
    fn from(specs: Vec<ExtensionSpec>) -> Self {
        Self { specs, ..Self::default() }
    }
}

impl From<Discovery> for DiscoveredExtensions {
    /// What the host runs and reports. Of what was skipped it reports what the user has and has to look at; the rest is for
    /// the front end to tell.
    fn from(found: Discovery) -> Self {
        let fault = |error: DiscoveryError| ExtensionFault {
            code: error.code().into(),
            message: format!("{error}: {}", error.kind),
            extension: ExtensionName::new(error.name),
        };
        let skipped: Vec<_> = found.skipped.iter().filter_map(SkippedExtension::to_fault).collect();
        let blocked = found.errors.iter().find_map(DiscoveryError::blocking_reason);
        let faults = found.errors.into_iter().map(fault).chain(found.warnings).chain(skipped).collect();
        Self { specs: found.specs, faults, blocked }
    }
}

impl Discovery {
    /// Looks in all places. A broken extension is an entry of [`errors`](Self::errors) and stops nothing.
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
        let warning = |message: &String| ExtensionFault {
            extension: extension.clone(),
            code: MANIFEST_INVALID.to_owned(),
            message: message.clone(),
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

/// Where the project's extensions lie, absolute.
pub fn extensions_dir(project: &Project) -> PathBuf {
    make_absolute(&project.haft_dir()).join("extensions")
}

struct DiscoveryCollector<'a> {
    search: &'a DiscoveryOptions,
    found: Discovery,
    /// Names that are taken, in lower case, and the directory of the one who has it.
    names: HashMap<String, PathBuf>,
    /// The first directory of each name that manifests bear: one that is found a second time has the same name, and
    /// until then nobody need know what makes it the same.
    firsts: HashMap<String, PathBuf>,
    /// The identities of further directories, and of those without a readable manifest.
    dirs: HashSet<PathBuf>,
    /// Programs that lie in no extension, by what manifests call them: many extensions have one interpreter, and one
    /// look at it is enough.
    programs: HashMap<String, PathBuf>,
}

/// Returns the identity of a directory, whatever path leads to it. Numbers of files would not do: some file systems
/// give the same one to several directories, and an extension must not go missing without a word.
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
                // A guard whose manifest got broken must not be replaced by a project's copy of it.
                if origin == ExtensionOrigin::Global {
                    self.names.entry(name_key(&name)).or_insert_with(|| dir.clone());
                }
                self.found.errors.push(DiscoveryError { name, dir, origin, kind });
            }
        }
    }

    /// True if another path led to it before.
    fn is_known(&mut self, candidate: &ExtensionCandidate) -> bool {
        self.is_known_as(&candidate.dir, candidate.manifest.as_ref().ok())
    }

    /// [`is_known`](Self::is_known) of a directory whose manifest says this.
    fn is_known_as(&mut self, dir: &Path, manifest: Option<&Manifest>) -> bool {
        if let Some(manifest) = manifest {
            match self.firsts.entry(name_key(manifest.name.as_str())) {
                Entry::Vacant(first) => {
                    first.insert(dir.to_owned());
                    // What was approved there may have had another name.
                    return !self.dirs.is_empty() && self.dirs.contains(&canonical_dir(dir));
                }
                Entry::Occupied(first) => _ = self.dirs.insert(canonical_dir(first.get())),
            }
        }
        !self.dirs.insert(canonical_dir(dir))
    }

    fn add_manifest(&mut self, origin: ExtensionOrigin, dir: PathBuf, manifest: Manifest) {
        if let Some(reason) = self.reason_to_skip(origin, &manifest) {
            // One that the user installed and switched off keeps its name, or a project could switch it on.
            if origin == ExtensionOrigin::Global && reason == SkipReason::Disabled {
                self.names.insert(name_key(manifest.name.as_str()), dir.clone());
            }
            self.found.skipped.push(SkippedExtension { name: manifest.name, dir, origin, reason });
            return;
        }
        self.names.insert(name_key(manifest.name.as_str()), dir.clone());
        let launch = match self.resolve_launch(&manifest, &dir) {
            Ok(launch) => launch,
            // The host must know of a guard that cannot start, or nobody would block what it guards.
            Err(error) if manifest.roles.required => LaunchPlan::Impossible { why: error.to_string() },
            Err(error) => {
                let name = manifest.name.as_str().to_owned();
                self.found.errors.push(DiscoveryError { name, dir, origin, kind: error.into() });
                return;
            }
        };
        self.found.warn_about_ignored(&manifest.name, &manifest.ignored);
        // Whoever names one on the command line is at work on it, and is told that nothing confines it.
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
            self.names.get(&name_key(manifest.name.as_str())).filter(|_| is_up(Defence::NamesTaken))
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

/// Names that differ only in case are one name: on many systems their logs would be one file.
fn name_key(name: &str) -> String {
    name.to_ascii_lowercase()
}

/// The directory that `--ext` names, itself or by its manifest.
fn explicit_dir(path: &Path) -> PathBuf {
    let path = make_absolute(path);
    match path.parent() {
        Some(parent) if path.ends_with(MANIFEST_FILE) && path.is_file() => parent.into(),
        Some(_) | None => path,
    }
}

/// The manifest in a directory that `--ext` named.
fn read_explicit(dir: &Path) -> Result<Manifest, DiscoveryErrorKind> {
    if dir.is_file() {
        return Err(DiscoveryErrorKind::IsFile { path: dir.into() });
    }
    Ok(Manifest::read(dir)?)
}

/// The path from the root; as it is when the process has no directory any more.
fn make_absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

/// The extensions in `dir`, ordered by name. Symlinked directories are followed; files, hidden directories and
/// directories without a manifest are none. A directory that does not exist holds nothing.
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
        // What the listing says needs no further look.
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

/// A symlink to nothing: somebody meant an extension to be here, so it is an error and not passed over.
fn is_dangling(path: &Path) -> bool {
    path.is_symlink() && !path.exists()
}
