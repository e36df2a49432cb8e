//! Paths that no grant may include: the program's own files, and link targets that others may control.

use std::path::{Path, PathBuf};

use crate::supervision::config::HostConfig;

/// The paths against which a grant is checked, canonical.
pub(super) struct ProtectedPaths<'a> {
    cwd: &'a Path,
    data: &'a Path,
    own: Vec<PathBuf>,
    secrets: Vec<PathBuf>,
}

impl<'a> ProtectedPaths<'a> {
    pub(super) fn new(config: &'a HostConfig, data: &'a Path) -> Self {
        let own = [&config.home, &config.data, &config.state, &config.logs].into_iter().flatten();
        Self {
            cwd: &config.cwd,
            data,
            own: own.map(|dir| resolve_path(dir)).collect(),
            secrets: config.secrets.iter().map(|file| resolve_path(file)).collect(),
        }
    }

    /// Fails when the path is or contains one of the program's own directories or key files. Access to them
    /// would defeat the sandbox.
    pub(super) fn check_holds_nothing(&self, path: &Path) -> Result<(), String> {
        let granted = resolve_path(path);
        if self.secrets.contains(&granted) {
            return Err(format!(
                "{} must not be granted: haft stores keys in this file; remove the path from the grant",
                path.display()
            ));
        }
        let mut own = self.own.iter().chain(&self.secrets);
        match own.find(|own| own.starts_with(&granted)) {
            None => Ok(()),
            Some(own) => Err(format!(
                "{} must not be granted: the path contains haft's own files in {}; grant only the paths that the extension needs",
                path.display(),
                own.display()
            )),
        }
    }

    /// Fails when a writable path is in one of the program's own directories and outside the extension's
    /// data.
    pub(super) fn check_outside(&self, path: &Path) -> Result<(), String> {
        let granted = resolve_path(path);
        match self.own.iter().find(|own| granted.starts_with(own) && !path.starts_with(self.data)) {
            None => Ok(()),
            Some(own) => Err(format!(
                "{} must not be granted for writing: the path is among haft's own files in {}; an extension can write only to \
                 its data directory there",
                path.display(),
                own.display()
            )),
        }
    }

    /// Fails when a link redirects a path out of the agent's working directory, the extension's data, or a
    /// writable path. Others may have created such a link, so its target was not granted on purpose.
    pub(super) fn check_link_targets(&self, path: &Path, written: &[PathBuf]) -> Result<(), String> {
        let bases = [self.cwd, self.data].into_iter().chain(written.iter().map(PathBuf::as_path));
        let left = bases
            .filter(|base| path.starts_with(base))
            .find(|base| !resolve_path(path).starts_with(resolve_path(base)));
        match left {
            None => Ok(()),
            Some(base) => Err(format!(
                "{} must not be granted: a link in {} leads to {}; grant that path instead if this is intended",
                path.display(),
                base.display(),
                resolve_path(path).display()
            )),
        }
    }
}

/// Resolves a path. For a missing path, resolves the existing part and appends the rest.
fn resolve_path(path: &Path) -> PathBuf {
    let found =
        path.ancestors().find_map(|above| Some((above.canonicalize().ok()?, path.strip_prefix(above).ok()?)));
    found.map_or_else(
        || path.to_owned(),
        |(real, below)| real.components().chain(below.components()).collect(),
    )
}
