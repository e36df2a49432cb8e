//! Tests of templates, in temporary directories.

use super::*;
use crate::origin::Owner;
use haft_protocol::project::ProjectTrust;

fn found(files: &[(&str, &str)], trust: ProjectTrust) -> (tempfile::TempDir, TemplateSet) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let project = Project { dir: root.path().join("work"), trust };
    let templates = TemplateSet::find(&Home::at(root.path().join("home")), &project);
    (root, templates)
}

const FILES: [(&str, &str); 6] = [
    ("home/prompts/review.md", "---\ndescription: Reviews.\nargument-hint: FILE\n---\nReview $1."),
    ("home/prompts/plain.md", "\nSay it briefly.\nMore."),
    ("home/prompts/notes.txt", "no template"),
    ("home/prompts/broken.md", "---\na: b: c\n---\nx"),
    ("work/.haft/prompts/review.md", "Theirs."),
    ("work/.haft/prompts/ship.md", "Ship $@."),
];

#[test]
fn user_templates_take_precedence_over_project_templates() {
    let (_root, templates) = found(&FILES, ProjectTrust::Trusted);
    let names: Vec<_> = templates.templates.iter().map(|template| template.name.as_str()).collect();
    assert_eq!(names, ["plain", "review", "ship", "init"]);
    let review = templates.get("review").unwrap();
    assert_eq!((review.description.as_str(), review.argument_hint.as_deref()), ("Reviews.", Some("FILE")));
    assert_eq!(templates.get("plain").unwrap().description, "Say it briefly.");
    assert_eq!(templates.problems.len(), 2, "{:?}", templates.problems);
    assert!(templates.problems[0].contains("broken.md is not used: line 2: "), "{:?}", templates.problems);
    assert!(templates.problems[1].contains("has the same name and takes precedence"));
    assert_eq!(templates.expand(&[], "review", "a.rs"), TemplateExpansion::Prompt("Review a.rs.".into()));
    assert_eq!(templates.expand(&[], "nope", ""), TemplateExpansion::Unknown);
    let (_root, templates) = found(&FILES, ProjectTrust::Untrusted);
    assert_eq!((templates.templates.len(), templates.unused.len()), (3, 1));
}

#[test]
fn built_in_templates_are_used_unless_a_file_has_their_name() {
    let (root, mut templates) = found(&[("ext/init.md", "Theirs.")], ProjectTrust::Trusted);
    let names: Vec<_> = templates.templates.iter().map(|template| template.name.as_str()).collect();
    assert_eq!(names, ["init", "review"]);
    let TemplateExpansion::Prompt(text) = templates.expand(&[], "review", "main") else {
        panic!("no prompt")
    };
    assert!(text.contains("Subject: main\n"), "{text}");
    templates.add_path(&root.path().join("ext"), &|_| Ok(()));
    assert_eq!(templates.expand(&[], "init", ""), TemplateExpansion::Prompt("Theirs.".into()));
    assert_eq!(templates.problems, Vec::<String>::new());
}

#[test]
fn rejects_template_named_like_a_skill_command() {
    let files = [("work/.haft/prompts/skill:s.md", "Theirs.")];
    let (_root, templates) = found(&files, ProjectTrust::Trusted);
    assert_eq!(templates.templates.iter().filter(|template| template.path.is_some()).count(), 0);
    assert!(templates.problems[0].contains("contains a colon"), "{:?}", templates.problems);
    let theirs = Template {
        name: "skill:s".into(),
        description: String::new(),
        argument_hint: None,
        path: None,
        body: "Theirs.".into(),
    };
    let templates = TemplateSet { templates: vec![theirs], ..TemplateSet::default() };
    let unknown = TemplateExpansion::Failed("no skill named \"s\"; available skills: none".into());
    assert_eq!(templates.expand(&[], "skill:s", ""), unknown);
}

#[test]
fn expands_skill_command() {
    let (root, templates) = found(&[("s/SKILL.md", "---\nname: s\n---\nDo it.")], ProjectTrust::Untrusted);
    let skill = Skill {
        name: "s".into(),
        description: "d".into(),
        license: None,
        compatibility: None,
        allowed_tools: Vec::new(),
        dir: root.path().join("s"),
        owner: Owner::User,
    };
    let skills = [skill];
    let head = format!("Skill s in {}\n\nDo it.\n", root.path().join("s").display());
    assert_eq!(templates.expand(&skills, "skill:s", ""), TemplateExpansion::Prompt(head.clone()));
    assert_eq!(
        templates.expand(&skills, "skill:s", "now"),
        TemplateExpansion::Prompt(format!("{head}\nnow"))
    );
    let unknown = TemplateExpansion::Failed("no skill named \"t\"; available skills: s".into());
    assert_eq!(templates.expand(&skills, "skill:t", ""), unknown);
}

#[test]
fn adds_templates_of_a_path_after_the_users() {
    let more =
        [("ext/prompts/review.md", "Theirs."), ("ext/prompts/tidy.md", "Tidy."), ("ext/notes.txt", "no")];
    let (root, mut templates) = found(&[FILES[0], more[0], more[1], more[2]], ProjectTrust::Untrusted);
    let check = |path: &Path| path.exists().then_some(()).ok_or_else(|| "it is missing".to_owned());
    for path in ["ext/prompts", "ext/prompts/tidy.md", "ext/notes.txt", "ext/nowhere.md"] {
        templates.add_path(&root.path().join(path), &check);
    }
    let names: Vec<_> = templates.templates.iter().map(|template| template.name.as_str()).collect();
    assert_eq!(names, ["review", "init", "tidy"]);
    assert_eq!(templates.get("review").unwrap().description, "Reviews.");
    let ends = [
        "has the same name and takes precedence",
        "has the same name and takes precedence",
        "the file name does not end with .md",
        "it is missing",
    ];
    assert_eq!(templates.problems.len(), ends.len(), "{:?}", templates.problems);
    for (problem, end) in templates.problems.iter().zip(ends) {
        assert!(problem.ends_with(end), "{problem}");
    }
}
