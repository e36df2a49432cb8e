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
        _ => return attempt_on_user(name, facts),
    })
}

/// Attempts on the files of a user, on haft's own, and on those of a project that make code run later.
fn attempt_on_user(name: &str, facts: &SceneFacts) -> Option<io::Result<()>> {
    let [data, home, workspace, user] = ["data", "home", "workspace", "user"].map(|name| facts.path(name));
    Some(match name {
        "read-user-secret" => read_content(&user.join(".ssh/id")),
        "read-hidden-file" => read_content(&user.join(".netrc")),
        "list-user-secrets" => list_content(&user.join(".ssh")),
        "read-home-file" => read(&user.join("notes")),
        "write-home-file" => append(&user.join("notes")),
        "create-in-home" => fs::write(user.join("new"), "new"),
        "rename-from-home" => fs::rename(user.join("to-move"), data.join("moved")),
        "change-mode-of-home-file" => fs::set_permissions(user.join("notes"), Permissions::from_mode(0o600)),
        "change-times-of-home-file" => change_times(&user.join("notes")),
        "write-git-config" => append(&workspace.join(".git/config")),
        "move-git-directory" => move_and_back(&workspace.join(".git"), &workspace.join("moved")),
        "write-settings" => append(&workspace.join(".haft/config.toml")),
        "read-results" => read(&home.join("results/1")),
        "write-results" => fs::write(home.join("results/2"), "new"),
        "write-system" => fs::write("/usr/haft-probe", "").and_then(|()| fs::remove_file("/usr/haft-probe")),
        "make-device" => make_device(&data.join("device")),
        "secret-variable" => std::env::var_os("PROBE_API_KEY").map(drop).ok_or_else(not_found),
        _ => return None,
    })
}

fn not_found() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOENT)
}

/// Reads a file. A sandbox can hide a file by an empty one.
fn read_content(path: &Path) -> io::Result<()> {
    if fs::read(path)?.is_empty() { Err(not_found()) } else { Ok(()) }
}

/// Lists a directory. A sandbox can hide a directory by an empty one.
fn list_content(dir: &Path) -> io::Result<()> {
    fs::read_dir(dir)?.next().ok_or_else(not_found)?.map(drop)
}

fn append(path: &Path) -> io::Result<()> {
    File::options().append(true).create(true).open(path)?.write_all(b"new\n")
}

fn change_times(path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
    let time = Timespec { tv_sec: 1, tv_nsec: 0 };
    Ok(utimensat(CWD, path, &Timestamps { last_access: time, last_modification: time }, AtFlags::empty())?)
}

fn move_and_back(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    fs::rename(to, from)
}

fn make_device(path: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
    Ok(mknodat(CWD, path, FileType::CharacterDevice, Mode::RUSR, makedev(1, 3))?)
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
