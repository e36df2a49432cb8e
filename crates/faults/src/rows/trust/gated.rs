//! A home directory with a required gate, and whole runs of haft in it.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use haft_packages::install::InstallSource;
use haft_packages::install::lock::ApprovalMethod;
use serde_json::{Value, json};

use super::project::make_executable;
use crate::row::EVIL;
use crate::world::{HaftHome, World, last_word, sibling_binary};

/// A home with an approved required gate.
pub(super) struct GatedHome {
    pub(super) home: HaftHome,
    /// The directory in which the gate runs.
    pub(super) runs_in: PathBuf,
}

impl GatedHome {
    /// Creates a home with a model that runs one command.
    pub(super) fn with_command(world: &World, name: &str, command: &str) -> Result<Self> {
        let call = json!({"say": [{"call": {"name": "bash", "args": {"command": command}}}]});
        Self::new(world, name, "good", &json!([call, last_word()]))
    }

    /// Creates a home with a model that plays these steps. The gate has this fault, and loads a module if one lies
    /// beside its program.
    pub(super) fn new(world: &World, name: &str, fault: &str, steps: &Value) -> Result<Self> {
        let home = HaftHome::new(world, name, fault, steps)?;
        let dir = home.extension_dir(EVIL);
        // The last argument distinguishes the process from those of other rows.
        let script = format!(
            "#!/bin/sh\n[ -f json.sh ] && . ./json.sh\nexec '{}' {fault} {EVIL} '{}'\n",
            sibling_binary("misbehave").display(),
            dir.display()
        );
        fs::write(dir.join("gate.sh"), script).context("write the gate")?;
        make_executable(&dir.join("gate.sh"))?;
        let home = home.with_manifest(EVIL, &json!({"name": EVIL, "exec": "./gate.sh", "required": true}))?;
        Ok(Self { home, runs_in: dir })
    }

    /// Approves the gate, which then runs from the store.
    pub(super) fn approve_gate(mut self) -> Result<Self> {
        let source = InstallSource::Directory(self.runs_in);
        let proposal = self.home.store().propose(&source).context("propose the gate")?;
        self.runs_in = proposal.accept(ApprovalMethod::Yes, "faults").context("approve the gate")?.dir;
        Ok(self)
    }

    /// Moves the gate to the workspace, from which haft starts it without an approval.
    pub(super) fn move_to_workspace(mut self) -> Result<Self> {
        let dir = self.home.work_dir().join("gate");
        fs::rename(&self.runs_in, &dir).context("move the gate")?;
        let config = self.home.root_dir().join("config.toml");
        let text = fs::read_to_string(&config).context("read the configuration")?;
        fs::write(config, format!("extensions = [{}]\n{text}", json!(dir)))
            .context("write the configuration")?;
        self.runs_in = dir;
        Ok(self)
    }

    /// Runs the prompt. Returns the exit code and the messages.
    pub(super) async fn run(&self) -> Result<(Option<i32>, String)> {
        let ended = self.home.run_piped(self.home.plain_args(&["-p", "go", "--sandbox", "full"])).await?;
        let text = [ended.stdout, ended.stderr].concat();
        Ok((ended.status.code(), String::from_utf8_lossy(&text).into_owned()))
    }

    pub(super) fn has_run(&self) -> bool {
        fs::remove_file(self.home.work_dir().join("ran")).is_ok()
    }

    pub(super) async fn expect_run(&self) -> Result<()> {
        let (code, text) = self.run().await?;
        ensure!(code == Some(0) && self.has_run(), "the guarded run ended with {code:?}: {text}");
        Ok(())
    }

    pub(super) async fn expect_stop(&self, why: &str) -> Result<()> {
        let (code, text) = self.run().await?;
        ensure!(!self.has_run(), "{why}: a tool ran without its gate: {text}");
        ensure!(code == Some(3), "{why}: haft ended with {code:?}: {text}");
        ensure!(text.contains("haft ext disable evil"), "{why}: no command helps: {text}");
        Ok(())
    }
}
