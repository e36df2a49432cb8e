//! Where sessions are recorded, and whether they can be read.

use haft_core::session::store::Store;

use super::Seen;
use super::files::with_causes;
use super::finding::{Area, Finding};

/// The most sessions that are read, the newest ones.
const READ: usize = 50;

pub(super) fn look(seen: &Seen) -> Vec<Finding> {
    let dir = seen.home.sessions_dir();
    let name = seen.words.path(&dir);
    if !dir.exists() {
        return vec![Area::Sessions.ok(name, "is not there yet; the first session makes it")];
    }
    if !may_write(&dir) {
        let next = format!("chmod u+rwx {}", seen.words.word(&dir));
        return vec![Area::Sessions.wrong(name, "cannot be written, so no session is recorded", next)];
    }
    let all = match Store::new(&dir).list_all() {
        Ok(all) => all,
        Err(error) => {
            let next = format!("ls -la {}", seen.words.word(&dir));
            return vec![Area::Sessions.wrong(name, with_causes(&error), next)];
        }
    };
    let mut findings = vec![Area::Sessions.ok(name, format!("can be written; sessions: {}", all.len()))];
    for found in all.iter().take(READ) {
        if let Err(error) = found.summary() {
            let next = format!("ls -la {}", seen.words.word(&found.path));
            findings.push(Area::Sessions.wrong(found.id.to_string(), with_causes(&error), next));
        }
    }
    findings
}

#[cfg(unix)]
fn may_write(dir: &std::path::Path) -> bool {
    use rustix::fs::{Access, access};
    access(dir, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn may_write(dir: &std::path::Path) -> bool {
    dir.metadata().is_ok_and(|metadata| !metadata.permissions().readonly())
}
