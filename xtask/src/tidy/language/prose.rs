//! Splits Markdown into sentences.

/// Returns the sentences of a page, each with the line number of its paragraph. Headings, tables, code and comments
/// are left out.
pub(super) fn sentences(page: &str) -> Vec<(usize, String)> {
    let mut sentences = Vec::new();
    let (mut paragraph, mut begins, mut is_skipped) = (String::new(), 0, false);
    for (at, line) in page.lines().chain([""]).enumerate() {
        let text = line.trim();
        let is_fence = text.starts_with("```");
        let ends =
            is_fence || is_skipped || text.is_empty() || text.starts_with(['#', '|']) || begins_item(text);
        if ends && !paragraph.is_empty() {
            sentences.extend(split(&std::mem::take(&mut paragraph)).map(|sentence| (begins, sentence)));
        }
        is_skipped ^= is_fence || (!is_skipped && text.starts_with("<!--") && !text.contains("-->"));
        is_skipped &= !text.ends_with("-->");
        if is_skipped || is_fence || text.is_empty() || text.starts_with(['#', '|', '<']) {
            continue;
        }
        if paragraph.is_empty() {
            begins = at + 1;
        }
        paragraph = format!("{paragraph} {}", item_text(text));
    }
    sentences
}

/// True for a line that begins an item of a list.
fn begins_item(line: &str) -> bool {
    item_text(line) != line
}

/// Returns a line without the mark of a list or a quotation.
fn item_text(line: &str) -> &str {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = if number.len() < line.len() { number.strip_prefix(". ") } else { None };
    let bullet = ["- ", "* ", "> "].into_iter().find_map(|mark| line.strip_prefix(mark));
    rest.or(bullet).unwrap_or(line)
}

/// Returns the sentences of a paragraph.
pub(super) fn split(paragraph: &str) -> impl Iterator<Item = String> {
    let mut sentences = vec![String::new()];
    for word in paragraph.split_whitespace() {
        let Some(sentence) = sentences.last_mut() else { break };
        if !sentence.is_empty() {
            sentence.push(' ');
        }
        sentence.push_str(word);
        if word.trim_end_matches([')', '*', '"']).ends_with(['.', '!', '?', ':']) {
            sentences.push(String::new());
        }
    }
    sentences.retain(|sentence| !sentence.is_empty());
    sentences.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_paragraphs_and_items_into_sentences() {
        let page = "# Head\n\nOne `a.b` two.\nThree\nfour. Five\n- Six.\n* Seven\n  eight\n\n| a | b |\n\n```sh\ncode\n```\n1. Nine\n";
        let found = sentences(page);
        let expect = [
            (3, "One `a.b` two."),
            (3, "Three four."),
            (3, "Five"),
            (6, "Six."),
            (7, "Seven eight"),
            (15, "Nine"),
        ];
        assert_eq!(found, expect.map(|(line, text)| (line, text.to_owned())));
    }
}
