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
      (subpath "/Users/me/a \"quoted\" \\ name")
      (subpath "/opt/tools"))
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
    (allow network* (remote ip) (local ip))
    (allow system-socket)
    (deny file-write*
      (subpath "/Users/me/data/todo/.git"))
    "#);
}

#[test]
fn builds_command_line() {
    let words =
        command_line(&Sandbox::new(ConfinementLevel::Standard), Path::new("/bin/cat"), &["-u".into()]);
    assert_eq!(words[..2], ["/usr/bin/sandbox-exec", "-p"]);
    assert_eq!(words[3..], ["/bin/cat", "-u"]);
}
