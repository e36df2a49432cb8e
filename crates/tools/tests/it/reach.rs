//! Tools for programs: the files that they may access, and the form of their results.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use haft_core::file_queue::LockOwner;
use haft_core::services::{AllowedPaths, ExtensionToolSource, ServiceReach};
use haft_core::tool::{Tool, ToolContext, ToolFailureKind, ToolOutput};
use haft_launch::Launcher;
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, ToolCall};
use haft_protocol::ext::HostCallError;
use haft_protocol::ids::{ExtensionName, ToolCallId};
use haft_tools::{FileAccessRules, HostEnvironment, ServiceTools, service_tools};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// `work`, the user's `home` with haft's `haft` in it, an extension's data in there, and `other`.
struct AccessFixture {
    dir: tempfile::TempDir,
    tools: Vec<Arc<dyn Tool>>,
}

impl AccessFixture {
    fn new(bounded: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().canonicalize().unwrap().join(name);
        for name in ["work/sub", "home/haft/data/ext", "other"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for name in
            ["work/a", "home/haft/auth.json", "home/haft/data/ext/own", "home/b", "other/c", "other/d"]
        {
            fs::write(at(name), "secret").unwrap();
        }
        symlink(at("other/c"), at("work/link")).unwrap();
        symlink("../other", at("work/dirlink")).unwrap();
        symlink("sub", at("work/inner")).unwrap();
        symlink("haft/auth.json", at("home/auth-link")).unwrap();
        let mut place = Self { dir, tools: Vec::new() };
        place.tools = place.others(bounded);
        place
    }

    /// Returns tools with the same rules for another program.
    fn others(&self, bounded: bool) -> Vec<Arc<dyn Tool>> {
        let at = |name: &str| self.path(name);
        let reach = FileAccessRules {
            read: bounded.then(|| vec![at("other/d"), at("home")]),
            write: bounded.then(|| vec![at("work")]),
            own: vec![at("home/haft/data/ext")],
            never: vec![at("home/haft")],
            network: false,
        };
        let launcher = Launcher { program: haft_test_support::launcher_path(), args: Vec::new() };
        let environment = HostEnvironment::new(at("work"))
            .with_launcher(launcher)
            .with_backup_dir(at("state"))
            .with_scratch(at("home/haft/results"));
        service_tools(Arc::new(environment.with_access_rules(&reach).unwrap()))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    async fn call(&self, name: &str, args: Value) -> ToolOutput {
        let tool = self.tools.iter().find(|tool| tool.spec().name == name).unwrap();
        let args = RawJson::from_value(&args).unwrap();
        let call = ToolCall { id: ToolCallId::new("1"), name: name.into(), args };
        tool.execute(ToolContext::new(CancellationToken::new(), |_| {}), call).await
    }

    async fn read(&self, path: &str) -> ToolOutput {
        self.call("read", json!({ "path": self.path(path) })).await
    }

    async fn write(&self, path: &str) -> ToolOutput {
        self.call("write", json!({ "path": self.path(path), "content": "new" })).await
    }
}

#[track_caller]
fn reached(output: &ToolOutput, reached: bool, what: &str) {
    let expect = if reached { None } else { Some(ToolFailureKind::OutOfReach) };
    assert_eq!((output.is_error, output.failure), (!reached, expect), "{what}: {output:?}");
}

#[tokio::test]
async fn reads_and_writes_nothing_outside_the_rules() {
    let place = AccessFixture::new(true);
    for (path, within) in [
        ("work/a", true),
        ("work/inner/../a", true),
        ("other/d", true),
        ("home/b", true),
        ("home/haft/data/ext/own", true),
        ("other/c", false),
        ("work/link", false),
        ("work/dirlink/c", false),
        ("work/../other/c", false),
        ("home/haft/auth.json", false),
        ("home/auth-link", false),
    ] {
        reached(&place.read(path).await, within, path);
    }
    for (path, within) in [
        ("work/new", true),
        ("work/inner/new", true),
        ("work/deep/er/new", true),
        ("home/haft/data/ext/new", true),
        ("home/new", false),
        ("home/haft/extensions.lock.json", false),
        ("other/new", false),
        ("work/link", false),
        ("work/dirlink/new", false),
        ("work/dirlink/deep/new", false),
        ("work/../other/new", false),
    ] {
        reached(&place.write(path).await, within, path);
    }
    for untouched in ["other/c", "home/haft/auth.json"] {
        assert_eq!(fs::read_to_string(place.path(untouched)).unwrap(), "secret");
    }
    assert_eq!(fs::read_dir(place.path("other")).unwrap().count(), 2);
}

/// A lock needs the right to write, and a refusal does not depend on the file.
#[test]
fn locks_nothing_outside_the_rules() {
    let place = AccessFixture::new(true);
    let services =
        ServiceTools::new(HostEnvironment::new(place.path("work"))).keep_out_of(place.path("home/haft"));
    let within =
        AllowedPaths::default().with_read(vec![place.path("home")]).with_write(vec![place.path("work")]);
    let mut reach = ServiceReach::new(ExtensionName::new("ext"), LockOwner::new())
        .with_within(within)
        .with_data(place.path("home/haft/data/ext"));
    let lock = |reach: &ServiceReach, path: &str| {
        let found = services.file_to_lock(reach, &place.path(path).display().to_string());
        found.map(|(_, file)| file)
    };
    for path in ["work/a", "work/new", "home/haft/data/ext/own"] {
        assert_eq!(lock(&reach, path), Ok(place.path(path)), "{path}");
    }
    assert_eq!(lock(&reach, "work/inner/new"), Ok(place.path("work/sub/new")));
    let refused = lock(&reach, "other/c").unwrap_err();
    assert_eq!(refused.code, HostCallError::PermissionDenied);
    for path in
        ["other/missing", "missing/c", "home/b", "home/haft/auth.json", "work/link", "work/dirlink/new"]
    {
        assert_eq!(lock(&reach, path), Err(refused.clone()), "{path}");
    }
    reach.within = None;
    assert_eq!(lock(&reach, "other/c"), Ok(place.path("other/c")));
    assert_eq!(lock(&reach, "home/haft/auth.json"), Err(refused));
}

/// Commands of an extension reach no more than its file services.
#[tokio::test]
async fn commands_stay_within_bounds() {
    if haft_launch::sandbox::detect_support().standard.is_err() {
        return;
    }
    let place = AccessFixture::new(true);
    for (command, works) in [
        ("cat a && echo x >sub/made && cat ../other/d ../home/b", true),
        ("echo x >../home/haft/data/ext/made && echo x >$TMPDIR/made", true),
        ("cat ../other/c", false),
        ("cat link", false),
        ("echo x >../other/d", false),
        ("cat ../home/haft/auth.json", false),
        ("cat /proc/1/environ", false),
        ("python3 -c 'import socket; socket.socket()'", false),
    ] {
        let output = place.call("bash", json!({ "command": command })).await;
        assert_eq!(!output.is_error, works, "{command}: {output:?}");
        assert!(works || !format!("{output:?}").contains("secret"), "{command}: {output:?}");
    }
    let open = AccessFixture::new(false);
    assert!(!open.call("bash", json!({ "command": "cat ../other/c" })).await.is_error);
}

#[tokio::test]
async fn without_bounds_only_hafts_own_files_are_excluded() {
    let place = AccessFixture::new(false);
    for (path, within) in
        [("other/c", true), ("work/link", true), ("home/haft/auth.json", false), ("home/auth-link", false)]
    {
        reached(&place.read(path).await, within, path);
    }
    reached(&place.write("other/new").await, true, "other/new");
    reached(&place.write("home/haft/new").await, false, "home/haft/new");
    // Of a file with two names, either may be used.
    fs::hard_link(place.path("other/c"), place.path("work/hard")).unwrap();
    reached(&place.write("work/hard").await, true, "work/hard");
    assert_eq!(fs::read_to_string(place.path("other/c")).unwrap(), "new");
}

#[tokio::test]
async fn content_and_remarks_are_separate_texts() {
    let place = AccessFixture::new(true);
    fs::write(place.path("work/long"), "line\n".repeat(3000)).unwrap();
    fs::write(place.path("work/empty"), "").unwrap();
    let texts = |output: &ToolOutput| -> Vec<String> {
        let texts = output.content.iter().map(|block| match block {
            ContentBlock::Text { text } => text.clone(),
            ContentBlock::Image(_) => panic!("an image"),
        });
        texts.collect()
    };
    let long = place.read("work/long").await;
    assert_eq!(
        texts(&long),
        ["line\n".repeat(2000), "showing lines 1-2000; more follow, use offset=2001".into()]
    );
    assert_eq!(long.details.unwrap().as_str(), r#"{"next_offset":2001}"#);
    assert_eq!(
        texts(&place.read("work/empty").await),
        ["", "work/empty is empty"].map(|text| text.replace("work/", ""))
    );
    let failed = place.call("bash", json!({ "command": "echo hi; exit 3" })).await;
    assert_eq!(texts(&failed), ["hi\n", "exit code 3"]);
    assert_eq!((failed.is_error, failed.details.unwrap().as_str()), (true, r#"{"exit_code":3}"#));
}

/// The complete output may be stored anywhere, here among haft's own files.
#[tokio::test]
async fn only_the_caller_can_read_its_complete_output() {
    for bounded in [true, false] {
        let place = AccessFixture::new(bounded);
        let ran = place.call("bash", json!({ "command": "seq 9000; exit 3" })).await;
        let details: Value = ran.details.unwrap().read().unwrap();
        assert_eq!(details["exit_code"], 3);
        let path = details["full_output"].as_str().unwrap();
        assert!(path.starts_with(place.path("home/haft/results").to_str().unwrap()), "{path}");
        let first = place.call("read", json!({ "path": path, "limit": 1 })).await;
        assert_eq!(first.content[0], ContentBlock::text("1\n"));
        reached(&place.call("write", json!({ "path": path, "content": "" })).await, false, path);
        let other = AccessFixture { tools: place.others(bounded), dir: place.dir };
        reached(&other.call("read", json!({ "path": path })).await, false, path);
        let of_other = other.call("bash", json!({ "command": "seq 9000" })).await;
        let of_other: Value = of_other.details.unwrap().read().unwrap();
        reached(&other.call("read", json!({ "path": of_other["full_output"] })).await, true, "its own");
        // A link in its place is another file.
        let moved = of_other["full_output"].as_str().unwrap();
        fs::remove_file(moved).unwrap();
        symlink(other.path("home/haft/auth.json"), moved).unwrap();
        reached(&other.call("read", json!({ "path": moved })).await, false, "a link");
    }
}

#[tokio::test]
async fn distinguishes_failures_that_a_program_can_handle() {
    let place = AccessFixture::new(true);
    let kind = |output: ToolOutput| output.failure;
    assert_eq!(kind(place.read("work/none").await), Some(ToolFailureKind::NotFound));
    assert_eq!(kind(place.write("work/a").await), Some(ToolFailureKind::NotRead));
    place.read("work/a").await;
    fs::write(place.path("work/a"), "changed").unwrap();
    assert_eq!(kind(place.write("work/a").await), Some(ToolFailureKind::Stale));
    assert_eq!(
        kind(place.call("bash", json!({ "command": "sleep 600", "timeout": 1 })).await),
        Some(ToolFailureKind::TimedOut)
    );
    assert_eq!(kind(place.call("bash", json!({ "command": 7 })).await), Some(ToolFailureKind::InvalidArgs));
}
