//! Portable file names: names that mean the same on every disk and to every reader.

use std::collections::HashSet;
use std::ffi::OsStr;

use haft_protocol::text::is_hidden;

/// Names of devices on Windows, with any extension after a dot.
const DEVICES: &[&str] = &["aux", "con", "conin$", "conout$", "nul", "prn"];

/// Checks a name against the names in the same directory, and adds it to them. The error names the problem.
pub(super) fn check(name: &OsStr, beside: &mut HashSet<String>) -> Result<(), String> {
    let Some(name) = name.to_str() else {
        return Err("has a name that is not valid Unicode; rename it".into());
    };
    if name.chars().any(|c| c.is_control() || is_hidden(c)) {
        return Err("has invisible characters in its name; rename it".into());
    }
    // Other systems allow such names, so only Windows rejects them.
    if cfg!(windows) && is_special_on_windows(name) {
        return Err("has a name that Windows reserves; rename it".into());
    }
    if !beside.insert(name.to_lowercase()) {
        let problem = "has a name that differs from another file's only in case, and some disks take both \
        for one file; rename it";
        return Err(problem.into());
    }
    Ok(())
}

fn is_special_on_windows(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let numbered = ["com", "lpt"].iter().find_map(|device| stem.strip_prefix(device));
    let is_port = numbered.is_some_and(|number| {
        let mut number = number.chars();
        matches!((number.next(), number.next()), (Some('1'..='9' | '¹' | '²' | '³'), None))
    });
    let odd = |c: char| matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*' | '\\');
    DEVICES.contains(&stem.as_str()) || is_port || name.contains(odd) || name.ends_with(['.', ' '])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_names(names: &[&str], expect: Result<(), &str>) {
        let mut beside = HashSet::new();
        let got = names.iter().try_for_each(|name| check(OsStr::new(name), &mut beside));
        match (&got, expect) {
            (Ok(()), Ok(())) => {}
            (Err(problem), Err(part)) => assert!(problem.contains(part), "{names:?}: {problem}"),
            (got, expect) => panic!("{names:?}: {got:?} instead of {expect:?}"),
        }
    }

    #[test]
    fn rejects_invisible_and_ambiguous_names() {
        check_names(&["a b", "Größe", "日本", "-x", "👨‍👩‍👧.svg"], Ok(()));
        check_names(&["a\nb"], Err("invisible"));
        check_names(&["a\u{1b}[31m"], Err("invisible"));
        check_names(&["exe\u{202e}txt.sh"], Err("invisible"));
        check_names(&["README", "ReadMe"], Err("only in case"));
        check_names(&["größe", "GRÖSSE"], Ok(()));
        check_names(&["é", "É"], Err("only in case"));
    }

    #[test]
    #[cfg(unix)]
    fn rejects_name_that_is_not_unicode() {
        use std::os::unix::ffi::OsStrExt as _;
        let problem = check(OsStr::from_bytes(b"a\xff"), &mut HashSet::new()).unwrap_err();
        assert!(problem.contains("not valid Unicode"), "{problem}");
    }

    #[test]
    fn detects_reserved_windows_names() {
        for name in ["con", "NUL", "aux.js", "com1", "LPT9.txt", "com¹", "a:b", "a.", "a ", "x?"] {
            assert!(is_special_on_windows(name), "{name}");
        }
        for name in ["console", "com", "com10", "null", "auxiliary.js", ".gitignore", "a b.c"] {
            assert!(!is_special_on_windows(name), "{name}");
        }
    }
}
