//! Reading of files that may come from untrusted sources.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use haft_protocol::defense::{Defense, is_up};

/// Reads the text of a regular file of at most `limit` bytes. Pipes and devices, which may never end, are rejected
/// before they are opened.
///
/// # Errors
/// When the file cannot be read, is not a regular file, is too long, or is not UTF-8 text.
pub fn text(path: &Path, limit: u64) -> io::Result<String> {
    let (bytes, len) = read_prefix(path, limit)?;
    if len > limit {
        return Err(io::Error::other(format!("the file is longer than {limit} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("the file is not UTF-8 text"))
}

/// Reads at most the first `limit` bytes of a regular file. Returns them and the length of the file.
pub(crate) fn read_prefix(path: &Path, limit: u64) -> io::Result<(Vec<u8>, u64)> {
    let mut file = open_regular(path)?;
    let mut bytes = Vec::new();
    file.by_ref().take(limit).read_to_end(&mut bytes)?;
    let len = file.metadata()?.len().max(bytes.len() as u64);
    Ok((bytes, len))
}

/// Opens a regular file. Pipes and devices are never opened. Some files of the kernel look regular and never end, such
/// as `/proc/kmsg`: reading them fails instead of waiting.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let metadata = std::fs::metadata(path).map_err(|error| explain_denied(path, error))?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let file = open(path).map_err(|error| explain_denied(path, error))?;
    // The file may have been replaced.
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok(file)
}

/// Adds the next step to an error about missing permissions. Any program of the user can take them away, for example an
/// extension without a sandbox.
fn explain_denied(path: &Path, error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::PermissionDenied {
        return error;
    }
    let next = match (path.symlink_metadata().is_ok(), path.parent()) {
        (false, Some(dir)) => format!("chmod u+rwx {}", dir.display()),
        (_, _) => format!("chmod u+r {}", path.display()),
    };
    io::Error::new(error.kind(), format!("{error}; if you did not forbid it, run `{next}`"))
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let waits = if is_up(Defense::OnlyFiles) { OFlags::NONBLOCK } else { OFlags::empty() };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | waits;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Returns an error if a file of a project is a link to a file outside of the project.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] when the file does not exist.
pub(crate) fn ensure_inside(path: &Path, project: &Path) -> io::Result<()> {
    let (real, project) = (path.canonicalize()?, project.canonicalize()?);
    if is_up(Defense::OnlyFiles) && !real.starts_with(project) {
        return Err(io::Error::other("is a link that leads out of the project; replace it with a file"));
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn reads_only_regular_files() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "text").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("device")).unwrap();
        haft_test_support::create_pipe(&at("pipe")).unwrap();
        File::create(at("sparse")).unwrap().set_len(1 << 40).unwrap();
        let read = |name: &str| text(&at(name), 1024).map_err(|error| error.to_string());
        assert_eq!((read("file"), read("link")), (Ok("text".to_owned()), Ok("text".to_owned())));
        for name in ["device", "pipe", "."] {
            assert_eq!(read(name), Err("not a regular file".to_owned()), "{name}");
        }
        assert_eq!(read("sparse"), Err("the file is longer than 1024 bytes".to_owned()));
        // A file of the kernel without new messages; only root can open it.
        if let Ok(file) = open_regular("/proc/kmsg".as_ref()) {
            let mut all = file.take(64 * 1024 * 1024);
            assert!(all.read_to_end(&mut Vec::new()).is_err(), "never waits");
        }
    }

    #[test]
    fn names_command_that_permits_reading() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, "").unwrap();
        let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
        let text = explain_denied(&path, denied()).to_string();
        assert!(text.ends_with(&format!("run `chmod u+r {}`", path.display())), "{text}");
        let text = explain_denied(&path.join("below"), denied()).to_string();
        assert!(text.ends_with(&format!("run `chmod u+rwx {}`", path.display())), "{text}");
        // Root reads every file.
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
        let read = super::text(&path, 10);
        assert!(read.is_ok() || read.unwrap_err().to_string().contains("chmod u+r"));
    }

    #[test]
    fn links_out_of_the_project_are_detected() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        std::fs::create_dir(&project).unwrap();
        std::fs::write(dir.path().join("outside"), "").unwrap();
        std::fs::write(project.join("inside"), "").unwrap();
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, project.join(name)).unwrap();
            ensure_inside(&project.join(name), &project).map_err(|error| error.kind())
        };
        assert_eq!(link("inside", "a"), Ok(()));
        assert_eq!(link("../outside", "b"), Err(io::ErrorKind::Other));
        assert_eq!(link("/dev/zero", "c"), Err(io::ErrorKind::Other));
        assert_eq!(link("gone", "d"), Err(io::ErrorKind::NotFound));
    }
}
