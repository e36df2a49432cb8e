//! What the machine can do: sandboxes, and programs that haft starts.

use haft_launch::sandbox::{Basis, available};
use haft_packages::install::Store;

use super::Seen;
use super::finding::{Area, Finding};

pub(super) fn look(seen: &Seen) -> Vec<Finding> {
    let support = available();
    let mut findings =
        vec![level("sandbox standard", support.standard), level("sandbox strict", support.strict)];
    let store = Store::of_home(seen.home.root(), std::env::var_os("PATH"));
    // The one that would be run, which is none that a project brought.
    findings.push(match (Store { workspace: Some(seen.cwd.clone()), ..store }).git() {
        Some(git) => Area::Machine.ok("git", git.display().to_string()),
        None => Area::Machine.note(
            "git",
            "is not in PATH, or only where others may put programs; `haft ext install URL` needs it",
        ),
    });
    findings
}

fn level(name: &str, basis: Result<Basis, String>) -> Finding {
    match basis {
        Ok(Basis { means, gaps }) if gaps.is_empty() => Area::Machine.ok(name, means),
        Ok(Basis { means, gaps }) => Area::Machine.note(name, format!("{means}; {}", gaps.join("; "))),
        Err(why) => {
            Area::Machine.note(name, format!("cannot be had, so what wants it is not started: {why}"))
        }
    }
}
