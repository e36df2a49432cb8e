//! Names in a tree that mean the same to every disk and every reader.

use std::collections::HashSet;
use std::ffi::OsStr;

use haft_protocol::text::is_hidden;

/// Names that Windows takes for devices, whatever follows a dot.
const DEVICES: &[&str] = &["aux", "con", "conin$", "conout$", "nul", "prn"];

/// Checks a name beside those that are in the same directory, and remembers it there. The error says what is wrong.
pub(super) fn check(name: &OsStr, beside: &mut HashSet<String>) -> Result<(), String> {
    let Some(name) = name.to_str() else {
        return Err("has a name that is no Unicode text; rename it".into());
    };
    if name.chars().any(|c| c.is_control() || is_hidden(c)) {
        return Err("has characters in its name that are not shown; rename it".into());
    }
    // Other systems have files of such names, and no need to do without.
    if cfg!(windows) && is_special_on_windows(name) {
        return Err("has a name that Windows keeps for something else; rename it".into());
    }
    if !beside.insert(name.to_lowercase()) {
        let problem = "differs from a file beside it in upper and lower case only, which is one file on some disks; \
                       rename it";
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
    fn names_are_what_they_look_like() {
        check_names(&["a b", "Größe", "日本", "-x", "👨‍👩‍👧.svg"], Ok(()));
        check_names(&["a\nb"], Err("not shown"));
        check_names(&["a\u{1b}[31m"], Err("not shown"));
        check_names(&["exe\u{202e}txt.sh"], Err("not shown"));
        check_names(&["README", "ReadMe"], Err("upper and lower case"));
        check_names(&["größe", "GRÖSSE"], Ok(()));
        check_names(&["é", "É"], Err("upper and lower case"));
    }

    #[test]
    #[cfg(unix)]
    fn a_name_that_is_no_text_is_refused() {
        use std::os::unix::ffi::OsStrExt as _;
        let problem = check(OsStr::from_bytes(b"a\xff"), &mut HashSet::new()).unwrap_err();
        assert!(problem.contains("no Unicode"), "{problem}");
    }

    #[test]
    fn devices_of_windows_are_known() {
        for name in ["con", "NUL", "aux.js", "com1", "LPT9.txt", "com¹", "a:b", "a.", "a ", "x?"] {
            assert!(is_special_on_windows(name), "{name}");
        }
        for name in ["console", "com", "com10", "null", "auxiliary.js", ".gitignore", "a b.c"] {
            assert!(!is_special_on_windows(name), "{name}");
        }
    }
}
