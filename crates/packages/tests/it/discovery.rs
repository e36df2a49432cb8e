//! Discovery: the extensions that run, their order, and the reports about the others.

#![expect(clippy::unwrap_used, reason = "a helper that fails must fail its test")]

use std::path::{Path, PathBuf};

use haft_packages::discovery::{
    Discovery, DiscoveryOptions, ExtraLocation, Project, ProjectTrust, SkipReason, extensions_dir,
};
use haft_packages::{ExtensionOrigin, LaunchPlan};
use tempfile::TempDir;

/// An empty home with `extensions/`, and an empty project.
struct World {
    root: TempDir,
}

impl World {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn global(&self) -> PathBuf {
        self.root.path().join("home/extensions")
    }

    fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    fn search(&self, trust: ProjectTrust) -> DiscoveryOptions {
        let project = Some(Project { dir: self.project(), trust });
        DiscoveryOptions { global: Some(self.global()), project, ..DiscoveryOptions::default() }
    }

    fn found(&self, trust: ProjectTrust) -> Discovery {
        Discovery::run(&self.search(trust))
    }

    fn in_global(&self, dir: &str, manifest: &str) -> PathBuf {
        extension(&self.global().join(dir), manifest)
    }

    fn in_project(&self, dir: &str, manifest: &str) -> PathBuf {
        extension(&self.project().join(".haft/extensions").join(dir), manifest)
    }
}

/// Creates an extension with an existing program, and adds `"exec"` to its manifest.
fn extension(dir: &Path, manifest: &str) -> PathBuf {
    std::fs::create_dir_all(dir).unwrap();
    let exec = serde_json::to_string(&std::env::current_exe().unwrap()).unwrap();
    let manifest = manifest.replacen('{', &format!("{{\"exec\":{exec},"), 1);
    std::fs::write(dir.join("extension.json"), manifest).unwrap();
    dir.into()
}

/// Returns the extensions that run, as `origin name`.
fn names(found: &Discovery) -> Vec<String> {
    found.specs.iter().map(|spec| format!("{:?} {}", spec.origin, spec.name)).collect()
}

fn reasons(found: &Discovery) -> Vec<(&str, &SkipReason)> {
    found.skipped.iter().map(|skipped| (skipped.name.as_str(), &skipped.reason)).collect()
}

#[test]
fn order_is_explicit_global_project_each_by_name() {
    let world = World::new();
    world.in_global("1", r#"{"name":"zeta"}"#);
    world.in_global("2", r#"{"name":"alpha"}"#);
    world.in_project("p", r#"{"name":"beta"}"#);
    let second = extension(&world.root.path().join("second"), r#"{"name":"second"}"#);
    let first = extension(&world.root.path().join("first"), r#"{"name":"first"}"#);
    let mut search = world.search(ProjectTrust::Trusted);
    search.explicit = vec![second, first.join("extension.json")];
    let found = Discovery::run(&search);
    assert_eq!(
        names(&found),
        ["Explicit second", "Explicit first", "Global alpha", "Global zeta", "Project beta"]
    );
    assert!(found.skipped.is_empty() && found.errors.is_empty());
    assert_eq!(found.specs[1].dir, first);
    assert!(matches!(found.specs[0].launch, LaunchPlan::Process { .. }));
}

#[test]
fn extensions_of_untrusted_project_are_skipped() {
    let world = World::new();
    world.in_project("p", r#"{"name":"beta"}"#);
    let found = world.found(ProjectTrust::Untrusted);
    assert!(found.specs.is_empty());
    assert_eq!(reasons(&found), [("beta", &SkipReason::Untrusted)]);
    assert!(found.skipped[0].to_string().contains("`haft trust`"));
}

#[test]
fn without_places_only_explicit_extensions_run() {
    let world = World::new();
    world.in_global("g", r#"{"name":"g"}"#);
    let named = extension(&world.root.path().join("named"), r#"{"name":"named"}"#);
    let found = Discovery::run(&DiscoveryOptions { explicit: vec![named], ..DiscoveryOptions::default() });
    assert_eq!(names(&found), ["Explicit named"]);
}

#[test]
fn project_never_replaces_global_extension() {
    let world = World::new();
    let guard = world.in_global("guard", r#"{"name":"guard"}"#);
    world.in_project("other", r#"{"name":"Guard"}"#);
    let found = world.found(ProjectTrust::Trusted);
    assert_eq!(names(&found), ["Global guard"]);
    assert_eq!(reasons(&found), [("Guard", &SkipReason::NameTaken { by: guard })]);
}

#[test]
fn disabled_or_broken_global_extension_keeps_its_name() {
    let world = World::new();
    let off = world.in_global("off", r#"{"name":"off","enabled":false}"#);
    let broken = world.in_global("broken", "{");
    world.in_project("off", r#"{"name":"off"}"#);
    world.in_project("broken", r#"{"name":"broken"}"#);
    let found = world.found(ProjectTrust::Trusted);
    assert!(found.specs.is_empty());
    assert_eq!(
        reasons(&found),
        [
            ("off", &SkipReason::Disabled),
            ("broken", &SkipReason::NameTaken { by: broken }),
            ("off", &SkipReason::NameTaken { by: off }),
        ]
    );
    assert_eq!(found.errors.len(), 1);
}

#[test]
fn first_directory_wins_among_equal_names() {
    let world = World::new();
    let first = world.in_global("a", r#"{"name":"same"}"#);
    world.in_global("b", r#"{"name":"same"}"#);
    let found = world.found(ProjectTrust::Trusted);
    assert_eq!(found.specs[0].dir, first);
    assert_eq!(reasons(&found), [("same", &SkipReason::NameTaken { by: first })]);
}

#[test]
fn broken_extension_does_not_stop_discovery() {
    let world = World::new();
    world.in_global("bad", r#"{"name":7}"#);
    world.in_global("good", r#"{"name":"good"}"#);
    let found = world.found(ProjectTrust::Trusted);
    assert_eq!(names(&found), ["Global good"]);
    let error = &found.errors[0];
    assert_eq!(
        (error.name.as_str(), error.origin, error.code()),
        ("bad", ExtensionOrigin::Global, "manifest_invalid")
    );
    assert!(std::error::Error::source(error).unwrap().to_string().contains("`name` must be a string"));
}

#[test]
fn missing_program_is_an_error_unless_required() {
    let world = World::new();
    for (name, required) in [("guard", true), ("helper", false)] {
        let manifest = format!(r#"{{"name":"{name}","exec":"gone","required":{required}}}"#);
        std::fs::create_dir_all(world.global().join(name)).unwrap();
        std::fs::write(world.global().join(name).join("extension.json"), manifest).unwrap();
        std::fs::write(world.global().join(name).join("gone"), "").unwrap();
        world.in_project(name, &format!(r#"{{"name":"{name}"}}"#));
    }
    let found = world.found(ProjectTrust::Trusted);
    assert_eq!(names(&found), ["Global guard"]);
    // A file of that name beside the manifest does not count: a bare name means a program in PATH, also if required.
    let LaunchPlan::Impossible { why } = &found.specs[0].launch else { panic!("{:?}", found.specs[0]) };
    assert!(why.contains("exec \"gone\" not found in PATH"), "{why}");
    assert_eq!((found.errors.len(), found.errors[0].code()), (1, "spawn_failed"));
    assert_eq!(found.skipped.len(), 2, "the project's extensions replace neither");

    let found = haft_packages::discovery::DiscoveredExtensions::from(found);
    assert_eq!((found.specs.len(), found.faults[0].extension.as_str()), (1, "helper"));
    let message = &found.faults[0].message;
    assert!(message.contains("helper cannot be used: exec \"gone\" not found in PATH"), "{message}");
}

#[test]
fn ignores_entries_that_are_not_extensions() {
    let world = World::new();
    std::fs::create_dir_all(world.global().join("empty")).unwrap();
    std::fs::write(world.global().join("file"), "").unwrap();
    world.in_global(".scraps", r#"{"name":"hidden"}"#);
    let found = world.found(ProjectTrust::Trusted);
    assert!(found.specs.is_empty() && found.skipped.is_empty() && found.errors.is_empty());
}

#[test]
#[cfg(unix)]
fn follows_symlinks_and_reports_dangling_ones() {
    let world = World::new();
    let real = extension(&world.root.path().join("src"), r#"{"name":"linked"}"#);
    std::fs::create_dir_all(world.global()).unwrap();
    std::os::unix::fs::symlink(&real, world.global().join("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", world.global().join("dead")).unwrap();
    let found = world.found(ProjectTrust::Trusted);
    assert_eq!(names(&found), ["Global linked"]);
    assert_eq!(found.errors[0].name, "dead");
}

#[test]
#[cfg(unix)]
fn same_directory_by_two_paths_is_one_extension() {
    let world = World::new();
    let dir = world.in_global("g", r#"{"name":"g"}"#);
    let link = world.root.path().join("link");
    std::os::unix::fs::symlink(&dir, &link).unwrap();
    let mut search = world.search(ProjectTrust::Trusted);
    search.explicit = vec![dir.clone(), dir.join("extension.json"), link];
    let found = Discovery::run(&search);
    assert_eq!(names(&found), ["Explicit g"]);
    assert!(found.skipped.is_empty());
}

#[test]
fn missing_path_is_an_error() {
    let search = DiscoveryOptions { explicit: vec!["no/such/dir".into()], ..DiscoveryOptions::default() };
    let found = Discovery::run(&search);
    assert_eq!(found.errors[0].origin, ExtensionOrigin::Explicit);
    assert!(found.errors[0].dir.is_absolute());
    let why = std::error::Error::source(&found.errors[0]).unwrap().to_string();
    assert!(why.starts_with("no such directory: "), "{why}");
}

#[test]
fn relative_paths_become_absolute() {
    // The tests run in the package's directory, which has no `.haft`.
    let project = Project { dir: ".".into(), trust: ProjectTrust::Trusted };
    let expect = std::env::current_dir().unwrap().join(".haft/extensions");
    assert_eq!(extensions_dir(&project), expect);
}

#[test]
fn configuration_adds_extensions_and_directories() {
    let world = World::new();
    world.in_global("installed", r#"{"name":"installed"}"#);
    world.in_project("local", r#"{"name":"local"}"#);
    let root = world.root.path();
    extension(&root.join("one"), r#"{"name":"one"}"#);
    extension(&root.join("many/b"), r#"{"name":"b"}"#);
    extension(&root.join("many/a"), r#"{"name":"a"}"#);
    extension(&root.join("theirs"), r#"{"name":"theirs"}"#);
    extension(&root.join("copy"), r#"{"name":"installed"}"#);
    let further = |dir: &str, origin| ExtraLocation { dir: root.join(dir), origin };
    let mut search = world.search(ProjectTrust::Trusted);
    search.extra_locations = vec![
        further("theirs", ExtensionOrigin::Project),
        further("copy", ExtensionOrigin::Project),
        further("one", ExtensionOrigin::Global),
        further("many", ExtensionOrigin::Global),
    ];
    let found = Discovery::run(&search);
    let expect =
        ["Global installed", "Global one", "Global a", "Global b", "Project local", "Project theirs"];
    assert_eq!(names(&found), expect);
    assert_eq!(found.skipped[0].reason, SkipReason::NameTaken { by: world.global().join("installed") });
}
