//! The program itself in a home of its own, with one extension that misbehaves: for what only a terminal, or only a
//! whole run, can show.

use std::fs;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use haft_protocol::defence;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use serde_json::{Value, json};

use super::{World, beside};
use crate::row::EVIL;

/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(40);

/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// The size of every terminal: rows, columns.
const SIZE: (NonZeroU16, NonZeroU16) = (NonZeroU16::new(200).unwrap(), NonZeroU16::new(80).unwrap());

/// What extensions of the program may have of its environment.
const GRANTED: [&str; 5] =
    ["HAFT_DELAY_MS", "HAFT_FAULT_TAG", "HAFT_MARKER", "HAFT_TEXTS", "HAFT_TRANSCRIPT"];

/// `haft`, not yet started.
pub(crate) struct Home {
    dir: PathBuf,
    env: Vec<(String, String)>,
    model: Vec<String>,
}

/// `haft` in a terminal.
pub(crate) struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    // Whoever drops it hangs up.
    _master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    seen: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

/// What a program in a terminal came to.
pub(crate) struct Shown {
    pub(crate) code: u32,
    /// What the terminal was sent, with the ends of lines as the program wrote them.
    pub(crate) bytes: Vec<u8>,
}

impl World {
    /// The program, whose extension has this fault, and whose model plays these steps. `name` tells several programs
    /// of one case apart.
    pub(crate) fn home(&self, name: &str, fault: &str, steps: &Value) -> Result<Home> {
        let dir = self.dir.join(name);
        let home = dir.join("home");
        fs::create_dir_all(home.join("data")).context("make a home")?;
        fs::create_dir_all(dir.join("work")).context("make a place to work")?;
        let granted = json!(GRANTED);
        fs::write(home.join("config.toml"), format!("[grant.{EVIL}]\nenv = {granted}\n"))
            .context("write the configuration")?;
        let script = dir.join("script.json");
        fs::write(&script, json!({ "steps": steps }).to_string()).context("write the model's script")?;
        let manifest = json!({"name": EVIL, "exec": beside("misbehave"), "args": [fault, EVIL]});
        let model = ["--provider", "scripted", "--model", &script.display().to_string()].map(str::to_owned);
        let env = vec![
            ("HAFT_HOME".to_owned(), home.display().to_string()),
            ("HAFT_FAULT_TAG".to_owned(), self.tag.clone()),
            ("HAFT_MARKER".to_owned(), self.dir.join("marker").display().to_string()),
            ("HAFT_TRANSCRIPT".to_owned(), dir.display().to_string()),
            ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
            ("TERM".to_owned(), "xterm-256color".to_owned()),
            (defence::VARIABLE.to_owned(), defence::taken_down()),
        ];
        Home { dir, env, model: model.into() }.manifest("evil", &manifest)
    }
}

impl Home {
    /// With a manifest in an extension's directory.
    pub(crate) fn manifest(self, extension: &str, manifest: &Value) -> Result<Self> {
        let dir = self.extension(extension);
        fs::create_dir_all(&dir).context("make an extension's directory")?;
        fs::write(dir.join("extension.json"), manifest.to_string()).context("write a manifest")?;
        Ok(self)
    }

    /// Where an extension lies.
    pub(crate) fn extension(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Where it runs.
    pub(crate) fn work(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// With texts for the extension to say.
    pub(crate) fn texts(mut self, texts: &[&str]) -> Result<Self> {
        let path = self.dir.join("texts.json");
        fs::write(&path, json!(texts).to_string()).context("write the texts")?;
        self.env.push(("HAFT_TEXTS".to_owned(), path.display().to_string()));
        Ok(self)
    }

    /// With more that the user grants the extension, as lines of its table.
    pub(crate) fn granted(self, lines: &str) -> Result<Self> {
        let path = self.dir.join("home/config.toml");
        let before = fs::read_to_string(&path).context("read the configuration")?;
        fs::write(path, format!("{before}{lines}\n")).context("write the configuration")?;
        Ok(self)
    }

    /// A run with this prompt: the arguments.
    pub(crate) fn run(&self, more: &[&str]) -> Vec<String> {
        let ext = ["--ext".to_owned(), self.extension(EVIL).display().to_string()];
        self.model.iter().cloned().chain(ext).chain(more.iter().map(|&arg| arg.to_owned())).collect()
    }

    /// Starts it with pipes, and waits for its end.
    pub(crate) async fn piped(&self, args: Vec<String>) -> Result<Output> {
        self.ended(beside("haft"), args).await
    }

    /// As [`piped`](Self::piped), with a kernel that lacks something.
    pub(crate) async fn without(&self, lacking: &str, args: Vec<String>) -> Result<Output> {
        let haft = beside("haft").display().to_string();
        let before = ["--without", lacking, "--", &haft].map(str::to_owned);
        self.ended(beside("sandbox-probe"), before.into_iter().chain(args).collect()).await
    }

    async fn ended(&self, program: PathBuf, args: Vec<String>) -> Result<Output> {
        #[expect(clippy::disallowed_methods, reason = "the program is no extension")]
        let mut command = Command::new(program);
        command.args(args).current_dir(self.dir.join("work")).env_clear().envs(self.env.iter().cloned());
        command.stdin(Stdio::null());
        let ended = tokio::task::spawn_blocking(move || command.output());
        let ended = tokio::time::timeout(PATIENCE, ended).await.context("haft does not end")?;
        ended.context("a thread")?.context("start haft")
    }

    /// Starts it in a terminal, into which this was typed before.
    pub(crate) fn terminal(&self, args: Vec<String>, typed: &str) -> Result<Terminal> {
        let size = PtySize { rows: SIZE.0.get(), cols: SIZE.1.get(), ..PtySize::default() };
        let pair = native_pty_system().openpty(size).context("open a terminal")?;
        let mut command = CommandBuilder::new(beside("haft"));
        command.args(args);
        command.cwd(self.dir.join("work"));
        command.env_clear();
        self.env.iter().for_each(|(name, value)| command.env(name, value));
        let mut keyboard = pair.master.take_writer().context("the terminal's keyboard")?;
        keyboard.write_all(typed.as_bytes()).context("type")?;
        let mut screen = pair.master.try_clone_reader().context("the terminal's screen")?;
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
        Ok(Terminal { child, _master: pair.master, keyboard, seen, reader })
    }
}

impl Terminal {
    /// Waits until this text is on the screen, or was.
    pub(crate) async fn until(&mut self, text: &str) -> Result<()> {
        let start = Instant::now();
        while !String::from_utf8_lossy(&self.bytes()).contains(text) {
            if start.elapsed() > PATIENCE {
                bail!("{text:?} is not shown; there is {:?}", String::from_utf8_lossy(&self.bytes()));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Types.
    pub(crate) fn keys(&mut self, text: &str) -> Result<()> {
        self.keyboard.write_all(text.as_bytes()).context("type")
    }

    /// Waits for the end.
    pub(crate) async fn ended(mut self) -> Result<Shown> {
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait().context("look at haft")? {
                Some(status) => break status,
                None if start.elapsed() > PATIENCE => {
                    self.child.kill().context("kill haft")?;
                    bail!("haft does not end; there is {:?}", String::from_utf8_lossy(&self.bytes()));
                }
                None => tokio::time::sleep(LOOK).await,
            }
        };
        while !self.reader.is_finished() && start.elapsed() < PATIENCE {
            tokio::time::sleep(LOOK).await;
        }
        let text = self.bytes();
        // What a terminal makes of a newline is its own business.
        let lines = text.split(|&byte| byte == b'\n');
        let lines: Vec<&[u8]> = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
        Ok(Shown { code: status.exit_code(), bytes: lines.join(&b'\n') })
    }

    fn bytes(&self) -> Vec<u8> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Shown {
    /// The rows of the screen at the end, without those that are blank.
    pub(crate) fn rows(&self) -> Vec<String> {
        let mut parser = vt100::Parser::new(SIZE.0, SIZE.1, 0);
        let text: Vec<u8> = self.bytes.split(|&byte| byte == b'\n').collect::<Vec<_>>().join(&b"\r\n"[..]);
        parser.process(&text);
        let rows = parser.screen().rows(0, SIZE.1.get());
        rows.filter(|row| !row.trim().is_empty()).collect()
    }

    /// As text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
