//! Links of the pages: each leads to a file and, behind `#`, to a heading; the book lists each of its pages once.

use std::collections::BTreeSet;

use crate::repo::{self, RepoFile};

/// The table of contents of the book.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Checks the links of every page against the files of the repository.
pub(super) fn check(files: &[RepoFile]) -> Vec<String> {
    check_with(files, &|path| repo::root().join(path).exists())
}

fn check_with(files: &[RepoFile], exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let pages: Vec<&RepoFile> = files.iter().filter(|file| is_page(&file.path)).collect();
    let mut findings = Vec::new();
    for page in &pages {
        for (line, target) in links(&page.text) {
            let problem = find_problem(page, &target, &pages, exists);
            findings.extend(problem.map(|problem| format!("{}:{line}: {target}: {problem}", page.path)));
        }
    }
    findings.extend(check_contents(&pages));
    findings
}

fn is_page(path: &str) -> bool {
    path.ends_with(".md") && !path.contains("/fixtures/") && !path.contains("/corpus/")
}

fn find_problem(
    page: &RepoFile,
    target: &str,
    pages: &[&RepoFile],
    exists: &dyn Fn(&str) -> bool,
) -> Option<&'static str> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { page.path.clone() } else { resolve(&page.path, path) };
    if page.path.starts_with("docs/") && !path.starts_with("docs/") {
        return Some("leaves the book; name the file as code instead");
    }
    let Some(to) = pages.iter().find(|page| page.path == path) else {
        return (!exists(&path)).then_some("no such file");
    };
    let is_known = anchor.is_empty() || anchors(&to.text).contains(anchor);
    (!is_known).then_some("no such heading")
}

/// The path of a link, from the root of the repository.
fn resolve(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// Compares the pages of the book with its table of contents.
fn check_contents(pages: &[&RepoFile]) -> Vec<String> {
    let Some(summary) = pages.iter().find(|page| page.path == SUMMARY) else { return Vec::new() };
    let listed: Vec<String> =
        links(&summary.text).into_iter().map(|(_, link)| resolve(SUMMARY, &link)).collect();
    let in_book = pages.iter().filter(|page| page.path.starts_with("docs/") && page.path != SUMMARY);
    in_book
        .filter_map(|page| match listed.iter().filter(|path| **path == page.path).count() {
            1 => None,
            count => Some(format!("{SUMMARY}: lists {} {count} times instead of once", page.path)),
        })
        .collect()
}

/// The lines outside of fenced code and comments, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence = None;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => return Some((at + 1, line)),
            _ => {}
        }
        None
    })
}

/// The targets of the inline links, with the numbers of their lines.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (at, line) in prose(text) {
        // Code holds no links; a link whose text is code ends outside of it.
        let outside: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let targets = outside.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        links
            .extend(targets.map(|(target, _)| (at, target.split(' ').next().unwrap_or_default().to_owned())));
    }
    links
}

/// The anchors of the headings, as GitHub and mdBook make them, and those that are written out.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        if let Some(id) = line.split_once("<a id=\"").and_then(|(_, rest)| rest.split_once('"')) {
            anchors.insert(id.0.to_owned());
        }
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let slug = slug(heading.trim());
        let numbered = (1..).map(|count| format!("{slug}-{count}"));
        let mut candidates = std::iter::once(slug.clone()).chain(numbered);
        anchors.extend(candidates.find(|candidate| !anchors.contains(candidate)));
    }
    anchors
}

fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: &str) -> RepoFile {
        RepoFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[track_caller]
    fn check_link(link: &str, expect: &[&str]) {
        let files = [
            page("docs/a.md", &format!("# A\n\n[`x`]({link})\n")),
            page("docs/b.md", "# One `two`\n## Same\n## Same\n```\n# No\n[x](no.md)\n```\n`[x](no.md)`\n"),
        ];
        assert_eq!(check_with(&files, &|path| path == "docs/pictures/a.png"), expect);
    }

    #[test]
    fn finds_files_and_headings_that_do_not_exist() {
        for link in ["b.md", "./b.md#one-two", "b.md#same-1", "#a", "pictures/a.png", "https://haft.invalid"]
        {
            check_link(link, &[]);
        }
        check_link("c.md", &["docs/a.md:3: c.md: no such file"]);
        check_link("b.md#no", &["docs/a.md:3: b.md#no: no such heading"]);
        check_link("../b.md", &["docs/a.md:3: ../b.md: leaves the book; name the file as code instead"]);
    }

    #[test]
    fn the_table_of_contents_lists_each_page_once() {
        let files = [
            page(SUMMARY, "# Summary\n\n- [A](a.md)\n- [B](b.md)\n- [B](b.md)\n"),
            page("docs/a.md", "# A"),
            page("docs/b.md", "# B"),
            page("docs/c.md", "# C"),
        ];
        let findings = check_with(&files, &|_| false);
        let expect = [
            "docs/SUMMARY.md: lists docs/b.md 2 times instead of once",
            "docs/SUMMARY.md: lists docs/c.md 0 times instead of once",
        ];
        assert_eq!(findings, expect);
    }
}
