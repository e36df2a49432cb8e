//! The profile for macOS's `sandbox-exec`. Only the text is tested, because no test runs on macOS.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{NetworkAccess, Sandbox};

/// The program that applies a profile to itself and executes another program.
pub(super) const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Paths of macOS that every program needs to read and execute.
const PROGRAMS: &[&str] = &["/bin", "/sbin", "/usr", "/System", "/Library", "/opt/homebrew", "/opt/local"];

/// Settings: `/etc`, the target of that link, and the time zones.
const SETTINGS: &[&str] = &["/etc", "/private/etc", "/private/var/db/timezone", "/private/var/select"];

/// Devices to read and write.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// The beginning of every profile. Later rules take precedence.
const BEGINNING: &str = "(version 1)
(deny default)
(allow process-fork)
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow ipc-posix-sem)
(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))
";

/// Returns the command line: `sandbox-exec` with the profile, the program and its arguments.
pub(crate) fn command_line(sandbox: &Sandbox, program: &Path, args: &[OsString]) -> Vec<OsString> {
    let own = [PROGRAM.into(), "-p".into(), build_profile(sandbox, program).into(), program.into()];
    own.into_iter().chain(args.iter().cloned()).collect()
}

fn build_profile(sandbox: &Sandbox, program: &Path) -> String {
    let system = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    let programs = system(PROGRAMS);
    let mut text = BEGINNING.to_owned();
    if sandbox.read_all {
        write_allow_rule(&mut text, "file-read* process-exec", &system(&["/"]));
        write_rule(&mut text, "deny", "file-read*", &system(&["/dev"]));
    }
    write_allow_rule(
        &mut text,
        "file-read*",
        &[programs.clone(), system(SETTINGS), system(DEVICES)].concat(),
    );
    write_allow_rule(&mut text, "file-read* process-exec", &[program.to_owned()]);
    if sandbox.system_programs {
        write_allow_rule(&mut text, "process-exec", &programs);
    }
    write_allow_rule(&mut text, "file-write-data", &system(DEVICES));
    let lists = [
        ("file-read*", &sandbox.read),
        ("file-read* process-exec", &sandbox.exec),
        ("file-read* file-write*", &sandbox.write),
    ];
    lists.iter().for_each(|(operations, paths)| write_allow_rule(&mut text, operations, paths));
    write_rule(&mut text, "deny", "file-read* file-write* process-exec", &sandbox.hide);
    // A path that is listed below a hidden one can be used.
    let is_hidden = |path: &&PathBuf| sandbox.hide.iter().any(|hidden| path.starts_with(hidden));
    for (operations, paths) in lists {
        let paths: Vec<PathBuf> = paths.iter().filter(is_hidden).cloned().collect();
        write_allow_rule(&mut text, operations, &paths);
    }
    if sandbox.net == NetworkAccess::All {
        text.push_str("(allow network* (remote ip) (local ip))\n(allow system-socket)\n");
    }
    // The last rule takes precedence over all earlier ones.
    write_rule(&mut text, "deny", "file-write*", &sandbox.protect);
    text
}

fn write_allow_rule(text: &mut String, operations: &str, paths: &[PathBuf]) {
    write_rule(text, "allow", operations, paths);
}

fn write_rule(text: &mut String, word: &str, operations: &str, paths: &[PathBuf]) {
    if paths.is_empty() {
        // A rule without paths would apply to all paths.
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
