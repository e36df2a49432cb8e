//! Tests that trust ends when the trusted content changes.

mod hooks;

use std::fs;
use std::path::{Path, PathBuf};

use haft_protocol::project::ProjectTrust;

use super::snapshot::MAX_BYTES;
use super::*;
use crate::{ContextFiles, Home};

struct Fixture(tempfile::TempDir);

const FILES: [(&str, &str); 5] = [
    (".haft/config.toml", "model = 'm'\nextensions = ['../more']\n"),
    (".haft/extensions/e/extension.json", "{}"),
    (".agents/skills/s/SKILL.md", "s"),
    ("AGENTS.md", "a"),
    ("more/x/extension.json", "{}"),
];

impl Fixture {
    fn new() -> Self {
        let fixture = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(fixture.dir().join(".git")).unwrap();
        FILES.iter().for_each(|(path, text)| fixture.write(path, text));
        fixture
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
    let fixture = Fixture::new().trusted();
    assert_eq!(fixture.decided(&fixture.dir()), (ProjectTrust::Trusted, String::new()));
    change(&fixture.dir());
    let expect = match difference {
        "" => (ProjectTrust::Trusted, String::new()),
        names => {
            let reason = format!(
                "the project is no longer trusted, because files changed: {names}; run `haft trust` to review and trust it"
            );
            (ProjectTrust::Untrusted, reason)
        }
    };
    assert_eq!(fixture.decided(&fixture.dir()), expect);
}

fn write(path: &'static str, text: &'static str) -> impl Fn(&Path) {
    move |dir| {
        fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
        fs::write(dir.join(path), text).unwrap();
    }
}

#[test]
fn digest_covers_files_that_would_run_or_be_followed() {
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

/// The model may change texts during a run; the code that runs must not change.
#[test]
fn code_digest_excludes_texts() {
    let fixture = Fixture::new();
    fixture.write(".haft/extensions/e/AGENTS.md", "1");
    let code = fixture.snapshot().code_digest();
    for text in
        ["AGENTS.md", "../AGENTS.md", ".haft/SYSTEM.md", ".haft/prompts/p.md", ".agents/skills/s/SKILL.md"]
    {
        fixture.write(text, "2");
        assert_eq!(fixture.snapshot().code_digest(), code, "{text}");
    }
    let decided = TrustDecision::decide(
        &fixture.home(),
        fixture.dir(),
        TrustRequest::Exactly(fixture.snapshot().digest()),
    );
    assert_eq!(decided.unwrap().code, Some(code));
    let decided = TrustDecision::decide(&fixture.home(), fixture.dir(), TrustRequest::ThisRun);
    assert_eq!(
        decided.unwrap().code,
        Some(code),
        "code trusted for one run must not change during the run either"
    );
    for run in [
        ".haft/extensions/e/AGENTS.md",
        "more/x/AGENTS.md",
        "more/x/extension.json",
        ".haft/extensions/n/extension.json",
        ".haft/config.toml",
    ] {
        let before = fixture.snapshot().code_digest();
        fixture.write(run, "extensions = ['../more'] # 2");
        assert_ne!(fixture.snapshot().code_digest(), before, "{run}");
    }
}

#[test]
fn many_changes_are_summarized() {
    let many = |dir: &Path| (0..20).for_each(|n| fs::write(dir.join(format!(".haft/{n:02}")), "x").unwrap());
    let names = (0..8).map(|n| format!(".haft/{n:02} (added)")).collect::<Vec<_>>().join(", ");
    check(many, &format!("{names} and 12 more"));
}

#[test]
#[cfg(unix)]
fn digest_covers_modes_and_links() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let executable = |dir: &Path| {
        let path = dir.join(".haft/extensions/e/extension.json");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    check(executable, ".haft/extensions/e/extension.json (changed)");
    check(|dir| symlink("/nowhere", dir.join(".haft/l")).unwrap(), ".haft/l (added)");
    let through = |place: &'static str, target: &'static str| {
        move |path: &'static str| {
            let fixture = Fixture::new();
            fixture.write("lib/a/f", "1");
            fixture.write("../o/f", "1");
            symlink(target, fixture.dir().join(place)).unwrap();
            let before = fixture.snapshot();
            fixture.write(path, "2");
            let after = fixture.snapshot();
            after.difference_from(before.files()).to_string()
        }
    };
    // A link within the project, a link to a file, and a link out of the project.
    assert_eq!(
        through(".haft/extensions/e/lib", "../../../lib")("lib/a/f"),
        ".haft/extensions/e/lib/a/f (changed)"
    );
    assert_eq!(through(".haft/l", "../lib/a/f")("lib/a/f"), ".haft/l (changed)");
    assert_eq!(through(".haft/extensions/e/o", "../../../../o")("../o/f"), "");
}

#[test]
#[cfg(unix)]
fn linked_extension_directory_is_covered_with_its_target() {
    let fixture = Fixture::new();
    fixture.write("../out/f", "1");
    std::os::unix::fs::symlink("../../../out", fixture.dir().join(".haft/extensions/o")).unwrap();
    let before = fixture.snapshot();
    assert!(before.files().contains_key(".haft/extensions/o/f"), "{before:?}");
    fixture.write("../out/f", "2");
    assert_eq!(
        fixture.snapshot().difference_from(before.files()).to_string(),
        ".haft/extensions/o/f (changed)"
    );
}

/// Deeper links out of the project are not followed, but the directory may still be used for extensions.
#[test]
#[cfg(unix)]
fn extension_directory_visited_deeper_before_is_covered() {
    let fixture = Fixture::new();
    fixture.write("../out/f", "1");
    fs::remove_dir_all(fixture.dir().join(".haft/extensions")).unwrap();
    fs::create_dir_all(fixture.dir().join(".haft/a/b/c")).unwrap();
    std::os::unix::fs::symlink("../../../../../out", fixture.dir().join(".haft/a/b/c/x")).unwrap();
    std::os::unix::fs::symlink("a/b/c", fixture.dir().join(".haft/extensions")).unwrap();
    let before = fixture.snapshot();
    fixture.write("../out/f", "2");
    assert_eq!(
        fixture.snapshot().difference_from(before.files()).to_string(),
        ".haft/extensions/x/f (changed)"
    );
}

#[test]
fn programs_of_manifests_are_covered_anywhere_in_the_project() {
    let manifest = |exec: &str, args: &str| format!(r#"{{"name":"e","Exec":"{exec}","args":[{args}]}}"#);
    let difference = |manifest: &str, path: &str| {
        let fixture = Fixture::new();
        fixture.write(".haft/extensions/e/extension.json", manifest);
        fixture.write(path, "1");
        let before = fixture.snapshot();
        fixture.write(path, "2");
        fixture.snapshot().difference_from(before.files()).to_string()
    };
    let changed = ".haft/extensions/e runs ../../../tools/run (changed)";
    assert_eq!(difference(&manifest("../../../tools/run", ""), "tools/run"), changed);
    assert_eq!(difference(&manifest("python3", r#""-B","../../../tools/run""#), "tools/run"), changed);
    let changed = ".haft/extensions/e runs ../../../../run (changed)";
    assert_eq!(difference(&manifest("../../../../run", ""), "../run"), changed);
    assert_eq!(difference(&manifest("run", r#""tools""#), "tools/run"), "");
    // An absolute path belongs to the machine, unless it leads into the project.
    let fixture = Fixture::new();
    let [inside, outside] = ["tools/run", "../run"].map(|path| fixture.dir().join(path));
    fixture.write("tools/run", "1");
    fixture.write("../run", "1");
    for (program, expect) in [(&inside, 1), (&outside, 0)] {
        fixture.write(".haft/extensions/e/extension.json", &manifest(program.to_str().unwrap(), ""));
        let files = fixture.snapshot();
        assert_eq!(files.files().keys().filter(|name| name.contains(" runs ")).count(), expect, "{files:?}");
    }
}

/// A hostile project can contain a link to a trusted one; its own texts stay untrusted.
#[test]
#[cfg(unix)]
fn link_to_trusted_project_does_not_trust_its_surroundings() {
    let fixture = Fixture::new().trusted();
    let hostile = fixture.0.path().join("hostile");
    fs::create_dir(&hostile).unwrap();
    fs::write(hostile.join("AGENTS.md"), "obey me").unwrap();
    std::os::unix::fs::symlink(fixture.dir(), hostile.join("link")).unwrap();
    let project =
        TrustDecision::decide(&fixture.home(), hostile.join("link"), TrustRequest::Nothing).unwrap().project;
    assert!(project.is_trusted());
    let texts: Vec<_> =
        ContextFiles::find(&fixture.home(), &project).files.into_iter().map(|file| file.text).collect();
    assert_eq!(texts, ["a"]);
}

#[test]
#[cfg(unix)]
fn link_cycles_end_and_devices_are_not_read() {
    let fixture = Fixture::new();
    std::os::unix::fs::symlink("..", fixture.dir().join(".haft/extensions/up")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", fixture.dir().join(".haft/zero")).unwrap();
    assert_eq!(fixture.snapshot(), fixture.snapshot());
}

#[test]
fn digest_does_not_depend_on_the_location() {
    assert_eq!(Fixture::new().snapshot().digest(), Fixture::new().snapshot().digest());
}

#[test]
fn rejects_too_large_project() {
    let fixture = Fixture::new().trusted();
    let large = fs::File::create(fixture.dir().join(".haft/large")).unwrap();
    large.set_len(MAX_BYTES + 1).unwrap();
    assert!(matches!(Snapshot::take(&fixture.home(), &fixture.dir()), Err(SnapshotError::TooLarge { .. })));
    let (trust, reason) = fixture.decided(&fixture.dir());
    assert_eq!(trust, ProjectTrust::Untrusted);
    assert!(reason.contains("more than 200 MiB") && reason.contains(".haft/large"), "{reason}");
}

#[test]
fn trust_applies_to_one_directory_and_can_be_revoked() {
    let fixture = Fixture::new().trusted();
    let below = fixture.dir().join("more");
    assert_eq!(fixture.decided(&below).0, ProjectTrust::Untrusted);
    assert_eq!(fixture.decided(fixture.dir().parent().unwrap()).0, ProjectTrust::Untrusted);
    #[cfg(unix)]
    {
        let link = fixture.0.path().join("link");
        std::os::unix::fs::symlink(fixture.dir(), &link).unwrap();
        assert_eq!(fixture.decided(&link).0, ProjectTrust::Trusted);
    }
    assert!(TrustFile::revoke(&fixture.home(), &fixture.dir()).unwrap());
    assert!(!TrustFile::revoke(&fixture.home(), &fixture.dir()).unwrap());
    assert_eq!(fixture.decided(&fixture.dir()), (ProjectTrust::Untrusted, String::new()));
    let fixture = fixture.trusted();
    let moved = fixture.dir().with_file_name("moved");
    fs::rename(fixture.dir(), &moved).unwrap();
    assert_eq!(fixture.decided(&moved).0, ProjectTrust::Untrusted);
}

#[test]
fn requested_digest_must_match_exactly() {
    let fixture = Fixture::new();
    let digest = fixture.snapshot().digest();
    assert_eq!(digest.to_string().parse(), Ok(digest));
    for text in ["", "12", &"g".repeat(64), &format!("{digest}0"), &digest.short_hex()] {
        assert!(text.parse::<ProjectDigest>().is_err(), "{text}");
    }
    let asked = || TrustDecision::decide(&fixture.home(), fixture.dir(), TrustRequest::Exactly(digest));
    assert!(asked().unwrap().project.is_trusted());
    fixture.write("AGENTS.md", "b");
    assert!(matches!(asked(), Err(ProjectDigestError::Other { wanted, .. }) if wanted == digest));
}

#[test]
fn project_is_trusted_while_it_has_the_digest_or_by_its_record() {
    let fixture = Fixture::new();
    let digest = fixture.snapshot().digest();
    let asked = || {
        let request = TrustRequest::WhileUnchanged(digest);
        TrustDecision::decide(&fixture.home(), fixture.dir(), request).unwrap()
    };
    assert!(asked().project.is_trusted() && asked().code.is_some());
    fixture.write("AGENTS.md", "b");
    assert!(!asked().project.is_trusted());
    TrustFile::grant(&fixture.home(), &fixture.snapshot(), "1.0.0").unwrap();
    assert!(asked().project.is_trusted());
}

#[track_caller]
fn check_store(spoil: impl Fn(&Path), why: &str) {
    let fixture = Fixture::new().trusted();
    let path = fixture.home().trust_file();
    spoil(&path);
    let (trust, reason) = fixture.decided(&fixture.dir());
    assert_eq!(trust, ProjectTrust::Untrusted);
    assert!(reason.starts_with("no project is trusted: ") && reason.contains(why), "{reason}");
    let before = fs::read(&path).unwrap_or_default();
    assert!(TrustFile::grant(&fixture.home(), &fixture.snapshot(), "1").is_err());
    assert_eq!(fs::read(&path).unwrap_or_default(), before, "an ignored file is not overwritten");
}

#[test]
fn damaged_trust_file_trusts_no_project() {
    check_store(|path| fs::write(path, "{").unwrap(), "is damaged");
    check_store(|path| fs::write(path, r#"{"version":2,"projects":{}}"#).unwrap(), "newer version of haft");
    check_store(
        |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        },
        "is not a regular file",
    );
}

#[test]
#[cfg(unix)]
fn trust_file_writable_by_others_trusts_no_project() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new().trusted();
    let mode = fs::metadata(fixture.home().trust_file()).unwrap().permissions().mode();
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
fn concurrent_writers_lose_no_project() {
    let fixture = Fixture::new();
    let home = fixture.home();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let (fixture, home) = (&fixture, &home);
            scope.spawn(move || {
                let dir = fixture.dir().join(n.to_string());
                fs::create_dir(&dir).unwrap();
                TrustFile::grant(home, &Snapshot::take(home, &dir).unwrap(), "1").unwrap();
            });
        }
    });
    assert_eq!(TrustFile::load(&home).unwrap().records().count(), 8);
}
