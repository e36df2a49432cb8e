//! Tests of long blocks: rendering the end gives the same result as rendering the whole.

use proptest::prelude::*;

use super::*;

/// Returns the rows of a text, without styles.
fn rows(text: &mut StreamingMarkdown) -> Vec<String> {
    let line = |line: &Line<'_>| line.spans.iter().map(|span| span.content.as_ref()).collect::<String>();
    text.lines(40, &Theme::dark()).iter().map(line).collect()
}

#[test]
fn table_is_shown_from_its_first_row() {
    let table = "| Name | Uses |\n|:-----|-----:|\n| lexer | 12 |\n| parser | 7 |\n";
    let first = table.find('\n').unwrap() + 1;
    for text in [table.to_owned(), format!("Two parts:\n{table}")] {
        let before = text.len() - table.len();
        for end in before + first..=text.len() {
            let mut streamed = StreamingMarkdown::default();
            streamed.push(&text[..end]);
            let rows = rows(&mut streamed);
            assert!(!rows.iter().any(|row| row.contains('|') || row.contains("--")), "{rows:?}");
            assert!(rows.iter().any(|row| row.starts_with("Name") && row.contains(" │ Uses")), "{rows:?}");
        }
    }
}

#[test]
fn row_without_a_delimiter_becomes_text() {
    let mut text = StreamingMarkdown::default();
    text.push("| not a table |\n");
    assert!(!rows(&mut text).concat().contains('|'));
    text.push("more\n");
    assert!(rows(&mut text).concat().starts_with("| not a table |"));
    // A row of code stays as it is.
    let mut code = StreamingMarkdown::default();
    code.push("```\n| a | b |\n|--");
    assert!(rows(&mut code).concat().contains("| a | b |"));
}

/// Lists and code, with pieces that change the rendering of their end.
const PIECES: &[&str] = &[
    "- item\n",
    "- item of `code`",
    " and **more** words than a row has\n",
    "\n",
    "  of the same\n",
    "\n  a paragraph of it\n",
    "  - nested\n",
    "    1. deeper\n",
    " - moved a little\n",
    "- [x] done\n",
    "1. first\n",
    "7. seventh\n",
    "2) other\n",
    "-",
    "--",
    "- \n",
    "text\n",
    "> quote\n",
    "```rust\n",
    "  ```rust\n",
    "~~~\n",
    "```\n",
    "let a = 1;\n",
    "let c = 3;\nlet d = 4;\n\n",
    "\tlet b",
    " = 2;\n",
    "    indented\n",
    "[name]: http://b\n",
    "[name]\n",
    "[a](http://a)\n",
    "# Heading\n",
    "===\n",
    "---\n",
    "* ",
    "日本語\n",
    "| a | b |\n",
    "|---|--",
    "&#27;[2J\n",
];

/// Generates a text that is mostly of one kind.
fn pieces() -> impl Strategy<Value = Vec<&'static str>> {
    let any = prop::sample::select(PIECES);
    let list = prop::sample::select(&PIECES[..12]);
    let code = prop::sample::select(&PIECES[18..27]);
    let some = prop_oneof![
        prop::collection::vec(any.clone(), 0..8),
        prop::collection::vec(list, 0..12),
        prop::collection::vec(code, 0..12),
    ];
    prop::collection::vec(some, 0..5).prop_map(|parts| parts.concat())
}

/// Makes a text that treats blocks of this size as long.
fn cutting(long: usize) -> StreamingMarkdown {
    StreamingMarkdown { long: Some(long), ..StreamingMarkdown::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: (ProptestConfig::default().cases / 2).max(1), ..ProptestConfig::default() })]

    #[test]
    fn rendering_the_end_equals_rendering_the_whole(pieces in pieces(), width in 8_u16..40) {
        let [mut short, mut whole] = [cutting(0), cutting(usize::MAX)];
        let theme = Theme::dark();
        let shown = |text: &mut StreamingMarkdown| text.lines(width, &theme).to_vec();
        for piece in &pieces {
            short.push(piece);
            whole.push(piece);
            prop_assert_eq!(shown(&mut short), shown(&mut whole), "{:?}", pieces.concat());
            prop_assert_eq!(&short.ends, &whole.ends, "{:?}", pieces.concat());
        }
        short.finish();
        whole.finish();
        prop_assert_eq!(shown(&mut short), shown(&mut whole), "{:?}", pieces.concat());
    }
}
