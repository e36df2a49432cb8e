//! Tests of diffs.

use haft_protocol::RawJson;
use haft_tui::diff::Diff;
use haft_tui::theme::{ColorDepth, Theme};
use insta::assert_snapshot;

use crate::shown::{drawn, styled};

const UNIFIED: &str = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -8,5 +8,6 @@ fn main() {\n \tlet a = 1;\n--- not a file\n+    let b = 2;\n+    let c = a_rather_long_name(with_arguments, and_more);\n }\n \n@@ -100 +101 @@\n-old\n+new\n\\ No newline at end of file\n";

fn details(unified: &str, cut: bool) -> RawJson {
    let diff =
        serde_json::json!({"path": "src/lib.rs", "unified": unified, "added": 3, "removed": 2, "cut": cut});
    RawJson::from_value(&serde_json::json!({ "diff": diff })).unwrap()
}

#[test]
fn reads_output_of_git() {
    let text = "\
diff --git a/src/a.rs b/src/a.rs
index 1..2 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,2 +1,2 @@ fn a()
 same
-diff --git a/x b/x
+two
diff --git a/c d b/c d
new file mode 100644
--- /dev/null
+++ b/c d\t
@@ -0,0 +1 @@
+made
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
--- a/gone
diff --git a/old b/new
similarity index 100%
rename from old
rename to new
diff --git a/i.png b/i.png
Binary files a/i.png and b/i.png differ
";
    let shown = |diff: &Diff| {
        let theme = Theme::dark();
        let rows = diff.lines(40, &theme).into_iter().map(|row| format!("  {}", row.to_string().trim_end()));
        std::iter::once(diff.title(&theme).to_string()).chain(rows).collect::<Vec<_>>().join("\n")
    };
    let diffs = Diff::parse_git_output(text, true);
    insta::assert_snapshot!(diffs.iter().map(shown).collect::<Vec<_>>().join("\n"), @"
    src/a.rs +1 −1
      ⋯ fn a()
      1   same
      2 - diff --git a/x b/x
      2 + two
    c d +1 −0
          new file
      1 + made
    gone +0 −1
          deleted
      1 - -- a/gone
    new +0 −0
        renamed from old
    i.png +0 −0
        binary file
      … more lines not shown
    ");
    assert_eq!(Diff::parse_git_output("", false), []);
}

#[test]
fn shows_result_details() {
    let diff = Diff::from_details(&details(UNIFIED, true)).unwrap();
    let theme = Theme::dark();
    let mut lines = vec![diff.title(&theme)];
    lines.extend(diff.lines(40, &theme));
    assert_snapshot!(drawn(&lines, 40));
    assert_snapshot!("shows_result_details_styled", styled(&lines));
}

#[test]
fn shows_signs_without_colors() {
    let diff = Diff::from_details(&details(UNIFIED, false)).unwrap();
    let theme = Theme::light().with_color_depth(ColorDepth::None);
    assert_snapshot!(styled(&diff.lines(60, &theme)));
}

#[test]
fn parses_any_unified_diff() {
    let git = format!(
        "diff --git a/x b/x\nindex 1..2 100644\n{UNIFIED}\x1b[31m-colored\x1b[0m\n+plus\nBinary files a and b differ\n"
    );
    let diff = Diff::from_details(&details(&git, false)).unwrap();
    let theme = Theme::dark().with_color_depth(ColorDepth::Sixteen);
    assert_snapshot!(styled(&diff.lines(60, &theme)));
}

#[test]
fn rejects_details_without_diff() {
    assert_eq!(Diff::from_details(&RawJson::parse("{\"files\": 3}").unwrap()), None);
    assert_eq!(Diff::from_details(&RawJson::parse("[]").unwrap()), None);
    let text = "@@ -1,99999999999999999999 +1 @@\n@@ -1,2 +1,2 @@\nodd\n";
    let shown = Diff::from_details(&details(text, false)).unwrap().lines(40, &Theme::dark());
    assert_eq!(drawn(&shown, 40), "  @@ -1,99999999999999999999 +1 @@\n⋯\n  odd");
}
