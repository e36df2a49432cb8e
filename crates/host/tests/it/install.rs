//! Installing, listing, switching and removing; and every way an installation is refused.

#![expect(clippy::unwrap_used, reason = "a helper that fails shall fail its test")]

use std::path::{Path, PathBuf};

use haft_host::Origin;
use haft_host::install::{Existing, InstallError, Source, State, Store};
use tempfile::TempDir;

struct World {
    root: TempDir,
    store: Store,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let store = Store {
            global: root.path().join("home/extensions"),
            project: Some(root.path().join("project/.haft/extensions")),
            path: std::env::var_os("PATH"),
        };
        Self { root, store }
    }

    /// A directory to install from.
    fn source(&self, dir: &str, manifest: &str) -> PathBuf {
        extension(&self.root.path().join(dir), manifest)
    }

    fn install(&self, dir: &Path, existing: Existing) -> Result<PathBuf, InstallError> {
        self.store.install(&Source::Directory(dir.into()), existing).map(|installed| installed.dir)
    }

    /// What lies in the global directory, the lock left out.
    fn entries(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.store.global).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name != ".lock").collect();
        names.sort();
        names
    }
}

fn extension(dir: &Path, manifest: &str) -> PathBuf {
    std::fs::create_dir_all(dir).unwrap();
    std::fs::write(dir.join("extension.json"), manifest).unwrap();
    dir.into()
}

const HELLO: &str = r#"{"name":"hello","version":"1","exec":"./run"}"#;

#[test]
fn a_directory_is_copied_under_the_manifests_name() {
    let world = World::new();
    let source = world.source("some dir", HELLO);
    std::fs::create_dir_all(source.join("lib/deep")).unwrap();
    std::fs::write(source.join("lib/deep/file"), "x").unwrap();
    std::fs::create_dir_all(source.join(".git/hooks")).unwrap();
    let installed = world.store.install(&Source::Directory(source), Existing::Keep).unwrap();
    assert_eq!(installed.dir, world.store.global.join("hello"));
    assert_eq!(std::fs::read_to_string(installed.dir.join("lib/deep/file")).unwrap(), "x");
    assert!(!installed.dir.join(".git").exists());
    assert!(!installed.replaced);
    assert!(installed.problem.unwrap().contains("there is no file"));
    assert_eq!(world.entries(), ["hello"]);
}

#[test]
#[cfg(unix)]
fn permissions_and_inner_links_are_kept() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let source = world.source("hello", HELLO);
    std::fs::write(source.join("run"), "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(source.join("run"), std::fs::Permissions::from_mode(0o4755)).unwrap();
    std::os::unix::fs::symlink("run", source.join("link")).unwrap();
    let installed = world.store.install(&Source::Directory(source), Existing::Keep).unwrap();
    let mode = std::fs::metadata(installed.dir.join("run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
    assert_eq!(std::fs::read_link(installed.dir.join("link")).unwrap(), Path::new("run"));
    assert_eq!(installed.problem, None);
}

#[track_caller]
fn refused(make: impl FnOnce(&Path), expect: &str) {
    let world = World::new();
    let source = world.source("hello", HELLO);
    make(&source);
    let error = world.install(&source, Existing::Keep).unwrap_err().to_string();
    assert!(error.contains(expect), "{error} should contain {expect}");
    assert!(world.entries().is_empty(), "{:?} is left", world.entries());
}

#[test]
#[cfg(unix)]
fn what_could_do_harm_is_refused_and_nothing_is_left() {
    use std::os::unix::fs::symlink;
    refused(|dir| symlink("/etc/passwd", dir.join("link")).unwrap(), "leads out of the extension");
    refused(|dir| symlink("../outside", dir.join("link")).unwrap(), "leads out of the extension");
    refused(|dir| drop(std::os::unix::net::UnixListener::bind(dir.join("s")).unwrap()), "neither a file nor");
    refused(|dir| fifo(&dir.join("fifo")), "neither a file nor a directory");
    refused(|dir| std::fs::write(dir.join("a\u{1b}[2J"), "").unwrap(), "not shown");
    refused(
        |dir| ["x", "X"].iter().for_each(|name| std::fs::write(dir.join(name), "").unwrap()),
        "lower case",
    );
    refused(|dir| std::fs::write(dir.join("extension.json"), "{").unwrap(), "is not a JSON object");
    refused(|dir| std::fs::remove_file(dir.join("extension.json")).unwrap(), "lacks extension.json");
}

/// A FIFO that nobody writes to; reading it would wait for ever.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "there is no safe call for it in std")]
fn fifo(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn an_installed_one_is_kept_unless_it_shall_be_replaced() {
    let world = World::new();
    let source = world.source("hello", HELLO);
    let dir = world.install(&source, Existing::Keep).unwrap();
    let error = world.install(&source, Existing::Keep).unwrap_err();
    assert!(
        matches!(&error, InstallError::Exists { .. }) && error.to_string().contains("--force"),
        "{error}"
    );

    std::fs::write(dir.join("old"), "").unwrap();
    let row = world.store.find("hello", None).unwrap();
    assert!(world.store.set_enabled(&row, false).unwrap());
    extension(&source, r#"{"name":"hello","version":"2","exec":"./run"}"#);
    let installed = world.store.install(&Source::Directory(source), Existing::Replace).unwrap();
    assert!(installed.replaced && !dir.join("old").exists());
    assert_eq!(installed.manifest.version.as_deref(), Some("2"));
    assert!(!installed.manifest.enabled, "being disabled survives an update");
    assert_eq!(world.entries(), ["hello"]);
}

#[test]
fn a_failed_replacement_leaves_the_old_one() {
    let world = World::new();
    let source = world.source("hello", HELLO);
    let dir = world.install(&source, Existing::Keep).unwrap();
    std::fs::write(dir.join("old"), "").unwrap();
    for number in 0..40 {
        let deep: PathBuf = source.join(vec!["d"; number].join("/"));
        std::fs::create_dir_all(deep).unwrap();
    }
    let error = world.install(&source, Existing::Replace).unwrap_err();
    assert!(matches!(error, InstallError::TooLarge { .. }), "{error}");
    assert!(error.to_string().contains("copy extension.json and the program into a directory of their own"));
    assert!(dir.join("old").exists());
    assert_eq!(world.entries(), ["hello"]);
}

#[test]
fn names_are_the_manifests_or_the_directorys() {
    let world = World::new();
    extension(&world.store.global.join("todo"), r#"{"name":"todo-panel","exec":"./run"}"#);
    for name in ["todo", "todo-panel"] {
        assert_eq!(world.store.find(name, None).unwrap().name, "todo-panel");
    }
    let error = world.store.find("nobody", None).unwrap_err();
    assert_eq!(error.to_string(), "extension \"nobody\" not found; `haft ext list` shows what is installed");
}

#[test]
fn a_name_means_the_users_own_and_two_of_those_are_told_apart() {
    let world = World::new();
    let global = extension(&world.store.global.join("a"), r#"{"name":"same","exec":"./run"}"#);
    let project = world.store.project.clone().unwrap().join("b");
    extension(&project, r#"{"name":"same","exec":"./run"}"#);
    assert_eq!(world.store.find("same", None).unwrap().dir, global);
    assert_eq!(world.store.find("same", Some(Origin::Project)).unwrap().dir, project);
    let other = extension(&world.store.global.join("c"), r#"{"name":"same","exec":"./run"}"#);
    let error = world.store.find("same", None).unwrap_err().to_string();
    assert!(error.contains(global.to_str().unwrap()) && error.contains(other.to_str().unwrap()), "{error}");
    assert_eq!(world.store.find("a", None).unwrap().dir, global);
}

#[test]
fn switching_changes_one_word() {
    let world = World::new();
    let text = "{\n  \"zeta\": 1e2,\n  \"name\": \"x\", \"enabled\": true,\n  \"exec\": \"./run\"\n}\n";
    let dir = extension(&world.store.global.join("x"), text);
    let row = world.store.find("x", None).unwrap();
    assert!(world.store.set_enabled(&row, false).unwrap());
    assert!(!world.store.set_enabled(&row, false).unwrap());
    let got = std::fs::read_to_string(dir.join("extension.json")).unwrap();
    assert_eq!(got, text.replace("true", "false"));
    assert_eq!(world.store.find("x", None).unwrap().state, State::Disabled);
    assert!(world.store.set_enabled(&row, true).unwrap());
    assert_eq!(std::fs::read_to_string(dir.join("extension.json")).unwrap(), text);
}

#[test]
fn the_list_shows_everything_and_says_what_is_broken() {
    let world = World::new();
    extension(&world.store.global.join("broken"), "{");
    extension(&world.store.global.join("b"), r#"{"name":"off","exec":"./run","enabled":false}"#);
    extension(world.store.project.as_deref().unwrap().join("p").as_path(), r#"{"name":"p","exec":"sh"}"#);
    let rows = world.store.list();
    let names: Vec<_> = rows.iter().map(|row| (row.origin, row.name.as_str())).collect();
    assert_eq!(names, [(Origin::Global, "broken"), (Origin::Global, "off"), (Origin::Project, "p")]);
    assert!(matches!(&rows[0].state, State::Broken(why) if why.contains("not a JSON object")));
    assert_eq!((&rows[1].state, &rows[2].state), (&State::Disabled, &State::Enabled));
}

#[test]
#[cfg(unix)]
fn removing_takes_the_directory_and_only_the_link() {
    let world = World::new();
    let dir = world.install(&world.source("hello", HELLO), Existing::Keep).unwrap();
    world.store.remove(&world.store.find("hello", None).unwrap()).unwrap();
    assert!(!dir.exists());

    let real = world.source("dev", r#"{"name":"dev","exec":"./run"}"#);
    std::os::unix::fs::symlink(&real, world.store.global.join("dev")).unwrap();
    world.store.remove(&world.store.find("dev", None).unwrap()).unwrap();
    assert!(real.join("extension.json").exists());
    assert!(world.entries().is_empty());
}

#[track_caller]
fn source_refused(text: &str, dir: &Path, expect: &str) {
    let error = Source::parse(text, dir).unwrap_err();
    assert_eq!(error.code(), Some("install_rejected"));
    assert!(error.to_string().contains(expect), "{error} should contain {expect}");
}

#[test]
fn what_is_neither_a_directory_nor_an_address_says_what_to_write() {
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
        ("no/such/directory.git", "there is no such directory"),
        ("no\0such", "control characters"),
        ("x.git", "a repository without its files; `git clone` it"),
        ("x.zip", "archives are not unpacked"),
        ("no/such.tar.zst", "archives are not unpacked"),
        ("x.py", "install the directory that holds its extension.json"),
    ] {
        source_refused(text, dir.path(), expect);
    }
    assert!(matches!(Source::parse("dir.zip", dir.path()), Ok(Source::Directory(_))));
    let url = "git@example.com:a/b.git";
    assert!(matches!(Source::parse(url, dir.path()), Ok(Source::Git(got)) if got.as_str() == url));
}

#[test]
fn a_directory_named_by_a_dot_is_that_directory() {
    let dir = tempfile::tempdir().unwrap();
    let source = Source::parse(".", dir.path()).unwrap();
    let world = World::new();
    extension(dir.path(), HELLO);
    let installed = world.store.install(&source, Existing::Keep).unwrap();
    assert_eq!(installed.dir, world.store.global.join("hello"));
}
