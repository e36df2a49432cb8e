//! Children as the base sees them: started by the standard library, spoken to with blocking reads and writes.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::peers;

/// A program and its arguments.
#[derive(Debug, Clone)]
pub(crate) struct ChildProgram {
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<String>,
}

impl ChildProgram {
    /// This binary in another role.
    pub(crate) fn in_role(role: &str) -> Result<Self> {
        let path = std::env::current_exe().context("find this binary")?;
        Ok(Self { path, args: vec![peers::MARK.to_owned(), role.to_owned()] })
    }

    fn command(&self) -> Command {
        #[expect(clippy::disallowed_methods, reason = "the base is what the standard library can do")]
        let mut command = Command::new(&self.path);
        command.args(self.args.iter().map(OsStr::new));
        command
    }

    /// Starts it and waits for its end, its output thrown away.
    pub(crate) fn run(&self) -> Result<()> {
        let status = self.command().stdin(Stdio::null()).stdout(Stdio::null()).status();
        let status = status.with_context(|| format!("start {}", self.path.display()))?;
        if !status.success() {
            bail!("{} {}: {status}", self.path.display(), self.args.join(" "));
        }
        Ok(())
    }
}

/// The `haft` beside this binary, if it is built.
pub(crate) fn find_haft() -> Result<Option<PathBuf>> {
    let own = std::env::current_exe().context("find this binary")?;
    let path = own.with_file_name(format!("haft{}", std::env::consts::EXE_SUFFIX));
    Ok(path.is_file().then_some(path))
}

/// A child with pipes. Killed and waited for when dropped.
#[derive(Debug)]
pub(crate) struct PipedChild {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    buffer: Vec<u8>,
    filled: usize,
}

impl PipedChild {
    /// Starts it; nothing is read yet.
    pub(crate) fn start(program: &ChildProgram) -> Result<Self> {
        let mut command = program.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("start {}", program.path.display()))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (stdin, stdout) = (stdin.context("no standard input")?, stdout.context("no standard output")?);
        Ok(Self { child, stdin, stdout, buffer: vec![0; 64 * 1024], filled: 0 })
    }

    /// Starts an extension and greets it.
    pub(crate) fn start_extension(program: &ChildProgram) -> Result<Self> {
        let mut piped = Self::start(program)?;
        while frame_type(&piped.line()?)? != "ready" {}
        let ack = concat!(
            r#"{"type":"hello_ack","protocol_version":1,"zot_version":"0","provider":"bench","#,
            r#""model":"none","cwd":"/"}"#,
            "\n"
        );
        piped.stdin.write_all(ack.as_bytes())?;
        Ok(piped)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line, newline included. For the beginning, not for what is measured.
    pub(crate) fn line(&mut self) -> Result<Vec<u8>> {
        loop {
            let held = self.buffer.get(..self.filled).unwrap_or_default();
            if let Some(end) = held.iter().position(|&byte| byte == b'\n') {
                let line = held.get(..=end).unwrap_or_default().to_vec();
                self.buffer.copy_within(end + 1..self.filled, 0);
                self.filled -= end + 1;
                return Ok(line);
            }
            self.fill()?;
        }
    }

    /// Writes a line and returns the next one that it says.
    pub(crate) fn ask(&mut self, line: &str) -> Result<Vec<u8>> {
        writeln!(self.stdin, "{line}")?;
        self.line()
    }

    /// Writes a line and reads one: the least that a round trip can be.
    pub(crate) fn round_trip(&mut self, line: &[u8]) -> Result<()> {
        self.stdin.write_all(line)?;
        self.filled = 0;
        while !self.buffer.get(..self.filled).is_some_and(|held| held.ends_with(b"\n")) {
            self.fill()?;
        }
        self.filled = 0;
        Ok(())
    }

    /// Writes this as it is.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.stdin.write_all(bytes).context("write to a child")
    }

    /// Writes a line and throws the answer away as it comes.
    pub(crate) fn write_and_discard_reply(&mut self, line: &[u8]) -> Result<()> {
        self.stdin.write_all(line)?;
        let mut ended = false;
        while !ended {
            self.filled = 0;
            self.fill()?;
            ended = self.buffer.get(..self.filled).is_some_and(|held| held.ends_with(b"\n"));
        }
        self.filled = 0;
        Ok(())
    }

    fn fill(&mut self) -> Result<()> {
        let room = self.buffer.get_mut(self.filled..).unwrap_or_default();
        match self.stdout.read(room).context("read from a child")? {
            0 => bail!("a child ended, or said more than fits"),
            read => self.filled += read,
        }
        Ok(())
    }
}

/// The `type` of a frame, however it is spelt.
fn frame_type(line: &[u8]) -> Result<String> {
    let frame: serde_json::Value = serde_json::from_slice(line).context("a child said no frame")?;
    Ok(frame["type"].as_str().unwrap_or_default().to_owned())
}

impl Drop for PipedChild {
    fn drop(&mut self) {
        // One that is gone already is what this wants.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
