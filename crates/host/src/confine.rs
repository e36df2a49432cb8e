//! The sandbox of an extension: what the user grants, and what that comes to on this machine.

mod apart;
mod interpreter;

use std::ffi::OsString;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use haft_launch::Sandbox;
use haft_launch::sandbox::{Level, Net};
use haft_protocol::defence::{Defence, is_up};

use crate::host::HostConfig;
use crate::permission::ExecPermission;
use crate::spec::ExtensionSpec;
use apart::Kept;
use interpreter::{has_shim, prefixes};

/// What is set to the data directory: a home and a place for temporary files that the program may write to.
const SET_TO_DATA: &[&str] = &["HOME", "TEMP", "TMP", "TMPDIR"];

/// What would lead it to places of the user that it cannot reach.
const LEFT_OUT: &[&str] =
    &["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"];

/// What the user lets an extension do in its sandbox, beside what every one may: read and execute its own directory, its
/// interpreter and the system's programs, and write to its data directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SandboxGrant {
    /// By which means, and so how tightly.
    pub level: Level,
    /// What it may read.
    pub read: Vec<GrantedPath>,
    /// What it may read and change.
    pub write: Vec<GrantedPath>,
    /// What it may read and execute.
    pub exec: Vec<GrantedPath>,
    /// Which programs it may start beside those.
    pub programs: ExecPermission,
    /// Whom it may talk to.
    pub net: Net,
}

/// A file, or a directory with all below it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GrantedPath {
    base: Base,
    /// Absolute where the base is the root, else without a root.
    path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Base {
    Root,
    Workspace,
    Data,
}

/// Text that names no place for a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} {why}; name an absolute path, or one that begins with ~/, $WORKSPACE or $DATA")]
pub struct PathError {
    text: String,
    why: &'static str,
}

/// A sandbox for one start, and the environment that goes with it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Confined {
    pub(crate) sandbox: Sandbox,
    data: PathBuf,
}

impl SandboxGrant {
    /// Nothing beside what every extension may.
    pub fn new(level: Level) -> Self {
        let (read, write, exec) = (Vec::new(), Vec::new(), Vec::new());
        Self { level, read, write, exec, programs: ExecPermission::Any, net: Net::None }
    }
}

/// For the log.
impl fmt::Display for SandboxGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let net = match self.net {
            Net::None => "none",
            Net::Loopback => "loopback",
            Net::All => "all",
        };
        let (level, programs) = (self.level, self.programs.name());
        write!(f, "runs in a sandbox of level {level}, network {net}, programs {programs}")
    }
}

impl GrantedPath {
    /// Reads a path as people write it: absolute, or beginning with `~` for `home`, with `$WORKSPACE` for the directory
    /// that the agent works in, or with `$DATA` for that of the extension's data.
    ///
    /// # Errors
    /// When it is relative, leads upwards, or there is no home.
    pub fn parse(text: &str, home: Option<&Path>) -> Result<Self, PathError> {
        let error = |why| PathError { text: text.to_owned(), why };
        let mut parts = Path::new(text).components();
        let first = parts.next().ok_or_else(|| error("is empty"))?;
        let below: PathBuf = parts.collect();
        let (base, path) = match first {
            Component::RootDir | Component::Prefix(_) => (Base::Root, Path::new(text).components().collect()),
            Component::Normal(word) if word == "~" => {
                let home = home.ok_or_else(|| error("needs a home directory, and there is none"))?;
                (Base::Root, joined(home, &below))
            }
            Component::Normal(word) if word == "$WORKSPACE" => (Base::Workspace, below),
            Component::Normal(word) if word == "$DATA" => (Base::Data, below),
            Component::Normal(_) | Component::CurDir | Component::ParentDir => {
                return Err(error("is not absolute"));
            }
        };
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(error("has `..` in it"));
        }
        Ok(Self { base, path })
    }

    /// Whether whoever is granted this is granted the other, too.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let is_everything = self.base == Base::Root && self.path == Path::new("/");
        is_everything || (self.base == other.base && other.path.starts_with(&self.path))
    }

    /// Whether it lies in the extension's own data, which every one may change.
    pub(crate) fn is_data(&self) -> bool {
        self.base == Base::Data
    }

    /// The place itself, where this is the workspace and that the extension's data directory.
    pub fn resolved(&self, workspace: &Path, data: &Path) -> PathBuf {
        let base = match self.base {
            Base::Root => return self.path.clone(),
            Base::Workspace => workspace,
            Base::Data => data,
        };
        joined(base, &self.path)
    }
}

/// Without a separator at the end where there is nothing to join.
fn joined(base: &Path, below: &Path) -> PathBuf {
    base.components().chain(below.components()).collect()
}

impl Confined {
    /// The sandbox that an extension is to be started in; none when the user asks for none. Makes its data directory.
    ///
    /// # Errors
    /// Why it cannot be had, and what to do, for people. Then the extension must not be started.
    pub(crate) fn new(
        spec: &ExtensionSpec,
        program: &Path,
        config: &HostConfig,
    ) -> Result<Option<Self>, String> {
        let Some(level) = config.level_of(spec) else { return Ok(None) };
        let grant = config.sandbox_of(spec, level).map_err(|error| error.to_string());
        let confined = grant.and_then(|grant| Self::checked(&grant, spec, program, config));
        confined.map(Some).map_err(|why| {
            format!(
                "was not started: it is to run in a sandbox of level {}, and that cannot be had: {why}. No other level \
                 is taken in its place; change [grant.{}] in config.toml, or what is missing here",
                level, spec.name
            )
        })
    }

    fn checked(
        grant: &SandboxGrant,
        spec: &ExtensionSpec,
        program: &Path,
        config: &HostConfig,
    ) -> Result<Self, String> {
        if config.launcher.is_none() || !is_up(Defence::OwnSession) {
            return Err("this program starts extensions without a launcher, which would put it on".to_owned());
        }
        let data = config.data_dir(&spec.name).ok_or("this program has no place for its data")?;
        let sandbox = sandbox(grant, spec, program, &config.cwd, &data);
        sandbox.check().map_err(|error| error.to_string())?;
        let kept = Kept::new(config, &data);
        let listed = [&sandbox.read, &sandbox.write, &sandbox.exec].into_iter().flatten();
        for path in listed.filter(|path| **path != data) {
            is_there(path)?;
            kept.holds_nothing(path)?;
        }
        let granted =
            |paths: &[GrantedPath]| paths.iter().map(|path| path.resolved(&config.cwd, &data)).collect();
        let [read, write, exec]: [Vec<PathBuf>; 3] =
            [granted(&grant.read), granted(&grant.write), granted(&grant.exec)];
        for path in &write {
            kept.is_outside(path)?;
        }
        for path in read.iter().chain(&write).chain(&exec) {
            kept.leads_nowhere_else(path, &write)?;
        }
        make_private(&data).map_err(|error| format!("its data directory {}: {error}", data.display()))?;
        Ok(Self { sandbox, data })
    }

    /// The environment of an extension, changed to fit.
    pub(crate) fn env(&self, mut env: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
        env.retain(|(name, _)| !SET_TO_DATA.iter().chain(LEFT_OUT).any(|other| name == other));
        env.extend(SET_TO_DATA.iter().map(|name| (name.into(), self.data.clone().into())));
        env
    }
}

fn sandbox(
    grant: &SandboxGrant,
    spec: &ExtensionSpec,
    program: &Path,
    workspace: &Path,
    data: &Path,
) -> Sandbox {
    let resolved = |paths: &[GrantedPath]| -> Vec<PathBuf> {
        paths.iter().map(|path| path.resolved(workspace, data)).collect()
    };
    let mut sandbox = Sandbox::new(grant.level);
    sandbox.read = resolved(&grant.read);
    sandbox.write = resolved(&grant.write);
    sandbox.exec = resolved(&grant.exec);
    sandbox.net = grant.net;
    // All of it is its own, and need not be there yet.
    sandbox.read.retain(|path| !path.starts_with(data));
    sandbox.write.retain(|path| !path.starts_with(data));
    sandbox.write.push(data.to_owned());
    // The program and its interpreter it may execute in any case.
    match grant.programs {
        ExecPermission::None => sandbox.read.push(spec.dir.clone()),
        ExecPermission::Own | ExecPermission::Any => sandbox.exec.push(spec.dir.clone()),
    }
    let home = std::env::home_dir();
    // A shim is a program of the user's, and no choice of the extension's.
    let has_shim = has_shim(program, home.as_deref()) && !program.starts_with(&spec.dir);
    sandbox.system_programs = grant.programs == ExecPermission::Any || has_shim;
    sandbox.exec.extend(prefixes(program, home.as_deref()));
    sandbox
}

fn is_there(path: &Path) -> Result<(), String> {
    match path.metadata() {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{} is granted and cannot be used: {error}", path.display())),
    }
}

/// # Errors
/// When something else is in its place: a link there would lead the sandbox elsewhere.
fn make_private(dir: &Path) -> std::io::Result<()> {
    if let Some(above) = dir.parent() {
        std::fs::create_dir_all(above)?;
    }
    match std::fs::create_dir(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    if !std::fs::symlink_metadata(dir)?.is_dir() {
        return Err(std::io::Error::other("is no directory; move it away"));
    }
    #[cfg(unix)]
    std::fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(())
}

#[cfg(test)]
mod tests;
