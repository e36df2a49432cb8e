//! Tests of streaming Markdown.

use haft_tui::markdown::{StreamingMarkdown, render};
use haft_tui::theme::Theme;
use proptest::prelude::*;
use ratatui_core::text::Line;

const WIDTH: u16 = 40;

/// All Markdown constructs, with pieces that are ambiguous while incomplete.
const PIECES: &[&str] = &[
    "# Heading\n",
    "Heading\n===\n",
    "Heading\n---\n",
    "a paragraph of words\n",
    "of *several* **lines**\n",
    "\n",
    "\n\n",
    "- item\n",
    "- [x] done\n",
    "  - nested\n",
    "    deeper\n",
    "1. first\n",
    "2) other\n",
    "> quote\n",
    "> - list\n",
    ">\n",
    "```rust\n",
    "```\n",
    "~~~\n",
    "let a = 1;\n",
    "    indented\n",
    "| a | b |\n",
    "|---|:-:|\n",
    "| 1 | 2 |\n",
    "[link](http://a)\n",
    "[name]\n",
    "[name]: http://b\n",
    "[other]:\n",
    "/url\n",
    "'title'\n",
    "<div>\n",
    "</div>\n",
    "<!--\n",
    "-->\n",
    "---\n",
    "***\n",
    "text",
    " ",
    "*",
    "`",
    "\\\n",
    "  \n",
    "\t",
    "&#27;[2J",
    "日本語\n",
    "- \n",
    "-\n",
    "#\n",
    "1.\n",
];

fn source() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..30).prop_map(|pieces| pieces.concat())
}

fn at_once(source: &str) -> Vec<Line<'static>> {
    render(source, WIDTH, &Theme::dark())
}

proptest! {
    #[test]
    fn streaming_equals_rendering_at_once(source in source(), cuts in prop::collection::vec(0..200_usize, 0..12)) {
        let theme = Theme::dark();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| source.floor_char_boundary(cut)).collect();
        cuts.extend([0, source.len()]);
        cuts.sort_unstable();
        let mut text = StreamingMarkdown::default();
        for cut in cuts.windows(2) {
            text.push(&source[cut[0]..cut[1]]);
            text.lines(WIDTH, &theme);
        }
        text.finish();
        prop_assert_eq!(text.lines(WIDTH, &theme), &at_once(&source)[..], "{:?}", source);
    }

    #[test]
    fn resize_equals_rendering_at_new_width(source in source(), width in 1..60_u16) {
        let theme = Theme::dark();
        let mut text = StreamingMarkdown::default();
        text.push(&source);
        text.lines(WIDTH, &theme);
        text.finish();
        let expect = render(&source, width, &theme);
        prop_assert_eq!(text.lines(width, &theme), &expect[..]);
        let expect = render(&source, width, &Theme::light());
        prop_assert_eq!(text.lines(width, &Theme::light()), &expect[..]);
    }
}

/// Makes a long answer: every fourth block is code, and there are lists and tables.
fn long() -> String {
    let block = |at: usize| match at % 4 {
        0 => format!("## Part {at}\n\n"),
        1 => format!("Some words about part {at}, with `code` and *more*.\n\n"),
        2 => "```rust\nfn main() {\n    let a = 1;\n}\n```\n\n".to_owned(),
        _ => "- one\n- two\n  - three\n\n".to_owned(),
    };
    (0..400).map(block).collect()
}

#[test]
fn cost_of_piece_is_independent_of_length() {
    let source = long();
    let theme = Theme::dark();
    let mut text = StreamingMarkdown::default();
    let mut most = 0;
    for piece in source.as_bytes().chunks(7) {
        let before = text.rendered_blocks();
        text.push(std::str::from_utf8(piece).unwrap());
        text.lines(WIDTH, &theme);
        most = most.max(text.rendered_blocks() - before);
    }
    text.finish();
    text.lines(WIDTH, &theme);
    // The piece finishes one block and opens one.
    assert_eq!(most, 2);
    assert_eq!(text.lines(WIDTH, &theme), at_once(&source));
}

#[test]
fn repeated_call_renders_nothing() {
    let theme = Theme::dark();
    let mut text = StreamingMarkdown::default();
    text.push(&long());
    text.lines(WIDTH, &theme);
    let rendered = text.rendered_blocks();
    for _ in 0..10 {
        text.lines(WIDTH, &theme);
        text.lines(WIDTH, &theme.clone());
    }
    assert_eq!(text.rendered_blocks(), rendered);
    // Pieces cost nothing before the next rendering.
    for piece in ["a", "b", "c"] {
        text.push(piece);
    }
    text.lines(WIDTH, &theme);
    assert_eq!(text.rendered_blocks(), rendered + 1);
}

#[test]
fn separate_blocks_render_as_together() {
    // Rendering a block alone or with its neighbors makes no difference.
    for source in [
        "para\n- a\n- b\n\n- c\n\npara\n\n    code\n\n    more\n> q\n>\n\nx\n***\ny\n",
        "1. a\n2. b\n3) c\n- d\n* e\n",
        "# a #   \n\n    code\n# b\ntext\n",
        "a\n| h |\n|---|\n| c |\n\n<div>\nx\n</div>\n\n```\nopen\n\n",
        "> a\nlazy\n\n> b\n>\n>\n\n<!-- c\n\nd -->\n\n    code\n",
    ] {
        let lines: Vec<String> = at_once(source).iter().map(Line::to_string).collect();
        assert_eq!(lines, whole(source), "{source:?}");
    }
}

/// Renders as one block: the content of a quote is not split.
fn whole(source: &str) -> Vec<String> {
    let quoted: String = source.lines().map(|line| format!("> {line}\n")).collect();
    let lines = render(&quoted, WIDTH + 2, &Theme::dark());
    lines.iter().map(|line| line.to_string().strip_prefix("│ ").unwrap().to_owned()).collect()
}

#[test]
fn link_definitions_apply_to_later_blocks() {
    let shown = |source: &str| at_once(source).iter().map(Line::to_string).collect::<Vec<_>>().join("\n");
    assert_eq!(shown("[a]: http://x\n\nsee [A]\n\nand [a][]\n"), "see A (http://x)\n\nand a (http://x)");
    assert_eq!(shown("see [a]\n\n[a]: http://x\n\nnow [a]\n"), "see [a]\n\nnow a (http://x)");
}

#[test]
fn long_block_costs_only_its_end() {
    let theme = Theme::dark();
    for (begin, piece) in [
        ("- one\n", "- an item with `code`\n"),
        ("1. one\n", "\n1. an item\n\n   of two paragraphs\n"),
        ("```rust\n", "    let a = 1;\n"),
    ] {
        let mut text = StreamingMarkdown::default();
        text.push(&format!("{begin}{}", piece.repeat(750)));
        text.lines(WIDTH, &theme);
        let (mut most, mut read) = (0, text.bytes_read());
        for _ in 0..50 {
            text.push(piece);
            text.lines(WIDTH, &theme);
            most = most.max(text.bytes_read() - read);
            read = text.bytes_read();
        }
        assert!(most < 10 << 10, "{piece:?}: {most} of {}", text.text().as_str().len());
        let now = text.text().as_str().to_owned();
        text.finish();
        assert_eq!(text.lines(WIDTH, &theme), at_once(&now), "{piece:?}");
    }
}
