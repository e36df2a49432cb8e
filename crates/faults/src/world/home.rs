//! The whole program with a separate home directory and one extension that misbehaves, for cases that need a terminal
//! or a whole run.

use std::fs;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use haft_packages::install::ExtensionStore;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use serde_json::{Value, json};

use super::{EVIL, RpcProcess, World, sibling_binary};
use crate::defense;
use crate::timeouts::{LOOK, PATIENCE};

/// The size of every terminal: rows, columns.
const SIZE: (NonZeroU16, NonZeroU16) = (NonZeroU16::new(200).unwrap(), NonZeroU16::new(80).unwrap());

/// The environment variables that are granted to extensions.
const GRANTED: [&str; 4] = ["HAFT_FAULT_TAG", "HAFT_MARKER", "HAFT_TEXTS", "HAFT_TRANSCRIPT"];

/// `haft`, not yet started.
pub(crate) struct HaftHome {
    dir: PathBuf,
    env: Vec<(String, String)>,
    model: Vec<String>,
    /// The program that starts `haft`, if any.
    below: Vec<String>,
}

/// `haft` in a terminal.
pub(crate) struct HaftTerminal {
    child: Box<dyn Child + Send + Sync>,
    // Dropping the terminal hangs up.
    _master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    seen: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

/// The outcome of a program in a terminal.
pub(crate) struct TerminalOutput {
    pub(crate) code: u32,
    /// The output, with the program's own line ends.
    pub(crate) bytes: Vec<u8>,
}

impl HaftHome {
    /// Creates a home with an extension that has this fault, and a model that plays these steps. `name` distinguishes
    /// the homes of one case.
    pub(crate) fn new(world: &World, name: &str, fault: &str, steps: &Value) -> Result<Self> {
        let dir = world.dir.join(name);
        let home = dir.join("home");
        fs::create_dir_all(home.join("data")).context("create a home directory")?;
        fs::create_dir_all(dir.join("work")).context("create a working directory")?;
        let granted = json!(GRANTED);
        fs::write(home.join("config.toml"), format!("[grant.{EVIL}]\nenv = {granted}\n"))
            .context("write the configuration")?;
        let script = dir.join("script.json");
        let manifest = json!({"name": EVIL, "exec": sibling_binary("misbehave"), "args": [fault, EVIL]});
        let model = ["--provider", "scripted", "--model", &script.display().to_string()].map(str::to_owned);
        let env = [
            ("HAFT_HOME".to_owned(), home.display().to_string()),
            ("HAFT_FAULT_TAG".to_owned(), world.tag.clone()),
            ("HAFT_MARKER".to_owned(), world.dir.join("marker").display().to_string()),
            ("HAFT_TRANSCRIPT".to_owned(), dir.display().to_string()),
            ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
            ("TERM".to_owned(), "xterm-256color".to_owned()),
        ];
        let env = env.into_iter().chain(defense::inherited()).collect();
        let new = Self { dir, env, model: model.into(), below: Vec::new() };
        new.write_script(steps)?;
        new.with_manifest("evil", &manifest)
    }

    /// Sets the steps that the model plays from the next start on.
    pub(crate) fn write_script(&self, steps: &Value) -> Result<()> {
        fs::write(self.dir.join("script.json"), json!({ "steps": steps }).to_string())
            .context("write the model's script")
    }

    /// Writes a manifest in an extension's directory.
    pub(crate) fn with_manifest(self, extension: &str, manifest: &Value) -> Result<Self> {
        let dir = self.extension_dir(extension);
        fs::create_dir_all(&dir).context("create the directory of an extension")?;
        fs::write(dir.join("extension.json"), manifest.to_string()).context("write a manifest")?;
        Ok(self)
    }

    /// Returns the directory of an extension.
    pub(crate) fn extension_dir(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Returns the working directory.
    pub(crate) fn work_dir(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// Sets the texts that the extension sends.
    pub(crate) fn with_texts(mut self, texts: &[&str]) -> Result<Self> {
        let path = self.dir.join("texts.json");
        fs::write(&path, json!(texts).to_string()).context("write the texts")?;
        self.env.push(("HAFT_TEXTS".to_owned(), path.display().to_string()));
        Ok(self)
    }

    /// Adds lines to the extension's grant table.
    #[cfg(target_os = "linux")]
    pub(crate) fn with_grants(self, lines: &str) -> Result<Self> {
        let path = self.dir.join("home/config.toml");
        let before = fs::read_to_string(&path).context("read the configuration")?;
        fs::write(path, format!("{before}{lines}\n")).context("write the configuration")?;
        Ok(self)
    }

    /// Returns the arguments of a run with the extension.
    pub(crate) fn prompt_args(&self, more: &[&str]) -> Vec<String> {
        let ext = ["--ext".to_owned(), self.extension_dir(EVIL).display().to_string()];
        self.model.iter().cloned().chain(ext).chain(more.iter().map(|&arg| arg.to_owned())).collect()
    }

    /// Returns the arguments of a run without the extension.
    pub(crate) fn plain_args(&self, more: &[&str]) -> Vec<String> {
        self.model.iter().cloned().chain(more.iter().map(|&arg| arg.to_owned())).collect()
    }

    /// Returns haft's home directory.
    pub(crate) fn root_dir(&self) -> PathBuf {
        self.dir.join("home")
    }

    /// Adds an environment variable.
    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Puts these words before each command line.
    pub(crate) fn with_wrapper(mut self, words: &[&str]) -> Self {
        self.below = words.iter().map(|&word| word.to_owned()).collect();
        self
    }

    /// Returns the store of approved extensions.
    pub(crate) fn store(&self) -> ExtensionStore {
        ExtensionStore::for_home(&self.root_dir(), std::env::var_os("PATH"))
    }

    /// Trusts the project in its current state, as a user does without a terminal.
    pub(crate) async fn trust_project(&self) -> Result<()> {
        let command = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let shown = self.run_piped(command(&["trust", "--show", "--json"])).await?;
        let shown: Value = serde_json::from_slice(&shown.stdout)
            .context("parse the output of `haft trust --show --json`")?;
        let digest = shown["digest"].as_str().context("the output has no digest")?;
        let ran = self.run_piped(command(&["trust", "--digest", digest])).await?;
        match ran.status.success() {
            true => Ok(()),
            false => bail!("haft trust: {}", String::from_utf8_lossy(&ran.stderr)),
        }
    }

    /// Returns the program to start and all of its arguments.
    fn command_line(&self, args: Vec<String>) -> (PathBuf, Vec<String>) {
        let haft = sibling_binary("haft");
        match self.below.split_first() {
            None => (haft, args),
            Some((program, words)) => {
                let haft = haft.display().to_string();
                (program.into(), words.iter().cloned().chain([haft]).chain(args).collect())
            }
        }
    }

    /// Runs haft with pipes and waits for its end.
    pub(crate) async fn run_piped(&self, args: Vec<String>) -> Result<Output> {
        let (program, args) = self.command_line(args);
        #[expect(clippy::disallowed_methods, reason = "starts haft, not an extension")]
        let mut command = Command::new(program);
        command.args(args).current_dir(self.dir.join("work")).env_clear().envs(self.env.iter().cloned());
        command.stdin(Stdio::null());
        let ended = tokio::task::spawn_blocking(move || command.output());
        let ended = tokio::time::timeout(PATIENCE, ended).await.context("haft did not end in time")?;
        ended.context("the waiting thread panicked")?.context("start haft")
    }

    /// Starts `haft rpc` with these further arguments.
    pub(crate) fn run_rpc(&self, more: &[&str]) -> Result<RpcProcess> {
        let args = ["rpc".to_owned()].into_iter().chain(self.plain_args(more)).collect();
        let (program, args) = self.command_line(args);
        #[expect(clippy::disallowed_methods, reason = "starts haft, not an extension")]
        let mut command = Command::new(program);
        command.args(args).current_dir(self.work_dir()).env_clear().envs(self.env.iter().cloned());
        RpcProcess::start(&mut command)
    }

    /// Starts `haft rpc` with the extension that misbehaves.
    pub(crate) fn run_rpc_with_extension(&self) -> Result<RpcProcess> {
        self.run_rpc(&["--ext", &self.extension_dir(EVIL).display().to_string()])
    }

    /// Starts haft in a terminal that already contains `typed` as input.
    pub(crate) fn run_in_terminal(&self, args: Vec<String>, typed: &str) -> Result<HaftTerminal> {
        let size = PtySize { rows: SIZE.0.get(), cols: SIZE.1.get(), ..PtySize::default() };
        let pair = native_pty_system().openpty(size).context("open a terminal")?;
        let (program, args) = self.command_line(args);
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(self.dir.join("work"));
        command.env_clear();
        self.env.iter().for_each(|(name, value)| command.env(name, value));
        let mut keyboard = pair.master.take_writer().context("open the terminal's input")?;
        keyboard.write_all(typed.as_bytes()).context("type into the terminal")?;
        let mut screen = pair.master.try_clone_reader().context("open the terminal's output")?;
        let child = pair.slave.spawn_command(command).context("start haft in a terminal")?;
        drop(pair.slave);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&seen);
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut piece) {
                let piece = piece.get(..count).unwrap_or_default();
                into.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(piece);
            }
        });
        Ok(HaftTerminal { child, _master: pair.master, keyboard, seen, reader })
    }
}

impl HaftTerminal {
    /// Waits until this text is or was on the screen.
    pub(crate) async fn wait_for(&mut self, text: &str) -> Result<()> {
        let start = Instant::now();
        while !String::from_utf8_lossy(&self.bytes()).contains(text) {
            if start.elapsed() > PATIENCE {
                bail!("{text:?} is not shown; the output is {:?}", String::from_utf8_lossy(&self.bytes()));
            }
            // sleep: between two checks
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Types text.
    pub(crate) fn keys(&mut self, text: &str) -> Result<()> {
        self.keyboard.write_all(text.as_bytes()).context("type into the terminal")
    }

    /// Waits for the end of the program.
    pub(crate) async fn wait_for_end(mut self) -> Result<TerminalOutput> {
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait().context("check the process of haft")? {
                Some(status) => break status,
                None if start.elapsed() > PATIENCE => {
                    self.child.kill().context("kill haft")?;
                    bail!(
                        "haft did not end in time; the output is {:?}",
                        String::from_utf8_lossy(&self.bytes())
                    );
                }
                // sleep: between two checks
                None => tokio::time::sleep(LOOK).await,
            }
        };
        while !self.reader.is_finished() && start.elapsed() < PATIENCE {
            // sleep: between two checks
            tokio::time::sleep(LOOK).await;
        }
        let text = self.bytes();
        // The terminal's conversion of line ends is removed.
        let lines = text.split(|&byte| byte == b'\n');
        let lines: Vec<&[u8]> = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
        Ok(TerminalOutput { code: status.exit_code(), bytes: lines.join(&b'\n') })
    }

    fn bytes(&self) -> Vec<u8> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl TerminalOutput {
    /// Returns the rows of the final screen, without blank rows.
    pub(crate) fn rows(&self) -> Vec<String> {
        let mut parser = vt100::Parser::new(SIZE.0, SIZE.1, 0);
        let text: Vec<u8> = self.bytes.split(|&byte| byte == b'\n').collect::<Vec<_>>().join(&b"\r\n"[..]);
        parser.process(&text);
        let rows = parser.screen().rows(0, SIZE.1.get());
        rows.filter(|row| !row.trim().is_empty()).collect()
    }

    /// Returns the output as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
