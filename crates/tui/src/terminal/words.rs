//! A command line from a variable, as words.

/// The words of a command line, as a shell takes them apart that expands nothing: blanks part, quotes and backslashes keep
/// together. None when a quote does not end.
pub(super) fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => quoted(&mut chars, word.get_or_insert_default())?,
            '"' => double_quoted(&mut chars, word.get_or_insert_default())?,
            // In Windows it parts the names of a path.
            '\\' if !cfg!(windows) => word.get_or_insert_default().push(chars.next()?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

fn quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match chars.next()? {
            '\'' => return Some(()),
            c => word.push(c),
        }
    }
}

fn double_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match chars.next()? {
            '"' => return Some(()),
            '\\' if !cfg!(windows) => match chars.next()? {
                c @ ('"' | '\\' | '$' | '`') => word.push(c),
                c => word.extend(['\\', c]),
            },
            c => word.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: &[&str]) {
        assert_eq!(split(line).unwrap(), expect, "{line}");
    }

    #[test]
    fn words() {
        check("vi", &["vi"]);
        check("  code --wait\t-n ", &["code", "--wait", "-n"]);
        check("'/opt/my editor/run' -f", &["/opt/my editor/run", "-f"]);
        check(r#"emacsclient -a "" -c"#, &["emacsclient", "-a", "", "-c"]);
        check(r#"a"b c"'d e'f"#, &["ab cd ef"]);
        check("", &[]);
    }

    #[cfg(unix)]
    #[test]
    fn backslashes() {
        check(r"my\ editor", &["my editor"]);
        check(r#""a\"b\\c\n""#, &[r#"a"b\c\n"#]);
        check(r"'a\b'", &[r"a\b"]);
    }

    #[test]
    fn what_does_not_end_is_no_command() {
        assert_eq!(split("vi 'a"), None);
        assert_eq!(split("vi \"a"), None);
        #[cfg(unix)]
        assert_eq!(split("vi \\"), None);
    }
}
