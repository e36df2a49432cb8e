//! Names of files and directories.

use std::path::Path;

use crate::hash::fnv1a_hash;

/// The maximum length of an extension's name within a file name.
const LONGEST: usize = 64;

/// Returns the last part of a path, for display.
pub fn dir_name(dir: &Path) -> String {
    dir.file_name().unwrap_or(dir.as_os_str()).to_string_lossy().into_owned()
}

/// Returns a name that is safe as one component of a path. A changed name gets a hash, so that two names never share
/// a file.
pub fn safe_file_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let hidden = if name.starts_with('.') { "_" } else { "" };
    let slug: String = hidden.chars().chain(name.chars().map(safe)).take(LONGEST).collect();
    if slug == name && !slug.is_empty() && !ends_in_hash(name) {
        return slug;
    }
    // The hash is the same in every process, because `haft ext logs` must find the file again.
    format!("{slug}-{:016x}", fnv1a_hash(name.as_bytes()))
}

/// True if a name ends like one with a hash: it must not share a file with a changed name.
fn ends_in_hash(name: &str) -> bool {
    let hash = name.rsplit_once('-').map(|(_, hash)| hash);
    hash.is_some_and(|hash| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expect: &str) {
        let file = safe_file_name(name);
        assert!(file.starts_with(expect), "{file}");
        assert!(!file.contains(['/', '\\']), "{file}");
        assert_eq!(file == name, expect == name, "{file}");
    }

    #[test]
    fn makes_names_safe_as_path_components() {
        check("weather", "weather");
        check("hello.py", "hello.py");
        check("a/b", "a_b-");
        check("../../evil", "_.._.._evil-");
        check("", "-");
        check("..", "_..-");
        let long = safe_file_name(&"x".repeat(10_000));
        assert!(long.len() < 100);
        assert_ne!(safe_file_name("a/b"), safe_file_name("a\\b"));
        let changed = safe_file_name("a/b");
        assert_ne!(safe_file_name(&changed), changed);
    }
}
