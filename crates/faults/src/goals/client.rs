//! G14: resources that ten thousand prompts of one client leave in the program.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::{GoalContext, GoalFigure};
use crate::oracle::tagged_processes;
use crate::random::RandomNumbers;
use crate::world::sibling_binary;

/// The number of prompts, and the number before memory is measured.
const PROMPTS: (usize, usize) = (400, 10_000);
const WARM: (usize, usize) = (200, 1_000);

/// A time longer than any wait of the client.
const PATIENCE: Duration = Duration::from_secs(60);

/// A time longer than short-lived files stay open and idle threads live.
const SETTLES: Duration = Duration::from_secs(30);

/// The interval between two checks.
const LOOK: Duration = Duration::from_millis(100);

/// The allowed growth of memory, in KiB.
const GROWTH: u64 = 2 * 1024;

/// The script of the model: immediate, slow, or with a tool call.
const SCRIPT: &str = r#"{"model":"soak","steps":[
    {"when":{"last_role":"tool"},"repeat":true,"say":[{"text":"The tool was there."}]},
    {"when":{"contains":"slowly"},"repeat":true,"say":[{"text":"one two three four five six seven eight nine ten"}],"chunk":4,"pause_ms":1},
    {"when":{"contains":"tool"},"repeat":true,"say":[{"call":{"name":"evil_tool","args":{}}}]},
    {"repeat":true,"say":[{"text":"At once."}]}
]}"#;

pub(super) fn measure(place: &GoalContext) -> Result<Vec<GoalFigure>> {
    let ((few, many), (early, late)) = (PROMPTS, WARM);
    let (prompts, warm) = (place.amount(few, many), place.amount(early, late));
    let mut client = RpcClient::start(place)?;
    let mut random = RandomNumbers::new(0x5eed);
    let mut early = ProcessUsage::default();
    for number in 0..prompts {
        if number == warm {
            early = client.process_usage()?;
        }
        client.run_turn(number, &mut random)?;
    }
    let late = client.settled_usage(&early)?;
    let (said, answers) = client.end()?;
    let (none, twice) =
        (answers.values().filter(|times| **times == 0), answers.values().filter(|times| **times > 1));
    let (none, twice) = (none.count(), twice.count());
    let left = tagged_processes(&place.tag).len();
    let grown = late.memory.saturating_sub(early.memory);
    let memory =
        format!("{grown} KiB ({} after {warm} prompts, {} after {prompts})", early.memory, late.memory);
    let more = |now: usize, before: usize| now.saturating_sub(before);
    let threads = more(late.threads, early.threads);
    Ok(vec![
        GoalFigure::new("commands without an answer", format!("{none} of {}", answers.len()), "0", none == 0),
        GoalFigure::new("commands with two answers", twice, "0", twice == 0),
        GoalFigure::new(
            "prompts that ended with `done`",
            said.done,
            &said.started.to_string(),
            said.done == said.started,
        ),
        GoalFigure::note(
            "of them",
            format!("{} aborted, {} reloads, {} further sessions", said.aborted, said.reloads, said.sessions),
        ),
        // Threads that read the disk start and end on demand.
        GoalFigure::new("threads more", threads, "at most 4", threads <= 4),
        GoalFigure::new("descriptors more", more(late.files, early.files), "0", late.files <= early.files),
        GoalFigure::new("processes left", left, "0", left == 0),
        match place.mode.full {
            true => GoalFigure::new("memory more", memory, "at most 2 MiB", grown <= GROWTH),
            // The reduced number of prompts is too small for a verdict.
            false => GoalFigure::note("memory more", memory),
        },
    ])
}

/// The resources of the program.
#[derive(Debug, Default)]
struct ProcessUsage {
    /// Memory in KiB.
    memory: u64,
    threads: usize,
    files: usize,
}

/// The number of events by kind.
#[derive(Debug, Default)]
struct EventCounts {
    started: usize,
    done: usize,
    aborted: usize,
    reloads: usize,
    sessions: usize,
}

/// The client.
struct RpcClient {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// The number of replies by command.
    answers: BTreeMap<String, usize>,
    commands: usize,
    said: EventCounts,
}

impl RpcClient {
    fn start(place: &GoalContext) -> Result<Self> {
        let home = place.dir.join("home");
        let (script, extension) = (place.dir.join("script.json"), place.dir.join("echo"));
        fs::create_dir_all(&extension).context("create an extension")?;
        fs::create_dir_all(&home).context("create a home directory")?;
        fs::write(&script, SCRIPT).context("write a script")?;
        let manifest = json!({"name": "echo", "exec": sibling_binary("misbehave"), "args": ["good", "echo"]});
        fs::write(extension.join("extension.json"), manifest.to_string()).context("write a manifest")?;
        #[expect(clippy::disallowed_methods, reason = "starts the measured program")]
        let mut command = Command::new(sibling_binary("haft"));
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("HAFT_HOME", &home).env("HAFT_FAULT_TAG", &place.tag).current_dir(&place.dir);
        command.args(["rpc", "--provider", "scripted", "--model"]).arg(&script).arg("-e").arg(&extension);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("start haft; `cargo xtask faults` builds it")?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let lines = read(output.context("haft has no output pipe")?);
        Ok(Self { child, input, lines, answers: BTreeMap::new(), commands: 0, said: EventCounts::default() })
    }

    fn send(&mut self, mut command: Value) -> Result<String> {
        self.commands += 1;
        let id = self.commands.to_string();
        command["id"] = id.as_str().into();
        self.answers.insert(id.clone(), 0);
        let input = self.input.as_mut().context("the client has closed the input")?;
        writeln!(input, "{command}").context("write a command")?;
        Ok(id)
    }

    /// Reads lines until one fulfills the condition.
    fn read_until(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).context("no line from haft")?;
            self.handle_line(&line)?;
            if wanted(&line) {
                return Ok(line);
            }
        }
    }

    fn handle_line(&mut self, line: &Value) -> Result<()> {
        match line["type"].as_str() {
            Some("response") => {
                let id = line["id"].as_str().unwrap_or_default();
                *self
                    .answers
                    .get_mut(id)
                    .with_context(|| format!("an answer without a command: {line}"))? += 1;
                let begun = line["command"] == "prompt" && line["success"] == true;
                self.said.started += usize::from(begun);
            }
            Some("done") => self.said.done += 1,
            Some("turn_end") => self.said.aborted += usize::from(line["stop"] == "aborted"),
            Some("extension_error") => bail!("an extension failed: {line}"),
            _ => {}
        }
        Ok(())
    }

    fn run_command(&mut self, command: Value) -> Result<Value> {
        let id = self.send(command)?;
        self.read_until(|line| line["type"] == "response" && line["id"] == id.as_str())
    }

    /// Runs a prompt, with random other commands in between.
    fn run_turn(&mut self, number: usize, random: &mut RandomNumbers) -> Result<()> {
        let message = ["say something", "say it slowly", "use the tool"][random.random_below(3)];
        let begun = self.said.done;
        self.send(json!({"type": "prompt", "message": message}))?;
        let more = random.random_below(8);
        match more {
            0 => drop(self.send(json!({"type": "abort"}))?),
            1 => drop(self.send(json!({"type": "steer", "message": "and mind this"}))?),
            2 => drop(self.send(json!({"type": "follow_up", "message": "and then that"}))?),
            3 => drop(self.send(json!({"type": "get_state"}))?),
            4 => drop(self.send(json!({"type": "interrupt", "hint": "enough"}))?),
            5 => drop(self.send(json!({"type": "dance"}))?),
            _ => {}
        }
        self.read_until(|line| line["type"] == "done")?;
        ensure!(self.said.done == begun + 1, "one prompt ended more than once");
        if number % 20 == 19 {
            self.said.reloads += 1;
            self.run_command(json!({"type": "reload_ext"}))?;
        }
        if number % 25 == 24 {
            self.run_command(json!({"type": "clear"}))?;
        }
        if number % 100 == 99 {
            self.run_new_session()?;
        }
        Ok(())
    }

    /// Runs one prompt in a new session.
    fn run_new_session(&mut self) -> Result<()> {
        self.said.sessions += 1;
        let opened = self.run_command(json!({"type": "new_session"}))?;
        let session = opened["data"]["session"].clone();
        self.send(json!({"type": "prompt", "message": "say something", "session": session}))?;
        self.read_until(|line| line["type"] == "done" && line["session"] == session)?;
        self.run_command(json!({"type": "close_session", "session": session}))?;
        Ok(())
    }

    /// Returns the resources of the idle program.
    fn process_usage(&mut self) -> Result<ProcessUsage> {
        self.run_command(json!({"type": "clear"}))?;
        let place = format!("/proc/{}", self.child.id());
        let status = fs::read_to_string(format!("{place}/status")).context("read the status of haft")?;
        let number = |name: &str| -> Result<u64> {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .context("a line of the status is missing")?;
            Ok(line.trim().trim_end_matches(" kB").parse()?)
        };
        let files = fs::read_dir(format!("{place}/fd")).context("list the open files of haft")?.count();
        Ok(ProcessUsage { memory: number("VmRSS:")?, threads: number("Threads:")?.try_into()?, files })
    }

    /// Waits until the program has no more files and threads than `early`, and returns its resources.
    fn settled_usage(&mut self, early: &ProcessUsage) -> Result<ProcessUsage> {
        let start = Instant::now();
        loop {
            let held = self.process_usage()?;
            let is_settled = held.files <= early.files && held.threads <= early.threads;
            if is_settled || start.elapsed() > SETTLES {
                return Ok(held);
            }
            // sleep: between two checks
            std::thread::sleep(LOOK);
        }
    }

    /// Closes the input and reads the remaining lines.
    fn end(mut self) -> Result<(EventCounts, BTreeMap<String, usize>)> {
        self.input = None;
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.handle_line(&line)?;
        }
        let status = self.child.wait().context("wait for haft")?;
        ensure!(status.success(), "haft ended with {status}");
        Ok((std::mem::take(&mut self.said), std::mem::take(&mut self.answers)))
    }
}

impl Drop for RpcClient {
    fn drop(&mut self) {
        // The process may have ended already.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Reads lines as they arrive, so that the program never waits for this client.
fn read(output: ChildStdout) -> Receiver<Value> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let parsed =
            BufReader::new(output).lines().map_while(Result::ok).map(|line| serde_json::from_str(&line));
        // An invalid line becomes null.
        parsed.map(|value| value.unwrap_or_default()).all(|value: Value| sender.send(value).is_ok())
    });
    lines
}
