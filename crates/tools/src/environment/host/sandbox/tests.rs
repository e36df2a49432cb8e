//! Tests of the writable paths, and of machines with an incomplete sandbox.

use std::fs;
use std::os::unix::fs::symlink;

use haft_launch::sandbox::SandboxBasis;

use super::*;
use crate::approval::{CallSubject, approval_request};
use crate::environment::Environment as _;
use crate::environment::host::{CommandSandbox, HostEnvironment, SandboxOfTools};

struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { dir: tempfile::tempdir().unwrap() };
        for dir in ["work/sub", "cache", "haft/results", "home"] {
            fs::create_dir_all(scene.path(dir)).unwrap();
        }
        scene
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(below)
    }

    fn sandbox_with(&self, write: &[&str]) -> ToolSandbox {
        ToolSandbox {
            write: write.iter().map(|path| self.path(path)).collect(),
            never: vec![self.path("haft")],
            read: vec![self.path("haft/results")],
            ..ToolSandbox::default()
        }
    }

    #[track_caller]
    fn check(&self, write: &[&str], expect: &[&str]) {
        let paths = self.sandbox_with(write).writable_paths();
        assert_eq!(paths, expect.iter().map(|path| self.path(path)).collect::<Vec<_>>(), "{write:?}");
    }
}

#[test]
fn writable_paths_exclude_those_that_are_never_accessible() {
    let scene = Scene::new();
    symlink(scene.path("haft"), scene.path("link")).unwrap();
    for write in ["haft", "haft/results", "link"] {
        scene.check(&["work", write], &["work"]);
        let protected = ProtectedPaths::find(&[], Path::new("/"), &[]);
        let sandbox = scene.sandbox_with(&["work", write]).for_command(&scene.path("cache"), &protected);
        assert!(!sandbox.write.iter().chain(&sandbox.exec).any(|path| path.starts_with(scene.path("haft"))));
        let boundaries = FileBoundaries::new(&scene.sandbox_with(&[write]), &scene.path("cache")).unwrap();
        let result = boundaries.check(&scene.path("haft/auth.json"), AccessKind::Write);
        assert!(matches!(result, Err(EnvironmentError::Refused { .. })), "{write}: {result:?}");
    }
}

#[test]
fn writable_paths_exclude_those_that_a_command_can_redirect() {
    let scene = Scene::new();
    symlink(scene.path("home"), scene.path("work/out")).unwrap();
    symlink("work/sub", scene.path("through")).unwrap();
    symlink(scene.path("cache"), scene.path("outer")).unwrap();
    scene.check(&["work", "cache"], &["work", "cache"]);
    scene.check(&["outer", "missing", "work"], &["cache", "work"]);
    scene.check(&["work/sub", "work"], &["work"]);
    scene.check(&["through", "work"], &["work"]);
    scene.check(&["work/out", "work"], &["work"]);
    fs::remove_file(scene.path("work/out")).unwrap();
    symlink("/", scene.path("work/out")).unwrap();
    scene.check(&["work/out", "work", "outer"], &["work", "cache"]);
    fs::remove_dir(scene.path("work/sub")).unwrap();
    symlink(scene.path("home"), scene.path("work/sub")).unwrap();
    scene.check(&["through", "work"], &["work"]);
    scene.check(&["work", "through"], &["work"]);
}

#[test]
fn file_tools_need_an_approval_for_protected_names_at_any_depth() {
    let scene = Scene::new();
    let boundaries = FileBoundaries::new(&scene.sandbox_with(&["work"]), &scene.path("cache")).unwrap();
    for (path, is_permitted) in [
        ("work/a/.git/hooks/pre-commit", false),
        ("work/.git/commondir", false),
        ("work/a/.git", false),
        ("work/a/.vscode/tasks.json", false),
        ("work/a/src", true),
        ("work/.git/info/exclude", true),
    ] {
        let result = boundaries.check(&scene.path(path), AccessKind::Write);
        assert_eq!(result.is_ok(), is_permitted, "{path}: {result:?}");
        assert!(!matches!(result, Err(EnvironmentError::Refused { .. })), "{path}: {result:?}");
        assert!(boundaries.writes.check(&scene.path(path)).is_ok() == is_permitted, "{path}");
    }
}

#[test]
fn without_boundaries_changes_need_an_approval() {
    let scene = Scene::new();
    let sandbox = ToolSandbox { hide: vec![scene.path("home")], ..scene.sandbox_with(&["work"]) };
    let check = |path: &str, access| match check_without_boundaries(&sandbox, &scene.path(path), access) {
        Ok(()) => "permitted",
        Err(EnvironmentError::Outside { .. }) => "asks",
        Err(_) => "refused",
    };
    assert_eq!(check("work/file", AccessKind::Write), "asks");
    assert_eq!(check("work/file", AccessKind::Read), "permitted");
    assert_eq!(check("home/file", AccessKind::Read), "asks");
    assert_eq!(check("haft/auth.json", AccessKind::Read), "refused");
    assert_eq!(check("haft/auth.json", AccessKind::Write), "refused");
    assert_eq!(check("haft/results/1", AccessKind::Read), "permitted");
    assert_eq!(check("haft/results/1", AccessKind::Write), "refused");
}

#[test]
fn gap_is_the_missing_part_of_the_machine() {
    let has = || Ok(SandboxBasis { means: String::new(), gaps: Vec::new() });
    let lacks = || Err("namespaces are missing".to_owned());
    let gap = |standard, isolated| ToolSandbox::gap_of(standard, isolated);
    assert_eq!(gap(has(), has()), None);
    assert_eq!(gap(lacks(), lacks()), Some(ToolSandboxGap::NoSandbox("namespaces are missing".to_owned())));
    if cfg!(target_os = "linux") {
        let expect = ToolSandboxGap::ProtectedPaths("namespaces are missing".to_owned());
        assert_eq!(gap(has(), lacks()), Some(expect));
    }
}

/// Returns an environment on a machine with this gap.
fn environment_with_gap(sandbox: ToolSandbox, gap: Option<ToolSandboxGap>) -> HostEnvironment {
    let mut environment = HostEnvironment::new("/").with_sandbox(sandbox.clone()).unwrap();
    let tools = SandboxOfTools { sandbox, gap: gap.into(), protected: std::sync::OnceLock::new() };
    environment.sandbox = Some(Arc::new(CommandSandbox::Tools(tools)));
    environment
}

/// Returns the reason for which a command needs an approval on a machine with this gap.
async fn approval_reason(sandbox: ToolSandbox, gap: Option<ToolSandboxGap>) -> Option<String> {
    let environment = environment_with_gap(sandbox, gap);
    let asked = approval_request(&environment, CallSubject::Command { outside: None }).await;
    assert_eq!(asked.is_some(), environment.needs_approval_to_run().is_some());
    Some(asked?.reason)
}

#[tokio::test]
async fn command_needs_an_approval_only_without_a_sandbox() {
    let scene = Scene::new();
    let incomplete = || Some(ToolSandboxGap::ProtectedPaths("namespaces are missing".to_owned()));
    assert_eq!(approval_reason(scene.sandbox_with(&["work"]), None).await, None);
    assert_eq!(approval_reason(scene.sandbox_with(&["work"]), incomplete()).await, None);
    let none = Some(ToolSandboxGap::NoSandbox("Landlock is missing".to_owned()));
    assert_eq!(
        approval_reason(scene.sandbox_with(&[]), none).await.as_deref(),
        Some("run without a sandbox, because Landlock is missing")
    );
}

#[tokio::test]
async fn gap_is_reported_once_before_the_first_command() {
    let scene = Scene::new();
    let said = Arc::new(std::sync::Mutex::new(Vec::new()));
    let gap = ToolSandboxGap::ProtectedPaths("namespaces are missing".to_owned());
    let sink = Arc::clone(&said);
    let environment = environment_with_gap(scene.sandbox_with(&["work"]), Some(gap))
        .with_notices(move |text| sink.lock().unwrap().push(text.to_owned()));
    for _ in 0..2 {
        environment.find_protected_paths().await.unwrap();
    }
    assert_eq!(
        *said.lock().unwrap(),
        [
            "the sandbox is incomplete: commands can change .git/hooks and the like, and the permissions of files, \
          because namespaces are missing"
        ]
    );
}
