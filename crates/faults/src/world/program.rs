//! The whole program: `haft` with a scripted model and extensions, for cases that are about its own life.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{World, sibling_binary};
use crate::timeouts::LOOK;

/// `haft` at work, in a home of its own below the world's. Killed when it is dropped.
pub(crate) struct HaftProgram {
    child: std::process::Child,
    dir: PathBuf,
}

/// The end of a run.
#[derive(Debug)]
pub(crate) struct ProgramRun {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl ProgramRun {
    /// The events of one type, of a run with `--json`.
    pub(crate) fn events_of_type(&self, kind: &str) -> Vec<Value> {
        let events = self.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        events.filter(|event| event["type"] == kind).collect()
    }
}

/// The variables of its environment for its extensions.
const VARIABLES: &[&str] = &["HAFT_FAULT_TAG", "HAFT_MARKER", "HAFT_TRANSCRIPT"];

impl HaftProgram {
    /// Starts `haft` with these arguments and further variables, a model that plays these steps, and extensions: fault,
    /// name, and more for the manifest.
    pub(crate) fn start(
        world: &World,
        steps: &Value,
        extensions: &[(&str, &str, Value)],
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Self> {
        let dir = world.dir.join("haft");
        fs::create_dir_all(dir.join("home")).context("make a home for haft")?;
        fs::create_dir_all(dir.join("project")).context("make a project for haft")?;
        fs::write(dir.join("script.json"), json!({ "steps": steps }).to_string())
            .context("the model's script")?;
        let mut config = String::new();
        #[expect(clippy::disallowed_methods, reason = "the program that is tested")]
        let mut command = Command::new(sibling_binary("haft"));
        for (fault, name, more) in extensions {
            command.arg("--ext").arg(write_extension(&dir, fault, name, more)?);
            config.push_str(&format!("[grant.{name}]\nenv = {VARIABLES:?}\n"));
        }
        fs::write(dir.join("home/config.toml"), config).context("write config.toml")?;
        let path = std::env::var_os("PATH").map(|path| ("PATH", path));
        command.env_clear().envs(path).env("HAFT_HOME", dir.join("home"));
        command.env("HAFT_FAULT_TAG", &world.tag).env("HAFT_MARKER", world.dir.join("marker"));
        command.env("HAFT_TRANSCRIPT", &world.dir).envs(variables.iter().copied());
        command.args(["--provider", "scripted", "--model"]).arg(dir.join("script.json")).args(args);
        command.current_dir(dir.join("project")).stdin(Stdio::null());
        command.stdout(fs::File::create(dir.join("stdout")).context("make a file for what it prints")?);
        command.stderr(fs::File::create(dir.join("stderr")).context("make a file for what it prints")?);
        Ok(Self { child: command.spawn().context("start haft; `cargo xtask faults` builds it")?, dir })
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("its process id")?;
        kill_process(pid, signal).context("send a signal to haft")
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the text that it has printed so far.
    pub(crate) fn stdout_text(&self) -> String {
        fs::read_to_string(self.dir.join("stdout")).unwrap_or_default()
    }

    /// Waits for its end.
    pub(crate) async fn wait_for_end(&mut self, world: &World) -> Result<ProgramRun> {
        let (start, patience) = (Instant::now(), world.patience());
        let status: ExitStatus = loop {
            if let Some(status) = self.child.try_wait().context("look at haft")? {
                break status;
            }
            if start.elapsed() > patience {
                bail!("haft has not ended within {patience:?}: {}", self.stdout_text());
            }
            // sleep: between two looks
            tokio::time::sleep(LOOK).await;
        };
        let stderr = fs::read_to_string(self.dir.join("stderr")).unwrap_or_default();
        Ok(ProgramRun { code: status.code(), stdout: self.stdout_text(), stderr })
    }
}

impl Drop for HaftProgram {
    fn drop(&mut self) {
        // One that is gone already is what this wants.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write_extension(dir: &Path, fault: &str, name: &str, more: &Value) -> Result<PathBuf> {
    let dir = dir.join("project").join(name);
    fs::create_dir_all(&dir).context("make an extension")?;
    let mut manifest = json!({"name": name, "exec": sibling_binary("misbehave"), "args": [fault, name]});
    if let (Some(fields), Some(more)) = (manifest.as_object_mut(), more.as_object()) {
        fields.extend(more.clone());
    }
    fs::write(dir.join("extension.json"), manifest.to_string()).context("write a manifest")?;
    Ok(dir)
}
