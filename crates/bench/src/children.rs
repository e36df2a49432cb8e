//! Child processes of the base: started by the standard library, with blocking reads and writes.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::peers;

/// A program with its arguments.
#[derive(Debug, Clone)]
pub(crate) struct ChildProgram {
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<String>,
}

impl ChildProgram {
    /// Returns this binary in another role.
    pub(crate) fn in_role(role: &str) -> Result<Self> {
        let path = std::env::current_exe().context("find the path of this binary")?;
        Ok(Self { path, args: vec![peers::MARK.to_owned(), role.to_owned()] })
    }

    fn command(&self) -> Command {
        #[expect(clippy::disallowed_methods, reason = "the base is what the standard library can do")]
        let mut command = Command::new(&self.path);
        command.args(self.args.iter().map(OsStr::new));
        command
    }

    /// Runs the program to its end and discards its output.
    pub(crate) fn run(&self) -> Result<()> {
        let status = self.command().stdin(Stdio::null()).stdout(Stdio::null()).status();
        let status = status.with_context(|| format!("start {}", self.path.display()))?;
        if !status.success() {
            bail!("{} {}: {status}", self.path.display(), self.args.join(" "));
        }
        Ok(())
    }
}

/// Returns the `haft` next to this binary, if it is built.
pub(crate) fn find_haft() -> Result<Option<PathBuf>> {
    let own = std::env::current_exe().context("find the path of this binary")?;
    let path = own.with_file_name(format!("haft{}", std::env::consts::EXE_SUFFIX));
    Ok(path.is_file().then_some(path))
}

/// A child process with pipes. It is killed and waited for when dropped.
#[derive(Debug)]
pub(crate) struct PipedChild {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    buffer: Vec<u8>,
    filled: usize,
}

impl PipedChild {
    /// Starts the program without reading from it.
    pub(crate) fn start(program: &ChildProgram) -> Result<Self> {
        let mut command = program.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("start {}", program.path.display()))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (stdin, stdout) = (
            stdin.context("the child has no standard input")?,
            stdout.context("the child has no standard output")?,
        );
        Ok(Self { child, stdin, stdout, buffer: vec![0; 64 * 1024], filled: 0 })
    }

    /// Starts an extension and completes the handshake.
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

    /// Reads the next line, including the newline. This is too slow for measured code.
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

    /// Writes a line and returns the next line of the child.
    pub(crate) fn ask(&mut self, line: &str) -> Result<Vec<u8>> {
        writeln!(self.stdin, "{line}")?;
        self.line()
    }

    /// Writes a line and reads a line: the minimal round trip.
    pub(crate) fn round_trip(&mut self, line: &[u8]) -> Result<()> {
        self.stdin.write_all(line)?;
        self.filled = 0;
        while !self.buffer.get(..self.filled).is_some_and(|held| held.ends_with(b"\n")) {
            self.fill()?;
        }
        self.filled = 0;
        Ok(())
    }

    /// Writes the bytes unchanged.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.stdin.write_all(bytes).context("write to a child")
    }

    /// Writes a line and discards the answer while reading it.
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
            0 => bail!("the child ended, or its line exceeds the buffer"),
            read => self.filled += read,
        }
        Ok(())
    }
}

/// Returns the `type` of a frame, independent of its formatting.
fn frame_type(line: &[u8]) -> Result<String> {
    let frame: serde_json::Value =
        serde_json::from_slice(line).context("the child wrote a line that is not a frame")?;
    Ok(frame["type"].as_str().unwrap_or_default().to_owned())
}

impl Drop for PipedChild {
    fn drop(&mut self) {
        // The child may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
