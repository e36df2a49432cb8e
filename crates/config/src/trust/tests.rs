//! Trust ends with what it was given to.

mod hooks;

use std::fs;
use std::path::{Path, PathBuf};

use haft_protocol::project::ProjectTrust;

use super::snapshot::MAX_BYTES;
use super::*;
use crate::{ContextFiles, Home};

struct Ground(tempfile::TempDir);

const FILES: [(&str, &str); 5] = [
    (".haft/config.toml", "model = 'm'\nextensions = ['../more']\n"),
    (".haft/extensions/e/extension.json", "{}"),
    (".agents/skills/s/SKILL.md", "s"),
    ("AGENTS.md", "a"),
    ("more/x/extension.json", "{}"),
];

impl Ground {
    fn new() -> Self {
        let ground = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(ground.dir().join(".git")).unwrap();
        FILES.iter().for_each(|(path, text)| ground.write(path, text));
        ground
    }

    fn dir(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("outer").join("work")
    }

    fn home(&self) -> Home {
        Home::at(self.0.path().join("home"))
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.dir().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::take(&self.home(), &self.dir()).unwrap()
    }

    fn trusted(self) -> Self {
        TrustFile::grant(&self.home(), &self.snapshot(), "1.0.0").unwrap();
        self
    }

    fn decided(&self, dir: &Path) -> (ProjectTrust, String) {
        let decision = TrustDecision::decide(&self.home(), dir.into(), TrustRequest::Nothing).unwrap();
        (decision.project.trust, decision.distrust_reason.unwrap_or_default())
    }
}

#[track_caller]
fn check(change: impl Fn(&Path), difference: &str) {
    let ground = Ground::new().trusted();
    assert_eq!(ground.decided(&ground.dir()), (ProjectTrust::Trusted, String::new()));
    change(&ground.dir());
    let told = match difference {
        "" => (ProjectTrust::Trusted, String::new()),
        names => {
            let told = format!(
                "the project is no longer trusted, because it is not what it was: {names}; `haft trust` shows it and asks"
            );
            (ProjectTrust::Untrusted, told)
        }
    };
    assert_eq!(ground.decided(&ground.dir()), told);
}

fn write(path: &'static str, text: &'static str) -> impl Fn(&Path) {
    move |dir| {
        fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
        fs::write(dir.join(path), text).unwrap();
    }
}

#[test]
fn whatever_would_run_or_be_obeyed_counts() {
    check(write("src/main.rs", "x"), "");
    check(write(".haft/config.toml", "model = 'n'\nextensions = ['../more']"), ".haft/config.toml (changed)");
    check(write(".haft/extensions/e/main.py", "x"), ".haft/extensions/e/main.py (added)");
    check(write(".haft/SYSTEM.md", "x"), ".haft/SYSTEM.md (added)");
    check(write(".haft/prompts/p.md", "x"), ".haft/prompts/p.md (added)");
    check(write(".agents/skills/s/SKILL.md", "t"), ".agents/skills/s/SKILL.md (changed)");
    check(write("more/x/run.sh", "x"), "extensions: ../more/x/run.sh (added)");
    check(write("AGENTS.md", "b"), "AGENTS.md (changed)");
    check(write("../AGENTS.md", "b"), "../AGENTS.md (added)");
    check(|dir| fs::remove_file(dir.join("AGENTS.md")).unwrap(), "AGENTS.md (removed)");
}

/// What is told to a model may change while a run goes on, by the model's own hand; what is run may not.
#[test]
fn the_digest_of_what_is_run_leaves_texts_out() {
    let ground = Ground::new();
    ground.write(".haft/extensions/e/AGENTS.md", "1");
    let code = ground.snapshot().code_digest();
    for text in
        ["AGENTS.md", "../AGENTS.md", ".haft/SYSTEM.md", ".haft/prompts/p.md", ".agents/skills/s/SKILL.md"]
    {
        ground.write(text, "2");
        assert_eq!(ground.snapshot().code_digest(), code, "{text}");
    }
    let decided = TrustDecision::decide(
        &ground.home(),
        ground.dir(),
        TrustRequest::Exactly(ground.snapshot().digest()),
    );
    assert_eq!(decided.unwrap().code, Some(code));
    let decided = TrustDecision::decide(&ground.home(), ground.dir(), TrustRequest::ThisRun);
    assert_eq!(
        decided.unwrap().code,
        Some(code),
        "what is trusted for one run only must not change in it either"
    );
    for run in [
        ".haft/extensions/e/AGENTS.md",
        "more/x/AGENTS.md",
        "more/x/extension.json",
        ".haft/extensions/n/extension.json",
        ".haft/config.toml",
    ] {
        let before = ground.snapshot().code_digest();
        ground.write(run, "extensions = ['../more'] # 2");
        assert_ne!(ground.snapshot().code_digest(), before, "{run}");
    }
}

#[test]
fn many_changes_are_counted() {
    let many = |dir: &Path| (0..20).for_each(|n| fs::write(dir.join(format!(".haft/{n:02}")), "x").unwrap());
    let names = (0..8).map(|n| format!(".haft/{n:02} (added)")).collect::<Vec<_>>().join(", ");
    check(many, &format!("{names} and 12 more"));
}

#[test]
#[cfg(unix)]
fn modes_and_links_count() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let executable = |dir: &Path| {
        let path = dir.join(".haft/extensions/e/extension.json");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    check(executable, ".haft/extensions/e/extension.json (changed)");
    check(|dir| symlink("/nowhere", dir.join(".haft/l")).unwrap(), ".haft/l (added)");
    let through = |place: &'static str, target: &'static str| {
        move |path: &'static str| {
            let ground = Ground::new();
            ground.write("lib/a/f", "1");
            ground.write("../o/f", "1");
            symlink(target, ground.dir().join(place)).unwrap();
            let before = ground.snapshot();
            ground.write(path, "2");
            let after = ground.snapshot();
            after.difference_from(before.files()).to_string()
        }
    };
    // A link within the project, one to a file, and one that leads out of it.
    assert_eq!(
        through(".haft/extensions/e/lib", "../../../lib")("lib/a/f"),
        ".haft/extensions/e/lib/a/f (changed)"
    );
    assert_eq!(through(".haft/l", "../lib/a/f")("lib/a/f"), ".haft/l (changed)");
    assert_eq!(through(".haft/extensions/e/o", "../../../../o")("../o/f"), "");
}

#[test]
#[cfg(unix)]
fn a_place_that_is_a_link_counts_with_what_it_leads_to() {
    let ground = Ground::new();
    ground.write("../out/f", "1");
    std::os::unix::fs::symlink("../../../out", ground.dir().join(".haft/extensions/o")).unwrap();
    let before = ground.snapshot();
    assert!(before.files().contains_key(".haft/extensions/o/f"), "{before:?}");
    ground.write("../out/f", "2");
    assert_eq!(
        ground.snapshot().difference_from(before.files()).to_string(),
        ".haft/extensions/o/f (changed)"
    );
}

/// Deeper down links out of the project are not followed, and such a directory may be a place of extensions all the same.
#[test]
#[cfg(unix)]
fn a_place_that_was_seen_deeper_down_counts_as_a_place() {
    let ground = Ground::new();
    ground.write("../out/f", "1");
    fs::remove_dir_all(ground.dir().join(".haft/extensions")).unwrap();
    fs::create_dir_all(ground.dir().join(".haft/a/b/c")).unwrap();
    std::os::unix::fs::symlink("../../../../../out", ground.dir().join(".haft/a/b/c/x")).unwrap();
    std::os::unix::fs::symlink("a/b/c", ground.dir().join(".haft/extensions")).unwrap();
    let before = ground.snapshot();
    ground.write("../out/f", "2");
    assert_eq!(
        ground.snapshot().difference_from(before.files()).to_string(),
        ".haft/extensions/x/f (changed)"
    );
}

#[test]
fn what_a_manifest_has_started_counts_wherever_it_lies() {
    let manifest = |exec: &str, args: &str| format!(r#"{{"name":"e","Exec":"{exec}","args":[{args}]}}"#);
    let told = |manifest: &str, path: &str| {
        let ground = Ground::new();
        ground.write(".haft/extensions/e/extension.json", manifest);
        ground.write(path, "1");
        let before = ground.snapshot();
        ground.write(path, "2");
        ground.snapshot().difference_from(before.files()).to_string()
    };
    let changed = ".haft/extensions/e runs ../../../tools/run (changed)";
    assert_eq!(told(&manifest("../../../tools/run", ""), "tools/run"), changed);
    assert_eq!(told(&manifest("python3", r#""-B","../../../tools/run""#), "tools/run"), changed);
    let changed = ".haft/extensions/e runs ../../../../run (changed)";
    assert_eq!(told(&manifest("../../../../run", ""), "../run"), changed);
    assert_eq!(told(&manifest("run", r#""tools""#), "tools/run"), "");
    // An absolute path is the machine's, unless it leads into the project.
    let ground = Ground::new();
    let [inside, outside] = ["tools/run", "../run"].map(|path| ground.dir().join(path));
    ground.write("tools/run", "1");
    ground.write("../run", "1");
    for (program, expect) in [(&inside, 1), (&outside, 0)] {
        ground.write(".haft/extensions/e/extension.json", &manifest(program.to_str().unwrap(), ""));
        let files = ground.snapshot();
        assert_eq!(files.files().keys().filter(|name| name.contains(" runs ")).count(), expect, "{files:?}");
    }
}

/// A hostile project can hold a link to one that is trusted; its own texts stay untrusted.
#[test]
#[cfg(unix)]
fn through_a_link_nothing_beside_the_link_is_obeyed() {
    let ground = Ground::new().trusted();
    let hostile = ground.0.path().join("hostile");
    fs::create_dir(&hostile).unwrap();
    fs::write(hostile.join("AGENTS.md"), "obey me").unwrap();
    std::os::unix::fs::symlink(ground.dir(), hostile.join("link")).unwrap();
    let project =
        TrustDecision::decide(&ground.home(), hostile.join("link"), TrustRequest::Nothing).unwrap().project;
    assert!(project.is_trusted());
    let texts: Vec<_> =
        ContextFiles::find(&ground.home(), &project).files.into_iter().map(|file| file.text).collect();
    assert_eq!(texts, ["a"]);
}

#[test]
#[cfg(unix)]
fn circles_end_and_pipes_are_not_opened() {
    let ground = Ground::new();
    std::os::unix::fs::symlink("..", ground.dir().join(".haft/extensions/up")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", ground.dir().join(".haft/zero")).unwrap();
    assert_eq!(ground.snapshot(), ground.snapshot());
}

#[test]
fn the_digest_is_the_same_in_another_place() {
    assert_eq!(Ground::new().snapshot().digest(), Ground::new().snapshot().digest());
}

#[test]
fn too_large_a_project_cannot_be_trusted() {
    let ground = Ground::new().trusted();
    let large = fs::File::create(ground.dir().join(".haft/large")).unwrap();
    large.set_len(MAX_BYTES + 1).unwrap();
    assert!(matches!(Snapshot::take(&ground.home(), &ground.dir()), Err(SnapshotError::TooLarge { .. })));
    let (trust, told) = ground.decided(&ground.dir());
    assert_eq!(trust, ProjectTrust::Untrusted);
    assert!(told.contains("more than 200 MiB") && told.contains(".haft/large"), "{told}");
}

#[test]
fn trust_is_in_one_directory_and_can_be_taken_back() {
    let ground = Ground::new().trusted();
    let below = ground.dir().join("more");
    assert_eq!(ground.decided(&below).0, ProjectTrust::Untrusted);
    assert_eq!(ground.decided(ground.dir().parent().unwrap()).0, ProjectTrust::Untrusted);
    #[cfg(unix)]
    {
        let link = ground.0.path().join("link");
        std::os::unix::fs::symlink(ground.dir(), &link).unwrap();
        assert_eq!(ground.decided(&link).0, ProjectTrust::Trusted);
    }
    assert!(TrustFile::revoke(&ground.home(), &ground.dir()).unwrap());
    assert!(!TrustFile::revoke(&ground.home(), &ground.dir()).unwrap());
    assert_eq!(ground.decided(&ground.dir()), (ProjectTrust::Untrusted, String::new()));
    let ground = ground.trusted();
    let moved = ground.dir().with_file_name("moved");
    fs::rename(ground.dir(), &moved).unwrap();
    assert_eq!(ground.decided(&moved).0, ProjectTrust::Untrusted);
}

#[test]
fn a_digest_is_taken_at_its_word() {
    let ground = Ground::new();
    let digest = ground.snapshot().digest();
    assert_eq!(digest.to_string().parse(), Ok(digest));
    for text in ["", "12", &"g".repeat(64), &format!("{digest}0"), &digest.short_hex()] {
        assert!(text.parse::<ProjectDigest>().is_err(), "{text}");
    }
    let asked = || TrustDecision::decide(&ground.home(), ground.dir(), TrustRequest::Exactly(digest));
    assert!(asked().unwrap().project.is_trusted());
    ground.write("AGENTS.md", "b");
    assert!(matches!(asked(), Err(ProjectDigestError::Other { wanted, .. }) if wanted == digest));
}

#[track_caller]
fn check_store(spoil: impl Fn(&Path), why: &str) {
    let ground = Ground::new().trusted();
    let path = ground.home().trust_file();
    spoil(&path);
    let (trust, told) = ground.decided(&ground.dir());
    assert_eq!(trust, ProjectTrust::Untrusted);
    assert!(told.starts_with("no project is trusted: ") && told.contains(why), "{told}");
    let before = fs::read(&path).unwrap_or_default();
    assert!(TrustFile::grant(&ground.home(), &ground.snapshot(), "1").is_err());
    assert_eq!(fs::read(&path).unwrap_or_default(), before, "what does not count is not written over");
}

#[test]
fn a_spoiled_store_trusts_nobody() {
    check_store(|path| fs::write(path, "{").unwrap(), "is damaged");
    check_store(|path| fs::write(path, r#"{"version":2,"projects":{}}"#).unwrap(), "newer haft");
    check_store(
        |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        },
        "is no file",
    );
}

#[test]
#[cfg(unix)]
fn a_store_of_others_trusts_nobody() {
    use std::os::unix::fs::PermissionsExt as _;
    let ground = Ground::new().trusted();
    let mode = fs::metadata(ground.home().trust_file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for mode in [0o666, 0o620] {
        let chmod = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        check_store(chmod, "can be written by other users");
    }
    let link = |path: &Path| {
        fs::rename(path, path.with_extension("real")).unwrap();
        std::os::unix::fs::symlink(path.with_extension("real"), path).unwrap();
    };
    check_store(link, "is a link");
}

#[test]
fn none_of_many_writers_loses_a_project() {
    let ground = Ground::new();
    let home = ground.home();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let (ground, home) = (&ground, &home);
            scope.spawn(move || {
                let dir = ground.dir().join(n.to_string());
                fs::create_dir(&dir).unwrap();
                TrustFile::grant(home, &Snapshot::take(home, &dir).unwrap(), "1").unwrap();
            });
        }
    });
    assert_eq!(TrustFile::load(&home).unwrap().records().count(), 8);
}
