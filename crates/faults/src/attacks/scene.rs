//! The environment of an attack.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use crate::installer::{self, Installer};

/// The manifest of the installed extension.
pub(super) const MANIFEST: &str = r#"{"name":"gift","exec":"./run"}"#;

/// A home directory, a working directory, and a payload that leaves a mark.
pub(crate) struct Scene {
    dir: PathBuf,
    env: Vec<(String, String)>,
}

impl Scene {
    pub(super) fn new(dir: &Path) -> Result<Self> {
        for part in ["home", "haft", "work"] {
            fs::create_dir_all(dir.join(part)).with_context(|| format!("create {part}"))?;
        }
        let scene = Self { dir: dir.into(), env: Vec::new() };
        let marker = scene.dir.join("fired");
        scene.write_program("payload", &format!("#!/bin/sh\necho fired >> '{}'\n", marker.display()))?;
        let home = scene.dir.join("home").display().to_string();
        Ok(scene.with_variable("HOME", &home))
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the path of the payload, which leaves a mark.
    pub(super) fn payload(&self) -> String {
        self.dir.join("payload").display().to_string()
    }

    /// Adds a variable.
    fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.set(name, value);
        self
    }

    /// Sets a variable in the environment of the installation.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.env.push((name.to_owned(), value.to_owned()));
    }

    /// Writes a file in the scene.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<()> {
        let path = self.dir.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&path)).context("create a directory")?;
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))
    }

    /// Writes an executable file in the scene.
    pub(super) fn write_program(&self, path: &str, text: &str) -> Result<()> {
        self.write(path, text)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(self.dir.join(path), fs::Permissions::from_mode(0o755))
                .context("create the file executable")?;
        }
        Ok(())
    }

    /// Copies the payload to a hook's path.
    pub(super) fn write_hook(&self, path: &str) -> Result<()> {
        fs::create_dir_all(self.dir.join(path).parent().unwrap_or(&self.dir))
            .context("create a directory")?;
        fs::copy(self.dir.join("payload"), self.dir.join(path)).context("copy the payload")?;
        Ok(())
    }

    /// Writes the user's git settings.
    pub(super) fn write_git_settings(&self, text: &str) -> Result<()> {
        self.write("home/.gitconfig", text)
    }

    /// Returns a directory with a manifest in it.
    pub(super) fn tree(&self) -> Result<PathBuf> {
        self.write("tree/extension.json", MANIFEST)?;
        self.write_program("tree/run", "#!/bin/sh\n")?;
        Ok(self.dir.join("tree"))
    }

    /// Commits the tree and the changes that a shell makes in it. Returns the address of the repository. The `ssh` of
    /// this scene, first in its `PATH`, serves the repository at any address.
    pub(super) fn make_repository(&mut self, script: &str) -> Result<String> {
        let tree = self.tree()?;
        let script = format!(
            "set -e; exec >/dev/null 2>&1; git init -b main; git add -A; git commit -m one; {script}\n\
             if [ -n \"$(git status --porcelain)\" ]; then git add -A; git commit -m two; fi"
        );
        self.shell(&tree, &script)?;
        let server = format!("#!/bin/sh\nexec git-upload-pack '{}'\n", tree.display());
        self.write_program("bin/ssh", &server)?;
        self.search_first(&self.dir.join("bin").display().to_string());
        Ok("ssh://git@localhost/gift".to_owned())
    }

    /// Puts a directory first in the `PATH` of the installation.
    pub(super) fn search_first(&mut self, dir: &str) {
        let own = self.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
        let path = own.or_else(|| std::env::var("PATH").ok()).unwrap_or_default();
        self.set("PATH", &format!("{dir}:{path}"));
    }

    /// Runs a shell that prepares the attack, with its own settings.
    pub(super) fn shell(&self, dir: &Path, script: &str) -> Result<()> {
        let maker = Installer { home: self.dir.join("haft"), cwd: dir.into(), env: maker_environment() };
        let words = ["-c", script, "sh", &self.payload()].map(str::to_owned);
        let mut command = maker.command(Path::new("sh"), &words);
        let output = command.stderr(Stdio::inherit()).output().context("start a shell")?;
        ensure!(output.status.success(), "{}: {script}", output.status);
        Ok(())
    }

    /// Returns the installer of this scene.
    pub(crate) fn installer(&self) -> Installer {
        Installer { home: self.dir.join("haft"), cwd: self.dir.join("work"), env: self.env.clone() }
    }

    pub(super) fn git_in_path(&self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|dir| dir.join("git")).find(|file| file.is_file())
    }

    /// True if the payload ran.
    pub(super) fn payload_ran(&self) -> bool {
        self.dir.join("fired").exists()
    }

    /// Checks that no extension and no leftovers exist.
    pub(super) fn check_empty(&self) -> Result<()> {
        let mut left = Vec::new();
        for place in ["haft/extensions", "haft/extensions/.scraps", "haft/store", "haft/store/.scraps"] {
            for entry in fs::read_dir(self.dir.join(place)).into_iter().flatten().flatten() {
                let is_fixed = entry.file_name() == ".lock" || entry.file_name() == ".scraps";
                left.extend((!is_fixed).then(|| entry.path()));
            }
        }
        ensure!(left.is_empty(), "left behind: {left:?}");
        Ok(())
    }

    /// Removes the scene, because some are large.
    pub(super) fn remove(self) -> Result<()> {
        installer::clear(&self.dir)
    }
}

/// Returns the environment for creating a repository.
fn maker_environment() -> Vec<(String, String)> {
    let person = |role: &str| {
        [("NAME", "t"), ("EMAIL", "t@example.invalid")]
            .map(|(what, value)| (format!("GIT_{role}_{what}"), value.to_owned()))
    };
    let own = [("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
    [person("AUTHOR"), person("COMMITTER"), own].concat()
}
