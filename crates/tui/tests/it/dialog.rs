//! Tests of the layout of dialogs.

mod answers;
mod hostile;
mod preview;
mod reading;

use std::time::{Duration, Instant};

use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::ids::{ExtensionName, ToolCallId};
use haft_protocol::rpc::{UiAnswer, UiKind, UiRequest};
use haft_tui::dialog::{AnswerKind, Dialog, DialogKeyOutcome, Question};
use haft_tui::draw_context::DrawContext;
use haft_tui::keys::Keymap;
use haft_tui::theme::Theme;

use crate::shown::screen;

/// A dialog on a screen, with a manual clock.
struct Open {
    dialog: Dialog,
    now: Instant,
}

impl Open {
    fn new(question: Question) -> Self {
        let now = Instant::now();
        Self { dialog: Dialog::open(question, now), now }
    }

    fn look(&self) -> DrawContext {
        DrawContext { theme: Theme::dark(), now: self.now, images: None }
    }

    fn later(mut self, millis: u64) -> Self {
        self.now += Duration::from_millis(millis);
        self
    }

    /// Draws the dialog with room for 24 rows.
    fn shown(&mut self, width: u16) -> String {
        let look = self.look();
        let rows = self.dialog.rows(width, 24, 24, &look);
        self.shown_at(width, rows)
    }

    fn shown_at(&mut self, width: u16, height: u16) -> String {
        let look = self.look();
        let shown = screen((width, height), |area, buffer| self.dialog.draw(area, buffer, &look));
        self.dialog.mark_drawn(self.now);
        shown
    }

    /// Sends keys and returns the outcome of the last one.
    fn keys(&mut self, keys: &str) -> DialogKeyOutcome {
        let mut reply = DialogKeyOutcome::Open;
        for key in keys.split(' ') {
            reply = self.dialog.key(&Keymap::default().press(key.parse().unwrap()), self.now);
        }
        reply
    }
}

fn question(wanted: AnswerKind) -> Question {
    Question {
        owner: None,
        wanted,
        title: "Delete the branch?".to_owned(),
        message: "It has 3 commits that are nowhere else.".to_owned(),
        call: None,
        preview: None,
        placeholder: None,
        grants: false,
        within: None,
        default: None,
    }
}

fn asked_by_todo(wanted: AnswerKind) -> Question {
    Question { owner: Some("todo".to_owned()), ..question(wanted) }
}

fn request(kind: UiKind) -> UiRequest {
    UiRequest {
        id: "ui-1".to_owned(),
        extension: Some(ExtensionName::new("todo")),
        kind,
        title: "Which one?".to_owned(),
        message: String::new(),
        options: Vec::new(),
        call: None,
        preview: None,
        placeholder: None,
        prefill: None,
        timeout_ms: Some(42_000),
        default: UiAnswer::Confirmed(false),
    }
}

fn approve(args: &str) -> Question {
    let args = RawJson::parse(args).unwrap();
    let call = ToolCall { id: ToolCallId::new("t1"), name: "bash".to_owned(), args };
    let title = "Run bash?".to_owned();
    Question::from_request(&UiRequest {
        extension: None,
        title,
        call: Some(call),
        ..request(UiKind::Approve)
    })
}

fn gate() -> Question {
    let options = ["restart", "continue_without", "stop"].map(str::to_owned).to_vec();
    let title = "Extension todo keeps failing, and nothing happens without it".to_owned();
    let message = "3 times in a row; last: no answer in 5 s".to_owned();
    let default = UiAnswer::Value("stop".to_owned());
    Question::from_request(&UiRequest { options, title, message, default, ..request(UiKind::GateFailing) })
}

fn long_call() -> Question {
    let lines: Vec<String> = (1..=60).map(|line| format!("line {line}")).collect();
    approve(&serde_json::json!({"path": "a.txt", "content": lines.join("\n")}).to_string())
}

fn numbered(count: usize) -> AnswerKind {
    AnswerKind::Select((1..=count).map(|number| format!("choice {number}")).collect())
}

/// Draws both widths, one below the other.
fn both(question: Question) -> String {
    let mut open = Open::new(question);
    [80, 30].map(|width| open.shown(width)).join("\n\n")
}

#[test]
fn shows_confirmation() {
    insta::assert_snapshot!(both(asked_by_todo(AnswerKind::Confirm)));
}

#[test]
fn shows_question_of_haft() {
    insta::assert_snapshot!(both(Question { message: String::new(), ..question(AnswerKind::Confirm) }));
}

#[test]
fn shows_countdown() {
    let asked = Question::from_request(&UiRequest { title: "Go on?".to_owned(), ..request(UiKind::Confirm) });
    let mut open = Open::new(asked);
    let shown = [0, 500, 1000, 40_500, 42_000, 99_000].map(|millis| {
        let mut at = Open { dialog: Dialog::open(open.dialog.question().clone(), open.now), now: open.now }
            .later(millis);
        at.shown(70).lines().next().unwrap().to_owned()
    });
    insta::assert_snapshot!(shown.join("\n"));
    insta::assert_snapshot!(open.shown(30), @"
    ╭─ [todo] asks ─────── 42 s ─╮
    │ Go on?                     │
    │                            │
    │  [Yes]  ›[No]              │
    ╰─ y yes · n no · enter se… ─╯
    ");
    let within = Some(Duration::from_secs(754));
    insta::assert_snapshot!(Open::new(Question { within, ..asked_by_todo(AnswerKind::Confirm) }).shown(60), @"
    ╭─ [todo] asks ──────────────────── closes in 12 min 34 s ─╮
    │ Delete the branch?                                       │
    │ It has 3 commits that are nowhere else.                  │
    │                                                          │
    │  [Yes]  ›[No]                                            │
    ╰─ y yes · n no · enter select · esc cancel ───────────────╯
    ");
}

#[test]
fn countdown_wakes_once_per_second_until_end() {
    let mut open = Open::new(Question::from_request(&request(UiKind::Confirm)));
    let start = open.now;
    let mut wakes = Vec::new();
    while let Some(at) = open.dialog.wakes_at(open.now) {
        assert!(at > open.now);
        wakes.push(at.duration_since(start).as_millis());
        open.now = at;
    }
    assert_eq!((wakes.len(), wakes.first(), wakes.last()), (42, Some(&1000), Some(&42_000)));
    assert_eq!(
        open.dialog.wakes_at(start + Duration::from_millis(1300)),
        Some(start + Duration::from_secs(2))
    );
    assert_eq!(Open::new(question(AnswerKind::Confirm)).dialog.wakes_at(start), None);
    let forever = Question { within: Some(Duration::MAX), ..question(AnswerKind::Confirm) };
    assert_eq!(Open::new(forever).dialog.wakes_at(start), None);
}

#[test]
fn shows_selection() {
    let options =
        vec!["main".to_owned(), "a-branch-with-a-rather-long-name-to-it".to_owned(), "日本".to_owned()];
    insta::assert_snapshot!(both(asked_by_todo(AnswerKind::Select(options))));
    insta::assert_snapshot!(Open::new(asked_by_todo(AnswerKind::Select(vec![]))).shown(50), @"
    ╭─ [todo] asks ──────────────────────────────────╮
    │ Delete the branch?                             │
    │ It has 3 commits that are nowhere else.        │
    │                                                │
    │ no choices                                     │
    ╰─ ↑↓ choose · enter select · esc cancel ────────╯
    ");
    let mut many = Open::new(asked_by_todo(numbered(30)));
    many.keys("up");
    insta::assert_snapshot!(many.shown_at(50, 9), @"
    ╭─ [todo] asks ──────────────────────────────────╮
    │ Delete the branch?                             │
    │ It has 3 commits that are nowhere else.        │
    │     choice 26                                  │
    │     choice 27                                  │
    │     choice 28                                  │
    │     choice 29                                  │
    │ ›   choice 30                            30/30 │
    ╰─ ↑↓ choose · enter select · esc cancel ────────╯
    ");
}

#[test]
fn shows_input() {
    let mut open = Open::new(asked_by_todo(AnswerKind::Input { secret: false }));
    open.keys("a b");
    open.dialog.paste("c\nd\r\n", open.now);
    insta::assert_snapshot!([80, 30].map(|width| open.shown(width)).join("\n\n"));
    open.keys("ctrl+a");
    open.dialog.paste("and a text that is longer than the row that it has got to be typed into ", open.now);
    insta::assert_snapshot!(open.shown(30).lines().rev().nth(1).unwrap(), @"
    │ › typed into ▏abc d         │
    ");
}

#[test]
fn empty_input_shows_its_placeholder() {
    let asked = UiRequest { placeholder: Some("a\u{1b}[31m name".to_owned()), ..request(UiKind::Input) };
    let mut open = Open::new(Question::from_request(&asked));
    let row = |open: &mut Open| open.shown(40).lines().rev().nth(1).unwrap().to_owned();
    insta::assert_snapshot!(row(&mut open), @"│ › ▏a name                             │");
    open.keys("x");
    insta::assert_snapshot!(row(&mut open), @"│ › x▏                                  │");
}

#[test]
fn editor_request_begins_with_its_text() {
    let asked = UiRequest { prefill: Some("one\ntwo".to_owned()), ..request(UiKind::Editor) };
    let mut open = Open::new(Question::from_request(&asked));
    open.keys("shift+enter 3");
    insta::assert_snapshot!(open.shown(60), @"
    ╭─ [todo] asks ─────── answered automatically in 42 s: no ─╮
    │ Which one?                                               │
    │                                                          │
    │ › one                                                    │
    │   two                                                    │
    │   3▏                                                      │
    ╰─ enter submit · shift+enter new line · ctrl+g open edi… ─╯
    ");
    assert_eq!(open.keys("enter"), DialogKeyOutcome::Answered(UiAnswer::Value("one\ntwo\n3".to_owned())));
}

#[test]
fn shows_secret_as_dots() {
    let mut open = Open::new(question(AnswerKind::Input { secret: true }));
    open.dialog.paste("sk-1é日👩‍🔬\n", open.now);
    open.keys("left left");
    let shown = open.shown(40);
    insta::assert_snapshot!(shown, @"
    ╭─ haft asks ──────────────────────────╮
    │ Delete the branch?                   │
    │ It has 3 commits that are nowhere    │
    │ else.                                │
    │                                      │
    │ › •••••▏••                            │
    ╰─ enter submit · esc cancel ──────────╯
    ");
    assert!(!format!("{open:?}", open = open.dialog).contains("sk-1"));
    assert_eq!(open.keys("enter"), DialogKeyOutcome::Answered(UiAnswer::Value("sk-1é日👩‍🔬".to_owned())));
    open.dialog.paste(&"x".repeat(50), open.now);
    insta::assert_snapshot!(open.shown(30), @"
    ╭─ haft asks ────────────────╮
    │ Delete the branch?         │
    │ It has 3 commits that are  │
    │ nowhere else.              │
    │                            │
    │ › •••••••••••••••••••••••▏• │
    ╰─ enter submit · esc canc… ─╯
    ");
}

#[test]
fn shows_multiline_text() {
    let mut open = Open::new(asked_by_todo(AnswerKind::Editor("one\ntwo".to_owned())));
    open.keys("shift+enter x");
    insta::assert_snapshot!([80, 30].map(|width| open.shown(width)).join("\n\n"));
    assert_eq!(open.keys("ctrl+g"), DialogKeyOutcome::OpenEditor("one\ntwo\nx".to_owned()));
    open.dialog.apply_edited_text("other\u{1b}[2J\n");
    assert_eq!(open.keys("up enter"), DialogKeyOutcome::Answered(UiAnswer::Value("other".to_owned())));
}

#[test]
fn shows_granted_call() {
    insta::assert_snapshot!(both(approve(r#"{"command":"rm -rf target\necho done","timeout":30}"#)));
    let script = "for f in *.rs; do\n\tsed -i 's/\\bfoo\\b/\"bar\"/' \"$f\"\ndone\n";
    insta::assert_snapshot!(both(approve(&serde_json::json!({"command": script, "timeout": 5}).to_string())));
    insta::assert_snapshot!(both(gate()));
    insta::assert_snapshot!(both(Question { grants: true, ..question(AnswerKind::Confirm) }));
}

#[test]
fn shows_changed_file_with_removed_and_added_lines() {
    let edit = serde_json::json!({
        "path": "/etc/hosts",
        "edits": [{"old_text": "a\nb", "new_text": "a \n\tc"}, {"old_text": "x", "new_text": ""}],
    });
    let of = |name: &str, args: String| {
        let call = approve(&args).call.map(|call| ToolCall { name: name.to_owned(), ..call });
        let title = format!("Run {name}?");
        Question::from_request(&UiRequest { extension: None, title, call, ..request(UiKind::Approve) })
            .in_directory("/p")
    };
    insta::assert_snapshot!(both(of("edit", edit.to_string())));
    let write =
        serde_json::json!({"content": "fn main() {\n    println!(\"hi\");\n}\n", "path": "src/main.rs"});
    insta::assert_snapshot!(both(of("write", write.to_string())));
}

#[test]
fn granted_call_cannot_hide_text() {
    let args =
        r#"{"command":"ls \u001b[8m; rm -rf /\u001b[0m\u202e\u2066 \u200b\u009b","\u0063wd":"/\r\u00a0"}"#;
    insta::assert_snapshot!(Open::new(approve(args)).shown(80), @r#"
    ╭─ haft asks ─────────────────────────────────── denied automatically in 42 s ─╮
    │ Run bash?                                                                    │
    │ bash                                                                         │
    │   "command": "ls \u{1b}[8m; rm -rf /\u{1b}[0m\u{202e}\u{2066} \u{200b}\u{9b} │
    │   ┊"                                                                         │
    │   "cwd": "/\r\u{a0}"                                                         │
    │                                                                              │
    │  [Allow once]  ›[Do not allow]                                               │
    ╰─ y allow · n deny · enter select · esc stop ─────────────────────────────────╯
    "#);
}

#[test]
fn truncated_grant_shows_number_of_hidden_rows() {
    let mut open = Open::new(long_call());
    let first = open.shown(60);
    let mut open = open.later(300);
    open.keys("pagedown");
    let second = open.shown(60);
    open.keys("pagedown pagedown pagedown pagedown");
    let last = open.shown(60);
    insta::assert_snapshot!([first, second, last].join("\n\n"));
    // Every row can be reached, at any readable size.
    for (width, height) in [(60, 12), (20, 6), (20, 3), (21, 4)] {
        let mut open = Open::new(long_call());
        let mut seen = open.shown_at(width, height);
        let mut open = open.later(300);
        for _ in 0..200 {
            open.keys("pagedown");
            seen.push_str(&open.shown_at(width, height));
        }
        for line in 1..=60 {
            let line = format!("│line {line}");
            let is_digit = |c: char| c.is_ascii_digit();
            let is_shown = seen.split(&line).skip(1).any(|behind| !behind.starts_with(is_digit));
            assert!(is_shown, "{line} at {width}×{height}");
        }
    }
}

#[test]
fn dialog_is_usable_in_little_room() {
    let mut sizes = String::new();
    for (width, height) in [(20, 3), (20, 4), (24, 5), (40, 6)] {
        for question in [approve(r#"{"command":"rm a.png"}"#), asked_by_todo(numbered(4))] {
            let shown = Open::new(question).shown_at(width, height);
            sizes.push_str(&format!("{width}×{height}\n{shown}\n\n"));
        }
    }
    insta::assert_snapshot!(sizes);
}
