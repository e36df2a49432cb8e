//! Tests of skills, in temporary directories.

use super::*;
use haft_protocol::project::ProjectTrust;

struct Fixture(tempfile::TempDir);

impl Fixture {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn skill(&self, dir: &str, text: &str) -> PathBuf {
        let dir = self.0.path().join(dir);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("SKILL.md"), text).unwrap();
        dir
    }

    fn find(&self, trust: ProjectTrust) -> SkillSet {
        let root = self.0.path();
        let project = Project { dir: root.join("work"), trust };
        SkillSet::find(&Home::at(root.join("home")), Some(&root.join("user")), &project)
    }

    /// Returns problems without the test's directory.
    fn problems(&self, found: &SkillSet) -> Vec<String> {
        let root = format!("{}/", self.0.path().display());
        found.problems.iter().map(|problem| problem.replace(&root, "")).collect()
    }
}

fn text(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n")
}

#[test]
fn searches_all_directories_and_keeps_the_first_of_a_name() {
    let fixture = Fixture::new();
    fixture.skill("home/skills/b", &text("b", "users b"));
    fixture.skill("home/skills/a", &text("a", "users a"));
    fixture.skill("user/.agents/skills/c", &text("c", "users c"));
    fixture.skill("work/.haft/skills/d", &text("d", "projects d"));
    fixture.skill("work/.haft/skills/a", &text("a", "projects a"));
    fixture.skill("work/.agents/skills/e", &text("e", "projects e"));
    let names = |found: &SkillSet| found.skills.iter().map(|skill| skill.name.clone()).collect::<Vec<_>>();
    let trusted = fixture.find(ProjectTrust::Trusted);
    assert_eq!(names(&trusted), ["a", "b", "c", "d", "e"]);
    assert_eq!(
        (trusted.get("a").unwrap().owner, trusted.get("e").unwrap().owner),
        (Owner::User, Owner::Project)
    );
    let problem =
        "skill a in work/.haft/skills/a is not used: home/skills/a has the same name and takes precedence";
    assert_eq!(fixture.problems(&trusted), [problem]);
    let untrusted = fixture.find(ProjectTrust::Untrusted);
    assert_eq!((names(&untrusted).len(), untrusted.unused.len()), (3, 2));
}

#[track_caller]
fn check(text: &str, expect: &str) {
    let fixture = Fixture::new();
    fixture.skill("home/skills/x", text);
    let found = fixture.find(ProjectTrust::Untrusted);
    assert_eq!(found.skills, []);
    assert_eq!(fixture.problems(&found), [format!("skill home/skills/x/SKILL.md is not used: {expect}")]);
}

#[test]
fn unusable_skill_is_reported_with_reason() {
    let names = "is not valid; use lowercase letters, digits and single hyphens between them";
    check("no front matter", "the file does not begin with front matter between two `---` lines");
    check("---\ndescription: d\n---\n", "`name` is missing");
    check("---\nname: x\n---\n", "`description` is missing");
    check(&text("X", "d"), &format!("the name \"X\" {names}"));
    check(&text("a--b", "d"), &format!("the name \"a--b\" {names}"));
    check(&text("../x", "d"), &format!("the name \"../x\" {names}"));
    check(&text(&"x".repeat(65), "d"), "the name is longer than 64 characters");
    check(&text("x", &"é".repeat(1025)), "the description has 1025 characters; the maximum is 1024");
    check("---\nname: x\ndescription: [a]\n---\n", "`description` must be a text");
}

#[test]
fn reads_all_fields_and_reports_a_different_directory_name() {
    let fixture = Fixture::new();
    let text = "---\nname: pdf\ndescription: Reads PDFs.\nlicense: MIT\nallowed-tools: Read Bash(git:*)\n\
                metadata:\n  author: a\n---\nBody.";
    fixture.skill("home/skills/other", text);
    let found = fixture.find(ProjectTrust::Untrusted);
    let skill = found.get("pdf").unwrap();
    assert_eq!((skill.license.as_deref(), skill.allowed_tools.len()), (Some("MIT"), 2));
    let problem = "skill pdf is in home/skills/other; the directory should have the skill's name";
    assert_eq!(fixture.problems(&found), [problem]);
}

#[test]
fn loads_own_files_and_rejects_paths_outside() {
    let fixture = Fixture::new();
    let dir = fixture.skill("home/skills/pdf", &text("pdf", "d"));
    std::fs::create_dir(dir.join("scripts")).unwrap();
    std::fs::write(dir.join("scripts/run.py"), "print()").unwrap();
    std::fs::write(dir.join(".hidden"), "").unwrap();
    std::fs::write(fixture.0.path().join("secret"), "s").unwrap();
    let found = fixture.find(ProjectTrust::Untrusted);
    let skill = found.get("pdf").unwrap();
    let expect =
        format!("Skill pdf in {}\n\nDo it.\n\nFiles of this skill:\n- scripts/run.py\n", dir.display());
    assert_eq!(skill.load().unwrap(), expect);
    assert_eq!(skill.load_file("./scripts/run.py").unwrap(), "print()");
    for outside in ["../../../secret", "/etc/passwd", "scripts/../../x", "..", ""] {
        let error = skill.load_file(outside).unwrap_err();
        assert!(error.contains("outside the skill's directory") || outside.is_empty(), "{error}");
    }
    assert!(skill.load_file("gone.md").unwrap_err().starts_with("cannot read gone.md: "));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(fixture.0.path().join("secret"), dir.join("link")).unwrap();
        assert!(skill.load_file("link").unwrap_err().contains("outside the skill's directory"));
        assert!(!skill.load().unwrap().contains("link"));
    }
}

#[test]
fn adds_skills_of_a_path_after_the_users() {
    let fixture = Fixture::new();
    fixture.skill("home/skills/a", &text("a", "users a"));
    fixture.skill("ext/skills/a", &text("a", "theirs"));
    fixture.skill("ext/skills/b", &text("b", "theirs"));
    fixture.skill("ext/c", &text("c", "theirs"));
    let d = fixture.skill("ext/d", &text("d", "theirs"));
    fixture.skill("ext/refused", &text("refused", "theirs"));
    let mut found = fixture.find(ProjectTrust::Untrusted);
    let check = |path: &Path| match path.ends_with("refused/SKILL.md") {
        true => Err("it is refused".to_owned()),
        false => path.exists().then_some(()).ok_or_else(|| format!("{} is missing", path.display())),
    };
    let root = fixture.0.path().join("ext");
    for path in ["skills", "c", "refused", "nowhere"] {
        found.add_path(&root.join(path), Owner::User, &check);
    }
    found.add_path(&d.join("SKILL.md"), Owner::Project, &check);
    let names: Vec<_> = found.skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert_eq!(
        (found.get("a").unwrap().description.as_str(), found.get("d").unwrap().owner),
        ("users a", Owner::Project)
    );
    let expect = [
        "skill a in ext/skills/a is not used: home/skills/a has the same name and takes precedence",
        "skill ext/refused/SKILL.md is not used: it is refused",
        "ext/nowhere is missing",
    ];
    assert_eq!(fixture.problems(&found), expect);
}
