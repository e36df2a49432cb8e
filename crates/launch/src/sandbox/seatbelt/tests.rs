//! Tests of the profile's text. No test runs the profile.

use std::path::Path;

use super::*;
use crate::sandbox::ConfinementLevel;

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new(ConfinementLevel::Standard);
    sandbox.read = vec!["/Users/me/.nvm".into(), "/Users/me/store/ab12".into()];
    sandbox.write = vec!["/Users/me/data/todo".into()];
    sandbox
}

#[test]
fn builds_profile_without_network() {
    insta::assert_snapshot!(build_profile(&sandbox(), Path::new("/Users/me/store/ab12/todo")), @r#"
    (version 1)
    (deny default)
    (allow process-fork)
    (allow signal (target same-sandbox))
    (allow sysctl-read)
    (allow file-read-metadata)
    (allow ipc-posix-sem)
    (allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
    (allow file-read*
      (subpath "/bin")
      (subpath "/sbin")
      (subpath "/usr")
      (subpath "/System")
      (subpath "/Library")
      (subpath "/opt/homebrew")
      (subpath "/opt/local")
      (subpath "/etc")
      (subpath "/private/etc")
      (subpath "/private/var/db/timezone")
      (subpath "/private/var/select")
      (subpath "/dev/null")
      (subpath "/dev/zero")
      (subpath "/dev/random")
      (subpath "/dev/urandom"))
    (allow file-read* process-exec
      (subpath "/Users/me/store/ab12/todo"))
    (allow process-exec
      (subpath "/bin")
      (subpath "/sbin")
      (subpath "/usr")
      (subpath "/System")
      (subpath "/Library")
      (subpath "/opt/homebrew")
      (subpath "/opt/local"))
    (allow file-write-data
      (subpath "/dev/null")
      (subpath "/dev/zero")
      (subpath "/dev/random")
      (subpath "/dev/urandom"))
    (allow file-read*
      (subpath "/Users/me/.nvm")
      (subpath "/Users/me/store/ab12"))
    (allow file-read* file-write*
      (subpath "/Users/me/data/todo"))
    "#);
}

#[test]
fn builds_profile_with_network_and_without_system_programs() {
    let mut sandbox = sandbox();
    sandbox.system_programs = false;
    sandbox.net = NetworkAccess::All;
    sandbox.exec = vec!["/opt/tools".into()];
    sandbox.protect = vec!["/Users/me/data/todo/.git".into()];
    insta::assert_snapshot!(build_profile(&sandbox, Path::new("/Users/me/a \"quoted\" \\ name")), @r#"
    (version 1)
    (deny default)
    (allow process-fork)
    (allow signal (target same-sandbox))
    (allow sysctl-read)
    (allow file-read-metadata)
    (allow ipc-posix-sem)
    (allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
    (allow file-read*
      (subpath "/bin")
      (subpath "/sbin")
      (subpath "/usr")
      (subpath "/System")
      (subpath "/Library")
      (subpath "/opt/homebrew")
      (subpath "/opt/local")
      (subpath "/etc")
      (subpath "/private/etc")
      (subpath "/private/var/db/timezone")
      (subpath "/private/var/select")
      (subpath "/dev/null")
      (subpath "/dev/zero")
      (subpath "/dev/random")
      (subpath "/dev/urandom"))
    (allow file-read* process-exec
      (subpath "/Users/me/a \"quoted\" \\ name"))
    (allow file-write-data
      (subpath "/dev/null")
      (subpath "/dev/zero")
      (subpath "/dev/random")
      (subpath "/dev/urandom"))
    (allow file-read*
      (subpath "/Users/me/.nvm")
      (subpath "/Users/me/store/ab12"))
    (allow file-read* process-exec
      (subpath "/opt/tools"))
    (allow file-read* file-write*
      (subpath "/Users/me/data/todo"))
    (allow network* (remote ip) (local ip))
    (allow system-socket)
    (deny file-write*
      (subpath "/Users/me/data/todo/.git"))
    "#);
}

/// Later rules take precedence, so hidden paths follow the lists, and listed paths in hidden ones follow these.
#[test]
fn hides_paths_inside_readable_and_writable_ones() {
    let mut sandbox = sandbox();
    sandbox.read_all = true;
    sandbox.read = vec!["/Users/me/.haft/results".into()];
    sandbox.hide = vec!["/Users/me/.haft".into(), "/Users/me/data/todo/.env".into()];
    let profile = build_profile(&sandbox, Path::new("/bin/sh"));
    let rules: Vec<&str> = profile.split("\n(").collect();
    let position = |rule: &str| rules.iter().rposition(|other| other.starts_with(rule)).expect(rule);
    let everything = position("allow file-read* process-exec\n  (subpath \"/\")");
    let devices = position("deny file-read*\n  (subpath \"/dev\")");
    let writable = position("allow file-read* file-write*\n  (subpath \"/Users/me/data/todo\")");
    let hidden = position("deny file-read* file-write* process-exec\n  (subpath \"/Users/me/.haft\")");
    let visible = position("allow file-read*\n  (subpath \"/Users/me/.haft/results\")");
    assert!([everything, devices, writable, hidden, visible].is_sorted(), "{profile}");
    assert!(rules[hidden].contains("/Users/me/data/todo/.env"), "{profile}");
}

#[test]
fn builds_command_line() {
    let words =
        command_line(&Sandbox::new(ConfinementLevel::Standard), Path::new("/bin/cat"), &["-u".into()]);
    assert_eq!(words[..2], ["/usr/bin/sandbox-exec", "-p"]);
    assert_eq!(words[3..], ["/bin/cat", "-u"]);
}
