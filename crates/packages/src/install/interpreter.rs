//! Finds the program that runs an extension, or `git`, in directories that other users cannot write to.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use haft_protocol::defense::{Defense, is_up};

use super::InstallError;
use crate::manifest::{ExecCommand, LaunchPlan, Manifest, find_in_path};

/// The directories to search for programs, and those to leave out.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProgramSearchPath<'a> {
    pub(super) path: Option<&'a OsStr>,
    /// The agent's directory: programs in it are not the user's own.
    pub(super) workspace: Option<&'a Path>,
}

impl ProgramSearchPath<'_> {
    /// Finds a program by its name, unless other users may have put it there or can change it.
    pub(super) fn find_program(&self, name: &str) -> Option<PathBuf> {
        let dirs = self.trusted_path()?;
        std::env::split_paths(&dirs)
            .filter_map(|dir| find_in_path(name, Some(dir.as_os_str())))
            .find(|program| !is_world_writable(program) || !is_up(Defense::CleanPath))
    }

    /// Returns the directories of `PATH` that only the user and the system write to: those that are absolute, outside
    /// of the workspace, and not writable by other users.
    pub(super) fn trusted_path(&self) -> Option<OsString> {
        let path = self.path?;
        if !is_up(Defense::CleanPath) {
            return Some(path.to_owned());
        }
        let workspace =
            self.workspace.and_then(|dir| dir.canonicalize().ok()).filter(|dir| !contains_home(dir));
        let keeps = |dir: &PathBuf| {
            let real = dir.canonicalize().unwrap_or_else(|_| dir.clone());
            let is_projects =
                |place: &Path| workspace.as_ref().is_some_and(|workspace| place.starts_with(workspace));
            dir.is_absolute() && !is_projects(dir) && !is_projects(&real) && !is_world_writable(&real)
        };
        // Joining cannot fail, because the parts come from a split.
        Some(std::env::join_paths(std::env::split_paths(path).filter(keeps)).unwrap_or_default())
    }
}

/// Returns the program that `exec` means if it is outside of the extension, whose files are in `tree`. `origin` is
/// the source directory of the extension, for an `exec` that leads out of it.
///
/// # Errors
/// [`InstallError`] if the program does not exist, or if other users may have put it there.
pub(super) fn resolve_interpreter(
    manifest: &Manifest,
    tree: &Path,
    origin: Option<&Path>,
    places: ProgramSearchPath<'_>,
) -> Result<Option<PathBuf>, InstallError> {
    let Some(exec) = &manifest.exec else { return Ok(None) };
    let leads_out = leads_out(&exec.program);
    let dir = match origin {
        Some(origin) if leads_out => origin,
        Some(_) | None => tree,
    };
    let path = places.trusted_path();
    match manifest.resolve_launch(dir, path.as_deref())? {
        LaunchPlan::Process { program, .. } if exec.is_shared() || leads_out => {
            if is_world_writable(&program) {
                let problem = "would run the extension, but other users can change it; make it writable only by its owner";
                return Err(InstallError::refused_entry(&program, problem));
            }
            // A path that climbs would mean another file after a directory on its way was replaced.
            match leads_out {
                true => program.canonicalize().map(Some).map_err(InstallError::io("find", program)),
                false => Ok(Some(program)),
            }
        }
        LaunchPlan::Process { .. } | LaunchPlan::ThemeOnly | LaunchPlan::Impossible { .. } => Ok(None),
    }
}

/// Returns the words of a command line that lead outside of the extension, or may. The user sees each of them.
pub(super) fn outside_paths(exec: &ExecCommand) -> impl Iterator<Item = &str> {
    let is_path = |word: &&String| Path::new(word.as_str()).is_absolute() || leads_out(word);
    [&exec.program].into_iter().chain(&exec.args).filter(is_path).map(String::as_str)
}

/// True if a relative path climbs out of its directory.
fn leads_out(path: &str) -> bool {
    let mut depth = 0_usize;
    Path::new(path).components().any(|part| match part {
        Component::ParentDir => {
            let climbs = depth == 0;
            depth = depth.saturating_sub(1);
            climbs
        }
        Component::Normal(_) => {
            depth += 1;
            false
        }
        Component::CurDir | Component::RootDir | Component::Prefix(_) => false,
    })
}

/// True if the directory is the home directory or above it; then all of the user's own programs are in the workspace.
fn contains_home(dir: &Path) -> bool {
    std::env::home_dir().and_then(|home| home.canonicalize().ok()).is_some_and(|home| home.starts_with(dir))
}

/// True if any user can write to the file.
#[cfg(unix)]
fn is_world_writable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o002 != 0)
}

#[cfg(not(unix))]
fn is_world_writable(_: &Path) -> bool {
    false
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn program(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    struct SearchPathFixture {
        root: tempfile::TempDir,
    }

    impl SearchPathFixture {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let place = Self { root };
            for dir in ["project/node_modules/.bin", "open", "safe", "later", "source/bin", "tree"] {
                program(&place.at(dir).join("tool"), 0o755);
            }
            fs::create_dir(place.at("source/deep")).unwrap();
            fs::set_permissions(place.at("open"), fs::Permissions::from_mode(0o777)).unwrap();
            symlink(place.at("project/node_modules/.bin"), place.at("link")).unwrap();
            place
        }

        fn at(&self, path: &str) -> PathBuf {
            self.root.path().canonicalize().unwrap().join(path)
        }

        fn found(&self, exec: &str, dirs: &[&str]) -> Result<Option<PathBuf>, String> {
            let text = serde_json::json!({ "name": "x", "exec": exec }).to_string();
            let manifest = Manifest::parse(Path::new("extension.json"), &text, false).unwrap();
            let dirs = dirs.iter().map(|dir| match dir.strip_prefix('=') {
                Some(verbatim) => verbatim.into(),
                None => self.at(dir),
            });
            let path = std::env::join_paths(dirs).unwrap();
            let (project, source) = (self.at("project"), self.at("source/deep"));
            let places = ProgramSearchPath { path: Some(&path), workspace: Some(&project) };
            resolve_interpreter(&manifest, &self.at("tree"), Some(&source), places)
                .map_err(|error| error.to_string())
        }
    }

    #[track_caller]
    fn check(exec: &str, dirs: &[&str], expect: Result<Option<&str>, &str>) {
        let place = SearchPathFixture::new();
        match (place.found(exec, dirs), expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect.map(|path| place.at(path))),
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (found, expect) => panic!("{found:?} instead of {expect:?}"),
        }
    }

    #[test]
    fn searches_bare_name_only_in_trusted_directories() {
        let hostile =
            ["project/node_modules/.bin", "link", "open", "=node_modules/.bin", "=.", "safe", "later"];
        check("tool", &hostile, Ok(Some("safe/tool")));
        check("tool", &hostile[..5], Err("not found in PATH"));
    }

    #[test]
    fn program_inside_extension_needs_no_interpreter() {
        check("./tool", &["safe"], Ok(None));
        check("./missing", &["safe"], Err("does not exist"));
    }

    #[test]
    fn resolves_outside_path_from_origin() {
        check("../bin/tool", &[], Ok(Some("source/bin/tool")));
        check("lib/../../bin/tool", &[], Err("does not exist"));
        check("/no/such/program", &[], Err("does not exist"));
    }

    #[test]
    fn rejects_world_writable_program() {
        let place = SearchPathFixture::new();
        fs::set_permissions(place.at("safe/tool"), fs::Permissions::from_mode(0o777)).unwrap();
        let error = place.found("tool", &["safe"]).unwrap_err();
        assert!(error.contains("other users can change it"), "{error}");
    }

    #[test]
    fn lists_every_path_outside_extension() {
        let exec = |words: &[&str]| ExecCommand {
            program: words[0].into(),
            args: words[1..].iter().map(|word| (*word).to_owned()).collect(),
        };
        let check = |words: &[&str], expect: &[&str]| {
            assert_eq!(outside_paths(&exec(words)).collect::<Vec<_>>(), expect);
        };
        check(&["python3", "main.py", "--x=/y"], &[]);
        check(&["/bin/sh", "-c", "true"], &["/bin/sh"]);
        check(&["node", "../../x.js", "a/../b"], &["../../x.js"]);
        check(&["./run", "/etc/passwd", "a/../../b"], &["/etc/passwd", "a/../../b"]);
    }
}
