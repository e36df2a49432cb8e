//! Which commit a clone is of, without asking git.

use std::fs;
use std::path::Path;

/// The commit that is checked out; none when git keeps it in a way that is not known here.
pub(super) fn of(checkout: &Path) -> Option<String> {
    let git = checkout.join(".git");
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let commit = match head.trim().strip_prefix("ref: ") {
        None => head.trim().to_owned(),
        Some(name) => match fs::read_to_string(git.join(name)) {
            Ok(commit) => commit.trim().to_owned(),
            Err(_) => packed(&fs::read_to_string(git.join("packed-refs")).ok()?, name)?,
        },
    };
    let is_commit = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then_some(commit)
}

fn packed(refs: &str, name: &str) -> Option<String> {
    let line = refs.lines().find(|line| line.split_once(' ').is_some_and(|(_, known)| known == name))?;
    line.split_once(' ').map(|(commit, _)| commit.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789012345678901234567890123456789";

    #[track_caller]
    fn check(files: &[(&str, &str)], expect: Option<&str>) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(".git").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(of(dir.path()).as_deref(), expect);
    }

    #[test]
    fn the_commit_is_found_wherever_git_keeps_it() {
        let (head, line) = (("HEAD", "ref: refs/heads/main\n"), format!("{COMMIT}\n"));
        check(&[head, ("refs/heads/main", &line)], Some(COMMIT));
        check(&[("HEAD", &line)], Some(COMMIT));
        let packed = format!("# pack-refs\n{COMMIT} refs/heads/main\n^{COMMIT}\n");
        check(&[head, ("packed-refs", &packed)], Some(COMMIT));
        check(&[head, ("packed-refs", &format!("{COMMIT} refs/heads/other\n"))], None);
        check(&[head, ("refs/heads/main", "nonsense")], None);
        check(&[], None);
    }
}
