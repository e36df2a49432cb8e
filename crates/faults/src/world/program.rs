//! The whole program: `haft` with a scripted model and extensions, for cases about its own life cycle.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{World, sibling_binary};
use crate::timeouts::LOOK;

/// A running `haft` with a separate home below the world's directory. Killed on drop.
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
    /// Returns the events of one type from a run with `--json`.
    pub(crate) fn events_of_type(&self, kind: &str) -> Vec<Value> {
        let events = self.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        events.filter(|event| event["type"] == kind).collect()
    }
}

/// The environment variables that are granted to extensions.
const VARIABLES: &[&str] = &["HAFT_FAULT_TAG", "HAFT_MARKER", "HAFT_TRANSCRIPT"];

impl HaftProgram {
    /// Starts `haft` with these arguments and variables, a model that plays these steps, and extensions: fault, name,
    /// and more manifest fields.
    pub(crate) fn start(
        world: &World,
        steps: &Value,
        extensions: &[(&str, &str, Value)],
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Self> {
        let dir = world.dir.join("haft");
        fs::create_dir_all(dir.join("home")).context("create a home directory for haft")?;
        fs::create_dir_all(dir.join("project")).context("create a project for haft")?;
        fs::write(dir.join("script.json"), json!({ "steps": steps }).to_string())
            .context("write the model's script")?;
        let mut config = String::new();
        #[expect(clippy::disallowed_methods, reason = "starts haft, not an extension")]
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
        command.stdout(fs::File::create(dir.join("stdout")).context("create a file for standard output")?);
        command.stderr(fs::File::create(dir.join("stderr")).context("create a file for standard error")?);
        Ok(Self { child: command.spawn().context("start haft; `cargo xtask faults` builds it")?, dir })
    }

    /// Sends a signal to haft.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        let pid =
            i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("convert the process id")?;
        kill_process(pid, signal).context("send a signal to haft")
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the standard output so far.
    pub(crate) fn stdout_text(&self) -> String {
        fs::read_to_string(self.dir.join("stdout")).unwrap_or_default()
    }

    /// Waits for the end of haft.
    pub(crate) async fn wait_for_end(&mut self, world: &World) -> Result<ProgramRun> {
        let (start, patience) = (Instant::now(), world.patience());
        let status: ExitStatus = loop {
            if let Some(status) = self.child.try_wait().context("check the process of haft")? {
                break status;
            }
            if start.elapsed() > patience {
                bail!("haft has not ended within {patience:?}: {}", self.stdout_text());
            }
            // sleep: between two checks
            tokio::time::sleep(LOOK).await;
        };
        let stderr = fs::read_to_string(self.dir.join("stderr")).unwrap_or_default();
        Ok(ProgramRun { code: status.code(), stdout: self.stdout_text(), stderr })
    }
}

impl Drop for HaftProgram {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write_extension(dir: &Path, fault: &str, name: &str, more: &Value) -> Result<PathBuf> {
    let dir = dir.join("project").join(name);
    fs::create_dir_all(&dir).context("create an extension")?;
    let mut manifest = json!({"name": name, "exec": sibling_binary("misbehave"), "args": [fault, name]});
    if let (Some(fields), Some(more)) = (manifest.as_object_mut(), more.as_object()) {
        fields.extend(more.clone());
    }
    fs::write(dir.join("extension.json"), manifest.to_string()).context("write a manifest")?;
    Ok(dir)
}
