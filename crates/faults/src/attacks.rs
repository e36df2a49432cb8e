//! Attacks by an extension during its installation.
//!
//! Each attack runs in a separate scene: a home directory, an environment, and a payload that leaves a mark when it
//! runs.

mod archives;
mod repositories;
mod scene;
mod sources;
#[cfg(unix)]
mod trees;

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use crate::installer::InstallOutcome;
pub(crate) use scene::Scene;

pub(crate) use archives::ATTACKS as ARCHIVES;
pub(crate) use repositories::{ATTACKS as REPOSITORIES, BOMBS};
pub(crate) use sources::ATTACKS as SOURCES;
#[cfg(unix)]
pub(crate) use trees::ATTACKS as TREES;
#[cfg(not(unix))]
pub(crate) const TREES: &[Attack] = &[];

/// One attack.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// Prepares the attack and returns the source to install.
    pub(crate) make: fn(&mut Scene) -> Result<String>,
    pub(crate) expect: ExpectedOutcome,
}

/// The expected outcome. In every case, no code of the extension may run.
#[derive(Clone, Copy)]
pub(crate) enum ExpectedOutcome {
    /// `install_rejected`, with this text in the reason.
    Rejected(&'static str),
    /// Git does not clone the source.
    NotCloned,
    /// The extension is installed, and its files pass this check.
    Harmless(fn(&Path) -> Result<()>),
    /// Like [`Rejected`](Self::Rejected), if the attack can be prepared on this machine.
    IfMade(&'static str),
}

/// The outcome of an attack.
pub(crate) enum AttackOutcome {
    Refused,
    Harmless,
    /// The attack cannot be prepared on this machine.
    NotMade,
}

impl Attack {
    /// Runs the attack in a scene below `dir`. An error describes a successful attack.
    pub(crate) fn try_in(&self, dir: &Path) -> Result<AttackOutcome> {
        let mut scene = Scene::new(&dir.join(self.file_name()))?;
        let tried = self.run_in_scene(&mut scene).context(self.name)?;
        scene.remove()?;
        Ok(tried)
    }

    /// Returns the name without characters that are special in a shell, because scripts quote the scene's path.
    fn file_name(&self) -> String {
        self.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
    }

    fn run_in_scene(&self, scene: &mut Scene) -> Result<AttackOutcome> {
        let source = (self.make)(scene)?;
        if matches!(self.expect, ExpectedOutcome::IfMade(_)) && source.is_empty() {
            return Ok(AttackOutcome::NotMade);
        }
        let came = scene.installer().install(&source)?;
        ensure!(!scene.payload_ran(), "code of the extension ran; {came:?}");
        match (self.expect, &came) {
            (
                ExpectedOutcome::Rejected(part) | ExpectedOutcome::IfMade(part),
                InstallOutcome::Refused(code, why),
            ) => {
                ensure!(code == "install_rejected" && why.contains(part), "{code}: {why}");
            }
            (ExpectedOutcome::NotCloned, InstallOutcome::Refused(_, why)) => {
                ensure!(why.contains("git could not clone"), "{why}")
            }
            (ExpectedOutcome::Harmless(look), InstallOutcome::Installed(dir)) => {
                look(dir)?;
                return Ok(AttackOutcome::Harmless);
            }
            _ => anyhow::bail!("unexpected outcome {came:?}"),
        }
        scene.check_empty()?;
        Ok(AttackOutcome::Refused)
    }

    /// True if code runs when a program passes the source to git without checks.
    pub(crate) fn fires_naively(&self, dir: &Path) -> Result<bool> {
        let mut scene = Scene::new(&dir.join(format!("naive-{}", self.file_name())))?;
        let source = (self.make)(&mut scene).context(self.name)?;
        let git = scene.git_in_path().context("find git")?;
        let into = scene.dir().join("naive").display().to_string();
        let words = ["clone", "--depth", "1", &source, &into].map(str::to_owned);
        // The result of the clone does not matter.
        let mut command = scene.installer().command(&git, &words);
        let _ = command.stdout(Stdio::null()).status().context("start git")?;
        let fired = scene.payload_ran();
        scene.remove()?;
        Ok(fired)
    }
}
