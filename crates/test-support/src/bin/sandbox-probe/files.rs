//! Files: the extension's own, those of others, and devices.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::SceneFacts;

pub(crate) fn attempt(name: &str, facts: &SceneFacts) -> Option<io::Result<()>> {
    let [data, granted, home] = ["data", "granted", "home"].map(|name| facts.path(name));
    let [workspace, others] = ["workspace", "data-of-other"].map(|name| facts.path(name));
    Some(match name {
        "read-own-data" => read(&data.join("own")),
        "write-own-data" => fs::write(data.join("new"), "new"),
        "rename-in-own-data" => rename_within(&data),
        "read-granted" => read(&granted.join("readme")),
        "run-system-program" => run(Path::new("/bin/true")),
        "null-device" => {
            File::options().read(true).write(true).open("/dev/null").and_then(|mut null| null.write_all(b"x"))
        }
        "own-status" => read(Path::new("/proc/self/status")),
        "write-granted-to-read" => File::options().append(true).open(granted.join("readme")).map(drop),
        "read-data-of-other" => read(&others.join("theirs")),
        "write-data-of-other" => fs::write(others.join("mine"), "mine"),
        "read-secret" => read(&home.join("auth.json")),
        "read-secret-by-link" => read(&data.join("link")),
        "list-home" => list(&home),
        "write-workspace" => fs::write(workspace.join("new"), "new"),
        "write-git-hook" => fs::write(workspace.join(".git/hooks/pre-commit"), "#!/bin/sh\n"),
        "truncate-secret" => crate::kernel::truncate(&home.join("to-truncate")),
        "open-secret-to-truncate" => open_to_truncate(&home.join("to-open")),
        "remove-secret" => fs::remove_file(home.join("to-remove")),
        "rename-out" => move_out(&data, &workspace),
        "link-in" => fs::hard_link(home.join("auth.json"), data.join("hard")),
        "stat-secret" => fs::metadata(home.join("auth.json")).map(drop),
        "chmod-secret" => fs::set_permissions(home.join("auth.json"), Permissions::from_mode(0o600)),
        "watch-home" => watch_dir(&home),
        "run-own-data" => run_own(&data),
        "run-from-memory" => run_from_memory(),
        "list-root" => list(Path::new("/")),
        "write-root" => fs::write("/haft-probe", "").and_then(|()| fs::remove_file("/haft-probe")),
        "open-terminal" => File::open("/dev/tty").map(drop),
        _ => return None,
    })
}

fn read(path: &Path) -> io::Result<()> {
    fs::read(path).map(drop)
}

fn list(dir: &Path) -> io::Result<()> {
    fs::read_dir(dir).map(drop)
}

fn rename_within(data: &Path) -> io::Result<()> {
    fs::create_dir_all(data.join("dir"))?;
    fs::write(data.join("old"), "")?;
    fs::rename(data.join("old"), data.join("dir/new"))
}

fn move_out(data: &Path, workspace: &Path) -> io::Result<()> {
    fs::write(data.join("out"), "")?;
    fs::rename(data.join("out"), workspace.join("out"))
}

/// Truncates a file while opening it for reading.
fn open_to_truncate(path: &Path) -> io::Result<()> {
    OpenOptions::new().read(true).custom_flags(libc::O_TRUNC).open(path).map(drop)
}

/// Watches a directory for names of files that are created, read and removed.
fn watch_dir(dir: &Path) -> io::Result<()> {
    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
    add_watch(init(CreateFlags::CLOEXEC)?, dir, WatchFlags::ALL_EVENTS)?;
    Ok(())
}

/// Tries to start a program without input or output.
#[expect(clippy::disallowed_methods, reason = "the probe tests starting a program")]
pub(crate) fn run(program: &Path) -> io::Result<()> {
    Command::new(program).stdin(Stdio::null()).stdout(Stdio::null()).status().map(drop)
}

/// Runs a program from a file without a name or directory.
fn run_from_memory() -> io::Result<()> {
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::os::fd::AsRawFd as _;
    let mut file = File::from(memfd_create("program", MemfdFlags::CLOEXEC)?);
    file.write_all(&fs::read("/bin/true")?)?;
    run(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())))
}

fn run_own(data: &Path) -> io::Result<()> {
    let program = data.join("program");
    fs::copy("/bin/true", &program)?;
    fs::set_permissions(&program, Permissions::from_mode(0o755))?;
    run(&program)
}
