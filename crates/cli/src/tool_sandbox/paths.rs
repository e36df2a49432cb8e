//! The paths in `tools.write` and `tools.hide`: how they are read, and which are mistakes.

use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;
use haft_config::{Home, SourcedValue, ToolSandboxLevel, ToolSettings};
use haft_launch::Sandbox;
use haft_launch::sandbox::{ConfinementLevel, SandboxError};
use haft_packages::GrantedPath;

use super::secret_places;

const WRITE: &str = "tools.write";
const HIDE: &str = "tools.hide";

/// The word for the working directory at the beginning of a path.
const WORKSPACE: &str = "$WORKSPACE";

/// The paths that the settings add to the sandbox.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ToolPaths {
    pub(super) write: Vec<PathBuf>,
    pub(super) hide: Vec<PathBuf>,
}

/// Reads and checks the paths in the settings.
pub(crate) struct ToolPathReader<'a> {
    home: &'a Home,
    cwd: &'a Path,
    user_home: Option<PathBuf>,
}

impl<'a> ToolPathReader<'a> {
    pub(crate) fn new(home: &'a Home, cwd: &'a Path) -> Self {
        Self { home, cwd, user_home: std::env::home_dir() }
    }

    /// Returns the paths in the settings.
    ///
    /// # Errors
    /// The first mistake, with the origin of the setting.
    pub(super) fn read(&self, settings: &ToolSettings) -> anyhow::Result<ToolPaths> {
        let hide = self.read_key(HIDE, &settings.hide, &|_| Ok(()))?;
        if settings.write.value.is_empty() {
            return Ok(ToolPaths { write: Vec::new(), hide });
        }
        let hidden = self.user_home.iter().flat_map(|home| secret_places(home)).chain(hide.iter().cloned());
        let hidden: Vec<_> = hidden.map(|path| resolve_existing(&path)).collect();
        let write = self.read_key(WRITE, &settings.write, &|path| self.check_writable(path, &hidden))?;
        Ok(ToolPaths { write, hide })
    }

    /// Checks the paths in the settings.
    ///
    /// # Errors
    /// The first mistake, with the origin of the setting.
    pub(crate) fn check(&self, settings: &ToolSettings) -> anyhow::Result<()> {
        self.read(settings).map(drop)
    }

    /// Returns a warning for each path that does not exist, so that it has no effect. A path in the working directory is
    /// not reported, because a setting holds for all projects.
    pub(crate) fn missing_path_notes(&self, settings: &ToolSettings) -> Vec<String> {
        let level = settings.sandbox.value;
        let notes = |key: &str, set: &SourcedValue<Vec<String>>, effect: &str| {
            let missing = set.value.iter().filter(|text| {
                let path = self.parse(key, text);
                !text.starts_with(WORKSPACE)
                    && path.is_ok_and(|path| path.try_exists().is_ok_and(|exists| !exists))
            });
            missing.map(|text| format!("{key}: {text} does not exist, so {effect}")).collect::<Vec<_>>()
        };
        let mut all = Vec::new();
        if level == ToolSandboxLevel::Workspace {
            all.extend(notes(WRITE, &settings.write, "commands cannot write to it; create it"));
        }
        if level != ToolSandboxLevel::Full {
            all.extend(notes(HIDE, &settings.hide, "nothing is hidden; correct or remove it"));
        }
        all
    }

    fn read_key(
        &self,
        key: &str,
        set: &SourcedValue<Vec<String>>,
        check: &dyn Fn(&Path) -> Result<(), String>,
    ) -> anyhow::Result<Vec<PathBuf>> {
        let read = |text: &String| {
            let path = self.parse(key, text)?;
            check(&path).map_err(|why| format!("{text:?} {why}"))?;
            Ok(path)
        };
        let paths: Result<Vec<_>, String> = set.value.iter().map(read).collect();
        paths.map_err(anyhow::Error::msg).with_context(|| format!("{}: {key}", set.origin))
    }

    /// Returns the absolute path that a text means.
    fn parse(&self, key: &str, text: &str) -> Result<PathBuf, String> {
        let bases = if key == HIDE { "~/ or $WORKSPACE" } else { "~/" };
        let mistake =
            |why: &str| format!("{text:?} {why}; use an absolute path, or a path that begins with {bases}");
        let is_base =
            |base: &str| Path::new(text).components().next() == Some(Component::Normal(base.as_ref()));
        if is_base("$DATA") || (is_base(WORKSPACE) && key != HIDE) {
            return Err(mistake("is not absolute"));
        }
        let path =
            GrantedPath::parse(text, self.user_home.as_deref()).map_err(|error| mistake(error.reason()))?;
        let path = path.resolve(self.cwd, self.cwd);
        if text.contains(['*', '?', '[', '{']) && path.symlink_metadata().is_err() {
            return Err(format!("{text:?} is a pattern, and patterns are not supported; name each path"));
        }
        // Otherwise every command would fail.
        let mut sandbox = Sandbox::new(ConfinementLevel::Standard);
        let list = if key == WRITE { &mut sandbox.write } else { &mut sandbox.read };
        list.push(resolve_existing(&path));
        match sandbox.check() {
            Err(SandboxError::Path { reason, .. }) => Err(format!("{text:?} {reason}")),
            // The level of the commands is not yet known.
            Ok(()) | Err(_) => Ok(path),
        }
    }

    /// Checks that a path does not open what the sandbox protects. The hidden paths are resolved.
    fn check_writable(&self, path: &Path, hidden: &[PathBuf]) -> Result<(), String> {
        let (real, own) = (resolve_existing(path), self.home.root());
        if real.starts_with(resolve_existing(own)) {
            return Err(format!(
                "is in haft's home directory, {}, which tools can never change; remove the path",
                own.display()
            ));
        }
        match hidden.iter().find(|hidden| real.starts_with(hidden)) {
            Some(hidden) => {
                let hidden = hidden.display();
                Err(format!("is in {hidden}, which is hidden because it holds secrets; remove the path"))
            }
            None => Ok(()),
        }
    }
}

/// Checks a list of paths as a person types it in `/settings`.
///
/// # Errors
/// The first mistake.
pub(crate) fn check_path_list(
    reader: &ToolPathReader<'_>,
    settings: &ToolSettings,
    key: &str,
    text: &str,
) -> anyhow::Result<()> {
    let mut settings = settings.clone();
    let list = if key == HIDE { &mut settings.hide } else { &mut settings.write };
    list.value = haft_config::list_items(text).map(str::to_owned).collect();
    reader.check(&settings).map_err(|error| anyhow::Error::msg(error.root_cause().to_string()))
}

/// Resolves the links of a path as far as it exists.
pub(super) fn resolve_existing(path: &Path) -> PathBuf {
    let resolved = path.ancestors().find_map(|above| {
        let real = above.canonicalize().ok()?;
        Some(real.components().chain(path.strip_prefix(above).ok()?.components()).collect())
    });
    resolved.unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use haft_config::SettingOrigin;

    use super::*;

    /// A user's home directory with haft's home directory, and a workspace.
    struct World {
        dir: tempfile::TempDir,
        home: Home,
    }

    impl World {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            for name in ["me/.haft/results", "me/.ssh", "me/cache", "w"] {
                std::fs::create_dir_all(dir.path().join(name)).unwrap();
            }
            #[cfg(unix)]
            std::os::unix::fs::symlink(dir.path().join("me/.haft"), dir.path().join("me/link")).unwrap();
            let home = Home::at(dir.path().join("me/.haft"));
            Self { dir, home }
        }

        fn reader<'a>(&'a self, cwd: &'a Path) -> ToolPathReader<'a> {
            ToolPathReader {
                user_home: Some(self.dir.path().join("me")),
                ..ToolPathReader::new(&self.home, cwd)
            }
        }

        fn mistake(&self, write: &[&str], hide: &[&str]) -> String {
            let cwd = self.dir.path().join("w");
            let result = self.reader(&cwd).check(&settings(write, hide));
            let text = result.map_or_else(|error| format!("{error:#}"), |()| String::new());
            text.replace(&self.dir.path().display().to_string(), "DIR")
        }
    }

    fn settings(write: &[&str], hide: &[&str]) -> ToolSettings {
        let list = |paths: &[&str]| SourcedValue {
            value: paths.iter().map(|&path| path.to_owned()).collect(),
            origin: SettingOrigin::Default,
        };
        ToolSettings { write: list(write), hide: list(hide), ..ToolSettings::default() }
    }

    #[track_caller]
    fn check(write: &[&str], hide: &[&str], mistake: &str) {
        assert_eq!(World::new().mistake(write, hide), mistake, "{write:?} {hide:?}");
    }

    #[test]
    fn permits_ordinary_paths() {
        check(&["~/cache", "~/missing", "/opt"], &["$WORKSPACE/.env", "~/notes", "/opt/x"], "");
        check(&["~", "~/.haftling"], &[], "");
    }

    #[test]
    fn rejects_paths_that_open_what_is_protected() {
        let own = "is in haft's home directory, DIR/me/.haft, which tools can never change; remove the path";
        check(&["~/.haft"], &[], &format!("default: tools.write: \"~/.haft\" {own}"));
        check(&["~/cache", "~/.haft/new/x"], &[], &format!("default: tools.write: \"~/.haft/new/x\" {own}"));
        check(&["~/link"], &[], &format!("default: tools.write: \"~/link\" {own}"));
        let secret = "is in DIR/me/.ssh, which is hidden because it holds secrets; remove the path";
        check(&["~/.ssh"], &[], &format!("default: tools.write: \"~/.ssh\" {secret}"));
        check(&["~/.ssh/new"], &[], &format!("default: tools.write: \"~/.ssh/new\" {secret}"));
        let notes = "is in DIR/me/notes, which is hidden because it holds secrets; remove the path";
        check(&["~/notes/x"], &["~/notes"], &format!("default: tools.write: \"~/notes/x\" {notes}"));
    }

    #[test]
    fn rejects_paths_with_which_no_command_runs() {
        let all = "covers all files; list the needed directories instead";
        check(&["/"], &[], &format!("default: tools.write: \"/\" {all}"));
        check(&[], &["/"], &format!("default: tools.hide: \"/\" {all}"));
        check(&["/proc"], &[], "default: tools.write: \"/proc\" exposes other processes");
    }

    #[test]
    fn rejects_texts_that_are_not_paths() {
        let write = "use an absolute path, or a path that begins with ~/";
        let hide = "use an absolute path, or a path that begins with ~/ or $WORKSPACE";
        check(&["maps"], &[], &format!("default: tools.write: \"maps\" is not absolute; {write}"));
        check(
            &["$WORKSPACE/x"],
            &[],
            &format!("default: tools.write: \"$WORKSPACE/x\" is not absolute; {write}"),
        );
        check(&[], &["$DATA/x"], &format!("default: tools.hide: \"$DATA/x\" is not absolute; {hide}"));
        check(&[], &["~/a/../b"], &format!("default: tools.hide: \"~/a/../b\" contains `..`; {hide}"));
        let pattern = "is a pattern, and patterns are not supported; name each path";
        check(&[], &["~/*.pem"], &format!("default: tools.hide: \"~/*.pem\" {pattern}"));
        check(&["~/cache/[ab]"], &[], &format!("default: tools.write: \"~/cache/[ab]\" {pattern}"));
    }

    #[test]
    fn reports_missing_paths() {
        let (world, cwd) = (World::new(), Path::new("/w"));
        let mut settings = settings(&["~/cache", "~/missing"], &["$WORKSPACE/.env", "~/secret"]);
        let write = "tools.write: ~/missing does not exist, so commands cannot write to it; create it";
        let hide = "tools.hide: ~/secret does not exist, so nothing is hidden; correct or remove it";
        assert_eq!(world.reader(cwd).missing_path_notes(&settings), [write, hide]);
        settings.sandbox.value = ToolSandboxLevel::ReadOnly;
        assert_eq!(world.reader(cwd).missing_path_notes(&settings), [hide]);
        settings.sandbox.value = ToolSandboxLevel::Full;
        assert!(world.reader(cwd).missing_path_notes(&settings).is_empty());
    }

    #[test]
    fn checks_list_of_the_settings_screen() {
        let world = World::new();
        let (reader, settings) = (world.reader(Path::new("/w")), ToolSettings::default());
        check_path_list(&reader, &settings, HIDE, "~/a, /b").unwrap();
        let error = check_path_list(&reader, &settings, WRITE, "~/cache, ~/.ssh").unwrap_err().to_string();
        assert!(error.starts_with("\"~/.ssh\" is in "), "{error}");
    }
}
