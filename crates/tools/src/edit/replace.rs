//! Exact replacements in a text, without I/O.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextReplacement {
    /// The text to replace, which must occur once.
    pub(super) old: String,
    pub(super) new: String,
}

struct LocatedEdit<'a> {
    index: usize,
    start: usize,
    end: usize,
    new: &'a str,
}

/// The maximum number of line numbers that are listed for an ambiguous text.
const MAX_LISTED: usize = 8;

/// Applies all replacements to the original text, or returns the problem of each that does not apply.
///
/// A model does not see line endings, so its line breaks match both kinds. A new line break gets the kind of the one
/// that it replaces, otherwise the most frequent kind of the text.
pub(super) fn replace(text: &str, edits: &[TextReplacement]) -> Result<String, Vec<String>> {
    let unix = NormalizedText::new(text);
    let mut places = Vec::new();
    let mut problems = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        match locate(&unix, edit) {
            Ok((start, end)) => places.push(LocatedEdit { index, start, end, new: &edit.new }),
            Err(problem) => problems.push(format!("edits[{index}]: {problem}")),
        }
    }
    places.sort_by_key(|place| (place.start, place.end));
    problems.extend(places.windows(2).filter_map(overlap_problem));
    if problems.is_empty() { Ok(apply(text, &places)) } else { Err(problems) }
}

/// A text with `\n` for every `\r\n`, and the mapping to positions in the original text.
struct NormalizedText {
    text: String,
    /// The positions in `text` of line breaks that lost a carriage return, in order.
    shortened: Vec<usize>,
}

impl NormalizedText {
    fn new(text: &str) -> Self {
        let returns = text.match_indices("\r\n").enumerate();
        let shortened = returns.map(|(before, (position, _))| position - before).collect();
        Self { text: text.replace("\r\n", "\n"), shortened }
    }

    /// Returns a position in the original text: before or after both characters of a shortened line break.
    fn original_position(&self, position: usize) -> usize {
        position + self.shortened.partition_point(|&line_break| line_break < position)
    }

    /// Returns the start positions of `wanted`, including overlapping ones, because those are ambiguous, too. Stops
    /// after more positions than can be listed.
    fn find_positions(&self, wanted: &str) -> Vec<usize> {
        let step = wanted.chars().next().map_or(1, char::len_utf8);
        let mut found = Vec::new();
        let mut from = 0;
        while found.len() <= MAX_LISTED
            && let Some(next) = self.text.get(from..).and_then(|rest| rest.find(wanted))
        {
            found.push(from + next);
            from += next + step;
        }
        found
    }
}

fn locate(text: &NormalizedText, edit: &TextReplacement) -> Result<(usize, usize), String> {
    let [old, new] = [&edit.old, &edit.new].map(|text| text.replace("\r\n", "\n"));
    if old.is_empty() {
        return Err("old_text is empty; to insert text, replace an adjacent line".to_owned());
    }
    if old == new {
        return Err("old_text and new_text are the same".to_owned());
    }
    match text.find_positions(&old).as_slice() {
        [] => Err(not_found(&text.text, &old)),
        &[start] => Ok((text.original_position(start), text.original_position(start + old.len()))),
        several => Err(not_unique(&text.text, several)),
    }
}

fn not_found(text: &str, old: &str) -> String {
    let wanted: Vec<_> = old.trim().lines().map(str::trim).collect();
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let similar = lines.windows(wanted.len().max(1)).position(|window| window == wanted.as_slice());
    match similar {
        Some(index) if !wanted.is_empty() => {
            format!("old_text was not found, but line {} differs from it only in whitespace", index + 1)
        }
        _ => "old_text was not found; read the file again and copy the text exactly".to_owned(),
    }
}

fn not_unique(text: &str, found: &[usize]) -> String {
    let lines: Vec<_> =
        found.iter().take(MAX_LISTED).map(|&start| line_of(text, start).to_string()).collect();
    let (count, more) = match found.len() {
        count @ 0..=MAX_LISTED => (count.to_string(), ""),
        _ => (format!("more than {MAX_LISTED}"), ", …"),
    };
    format!(
        "old_text occurs {count} times (lines {}{more}); add adjacent lines to make it unique",
        lines.join(", ")
    )
}

fn line_of(text: &str, position: usize) -> usize {
    text.bytes().take(position).filter(|&byte| byte == b'\n').count() + 1
}

fn overlap_problem(pair: &[LocatedEdit<'_>]) -> Option<String> {
    match pair {
        [first, second] if second.start < first.end => Some(format!(
            "edits[{}] and edits[{}] overlap; merge them into one edit",
            first.index, second.index
        )),
        _ => None,
    }
}

fn apply(text: &str, places: &[LocatedEdit<'_>]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = 0;
    for place in places {
        let (before, there) = (text.get(rest..place.start), text.get(place.start..place.end));
        result.push_str(before.unwrap_or_default());
        result.push_str(&with_line_endings(there.unwrap_or_default(), text, place.new));
        rest = place.end;
    }
    result.push_str(text.get(rest..).unwrap_or_default());
    result
}

fn with_line_endings(there: &str, text: &str, new: &str) -> String {
    let unix = new.replace("\r\n", "\n");
    let model = if there.contains('\n') { there } else { text };
    let windows_lines = model.matches("\r\n").count();
    if windows_lines * 2 > model.matches('\n').count() { unix.replace('\n', "\r\n") } else { unix }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str, edits: &[(&str, &str)]) -> Result<String, Vec<String>> {
        let edits: Vec<_> = edits
            .iter()
            .map(|&(old, new)| TextReplacement { old: old.to_owned(), new: new.to_owned() })
            .collect();
        replace(text, &edits)
    }

    #[track_caller]
    fn check(text: &str, edits: &[(&str, &str)], expect: &str) {
        assert_eq!(run(text, edits).as_deref(), Ok(expect));
    }

    #[track_caller]
    fn check_problem(text: &str, edits: &[(&str, &str)], parts: &[&str]) {
        let problems = run(text, edits).unwrap_err().join("\n");
        for part in parts {
            assert!(problems.contains(part), "{part:?} is not in {problems:?}");
        }
    }

    #[test]
    fn applies_all_edits_to_the_original_text() {
        check("one two three", &[("three", "3"), ("one", "two")], "two two 3");
        check("ab", &[("a", ""), ("b", "c")], "c");
        check("aéb", &[("é", "è")], "aèb");
    }

    #[test]
    fn keeps_line_endings() {
        check("a\r\nb\r\nc\r\n", &[("a\nb", "x\ny\nz")], "x\r\ny\r\nz\r\nc\r\n");
        check("a\r\nb\r\n", &[("b", "b\nc")], "a\r\nb\r\nc\r\n");
        check("a\nb\n", &[("a\r\nb", "x\r\ny")], "x\ny\n");
        check("a\r\nb\nc\nd\n", &[("a\nb", "x\ny")], "x\r\ny\nc\nd\n");
        check("a\r\nb\nc\r\n", &[("a\nb\nc", "x\ny")], "x\ny\r\n");
        check("\u{feff}a\n", &[("a", "b")], "\u{feff}b\n");
    }

    #[test]
    fn matches_texts_at_line_breaks_of_both_kinds() {
        check("a\r\nb\r\nc\r\n", &[("\nb", "\nx")], "a\r\nx\r\nc\r\n");
        check("a\r\nb\r\nc\r\n", &[("b\n", "")], "a\r\nc\r\n");
        check("a\r\nb\r\n", &[("\r\nb", "")], "a\r\n");
        check("ä\r\nb\r\né\nd", &[("\né\n", "\n"), ("ä", "a")], "a\r\nb\nd");
    }

    #[test]
    fn explains_edits_that_do_not_apply() {
        check_problem("a\nb\na\n", &[("a", "x")], &["edits[0]", "2 times", "lines 1, 3"]);
        check_problem("a\nb\r\na\r\nb\n", &[("a\nb", "x")], &["2 times"]);
        check_problem("}\n}\n}\n", &[("}\n}\n", "}\n")], &["2 times", "lines 1, 2"]);
        check_problem(&"a\n".repeat(9), &[("a", "b")], &["more than 8 times", "7, 8, …"]);
        check_problem("ééé", &[("éé", "x")], &["2 times"]);
        check_problem("a\r\nb\r\n", &[("a\nb", "a\r\nb")], &["same"]);
        check_problem("abc", &[("ab", "x"), ("bc", "y")], &["edits[0] and edits[1] overlap"]);
        check_problem(
            "abc",
            &[("x", "y"), ("", "z"), ("a", "a")],
            &["edits[0]", "edits[1]: old_text is empty", "same"],
        );
        check_problem("x\n  if a {\n", &[("if a  {", "y")], &["not found; read the file again"]);
        check_problem(
            "x\n\tif a {\n\t\tb\n",
            &[("    if a {\n        b\n", "y")],
            &["line 2 differs", "whitespace"],
        );
    }
}
