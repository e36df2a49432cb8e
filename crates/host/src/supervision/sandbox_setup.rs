//! The sandbox of an extension on this machine, derived from its grant.

mod interpreter;
mod protected_paths;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use haft_launch::Sandbox;
use haft_packages::{ExecPermission, ExtensionSpec, GrantedPath, SandboxGrant};
use haft_protocol::defense::{Defense, is_up};

use crate::supervision::config::HostConfig;
use interpreter::{has_shim, interpreter_trees};
use protected_paths::ProtectedPaths;

/// Variables that are set to the data directory, as a writable home and temporary directory.
const SET_TO_DATA: &[&str] = &["HOME", "TEMP", "TMP", "TMPDIR"];

/// Variables that point to directories of the user that the program cannot access.
const LEFT_OUT: &[&str] =
    &["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"];

/// A sandbox for one start, with its environment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SandboxedStart {
    pub(crate) sandbox: Sandbox,
    data: PathBuf,
}

impl SandboxedStart {
    /// Returns the sandbox for a start, or `None` if the user disabled it. Creates the data directory. The
    /// error tells people why the sandbox is not available and what to do; the extension must then not be
    /// started.
    pub(crate) fn new(
        spec: &ExtensionSpec,
        program: &Path,
        config: &HostConfig,
    ) -> Result<Option<Self>, String> {
        let Some(level) = config.level_of(spec) else { return Ok(None) };
        let grant = config.sandbox_of(spec, level).map_err(|error| error.to_string());
        let confined = grant.and_then(|grant| Self::check_grant(&grant, spec, program, config));
        confined.map(Some).map_err(|why| {
            format!(
                "was not started in a sandbox of level {}: {why}; haft uses no other level instead: fix the \
                 cause, or change [grant.{}] in config.toml",
                level, spec.name
            )
        })
    }

    fn check_grant(
        grant: &SandboxGrant,
        spec: &ExtensionSpec,
        program: &Path,
        config: &HostConfig,
    ) -> Result<Self, String> {
        if config.launcher.is_none() || !is_up(Defense::OwnSession) {
            return Err("this program has no launcher, and only a launcher can apply a sandbox".to_owned());
        }
        let data = config.data_dir(&spec.name).ok_or("this program has no data directory for extensions")?;
        let sandbox = build_sandbox(grant, spec, program, &config.cwd, &data);
        sandbox.check().map_err(|error| error.to_string())?;
        let kept = ProtectedPaths::new(config, &data);
        let listed = [&sandbox.read, &sandbox.write, &sandbox.exec].into_iter().flatten();
        for path in listed.filter(|path| **path != data) {
            check_exists(path)?;
            kept.check_holds_nothing(path)?;
        }
        let granted =
            |paths: &[GrantedPath]| paths.iter().map(|path| path.resolve(&config.cwd, &data)).collect();
        let [read, write, exec]: [Vec<PathBuf>; 3] =
            [granted(&grant.read), granted(&grant.write), granted(&grant.exec)];
        for path in &write {
            kept.check_outside(path)?;
        }
        for path in read.iter().chain(&write).chain(&exec) {
            kept.check_link_targets(path, &write)?;
        }
        make_private(&data)
            .map_err(|error| format!("cannot prepare the data directory {}: {error}", data.display()))?;
        Ok(Self { sandbox, data })
    }

    pub(crate) fn adjust_env(&self, mut env: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
        env.retain(|(name, _)| !SET_TO_DATA.iter().chain(LEFT_OUT).any(|other| name == other));
        env.extend(SET_TO_DATA.iter().map(|name| (name.into(), self.data.clone().into())));
        env
    }
}

fn build_sandbox(
    grant: &SandboxGrant,
    spec: &ExtensionSpec,
    program: &Path,
    workspace: &Path,
    data: &Path,
) -> Sandbox {
    let resolved = |paths: &[GrantedPath]| -> Vec<PathBuf> {
        paths.iter().map(|path| path.resolve(workspace, data)).collect()
    };
    let mut sandbox = Sandbox::new(grant.level);
    sandbox.read = resolved(&grant.read);
    sandbox.write = resolved(&grant.write);
    sandbox.exec = resolved(&grant.exec);
    sandbox.net = grant.net;
    // The data directory is fully accessible anyway and need not exist yet.
    sandbox.read.retain(|path| !path.starts_with(data));
    sandbox.write.retain(|path| !path.starts_with(data));
    sandbox.write.push(data.to_owned());
    // The program and its interpreter can be executed in any case.
    match grant.programs {
        ExecPermission::None => sandbox.read.push(spec.dir.clone()),
        ExecPermission::Own | ExecPermission::Any => sandbox.exec.push(spec.dir.clone()),
    }
    let home = std::env::home_dir();
    // A shim is the user's program, not the extension's choice.
    let has_shim = has_shim(program, home.as_deref()) && !program.starts_with(&spec.dir);
    sandbox.system_programs = grant.programs == ExecPermission::Any || has_shim;
    sandbox.exec.extend(interpreter_trees(program, home.as_deref()));
    sandbox
}

fn check_exists(path: &Path) -> Result<(), String> {
    match path.metadata() {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("the granted path {} cannot be used: {error}", path.display())),
    }
}

/// # Errors
/// Fails when the path is not a directory: a link there would redirect the sandbox.
fn make_private(dir: &Path) -> std::io::Result<()> {
    if let Some(above) = dir.parent() {
        std::fs::create_dir_all(above)?;
    }
    match std::fs::create_dir(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    if !std::fs::symlink_metadata(dir)?.is_dir() {
        return Err(std::io::Error::other("not a directory; move it away"));
    }
    #[cfg(unix)]
    std::fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(())
}

#[cfg(test)]
mod tests;
