//! Skills in real directories.

use super::*;
use haft_protocol::project::ProjectTrust;

struct Ground(tempfile::TempDir);

impl Ground {
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

    /// Problems without the directory of the test.
    fn problems(&self, found: &SkillSet) -> Vec<String> {
        let root = format!("{}/", self.0.path().display());
        found.problems.iter().map(|problem| problem.replace(&root, "")).collect()
    }
}

fn text(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n")
}

#[test]
fn all_places_are_looked_at_and_the_first_keeps_a_name() {
    let ground = Ground::new();
    ground.skill("home/skills/b", &text("b", "users b"));
    ground.skill("home/skills/a", &text("a", "users a"));
    ground.skill("user/.agents/skills/c", &text("c", "users c"));
    ground.skill("work/.haft/skills/d", &text("d", "projects d"));
    ground.skill("work/.haft/skills/a", &text("a", "projects a"));
    ground.skill("work/.agents/skills/e", &text("e", "projects e"));
    let names = |found: &SkillSet| found.skills.iter().map(|skill| skill.name.clone()).collect::<Vec<_>>();
    let trusted = ground.find(ProjectTrust::Trusted);
    assert_eq!(names(&trusted), ["a", "b", "c", "d", "e"]);
    assert_eq!(
        (trusted.get("a").unwrap().owner, trusted.get("e").unwrap().owner),
        (Owner::User, Owner::Project)
    );
    let problem =
        "skill a in work/.haft/skills/a is not used: home/skills/a has the same name and comes first";
    assert_eq!(ground.problems(&trusted), [problem]);
    let untrusted = ground.find(ProjectTrust::Untrusted);
    assert_eq!((names(&untrusted).len(), untrusted.unused.len()), (3, 2));
}

#[track_caller]
fn check(text: &str, expect: &str) {
    let ground = Ground::new();
    ground.skill("home/skills/x", text);
    let found = ground.find(ProjectTrust::Untrusted);
    assert_eq!(found.skills, []);
    assert_eq!(ground.problems(&found), [format!("skill home/skills/x/SKILL.md is not used: {expect}")]);
}

#[test]
fn a_skill_that_cannot_be_used_says_why() {
    let names = "may have lower-case letters, digits and single hyphens between them only";
    check("no front matter", "it does not begin with a front matter between two lines of `---`");
    check("---\ndescription: d\n---\n", "it has no `name`");
    check("---\nname: x\n---\n", "it has no `description`");
    check(&text("X", "d"), &format!("the name \"X\" {names}"));
    check(&text("a--b", "d"), &format!("the name \"a--b\" {names}"));
    check(&text("../x", "d"), &format!("the name \"../x\" {names}"));
    check(&text(&"x".repeat(65), "d"), "the name is longer than 64 characters");
    check(&text("x", &"é".repeat(1025)), "its description has 1025 characters, and 1024 are the most");
    check("---\nname: x\ndescription: [a]\n---\n", "`description` is not a text");
}

#[test]
fn a_name_beside_its_directory_is_told_and_all_fields_are_read() {
    let ground = Ground::new();
    let text = "---\nname: pdf\ndescription: Reads PDFs.\nlicense: MIT\nallowed-tools: Read Bash(git:*)\n\
                metadata:\n  author: a\n---\nBody.";
    ground.skill("home/skills/other", text);
    let found = ground.find(ProjectTrust::Untrusted);
    let skill = found.get("pdf").unwrap();
    assert_eq!((skill.license.as_deref(), skill.allowed_tools.len()), (Some("MIT"), 2));
    let problem = "skill pdf should lie in a directory of that name, and lies in home/skills/other";
    assert_eq!(ground.problems(&found), [problem]);
}

#[test]
fn it_is_loaded_with_its_files_and_nothing_outside_of_it() {
    let ground = Ground::new();
    let dir = ground.skill("home/skills/pdf", &text("pdf", "d"));
    std::fs::create_dir(dir.join("scripts")).unwrap();
    std::fs::write(dir.join("scripts/run.py"), "print()").unwrap();
    std::fs::write(dir.join(".hidden"), "").unwrap();
    std::fs::write(ground.0.path().join("secret"), "s").unwrap();
    let found = ground.find(ProjectTrust::Untrusted);
    let skill = found.get("pdf").unwrap();
    let expect =
        format!("Skill pdf in {}\n\nDo it.\n\nFiles of this skill:\n- scripts/run.py\n", dir.display());
    assert_eq!(skill.load().unwrap(), expect);
    assert_eq!(skill.load_file("./scripts/run.py").unwrap(), "print()");
    for outside in ["../../../secret", "/etc/passwd", "scripts/../../x", "..", ""] {
        let error = skill.load_file(outside).unwrap_err();
        assert!(error.contains("outside of the skill's directory") || outside.is_empty(), "{error}");
    }
    assert!(skill.load_file("gone.md").unwrap_err().starts_with("cannot read gone.md: "));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(ground.0.path().join("secret"), dir.join("link")).unwrap();
        assert!(skill.load_file("link").unwrap_err().contains("outside of the skill's directory"));
        assert!(!skill.load().unwrap().contains("link"));
    }
}
