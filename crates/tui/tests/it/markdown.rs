//! Tests of rendered Markdown.

use haft_tui::markdown::render;
use haft_tui::theme::{ColorDepth, Theme};
use insta::assert_snapshot;
use ratatui_core::text::Line;

use crate::shown::{drawn, styled};

const EVERYTHING: &str = r#"# Title of it all

A paragraph with *emphasis*, **strong words**, ~~struck~~ and `code`,
long enough to be wrapped at least once.\
A new line. [A link](https://example.org/a), <https://example.org>, ![a picture](x.png).

## Lists

- one
- two, which is so long that it does not fit on one line of forty columns
  1. first
  2. second
     - deep
- [x] done
- [ ] open

1. loose

   with a paragraph

2. items

> A quote with **strong** words, long enough to go on.
>
> - a list in it
>
> > and a quote

---

```rust
fn main() {
	println!("a\n"); // why
}
```

```no-such-language
plain
```

    indented

| Name | Number | Middle |
|:-----|-------:|:------:|
| one  |      1 | a      |
| `two`| 222222 | **b**  |

<div>
html &amp; all
</div>
"#;

#[track_caller]
fn check(source: &str, width: u16, expect: &str) {
    assert_eq!(drawn(&render(source, width, &Theme::dark()), width), expect, "{source:?}");
}

#[test]
fn renders_all_markdown() {
    assert_snapshot!(drawn(&render(EVERYTHING, 40, &Theme::dark()), 40));
}

#[test]
fn renders_all_markdown_wide() {
    assert_snapshot!(drawn(&render(EVERYTHING, 100, &Theme::dark()), 100));
}

#[test]
fn renders_all_markdown_narrow() {
    assert_snapshot!(drawn(&render(EVERYTHING, 12, &Theme::dark()), 12));
}

#[test]
fn renders_all_markdown_styles() {
    for (name, theme) in [
        ("dark", Theme::dark()),
        ("light", Theme::light()),
        ("16", Theme::dark().with_color_depth(ColorDepth::Sixteen)),
        ("none", Theme::dark().with_color_depth(ColorDepth::None)),
    ] {
        assert_snapshot!(
            format!("renders_all_markdown_styles_{name}"),
            styled(&render(EVERYTHING, 60, &theme))
        );
    }
}

#[test]
fn renders_small_texts() {
    check("", 10, "");
    check("\n\n", 10, "");
    check("a\nb", 10, "a b");
    check("- \n- b", 10, "•\n• b");
    check(">", 10, "│");
    check("a\n\n\n\nb", 10, "a\n\nb");
    check("```\n```", 10, "");
    check("7. a\n8. b", 10, "7. a\n8. b");
    check("- a\n\n- b", 10, "• a\n\n• b");
    check("- a\n\n  b\n- c", 10, "• a\n\n  b\n\n• c");
    check("- > q\n- ```\n  c\n  ```", 10, "• │ q\n•   c");
    check("<b>x</b>", 20, "<b>x</b>");
    check("---", 5, "─────");
    check("> ---", 5, "│ ───");
    check("[](http://x)", 20, " (http://x)");
    check("[http://x](http://x)", 20, "http://x");
    check("<a@b.org>", 20, "a@b.org");
    check("[http://good](http://bad)", 40, "http://good (http://bad)");
    check("[^1]: not switched on\n\n$x$ [^1]", 40, "[^1]: not switched on\n\n$x$ [^1]");
}

#[test]
fn tables_fit_width() {
    let table = "| a | a long head |\n|---|---|\n| a word | some more words in a cell |\n";
    check(
        table,
        40,
        "a      │ a long head\n───────┼──────────────────────────\na word │ some more words in a cell",
    );
    check(
        table,
        24,
        "a      │ a long head\n───────┼────────────────\na word │ some more words\n       │ in a cell",
    );
    check(table, 12, "a: a word\na long head:\nsome more\nwords in a\ncell");
    check("| a |\n|---|\n", 12, "a\n─");
    check("| a | b |\n|---|---|\n| 日本 | x |\n", 20, "a    │ b\n─────┼──\n日本 │ x");
}

#[test]
fn lines_fit_width() {
    for width in 1..50 {
        for line in render(EVERYTHING, width, &Theme::dark()) {
            assert!(line.width() <= usize::from(width), "{line} in {width}");
        }
    }
}

#[test]
fn renders_deep_nesting() {
    for source in [
        ">".repeat(5_000),
        "- ".repeat(5_000),
        "*a ".repeat(5_000),
        "[".repeat(5_000),
        "![".repeat(2_000) + &"](x)".repeat(2_000),
        format!("|{}\n|{}\n{}", "a|".repeat(2_000), "-|".repeat(2_000), "|b\n".repeat(200)),
    ] {
        let lines = render(&source, 40, &Theme::dark());
        assert!(lines.iter().map(Line::width).all(|width| width <= 40));
    }
}
