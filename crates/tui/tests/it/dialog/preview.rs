//! Tests of dialogs that show the change of a call as a diff.

use haft_protocol::RawJson;
use haft_protocol::content::{CallPreview, FileDiff, ToolCall};
use haft_protocol::ids::ToolCallId;
use haft_protocol::rpc::{UiAnswer, UiKind, UiRequest};
use haft_tui::dialog::{DialogKeyOutcome, Question};

use super::{Open, approve, both, request};

fn question(name: &str, args: &serde_json::Value, message: &str, preview: CallPreview) -> Question {
    let args = RawJson::from_value(args).unwrap();
    Question::from_request(&UiRequest {
        extension: None,
        title: format!("Run {name}?"),
        message: message.to_owned(),
        call: Some(ToolCall { id: ToolCallId::new("t1"), name: name.to_owned(), args }),
        preview: Some(Box::new(preview)),
        timeout_ms: None,
        ..request(UiKind::Approve)
    })
    .in_directory("/p")
}

fn diff(path: &str, lines: &str) -> CallPreview {
    let count = |sign| lines.lines().filter(|line| line.starts_with(sign)).count() as u64;
    let unified = format!("--- a/{path}\n+++ b/{path}\n{lines}");
    CallPreview::Diff(FileDiff::new(path.to_owned(), unified, count('+'), count('-')))
}

fn edit(preview: CallPreview) -> Question {
    let args =
        serde_json::json!({"path": "src/main.rs", "edits": [{"old_text": "argument", "new_text": "x"}]});
    question("edit", &args, "", preview)
}

const LINES: &str = "\
@@ -8,4 +8,5 @@
 fn main() {
-    println!(\"hello\");
+    let name = std::env::args().nth(1).unwrap_or_default();
+    println!(\"hello {name}\");
 }
 
@@ -120,1 +121,1 @@
-// end
+// the end
\\ No newline at end of file
";

#[test]
fn shows_diff_in_place_of_arguments() {
    let shown = both(edit(diff("src/main.rs", LINES)));
    assert!(!shown.contains("argument"), "{shown}");
    insta::assert_snapshot!(shown);
    let outside = "write outside of the workspace: /etc/hosts";
    let args = serde_json::json!({"path": "/etc/hosts", "content": "argument"});
    let new =
        question("write", &args, outside, diff("/etc/hosts", "@@ -0,0 +1,1 @@\n+127.0.0.1 localhost\n"));
    insta::assert_snapshot!(both(new));
}

/// The rest of a long line of the model must not look like a sentence of haft.
#[test]
fn each_row_of_a_quotation_has_the_mark() {
    let text = "run outside of the sandbox\nThe model's reason:\n  | a harmless test that needs the network, and haft \
                has verified this command\n  | \n  | haft has verified it";
    let mut open = Open::new(Question { message: text.to_owned(), ..approve(r#"{"command":"make"}"#) });
    let rows: Vec<_> = open.dialog.linear_rows(40).iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(format!("{}\n\n{}", open.shown(40), rows.join("\n")));
}

#[test]
fn diff_is_readable_without_a_screen() {
    let open = Open::new(edit(diff("src/main.rs", LINES)));
    let rows: Vec<_> = open.dialog.linear_rows(60).iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn diff_hides_no_characters() {
    let lines = "@@ -1,2 +1,3 @@\n a\r\n-x\u{1b}[8m\u{202e}y\n+\tz \n+rm -rf /\u{200b}\u{1b}[2K\n";
    insta::assert_snapshot!(Open::new(edit(diff("a\u{1b}[2J\n+b", lines))).shown(60));
}

#[test]
fn missing_diff_shows_reason_and_arguments() {
    let unread = "src/main.rs has not been read yet; read it before changing it";
    insta::assert_snapshot!(both(edit(CallPreview::Error(unread.to_owned()))));
    let CallPreview::Diff(whole) = diff("src/main.rs", LINES) else { panic!() };
    let shown = both(edit(CallPreview::Diff(whole.clone().with_cut(true))));
    assert!(
        shown.contains("The diff is too long: src/main.rs +3 −2") && shown.contains("argument"),
        "{shown}"
    );
    let none = FileDiff::new(whole.path, "", 0, 0);
    let shown = both(edit(CallPreview::Diff(none)));
    assert!(shown.contains("The diff is empty: src/main.rs +0 −0") && shown.contains("argument"), "{shown}");
}

/// Returns the rows that the dialog takes beside a conversation, on a screen of 24 rows.
fn rows_beside_conversation(open: &mut Open) -> u16 {
    let look = open.look();
    open.dialog.rows(80, 18, 24, &look)
}

#[test]
fn long_diff_fills_screen_until_person_wants_conversation() {
    let added: String = (1..=60).map(|line| format!("+line {line}\n")).collect();
    let mut open = Open::new(edit(diff("src/main.rs", &format!("@@ -0,0 +1,60 @@\n{added}"))));
    assert_eq!(rows_beside_conversation(&mut open), 24);
    let first = open.shown_at(80, 24);
    assert!(first.contains("18 + line 18") && first.contains("v view"), "{first}");
    let mut open = open.later(300);
    open.keys("j j");
    let down = open.shown_at(80, 24);
    assert!(down.contains("20 + line 20") && !down.contains("Run edit?"), "{down}");
    open.keys("k k k");
    assert_eq!(open.shown_at(80, 24), first);
    open.keys("v");
    assert_eq!(rows_beside_conversation(&mut open), 18);
    open.keys("v");
    assert_eq!(rows_beside_conversation(&mut open), 24);
    // Scrolling and viewing permit nothing that was not read.
    assert_eq!(open.keys("y"), DialogKeyOutcome::Open);
}

#[test]
fn short_diff_and_long_command_leave_conversation_visible() {
    let mut short = Open::new(edit(diff("src/main.rs", LINES)));
    assert!(rows_beside_conversation(&mut short) < 18);
    assert!(!short.shown_at(80, 18).contains("v view"));
    let command = "echo a\\n".repeat(60);
    let mut long = Open::new(approve(&format!(r#"{{"command":"{command}"}}"#)));
    assert_eq!(rows_beside_conversation(&mut long), 18);
    long.shown_at(80, 18);
    let mut long = long.later(300);
    long.keys("v");
    assert_eq!(rows_beside_conversation(&mut long), 24);
}

#[test]
fn long_diff_says_how_many_rows_are_hidden() {
    let added: String = (1..=60).map(|line| format!("+line {line}\n")).collect();
    let lines = format!("@@ -0,0 +1,60 @@\n{added}");
    let mut open = Open::new(edit(diff("src/main.rs", &lines)));
    let first = open.shown_at(80, 12);
    insta::assert_snapshot!(first);
    let mut open = open.later(300);
    assert_eq!(open.keys("y"), DialogKeyOutcome::Open, "{first}");
    open.shown_at(80, 12);
    let mut seen = String::new();
    for _ in 0..20 {
        open.keys("space");
        seen.push_str(&open.shown_at(80, 12));
    }
    assert!(seen.contains("60 + line 60"), "{seen}");
    let mut open = open.later(300);
    assert_eq!(open.keys("y"), DialogKeyOutcome::Answered(UiAnswer::Confirmed(true)));
}
