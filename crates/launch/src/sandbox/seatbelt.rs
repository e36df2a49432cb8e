//! The profile for macOS's `sandbox-exec`. Tested as text only: no test runs on macOS.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{NetworkAccess, Sandbox};

/// The program that puts a profile on itself and becomes another one.
pub(super) const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Places of macOS that every program needs to read and execute.
const PROGRAMS: &[&str] = &["/bin", "/sbin", "/usr", "/System", "/Library", "/opt/homebrew", "/opt/local"];

/// Settings; what is in `/etc` and what it is a link to.
const SETTINGS: &[&str] = &["/etc", "/private/etc", "/private/var/db/timezone", "/private/var/select"];

/// Devices to read and to write.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// The beginning of every profile. Later rules are stronger.
const BEGINNING: &str = "(version 1)
(deny default)
(allow process-fork)
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow ipc-posix-sem)
(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))
";

/// `sandbox-exec` with the profile, the program and its arguments.
pub(crate) fn words(sandbox: &Sandbox, program: &Path, args: &[OsString]) -> Vec<OsString> {
    let own = [PROGRAM.into(), "-p".into(), profile(sandbox, program).into(), program.into()];
    own.into_iter().chain(args.iter().cloned()).collect()
}

fn profile(sandbox: &Sandbox, program: &Path) -> String {
    let system = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    let programs = system(PROGRAMS);
    let mut text = BEGINNING.to_owned();
    allow(&mut text, "file-read*", &[programs.clone(), system(SETTINGS), system(DEVICES)].concat());
    allow(&mut text, "file-read* process-exec", &[vec![program.to_owned()], sandbox.exec.clone()].concat());
    if sandbox.system_programs {
        allow(&mut text, "process-exec", &programs);
    }
    allow(&mut text, "file-write-data", &system(DEVICES));
    allow(&mut text, "file-read*", &sandbox.read);
    allow(&mut text, "file-read* file-write*", &sandbox.write);
    if sandbox.net == NetworkAccess::All {
        text.push_str("(allow network* (remote ip) (local ip))\n(allow system-socket)\n");
    }
    // Whatever was said before.
    rule(&mut text, "deny", "file-write*", &sandbox.protect);
    text
}

fn allow(text: &mut String, operations: &str, paths: &[PathBuf]) {
    rule(text, "allow", operations, paths);
}

fn rule(text: &mut String, word: &str, operations: &str, paths: &[PathBuf]) {
    if paths.is_empty() {
        // A rule without places is one for all places.
        return;
    }
    let _ = write!(text, "({word} {operations}");
    for path in paths {
        let path = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
        let _ = write!(text, "\n  (subpath \"{path}\")");
    }
    text.push_str(")\n");
}

#[cfg(test)]
mod tests;
