//! Removal of the sender's paths from texts.

use std::borrow::Cow;

/// The minimum length of a base64 string that is treated as data instead of text.
const DATA: usize = 256;

/// Paths and their replacements, longest first.
pub(super) struct PathStripper(Vec<(String, &'static str)>);

impl PathStripper {
    /// Replaces `cwd` by `.` and `home` by `~`. A root directory is part of every path and is kept.
    pub(super) fn new(cwd: &str, home: Option<&str>) -> Self {
        let places = [(Some(cwd), "."), (home, "~")].into_iter();
        let named = places.filter_map(|(path, sign)| {
            let path = path?.trim_end_matches(['/', '\\']);
            let is_path = path.contains(['/', '\\']) && path.len() > 1;
            is_path.then(|| (path.to_owned(), sign))
        });
        let mut paths: Vec<_> = named.collect();
        // The sort is stable, so the session's directory wins if both are the same.
        paths.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        Self(paths)
    }

    /// Returns a line of JSON with the paths in its strings replaced. Everything else is unchanged, byte for byte.
    pub(super) fn strip_json(&self, line: &str) -> String {
        let mut out = String::with_capacity(line.len());
        let mut rest = line;
        while let Some((before, from)) = rest.split_once('"') {
            let end = string_end(from);
            let (string, behind) = from.split_at(end);
            out.push_str(before);
            self.push_string(&mut out, string);
            rest = behind.strip_prefix('"').unwrap_or(behind);
        }
        out.push_str(rest);
        out
    }

    /// Writes a string literal, given the text between its quotes.
    fn push_string(&self, out: &mut String, string: &str) {
        let literal = format!("\"{string}\"");
        let decoded = match string.contains(['/', '\\']) && !is_data(string) {
            true => serde_json::from_str::<String>(&literal).ok(),
            false => None,
        };
        let stripped = decoded.as_deref().map(|text| self.strip_text(text));
        match stripped {
            Some(Cow::Owned(text)) => {
                out.push_str(&serde_json::Value::String(text).to_string());
            }
            Some(Cow::Borrowed(_)) | None => out.push_str(&literal),
        }
    }

    /// Replaces the paths in a text where they are complete directories at the beginning of a path.
    fn strip_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for (path, sign) in &self.0 {
            if text.contains(path.as_str()) {
                text = Cow::Owned(replace_path(&text, path, sign));
            }
        }
        text
    }
}

fn replace_path(text: &str, path: &str, sign: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (at, _) in text.match_indices(path) {
        let (before, from) = text.split_at(at);
        let behind = from.get(path.len()..).unwrap_or_default();
        if at < done || is_inside_path(before) || continues_name(behind) {
            continue;
        }
        out.push_str(text.get(done..at).unwrap_or_default());
        out.push_str(sign);
        done = at + path.len();
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// True if a path at this position is the end of a longer path: `/mnt` before `/u/ann`. Slashes alone, as in `file://`,
/// and flags, as in `-I/u/ann`, do not count.
fn is_inside_path(before: &str) -> bool {
    let is_part = |c: char| is_name(c) || matches!(c, '/' | '\\');
    let begin = before.trim_end_matches(is_part).len();
    let part = before.get(begin..).unwrap_or_default();
    part.contains(['/', '\\']) && part.contains(is_name)
}

/// True if the directory name continues after the path: `/u/anna`.
fn continues_name(behind: &str) -> bool {
    // A period may end a sentence.
    let dots = behind.trim_start_matches('.');
    dots.chars().next().is_some_and(|c| is_name(c) && c != '.')
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

fn string_end(from: &str) -> usize {
    let mut escaped = false;
    let end = from.bytes().position(|byte| match byte {
        _ if escaped => {
            escaped = false;
            false
        }
        b'\\' => {
            escaped = true;
            false
        }
        byte => byte == b'"',
    });
    end.unwrap_or(from.len())
}

fn is_data(string: &str) -> bool {
    let base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    string.len() >= DATA && string.bytes().all(base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: &str) {
        let paths = PathStripper::new("/u/ann/code", Some("/u/ann/"));
        assert_eq!(paths.strip_json(line), expect);
    }

    #[test]
    fn replaces_complete_directories_at_the_beginning_of_a_path() {
        check(
            r#"["/u/ann/code/a.rs","/u/ann/.ssh","/u/ann/code","/u/ann"]"#,
            r#"["./a.rs","~/.ssh",".","~"]"#,
        );
        check(r#"["/u/anna","/u/ann/codebase","/u/ann-2"]"#, r#"["/u/anna","~/codebase","/u/ann-2"]"#);
        check(r#"["/mnt/u/ann/x","-x/u/ann"]"#, r#"["/mnt/u/ann/x","-x~"]"#);
        check(r#"["-I/u/ann/include file:///u/ann/x"]"#, r#"["-I~/include file://~/x"]"#);
        check(r#"["in /u/ann/code. Then /u/ann/code: ok"]"#, r#"["in .. Then .: ok"]"#);
    }

    #[test]
    fn handles_escaped_and_unterminated_strings() {
        check(
            r#"{"a\\":"\"/u/ann\"\n","n":9007199254740993.10,"u":"\u002fu/ann\/x"}"#,
            r#"{"a\\":"\"~\"\n","n":9007199254740993.10,"u":"~/x"}"#,
        );
        check(r#"{"cut":"/u/ann"#, r#"{"cut":"~""#);
    }

    #[test]
    fn keeps_base64_data() {
        let data = format!("\"{}+/u/ann\"", "A".repeat(DATA));
        check(&data, &data);
    }

    #[test]
    fn handles_windows_paths_roots_and_equal_directories() {
        let windows = PathStripper::new(r"C:\work", Some(r"C:\Users\ann"));
        assert_eq!(windows.strip_json(r#""C:\\Users\\ann\\x C:\\work\\y""#), r#""~\\x .\\y""#);
        let root = PathStripper::new("/", Some("/"));
        assert_eq!(root.strip_json(r#""/etc""#), r#""/etc""#);
        let same = PathStripper::new("/u/ann", Some("/u/ann"));
        assert_eq!(same.strip_json(r#""/u/ann/x""#), r#""./x""#);
    }
}
