//! What the machine can do: sandboxes, and programs that haft starts.

use haft_launch::find_program;
use haft_launch::sandbox::{Basis, available};

use super::finding::{Area, Finding};

pub(super) fn look() -> Vec<Finding> {
    let support = available();
    let mut findings =
        vec![level("sandbox standard", support.standard), level("sandbox strict", support.strict)];
    let git = find_program("git");
    findings.push(match git {
        Ok(git) => Area::Machine.ok("git", git.display().to_string()),
        Err(_) => Area::Machine.note("git", "is not there; `haft ext install URL` needs it"),
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
