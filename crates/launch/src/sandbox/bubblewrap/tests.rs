//! Tests of the command line.

use super::*;
use crate::sandbox::ConfinementLevel;

fn lines(change: impl FnOnce(&mut Sandbox)) -> String {
    let mut sandbox = Sandbox::new(ConfinementLevel::Strict);
    sandbox.read = vec!["/store/ab12".into()];
    sandbox.write = vec!["/data/todo".into()];
    change(&mut sandbox);
    let bubblewrap = Bubblewrap { program: "/usr/bin/bwrap".into(), disable_userns: true };
    let words = bubblewrap.command_line(WrappedLaunch {
        sandbox: &sandbox,
        program: Path::new("/store/ab12/todo"),
        cwd: Path::new("/data/todo"),
        launcher: Path::new("/opt/haft"),
        args: ["__launch", "--confine", "{}"].map(OsString::from).into(),
    });
    let words: Vec<String> = words.into_iter().map(|word| word.into_string().unwrap()).collect();
    // The existing system directories differ between machines.
    let text = words.join(" ").replace(" --", "\n--");
    let system = |line: &&str| {
        system_paths::PROGRAMS
            .iter()
            .chain([&system_paths::SETTINGS])
            .any(|place| line.ends_with(&format!(" {place}")))
    };
    text.lines().filter(|line| !system(line)).map(|line| format!("{line}\n")).collect()
}

#[test]
fn builds_command_line_of_minimal_sandbox() {
    insta::assert_snapshot!(lines(|_| ()), @r#"
    /usr/bin/bwrap
    --unshare-user
    --unshare-pid
    --unshare-ipc
    --unshare-uts
    --unshare-cgroup
    --die-with-parent
    --new-session
    --disable-userns
    --unshare-net
    --proc /proc
    --dev /dev
    --tmpfs /tmp
    --ro-bind /opt/haft /run/haft/launcher
    --bind /data/todo /data/todo
    --ro-bind /store/ab12 /store/ab12
    --remount-ro /
    --chdir /data/todo
    -- /run/haft/launcher __launch
    --confine {}
    "#);
}

#[test]
fn mounts_outer_paths_before_inner_paths() {
    let text = lines(|sandbox| {
        sandbox.write = vec!["/w/.git/own".into(), "/w".into(), "/both".into()];
        sandbox.read =
            vec!["/w/docs".into(), "/both".into(), "/r/inner".into(), "/r".into(), "/w/.git/x".into()];
        sandbox.protect = vec!["/w/.git".into()];
        sandbox.net = NetworkAccess::Loopback;
    });
    let mounts: String =
        text.lines().filter(|line| line.contains("bind /")).map(|line| format!("{line}\n")).collect();
    insta::assert_snapshot!(mounts, @r#"
    --ro-bind /opt/haft /run/haft/launcher
    --bind /both /both
    --ro-bind /r /r
    --ro-bind /store/ab12/todo /store/ab12/todo
    --bind /w /w
    --ro-bind /w/.git /w/.git
    --bind /w/.git/own /w/.git/own
    "#);
    assert!(text.contains("--unshare-net"));
}

#[test]
fn shares_the_network_only_with_net_all() {
    assert!(lines(|_| ()).contains("--unshare-net"));
    assert!(!lines(|sandbox| sandbox.net = NetworkAccess::All).contains("--unshare-net"));
}
