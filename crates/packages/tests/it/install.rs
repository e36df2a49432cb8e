//! Install, list, enable, disable and remove, and every reason to reject an installation.

#![expect(clippy::unwrap_used, reason = "a helper that fails must fail its test")]

mod meanwhile;

use std::path::{Path, PathBuf};

use haft_packages::ExtensionOrigin;
use haft_packages::install::lock::{ApprovalMethod, ApprovalStore, InstallOrigin};
use haft_packages::install::{
    ApprovalOutcome, ExtensionStore, InstallError, InstallProposal, InstallSource, InstallStatus,
    InstalledExtension, check_approved,
};
use tempfile::TempDir;

struct World {
    root: TempDir,
    store: ExtensionStore,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let store = ExtensionStore {
            global: root.path().join("home/extensions"),
            approved: ApprovalStore::at(root.path().join("home")),
            project: Some(root.path().join("project/.haft/extensions")),
            workspace: Some(root.path().join("project")),
            path: std::env::var_os("PATH"),
        };
        Self { root, store }
    }

    /// Creates a directory to install from.
    fn source(&self, dir: &str, manifest: &str) -> PathBuf {
        extension(&self.root.path().join(dir), manifest)
    }

    fn propose(&self, dir: &Path) -> Result<InstallProposal, InstallError> {
        self.store.propose(&InstallSource::Directory(dir.into()))
    }

    fn install(&self, dir: &Path) -> ApprovalOutcome {
        self.propose(dir).unwrap().accept(ApprovalMethod::Yes, "1").unwrap()
    }

    /// Returns the number of trees in the store, and of other entries.
    fn stored(&self) -> (usize, usize) {
        let dir = self.store.approved.tree_store().dir().to_owned();
        let entries = [dir.join(".scraps"), dir].into_iter().flat_map(std::fs::read_dir).flatten().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        let (trees, rest): (Vec<_>, Vec<_>) = names
            .filter(|name| ![".lock", ".scraps"].contains(&name.as_str()))
            .partition(|name| name.len() == 64);
        (trees.len(), rest.len())
    }

    fn row(&self, name: &str) -> InstalledExtension {
        self.store.find(name, None).unwrap()
    }
}

fn extension(dir: &Path, manifest: &str) -> PathBuf {
    std::fs::create_dir_all(dir).unwrap();
    std::fs::write(dir.join("extension.json"), manifest).unwrap();
    std::fs::write(dir.join("run"), "#!/bin/sh\n").unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(dir.join("run"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    dir.into()
}

const HELLO: &str = r#"{"name":"hello","version":"1","exec":"./run"}"#;

#[test]
fn approved_code_is_stored_and_runs_in_a_copy() {
    let world = World::new();
    let source = world.source("some dir", HELLO);
    std::fs::create_dir_all(source.join("lib/deep")).unwrap();
    std::fs::write(source.join("lib/deep/file"), "x").unwrap();
    std::fs::create_dir_all(source.join(".git/hooks")).unwrap();
    let proposal = world.propose(&source).unwrap();
    assert_eq!(world.stored().0, 0, "a proposal approves nothing");
    assert!(matches!(world.store.find("hello", None), Err(InstallError::NotFound { .. })));
    let accepted = proposal.accept(ApprovalMethod::Terminal, "1").unwrap();
    assert_eq!(world.stored(), (1, 0));
    assert_eq!(accepted.entry.source, InstallOrigin::Directory { path: source });
    assert_eq!(accepted.dir, world.root.path().join("home/copies/hello"));
    let code = world.store.approved.tree_store().tree_path(&accepted.entry.tree);
    for dir in [&code, &accepted.dir] {
        assert_eq!(std::fs::read_to_string(dir.join("lib/deep/file")).unwrap(), "x");
        assert!(!dir.join(".git").exists());
    }
    assert!(!world.store.global.exists(), "the user's directory of extensions is not written to");
    let row = world.row("hello");
    assert_eq!((row.state, row.runs_in, row.dir), (InstallStatus::Enabled, accepted.dir, code));
}

#[test]
fn dropped_proposal_leaves_nothing() {
    let world = World::new();
    let source = world.source("hello", HELLO);
    let proposal = world.propose(&source).unwrap();
    drop(proposal);
    assert_eq!(world.stored(), (0, 0));
    assert!(!world.store.approved.lock_file_path().exists());
}

#[test]
#[cfg(unix)]
fn keeps_permissions_and_inner_links() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let source = world.source("hello", HELLO);
    std::fs::set_permissions(source.join("run"), std::fs::Permissions::from_mode(0o4755)).unwrap();
    std::os::unix::fs::symlink("run", source.join("link")).unwrap();
    let accepted = world.install(&source);
    let mode = std::fs::metadata(accepted.dir.join("run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
    assert_eq!(std::fs::read_link(accepted.dir.join("link")).unwrap(), Path::new("run"));
}

#[track_caller]
fn refused(make: impl FnOnce(&Path), expect: &str) {
    let world = World::new();
    let source = world.source("hello", HELLO);
    make(&source);
    let error = world.propose(&source).unwrap_err().to_string();
    assert!(error.contains(expect), "{error} should contain {expect}");
    assert_eq!(world.stored(), (0, 0));
}

#[test]
#[cfg(unix)]
fn rejects_harmful_trees_and_leaves_nothing() {
    use std::os::unix::fs::symlink;
    refused(|dir| symlink("/etc/passwd", dir.join("link")).unwrap(), "leads out of the extension");
    refused(|dir| symlink("../outside", dir.join("link")).unwrap(), "leads out of the extension");
    refused(|dir| drop(std::os::unix::net::UnixListener::bind(dir.join("s")).unwrap()), "not a regular file");
    refused(
        |dir| haft_test_support::create_pipe(&dir.join("pipe")).unwrap(),
        "not a regular file or a directory",
    );
    refused(|dir| std::fs::write(dir.join("a\u{1b}[2J"), "").unwrap(), "invisible");
    refused(
        |dir| ["x", "X"].iter().for_each(|name| std::fs::write(dir.join(name), "").unwrap()),
        "only in case",
    );
    refused(|dir| std::fs::write(dir.join("extension.json"), "{").unwrap(), "is not a JSON object");
    refused(
        |dir| std::fs::remove_file(dir.join("extension.json")).unwrap(),
        "does not contain extension.json",
    );
    refused(|dir| std::fs::remove_file(dir.join("run")).unwrap(), "build the extension");
}

/// Returns the lines of the proposal as text.
fn shown(proposal: &InstallProposal) -> String {
    let line = |line: haft_packages::install::ApprovalLine| {
        format!("{}{}\n", if line.red { "! " } else { "  " }, line.text)
    };
    proposal.lines().into_iter().map(line).collect()
}

#[test]
fn new_version_shows_changes_and_keeps_the_old_one() {
    let world = World::new();
    let source = world.source("hello", HELLO);
    let first = world.install(&source);
    let again = world.propose(&source).unwrap();
    assert!(again.is_approved());
    drop(again);

    assert!(world.store.set_enabled(&world.row("hello"), false).unwrap());
    assert!(!world.store.set_enabled(&world.row("hello"), false).unwrap());
    assert_eq!(world.row("hello").state, InstallStatus::Disabled);
    std::fs::write(first.dir.join("state"), "kept").unwrap();
    std::fs::write(source.join("lib"), "new").unwrap();
    extension(&source, r#"{"name":"hello","version":"2","exec":"./run"}"#);
    let proposal = world.propose(&source).unwrap();
    assert!(!proposal.is_approved());
    let text = shown(&proposal);
    assert!(text.contains("files changed since: extension.json (changed), lib (added)"), "{text}");
    let second = proposal.accept(ApprovalMethod::Terminal, "1").unwrap();
    assert!(second.replaced && !second.entry.enabled, "the extension stays disabled");
    assert_eq!(
        second.entry.previous,
        [haft_packages::install::lock::LockEntry { enabled: false, ..first.entry }]
    );
    assert_eq!(world.stored(), (2, 0), "the earlier version is kept for a rollback");
    assert_eq!(std::fs::read_to_string(second.dir.join("state")).unwrap(), "kept");
    assert_eq!(world.row("hello").version.as_deref(), Some("2"));
}

#[test]
fn failed_update_keeps_the_old_version() {
    let world = World::new();
    let source = world.source("hello", HELLO);
    let first = world.install(&source);
    for number in 0..40 {
        let deep: PathBuf = source.join(vec!["d"; number].join("/"));
        std::fs::create_dir_all(deep).unwrap();
    }
    let error = world.propose(&source).unwrap_err();
    assert!(matches!(error, InstallError::TooLarge { .. }), "{error}");
    assert!(error.to_string().contains("copy extension.json and the program into a separate directory"));
    assert_eq!(world.row("hello").entry, Some(first.entry));
    assert_eq!(world.stored(), (1, 0));
}

#[test]
fn placed_extension_waits_for_approval() {
    let world = World::new();
    let place = extension(&world.store.global.join("dir"), HELLO);
    assert_eq!(world.row("hello").state, InstallStatus::NotApproved);
    let error = world.propose(&world.source("other", HELLO)).unwrap_err();
    assert!(matches!(&error, InstallError::Exists { dir, .. } if *dir == place), "{error}");
    let error = world.propose(&place).unwrap_err().to_string();
    assert!(error.contains("run `haft ext trust NAME` to approve it there"), "{error}");

    world.store.propose_in_place(&place).unwrap().accept(ApprovalMethod::Terminal, "1").unwrap();
    let row = world.row("hello");
    assert_eq!((&row.state, &row.dir), (&InstallStatus::Enabled, &place));
    assert!(check_approved(&world.store.approved, row.entry.as_ref().unwrap()).is_empty());
    std::fs::write(place.join("run"), "#!/bin/sh\nevil\n").unwrap();
    let row = world.row("hello");
    assert!(
        matches!(&row.state, InstallStatus::Changed(why) if why.contains("run (changed)")),
        "{:?}",
        row.state
    );
    let wrong = check_approved(&world.store.approved, row.entry.as_ref().unwrap());
    assert!(wrong.len() == 1 && wrong[0].contains("run (changed)"), "{wrong:?}");
    world.store.remove(&row).unwrap();
    assert!(!place.exists());
    assert_eq!(world.stored(), (0, 0));
}

#[test]
fn shows_everything_that_runs() {
    let world = World::new();
    let manifest = r#"{"name":"hello","version":"1","description":"Says hello",
                       "exec":"/bin/sh","args":["-c","touch x; ./run","../../out"]}"#;
    let source = world.source("src", manifest);
    let proposal = world.propose(&source).unwrap();
    let text = shown(&proposal).replace(&world.root.path().display().to_string(), "ROOT");
    let digest = proposal.entry().tree.to_string();
    insta::assert_snapshot!(text.replace(&digest, "DIGEST"), @r"
      extension: hello 1
        description: Says hello
        from: the directory ROOT/src
        runs: /bin/sh -c 'touch x; ./run' ../../out
        interpreter: /bin/sh
    !   OUTSIDE the extension's directory: /bin/sh
    !   OUTSIDE the extension's directory: ../../out
        files: 2, 151 bytes, digest DIGEST
    !   sandbox: none. The manifest requests no permissions, so the extension runs WITHOUT A SANDBOX, with all your rights: it can read and change all your files, use the network and start programs
    ");
}

#[test]
fn names_that_differ_in_case_are_the_same() {
    let world = World::new();
    world.install(&world.source("one", HELLO));
    let other = world.source("two", r#"{"name":"Hello","exec":"./run"}"#);
    let error = world.propose(&other).unwrap_err().to_string();
    let from = format!(
        "extension hello is already installed from the directory {}",
        world.root.path().join("one").display()
    );
    assert!(error.starts_with(&from), "{error}");
    assert!(
        error.contains("Hello differs only in case; to replace it, run `haft ext remove hello` first"),
        "{error}"
    );
}

#[test]
fn missing_program_is_named_in_the_source() {
    let world = World::new();
    let source = world.source("one", r#"{"name":"hello","exec":"./gone"}"#);
    let error = world.propose(&source).unwrap_err().to_string();
    let looked = source.join("gone").display().to_string();
    assert_eq!(
        error,
        format!("exec \"./gone\" not found: {looked} does not exist; build the extension or fix `exec`")
    );
}

#[test]
fn finds_by_manifest_name_or_directory_name() {
    let world = World::new();
    extension(&world.store.global.join("todo"), r#"{"name":"todo-panel","exec":"./run"}"#);
    for name in ["todo", "todo-panel"] {
        assert_eq!(world.store.find(name, None).unwrap().name, "todo-panel");
    }
    let error = world.store.find("nobody", None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "extension \"nobody\" not found; `haft ext list` lists the installed extensions"
    );
}

#[test]
fn name_prefers_user_extensions_and_rejects_ambiguity() {
    let world = World::new();
    let global = extension(&world.store.global.join("a"), r#"{"name":"same","exec":"./run"}"#);
    let project = world.store.project.clone().unwrap().join("b");
    extension(&project, r#"{"name":"same","exec":"./run"}"#);
    assert_eq!(world.store.find("same", None).unwrap().dir, global);
    assert_eq!(world.store.find("same", Some(ExtensionOrigin::Project)).unwrap().dir, project);
    let other = extension(&world.store.global.join("c"), r#"{"name":"same","exec":"./run"}"#);
    let error = world.store.find("same", None).unwrap_err().to_string();
    assert!(error.contains(global.to_str().unwrap()) && error.contains(other.to_str().unwrap()), "{error}");
    assert_eq!(world.store.find("a", None).unwrap().dir, global);
}

#[test]
fn enabling_changes_one_word() {
    let world = World::new();
    let text = "{\n  \"zeta\": 1e2,\n  \"name\": \"x\", \"enabled\": true,\n  \"exec\": \"./run\"\n}\n";
    let dir = extension(&world.store.global.join("x"), text);
    let row = world.store.find("x", None).unwrap();
    assert!(world.store.set_enabled(&row, false).unwrap());
    assert!(!world.store.set_enabled(&row, false).unwrap());
    let got = std::fs::read_to_string(dir.join("extension.json")).unwrap();
    assert_eq!(got, text.replace("true", "false"));
    assert_eq!(world.store.find("x", None).unwrap().state, InstallStatus::Disabled);
    assert!(world.store.set_enabled(&row, true).unwrap());
    assert_eq!(std::fs::read_to_string(dir.join("extension.json")).unwrap(), text);
}

#[test]
fn lists_all_extensions_and_reports_broken_ones() {
    let world = World::new();
    extension(&world.store.global.join("broken"), "{");
    extension(&world.store.global.join("b"), r#"{"name":"off","exec":"./run","enabled":false}"#);
    extension(world.store.project.as_deref().unwrap().join("p").as_path(), r#"{"name":"p","exec":"sh"}"#);
    let (rows, error) = world.store.list();
    assert!(error.is_none());
    let names: Vec<_> = rows.iter().map(|row| (row.origin, row.name.as_str())).collect();
    assert_eq!(
        names,
        [
            (ExtensionOrigin::Global, "broken"),
            (ExtensionOrigin::Global, "off"),
            (ExtensionOrigin::Project, "p")
        ]
    );
    assert!(matches!(&rows[0].state, InstallStatus::Broken(why) if why.contains("not a JSON object")));
    assert_eq!((&rows[1].state, &rows[2].state), (&InstallStatus::Disabled, &InstallStatus::Enabled));
}

#[test]
#[cfg(unix)]
fn removal_deletes_directory_but_only_the_link_of_a_symlink() {
    let world = World::new();
    let accepted = world.install(&world.source("hello", HELLO));
    std::fs::write(accepted.dir.join("state"), "").unwrap();
    world.store.remove(&world.row("hello")).unwrap();
    assert_eq!(world.stored(), (0, 0));
    assert!(accepted.dir.join("state").exists() && !accepted.dir.join("run").exists());
    assert!(matches!(world.store.find("hello", None), Err(InstallError::NotFound { .. })));

    let real = world.source("dev", r#"{"name":"dev","exec":"./run"}"#);
    std::fs::create_dir_all(&world.store.global).unwrap();
    std::os::unix::fs::symlink(&real, world.store.global.join("dev")).unwrap();
    world.store.remove(&world.store.find("dev", None).unwrap()).unwrap();
    assert!(real.join("extension.json").exists() && !world.store.global.join("dev").is_symlink());
}

#[track_caller]
fn source_refused(text: &str, dir: &Path, expect: &str) {
    let error = InstallSource::parse(text, dir).unwrap_err();
    assert_eq!(error.code(), Some("install_rejected"));
    assert!(error.to_string().contains(expect), "{error} should contain {expect}");
}

#[test]
fn rejects_other_sources_with_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("x.zip"), "PK").unwrap();
    std::fs::write(dir.path().join("x.py"), "").unwrap();
    for inner in ["x.git/objects", "x.git/refs", "dir.zip"] {
        std::fs::create_dir_all(dir.path().join(inner)).unwrap();
    }
    std::fs::write(dir.path().join("x.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    for (text, expect) in [
        ("", "use a directory, or an address"),
        ("-ccore.sshCommand=touch /tmp/x", "use a directory, or an address"),
        ("--upload-pack=touch /tmp/x", "use a directory, or an address"),
        ("ext::sh -c touch% /tmp/x", "a program that git would run"),
        ("ssh://-oProxyCommand=touch", "its host begins with `-`"),
        ("no/such/directory.git", "no such directory"),
        ("no\0such", "control characters"),
        ("x.git", "a bare repository; run `git clone`"),
        ("x.zip", "does not unpack archives"),
        ("no/such.tar.zst", "does not unpack archives"),
        ("x.py", "install the directory that contains extension.json"),
    ] {
        source_refused(text, dir.path(), expect);
    }
    assert!(matches!(InstallSource::parse("dir.zip", dir.path()), Ok(InstallSource::Directory(_))));
    let real = dir.path().canonicalize().unwrap();
    let up = InstallSource::parse("x.git/../dir.zip", dir.path()).unwrap();
    assert_eq!(up, InstallSource::Directory(real.join("dir.zip")));
    let url = "git@example.com:a/b.git";
    assert!(
        matches!(InstallSource::parse(url, dir.path()), Ok(InstallSource::Git(got)) if got.as_str() == url)
    );
}

#[test]
fn dot_means_current_directory() {
    let dir = tempfile::tempdir().unwrap();
    let source = InstallSource::parse(".", dir.path()).unwrap();
    let world = World::new();
    extension(dir.path(), HELLO);
    let accepted = world.store.propose(&source).unwrap().accept(ApprovalMethod::Yes, "1").unwrap();
    assert_eq!(accepted.name.as_str(), "hello");
}
