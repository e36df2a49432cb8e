//! Finds public structs of the libraries that cannot grow: a new field would break each program that builds one.

use crate::repo::RepoFile;

/// The libraries with these structs. The structs of `haft-protocol` are lines of the protocols; tests write each field.
const LIBRARIES: &[&str] =
    &["crates/core/src/", "crates/host/src/", "crates/providers/src/", "crates/sdk/src/"];

/// The start of the comment that gives the reason for a struct that will not grow.
const REASON: &str = "// Closed: ";

pub(super) fn check(files: &[RepoFile]) -> Vec<String> {
    let is_library = |file: &&RepoFile| LIBRARIES.iter().any(|library| file.path.starts_with(library));
    files.iter().filter(is_library).flat_map(find_open_structs).collect()
}

fn find_open_structs(file: &RepoFile) -> Vec<String> {
    let lines: Vec<&str> = file.text.lines().take_while(|line| line.trim() != "#[cfg(test)]").collect();
    let starts =
        lines.iter().enumerate().filter(|(_, line)| line.starts_with("pub struct ") && line.ends_with('{'));
    let open = starts.filter(|(at, _)| is_open(&lines, *at));
    open.map(|(at, line)| {
        format!(
            "{}:{}: `{}` has only public fields; make it `#[non_exhaustive]`, or give the reason in `{REASON}…`",
            file.path,
            at + 1,
            line.trim_end_matches(" {")
        )
    })
    .collect()
}

/// True if other crates can build the struct that starts in this line with a literal.
fn is_open(lines: &[&str], start: usize) -> bool {
    let (before, after) = lines.split_at(start);
    let mut fields = after.iter().skip(1).take_while(|line| **line != "}").copied().filter(is_field);
    let attributes = before.iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    let is_closed = |line: &&str| line.starts_with("#[non_exhaustive]") || line.starts_with(REASON);
    fields.clone().count() > 0
        && fields.all(|line| line.starts_with("    pub "))
        && !attributes.copied().any(|line| is_closed(&line))
}

/// True for the line of a field: no comment, no attribute, and no part of a long type.
fn is_field(line: &&str) -> bool {
    let name = line.strip_prefix("    ").unwrap_or_default();
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.contains(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_struct(text: &str, is_found: bool) {
        let file = RepoFile { path: "crates/core/src/a.rs".to_owned(), text: text.to_owned() };
        assert_eq!(check(&[file]).len(), usize::from(is_found), "{text}");
    }

    #[test]
    fn public_fields_need_a_mark() {
        let open = "/// A.\n#[derive(Debug)]\npub struct A {\n    /// B.\n    pub b: u8,\n}\n";
        check_struct(open, true);
        check_struct(&open.replace("pub struct", "#[non_exhaustive]\npub struct"), false);
        check_struct(&open.replace("pub struct", "// Closed: one value.\npub struct"), false);
        check_struct(&open.replace("}", "    c: u8,\n}"), false);
        check_struct(&open.replace("pub struct", "pub(crate) struct"), false);
        check_struct(&format!("#[cfg(test)]\n{open}"), false);
        check_struct("pub struct A {}\n", false);
    }
}
