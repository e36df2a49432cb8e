//! The scene: secrets, projects and programs of a user that a sandbox shall keep away.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{Column, Expect, PROBES};

/// Everything that is there, below one directory. Dropping it ends its process; the directory is the caller's.
#[derive(Debug)]
pub struct Scene {
    dir: PathBuf,
    facts: Value,
    other: Child,
    _open: (TcpListener, UnixListener, UnixListener, UnixDatagram),
}

/// The outcome of one probe, and whether it is the expected one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The probe.
    pub name: &'static str,
    /// None when it is as expected; otherwise what is wrong.
    pub wrong: Option<String>,
    /// It could not be tried, and why.
    pub skipped: Option<String>,
}

impl Scene {
    /// Builds it below an empty directory, which must not be below a directory that every sandbox may read.
    ///
    /// # Errors
    /// When something cannot be made.
    #[expect(clippy::disallowed_methods, reason = "another program of the user")]
    pub fn new(dir: &Path) -> io::Result<Self> {
        for part in ["data", "data-of-other", "granted", "home", "workspace/.git/hooks"] {
            fs::create_dir_all(dir.join(part))?;
        }
        fs::write(dir.join("data/own"), "own")?;
        fs::write(dir.join("granted/readme"), "granted")?;
        fs::write(dir.join("data-of-other/theirs"), "theirs")?;
        for secret in ["auth.json", "to-truncate", "to-open", "to-remove"] {
            fs::write(dir.join("home").join(secret), "secret")?;
        }
        std::os::unix::fs::symlink(dir.join("home/auth.json"), dir.join("data/link"))?;
        let name = format!("haft-scene-{}-{}", std::process::id(), dir.display());
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let facts = json!({
            "data": dir.join("data"),
            "data-of-other": dir.join("data-of-other"),
            "granted": dir.join("granted"),
            "home": dir.join("home"),
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

    /// The argument of `sandbox-probe`.
    pub fn facts(&self) -> String {
        self.facts.to_string()
    }

    /// Returns the directory that a sandbox lets the probe write.
    pub fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Returns the directory that a sandbox lets the probe read.
    pub fn granted(&self) -> PathBuf {
        self.dir.join("granted")
    }

    /// Compares the output with the expected one.
    pub fn judge(output: &str, column: Column) -> Vec<Verdict> {
        PROBES.iter().map(|probe| judge(probe.name, said(output, probe.name), probe.expect(column))).collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.other.kill();
        let _ = self.other.wait();
    }
}

/// Returns the text behind the name of a probe.
fn said<'a>(output: &'a str, name: &str) -> Option<&'a str> {
    output
        .lines()
        .find_map(|line| line.split_once(' ').filter(|(probe, _)| *probe == name))
        .map(|(_, said)| said)
}

fn judge(name: &'static str, said: Option<&str>, expect: Expect) -> Verdict {
    let mut verdict = Verdict { name, wrong: None, skipped: None };
    let Some(said) = said else {
        verdict.wrong = Some("said nothing".to_owned());
        return verdict;
    };
    if let Some(reason) = said.strip_prefix("skip ") {
        verdict.skipped = Some(reason.to_owned());
        return verdict;
    }
    let came = came_of(said);
    if expect != Expect::Any && came != Some(expect) {
        verdict.wrong = Some(format!("expected {expect:?}, and it is {said}"));
    }
    verdict
}

/// Returns the outcome that `ok` or the number of an error means.
fn came_of(said: &str) -> Option<Expect> {
    if said == "ok" {
        return Some(Expect::Works);
    }
    match said.parse().ok()? {
        libc::EPERM | libc::EACCES | libc::ENOSYS | libc::EROFS | libc::EXDEV => Some(Expect::Refused),
        libc::ENOENT | libc::ESRCH | libc::ENXIO | libc::ECONNREFUSED => Some(Expect::Absent),
        _ => None,
    }
}
