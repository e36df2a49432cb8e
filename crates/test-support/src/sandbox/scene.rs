//! The scene: secrets, projects and programs of a user that a sandbox must protect.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{PROBES, ProbeOutcome, SandboxProbe};

/// All files, sockets and processes of the scene, below one directory. Dropping the scene ends its process; the caller
/// owns the directory.
#[derive(Debug)]
pub struct SandboxScene {
    dir: PathBuf,
    facts: Value,
    other: Child,
    _open: (TcpListener, UnixListener, UnixListener, UnixDatagram),
}

/// The outcome of one probe, compared with the expectation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeVerdict {
    /// The probe.
    pub name: &'static str,
    /// The difference from the expectation; `None` for the expected outcome.
    pub wrong: Option<String>,
    /// The reason why the probe could not run.
    pub skipped: Option<String>,
}

/// The directories of the scene: of an extension, of another one, of haft (`home`), of a project and of its user.
const DIRECTORIES: &[&str] = &[
    "data",
    "data-of-other",
    "granted",
    "home/results",
    "workspace/.git/hooks",
    "workspace/.haft",
    "user/.ssh",
];

/// The files that only their owner may read.
const SECRETS: &[&str] =
    &["home/auth.json", "home/to-truncate", "home/to-open", "home/to-remove", "user/.ssh/id", "user/.netrc"];

/// The other files of haft, the project and the user.
const OTHER_FILES: &[&str] =
    &["home/results/1", "workspace/file", "workspace/.git/config", "user/notes", "user/to-move"];

impl SandboxScene {
    /// The content of the secret files.
    pub const SECRET: &str = "secret text";

    /// Builds the scene in an empty directory, which must not be below a directory that every sandbox may read.
    ///
    /// # Errors
    /// Returns an error if a part of the scene cannot be created.
    #[expect(clippy::disallowed_methods, reason = "starts another program of the user")]
    pub fn new(dir: &Path) -> io::Result<Self> {
        for part in DIRECTORIES {
            fs::create_dir_all(dir.join(part))?;
        }
        fs::write(dir.join("data/own"), "own")?;
        fs::write(dir.join("granted/readme"), "granted")?;
        fs::write(dir.join("data-of-other/theirs"), "theirs")?;
        for secret in SECRETS {
            fs::write(dir.join(secret), Self::SECRET)?;
        }
        for file in OTHER_FILES {
            fs::write(dir.join(file), "text\n")?;
        }
        std::os::unix::fs::symlink(dir.join("home/auth.json"), dir.join("data/link"))?;
        let name = format!("haft-scene-{}-{}", std::process::id(), dir.display());
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let facts = json!({
            "data": dir.join("data"),
            "data-of-other": dir.join("data-of-other"),
            "granted": dir.join("granted"),
            "home": dir.join("home"),
            "user": dir.join("user"),
            "workspace": dir.join("workspace"),
            "socket": dir.join("home/agent.sock"),
            "datagrams": dir.join("home/log.sock"),
            "name": name,
            "port": tcp.local_addr()?.port(),
            "host": std::process::id(),
        });
        let open = (
            tcp,
            UnixListener::bind(dir.join("home/agent.sock"))?,
            UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?,
            UnixDatagram::bind(dir.join("home/log.sock"))?,
        );
        let other = Command::new("/bin/cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        let mut scene = Self { dir: dir.to_owned(), facts, other, _open: open };
        scene.facts["other"] = scene.other.id().into();
        Ok(scene)
    }

    /// Returns the argument of `sandbox-probe`.
    pub fn facts(&self) -> String {
        self.facts.to_string()
    }

    /// Returns a script for bash that runs `program`, a `sandbox-probe`, with the temporary directory of the shell as
    /// its own data.
    pub fn bash_script(&self, program: &Path) -> String {
        let mut facts = self.facts.clone();
        facts["data"] = "@DATA@".into();
        format!(
            "echo own >$TMPDIR/own\nln -s {} $TMPDIR/link\nfacts='{facts}'\n{} \"${{facts//@DATA@/$TMPDIR}}\"\n",
            self.dir.join("home/auth.json").display(),
            program.display(),
        )
    }

    /// Returns the directory that a sandbox lets the probe write.
    pub fn data_dir(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Returns the directory that a sandbox lets the probe read.
    pub fn granted_dir(&self) -> PathBuf {
        self.dir.join("granted")
    }

    /// Compares the output of `sandbox-probe` with the expected outcomes.
    pub fn judge_output(output: &str, expected: impl Fn(&SandboxProbe) -> ProbeOutcome) -> Vec<ProbeVerdict> {
        let judge =
            |probe: &SandboxProbe| judge_probe(probe.name, probe_result(output, probe.name), expected(probe));
        PROBES.iter().map(judge).collect()
    }
}

impl Drop for SandboxScene {
    fn drop(&mut self) {
        let _ = self.other.kill();
        let _ = self.other.wait();
    }
}

/// Returns the text after the name of a probe.
fn probe_result<'a>(output: &'a str, name: &str) -> Option<&'a str> {
    output
        .lines()
        .find_map(|line| line.split_once(' ').filter(|(probe, _)| *probe == name))
        .map(|(_, said)| said)
}

fn judge_probe(name: &'static str, said: Option<&str>, expect: ProbeOutcome) -> ProbeVerdict {
    let mut verdict = ProbeVerdict { name, wrong: None, skipped: None };
    let Some(said) = said else {
        verdict.wrong = Some("printed no result".to_owned());
        return verdict;
    };
    if let Some(reason) = said.strip_prefix("skip ") {
        verdict.skipped = Some(reason.to_owned());
        return verdict;
    }
    let came = parse_outcome(said);
    if expect != ProbeOutcome::Any && came != Some(expect) {
        verdict.wrong = Some(format!("expected {expect:?}, but the outcome is {said}"));
    }
    verdict
}

/// Parses `ok` or an error number.
fn parse_outcome(said: &str) -> Option<ProbeOutcome> {
    if said == "ok" {
        return Some(ProbeOutcome::Works);
    }
    match said.parse().ok()? {
        libc::EPERM | libc::EACCES | libc::ENOSYS | libc::EROFS | libc::EXDEV | libc::EBUSY => {
            Some(ProbeOutcome::Refused)
        }
        libc::ENOENT | libc::ESRCH | libc::ENXIO | libc::ECONNREFUSED => Some(ProbeOutcome::Absent),
        _ => None,
    }
}
