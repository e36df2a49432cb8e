//! Places that no grant reaches: the program's own files, and what a link leads to that others may put there.

use std::path::{Path, PathBuf};

use crate::supervision::config::HostConfig;

/// The places that the paths of a grant are held against, canonical.
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

    /// Whoever may change the program's own directories, or read the keys in them, is not confined: fails when the path is or
    /// holds any of that.
    pub(super) fn check_holds_nothing(&self, path: &Path) -> Result<(), String> {
        let granted = resolve_path(path);
        if self.secrets.contains(&granted) {
            return Err(format!(
                "{} is granted, and haft keeps keys in it; that is for nobody",
                path.display()
            ));
        }
        let mut own = self.own.iter().chain(&self.secrets);
        match own.find(|own| own.starts_with(&granted)) {
            None => Ok(()),
            Some(own) => Err(format!(
                "{} is granted, and haft's own files lie in it, in {}; name what it needs of it",
                path.display(),
                own.display()
            )),
        }
    }

    /// Fails when what is to be changed lies in one of the program's own directories, and not in that of the extension's data.
    pub(super) fn check_outside(&self, path: &Path) -> Result<(), String> {
        let granted = resolve_path(path);
        match self.own.iter().find(|own| granted.starts_with(own) && !path.starts_with(self.data)) {
            None => Ok(()),
            Some(own) => Err(format!(
                "{} is granted to be written, and lies among haft's own files in {}, of which an extension changes none \
                 but its data",
                path.display(),
                own.display()
            )),
        }
    }

    /// A path below the directory that the agent works in, below the extension's data or below what it may change leads
    /// there, or this fails: a link could be anybody's, and lead to what nobody meant to grant.
    pub(super) fn check_link_targets(&self, path: &Path, written: &[PathBuf]) -> Result<(), String> {
        let bases = [self.cwd, self.data].into_iter().chain(written.iter().map(PathBuf::as_path));
        let left = bases
            .filter(|base| path.starts_with(base))
            .find(|base| !resolve_path(path).starts_with(resolve_path(base)));
        match left {
            None => Ok(()),
            Some(base) => Err(format!(
                "{} is granted, and a link in {} leads it to {}; name that, if you mean it",
                path.display(),
                base.display(),
                resolve_path(path).display()
            )),
        }
    }
}

/// Where a path leads; what is not there yet would lie where the rest of its path leads.
fn resolve_path(path: &Path) -> PathBuf {
    let found =
        path.ancestors().find_map(|above| Some((above.canonicalize().ok()?, path.strip_prefix(above).ok()?)));
    found.map_or_else(
        || path.to_owned(),
        |(real, below)| real.components().chain(below.components()).collect(),
    )
}
