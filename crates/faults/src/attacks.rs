//! Attempts of an extension to do more than lie there when it is installed.
//!
//! Each is tried in a scene of its own: a home, an environment, and a program that leaves a mark when it is run.

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

/// One thing that is tried.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// Prepares it, and says what is to be installed.
    pub(crate) make: fn(&mut Scene) -> Result<String>,
    pub(crate) expect: ExpectedOutcome,
}

/// The expected outcome. That nothing is run goes without saying.
#[derive(Clone, Copy)]
pub(crate) enum ExpectedOutcome {
    /// `install_rejected`, and the reason holds this.
    Rejected(&'static str),
    /// Git does not clone it.
    NotCloned,
    /// It is installed, and what is there passes.
    Harmless(fn(&Path) -> Result<()>),
    /// As [`Rejected`](Self::Rejected), where it can be prepared at all: there is something to install.
    IfMade(&'static str),
}

/// The outcome of an attack.
pub(crate) enum AttackOutcome {
    Refused,
    Harmless,
    /// It could not be prepared here.
    NotMade,
}

impl Attack {
    /// Tries it in a scene below `dir`. An error says what got through.
    pub(crate) fn try_in(&self, dir: &Path) -> Result<AttackOutcome> {
        let mut scene = Scene::new(&dir.join(self.file_name()))?;
        let tried = self.run_in_scene(&mut scene).context(self.name)?;
        scene.remove()?;
        Ok(tried)
    }

    /// Returns its name without characters that a shell reads: scripts name the scene between quotes.
    fn file_name(&self) -> String {
        self.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
    }

    fn run_in_scene(&self, scene: &mut Scene) -> Result<AttackOutcome> {
        let source = (self.make)(scene)?;
        if matches!(self.expect, ExpectedOutcome::IfMade(_)) && source.is_empty() {
            return Ok(AttackOutcome::NotMade);
        }
        let came = scene.installer().install(&source)?;
        ensure!(!scene.payload_ran(), "code was run; {came:?}");
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
            _ => anyhow::bail!("it came to {came:?}"),
        }
        scene.check_empty()?;
        Ok(AttackOutcome::Refused)
    }

    /// True if code is run by a program that gives the source to git without checks.
    pub(crate) fn fires_naively(&self, dir: &Path) -> Result<bool> {
        let mut scene = Scene::new(&dir.join(format!("naive-{}", self.file_name())))?;
        let source = (self.make)(&mut scene).context(self.name)?;
        let git = scene.git_in_path().context("git")?;
        let into = scene.dir().join("naive").display().to_string();
        let words = ["clone", "--depth", "1", &source, &into].map(str::to_owned);
        // Whether it came to an end does not matter.
        let mut command = scene.installer().command(&git, &words);
        let _ = command.stdout(Stdio::null()).status().context("start git")?;
        let fired = scene.payload_ran();
        scene.remove()?;
        Ok(fired)
    }
}
