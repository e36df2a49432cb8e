//! G9 in the tools of a running haft: the probes in a command of the model or of the user, and the file tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use haft_test_support::pty::PtySetup;
use haft_test_support::sandbox::{SandboxScene, ToolProbeLevel};
use haft_tools::ToolSandbox;
use serde_json::{Value, json};

use super::files::{self, FILE_PROBES, ToolResult};
use crate::rows::call_steps;
use crate::timeouts::{LOOK, PATIENCE};
use crate::world::{last_word, sibling_binary};

/// The variable with a secret in the environment of haft.
const SECRET_VARIABLE: &str = "PROBE_API_KEY";

/// The end of the command that a person types.
// sleep: the temporary directory of the command must exist until the output was read
const WAIT_FOR_READER: &str = "until test -e ../was-read; do sleep 0.1; done";

/// The tool that makes the attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbingTool {
    /// The tool `bash`, in a run without a terminal.
    Bash,
    /// A `!` command in a terminal.
    Shell,
    /// The tools that read, search and change files.
    Files,
}

impl ProbingTool {
    /// Starts haft at this level, and returns one line for each attempt.
    pub(super) fn run_attempts(self, level: ToolProbeLevel, dir: &Path) -> Result<String> {
        if let Some(gap) = ToolSandbox::find_gap().filter(|_| level != ToolProbeLevel::Full) {
            return Ok(format!("SKIP the sandbox is incomplete: {gap:?}\n"));
        }
        fs::create_dir_all(dir.join("tmp"))?;
        let scene = SandboxScene::new(dir)?;
        fs::write(dir.join("probe.sh"), scene.bash_script(&sibling_binary("sandbox-probe")))?;
        let run = HaftRun { level, dir };
        match self {
            Self::Bash => {
                let results = run.call_tools(&[("bash", json!({"command": "bash ../probe.sh"}))])?;
                Ok(results.into_iter().map(|result| result.text).collect())
            }
            Self::Shell => run.type_command(),
            Self::Files => {
                files::create_links(dir)?;
                let calls: Vec<_> = FILE_PROBES.iter().map(|probe| (probe.tool, probe.call_args())).collect();
                let results = run.call_tools(&calls)?;
                files::describe_results(&results, level, dir)
            }
        }
    }
}

/// A run of haft in the project of a scene, as the user of the scene.
struct HaftRun<'a> {
    level: ToolProbeLevel,
    dir: &'a Path,
}

impl HaftRun<'_> {
    fn model_args(&self, steps: &Value) -> Result<[String; 6]> {
        let script = self.dir.join("script.json");
        fs::write(&script, json!({ "steps": steps }).to_string()).context("write the model's script")?;
        let script = script.display().to_string();
        Ok(["--sandbox", self.level.as_str(), "--provider", "scripted", "--model", &script]
            .map(str::to_owned))
    }

    fn environment_variables(&self) -> [(&'static str, PathBuf); 4] {
        let [user, home, tmp] = ["user", "home", "tmp"].map(|name| self.dir.join(name));
        [("HOME", user), ("HAFT_HOME", home), ("TMPDIR", tmp), (SECRET_VARIABLE, "secret".into())]
    }

    /// Runs haft with a model that calls these tools, one after the other, and returns their results.
    #[expect(clippy::disallowed_methods, reason = "starts haft, not an extension")]
    fn call_tools(&self, calls: &[(&str, Value)]) -> Result<Vec<ToolResult>> {
        let args = self.model_args(&call_steps(calls))?;
        let mut command = Command::new(sibling_binary("haft"));
        command.args(args).args(["--json", "go"]).env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path))).envs(self.environment_variables());
        command.current_dir(self.dir.join("workspace")).stdin(Stdio::null());
        let output = command.output().context("start haft; `cargo xtask faults` builds it")?;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "haft ended with {}: {err}", output.status);
        let events = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let results = events.filter(|event| event["type"] == "tool_result");
        let results: Vec<ToolResult> = results
            .map(|event| ToolResult {
                is_error: event["is_error"] == true,
                text: event["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
            })
            .collect();
        ensure!(
            results.len() == calls.len(),
            "{} of {} calls have a result: {err}",
            results.len(),
            calls.len()
        );
        Ok(results)
    }

    /// Runs the probes in a `!` command, and returns their output. The temporary directory of such a command exists
    /// only until the command ends.
    fn type_command(&self) -> Result<String> {
        let mut setup = PtySetup::new(sibling_binary("haft")).args(self.model_args(&json!([last_word()]))?);
        for (name, value) in self.environment_variables() {
            setup = setup.env(name, value);
        }
        let terminal = setup.cwd(&self.dir.join("workspace")).size(160, 50).spawn();
        terminal.wait_for("›");
        let probes = "bash ../probe.sh >$TMPDIR/probes; mv $TMPDIR/probes $TMPDIR/probed";
        terminal.send(format!("!{probes}; {WAIT_FOR_READER}"));
        terminal.wait_for("; done");
        terminal.press(&["enter"]);
        let start = Instant::now();
        loop {
            if let Some(probed) = find_file(&self.dir.join("tmp"), "probed") {
                let output = fs::read_to_string(probed).context("read the output of the probes")?;
                fs::write(self.dir.join("was-read"), "")?;
                return Ok(output);
            }
            ensure!(start.elapsed() < PATIENCE, "the command did not end: {}", terminal.rows().join("\n"));
            // sleep: between two checks
            std::thread::sleep(LOOK);
        }
    }
}

/// Returns the path of the file of this name in the directory or below.
fn find_file(dir: &Path, name: &str) -> Option<PathBuf> {
    fs::read_dir(dir).ok()?.flatten().find_map(|entry| {
        let path = entry.path();
        if entry.file_name() == name { Some(path) } else { find_file(&path, name) }
    })
}
