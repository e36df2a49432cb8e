//! Tests of the level that commands of tools have: all files are readable except some, and only listed ones writable.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use haft_launch::sandbox::{ConfinementLevel, NetworkAccess};
use haft_launch::{ProgramKind, Sandbox};
use tempfile::TempDir;

use super::{Ended, is_available, run, spec};

/// A home directory with secrets and a project.
struct Scene {
    dir: TempDir,
    sandbox: Sandbox,
}

impl Scene {
    fn new() -> Option<Self> {
        if !is_available(ConfinementLevel::Isolated) {
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let home = dir.path().canonicalize().unwrap();
        let dirs =
            ["project/.git/hooks", "project/src", "project/sub/keys", ".ssh", ".config/gh", "state/results"];
        for path in dirs {
            std::fs::create_dir_all(home.join(path)).unwrap();
        }
        for path in [
            "project/.git/config",
            "project/sub/keys/1",
            "project/file",
            ".ssh/id",
            ".netrc",
            ".profile",
            "state/auth",
            "state/results/1",
            "project/.env",
        ] {
            std::fs::write(home.join(path), "original\n").unwrap();
        }
        symlink(home.join(".ssh"), home.join("link")).unwrap();
        let mut sandbox = Sandbox::new(ConfinementLevel::Isolated);
        let project = home.join("project");
        sandbox.read_all = true;
        let hide =
            [".ssh", ".netrc", ".config/gh", ".aws", "state", "project/sub/keys", "project/.env", ".netrc"];
        sandbox.hide = hide.map(|path| home.join(path)).into();
        sandbox.read = vec![home.join("state/results")];
        sandbox.protect = vec![project.join(".git/hooks"), project.join(".git/config")];
        sandbox.exec = vec![project.clone()];
        sandbox.write = vec![project];
        Some(Self { dir, sandbox })
    }

    fn home(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    async fn run(&self, script: &str) -> Ended {
        let mut spec = spec("/bin/bash", self.home().join("project"), Some(self.sandbox.clone()));
        spec.kind = ProgramKind::Command;
        run(spec.args(["-c", script])).await
    }

    /// Runs a script that must fail and change nothing.
    #[track_caller]
    fn check_unchanged(&self, script: &str, ended: &Ended) {
        assert!(!ended.status.success(), "{script}: {ended:?}");
        for path in ["project/.git/config", "project/.env", ".ssh/id", ".netrc", ".profile", "state/auth"] {
            let text = std::fs::read_to_string(self.home().join(path));
            assert_eq!(text.unwrap(), "original\n", "{script} changed {path}");
        }
        let hooks = std::fs::read_dir(self.home().join("project/.git/hooks")).unwrap().count();
        assert_eq!(hooks, 0, "{script}");
    }
}

#[tokio::test]
async fn permits_work_in_the_workspace() {
    let Some(scene) = Scene::new() else { return };
    for script in [
        "echo x >file && mv file src/ && rm src/file && mkdir -p a/b && ln -s a c",
        "echo x >.git/index.lock && mv .git/index.lock .git/index && mkdir .git/objects",
        "printf '#!/bin/sh\\necho ran\\n' >tool && chmod +x tool && ./tool",
        "cat <(echo x) && cat <<<x && echo x >/dev/null && ls / >/dev/null && ls ~/.. >/dev/null",
        "cat ../.profile && ls .. && test -r /etc/passwd && cat /proc/self/status >/dev/null",
        "cat /dev/stdin <<<x && echo x >/dev/stderr && python3 -c 'import multiprocessing as m; m.Lock()'",
        "cat ../.netrc && test -z \"$(cat ../.netrc)\" && test -z \"$(ls ../.ssh)\"",
        "test \"$(ls -A ../state)\" = results && cat ../state/results/1",
    ] {
        let ended = scene.run(script).await;
        assert!(ended.status.success(), "{script}: {ended:?}");
    }
}

#[tokio::test]
async fn denies_changes_outside_the_workspace() {
    let Some(scene) = Scene::new() else { return };
    for script in [
        "echo x >.env",
        "echo x >../.profile",
        "rm ../.netrc",
        "mv ../.profile ../.netrc",
        "rm ../.profile",
        "mv ../.profile .",
        "ln ../.profile hard && echo x >hard",
        "ln -s ../.profile soft && echo x >soft",
        "chmod 777 ../.profile",
        "touch -d 2001-01-01 ../.profile",
        "mkdir ../new",
        "echo x >../state/auth",
        "echo x >../state/results/new",
        "echo x >/tmp/haft-isolated-test",
        "mv ../project ../other",
    ] {
        let ended = scene.run(script).await;
        scene.check_unchanged(script, &ended);
    }
    assert_eq!(std::fs::metadata(scene.home().join(".profile")).unwrap().permissions().mode() & 0o777, 0o644);
}

#[tokio::test]
async fn denies_changes_of_protected_paths() {
    let Some(scene) = Scene::new() else { return };
    for script in [
        "echo x >.git/hooks/pre-commit",
        "echo x >>.git/config",
        "rm .git/config",
        "mv .git/config .git/other",
        "echo x >.git/new && mv .git/new .git/config",
        "mv .git .old && mkdir -p .git/hooks && echo x >.git/hooks/pre-commit",
        "rm -rf .git",
        "rmdir .git/hooks",
        "ln -s .git/hooks soft && echo x >soft/pre-commit",
        "chmod 777 .git/config",
        "umount .git/hooks",
        "mount --bind src .git/hooks",
        "unshare -Um mount --bind src .git/hooks",
    ] {
        let ended = scene.run(script).await;
        scene.check_unchanged(script, &ended);
    }
}

/// A link in the place of a protected directory could otherwise be replaced with a directory.
#[tokio::test]
async fn denies_changes_of_protected_links() {
    let Some(mut scene) = Scene::new() else { return };
    let project = scene.home().join("project");
    std::fs::create_dir_all(project.join("shared")).unwrap();
    std::fs::remove_dir(project.join(".git/hooks")).unwrap();
    symlink("../shared", project.join(".git/hooks")).unwrap();
    symlink("nowhere", project.join(".envrc")).unwrap();
    scene.sandbox.protect.push(project.join("shared"));
    scene.sandbox.protect.push(project.join(".envrc"));
    for script in [
        "rm .git/hooks && mkdir .git/hooks",
        "mv .git/hooks .git/other",
        "mkdir new && mv -T new .git/hooks",
        "ln -sfn ../src .git/hooks",
        "echo x >.git/hooks/pre-commit",
        "mv shared other",
        "rm .envrc",
        "echo x >new && mv new .envrc",
        "mv .git .old",
    ] {
        let ended = scene.run(script).await;
        scene.check_unchanged(script, &ended);
        assert_eq!(
            std::fs::read_link(project.join(".git/hooks")).unwrap(),
            Path::new("../shared"),
            "{script}"
        );
        assert!(project.join(".envrc").is_symlink(), "{script}");
    }
    let ended = scene.run("ls .git/hooks && cat .git/config && echo x >src/x").await;
    assert!(ended.status.success(), "{ended:?}");
}

/// A later command would find a moved path, which is no longer hidden.
#[tokio::test]
async fn denies_moving_hidden_paths() {
    let Some(scene) = Scene::new() else { return };
    for script in ["mv sub other", "mv sub/keys other", "rm -r sub/keys", "mkdir -p n && mv -T n sub/keys"] {
        let ended = scene.run(script).await;
        scene.check_unchanged(script, &ended);
        let text = std::fs::read_to_string(scene.home().join("project/sub/keys/1"));
        assert_eq!(text.unwrap(), "original\n", "{script}");
    }
}

#[tokio::test]
async fn denies_reading_hidden_paths() {
    let Some(scene) = Scene::new() else { return };
    for script in [
        "grep original ../.ssh/id",
        "grep original ../link/id",
        "grep original ../.netrc",
        "grep original ../state/auth",
        "grep -r original ../.ssh ../.netrc",
        "grep original /proc/self/root/$OLDPWD/../.ssh/id",
        "ln ../.ssh/id id && grep original id",
        "cat ../state/auth",
        "umount ../.ssh; cat ../.ssh/id",
        "umount -l ../state; cat ../state/auth",
        "unshare -Urm sh -c 'umount ../.ssh; cat ../.ssh/id'",
        "cat /proc/$PPID/environ",
        "cat /proc/1/environ",
        "echo x >/dev/tty",
    ] {
        let ended = scene.run(script).await;
        scene.check_unchanged(script, &ended);
        assert!(!ended.out.contains("original"), "{script}: {ended:?}");
    }
}

const CONNECT: &str = "import socket, threading\n\
    server = socket.create_server(('127.0.0.1', 0))\n\
    threading.Thread(target=lambda: server.accept()[0].send(b'x')).start()\n\
    client = socket.create_connection(server.getsockname(), 5)\n\
    assert client.recv(1) == b'x'\n";

#[tokio::test]
async fn loopback_is_private() {
    let Some(mut scene) = Scene::new() else { return };
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    for (net, own, others) in [
        (NetworkAccess::None, false, false),
        (NetworkAccess::Loopback, true, false),
        (NetworkAccess::All, true, true),
    ] {
        scene.sandbox.net = net;
        let ended = scene.run(&format!("python3 -c \"{CONNECT}\"")).await;
        assert_eq!(ended.status.success(), own, "{net:?}: {ended:?}");
        let ended = scene.run(&connect).await;
        assert_eq!(ended.status.success(), others, "{net:?}: {ended:?}");
        for denied in ["socket.AF_UNIX, socket.SOCK_STREAM", "socket.AF_PACKET, socket.SOCK_RAW"] {
            let ended = scene.run(&format!("python3 -c 'import socket; socket.socket({denied})'")).await;
            assert!(!ended.status.success(), "{net:?} {denied}: {ended:?}");
        }
    }
}

/// The working directory is on the mount that is writable inside.
#[tokio::test]
async fn starts_in_the_writable_directory() {
    let Some(scene) = Scene::new() else { return };
    let ended = scene.run("pwd && echo x >here && cat here").await;
    assert_eq!(ended.out, format!("{}\nx\n", scene.home().join("project").display()), "{ended:?}");
    assert!(Path::new(&scene.home().join("project/here")).exists());
}

#[tokio::test]
async fn command_leaves_background_programs_running() {
    let Some(scene) = Scene::new() else { return };
    // sleep: the program must outlive the shell
    let ended = scene.run("(sleep 0.3; echo done >later) >/dev/null 2>&1 & echo started").await;
    assert_eq!(ended.out, "started\n", "{ended:?}");
    let later = scene.home().join("project/later");
    for _ in 0..200 {
        if later.exists() {
            return;
        }
        // sleep: polls for the file
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the background program was killed");
}
