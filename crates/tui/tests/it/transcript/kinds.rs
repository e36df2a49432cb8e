//! Tests of each kind of item, folded and unfolded, wide and narrow.

use haft_protocol::content::{ContentBlock, Image, attached_file};
use haft_protocol::event::{AgentEvent as E, CompactReason, ExtensionFault};
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::StopCause;
use haft_tui::transcript::{LocalMessage, Transcript};
use insta::assert_snapshot;

use super::{
    Shown, answer, answers, block, call, called, delta, ended, id, json, progress, result, said, start,
    thinks, time, with_details,
};

/// Draws a transcript in all four forms.
fn forms(make: impl Fn(&mut Shown)) -> String {
    let mut text = String::new();
    for width in [80, 40] {
        for open in [false, true] {
            let mut shown = Shown::new(width, 40);
            make(&mut shown);
            if open {
                shown.transcript.toggle_calls();
                shown.transcript.toggle_thinking();
            }
            let form = if open { "unfolded" } else { "folded" };
            text.push_str(&format!("── {width}, {form} ──\n{}\n", shown.draw()));
        }
    }
    text
}

fn lines(many: usize) -> String {
    (1..=many).map(|line| format!("line {line} of the output\n")).collect()
}

fn details(rows: usize) -> String {
    let changed: String = (1..=rows).map(|row| format!("-old {row}\n+new {row}\n")).collect();
    let unified =
        format!("--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,{rows} +1,{rows} @@ fn main() {{\n{changed}");
    let diff = serde_json::json!({"path": "src/lib.rs", "unified": unified, "added": rows, "removed": rows});
    serde_json::json!({ "diff": diff }).to_string()
}

#[test]
fn shows_prompts() {
    let image = ContentBlock::Image(Image { mime_type: "image/png".into(), data: "iVBORw0KGgo=".into() });
    let long = "Please look at this picture, and tell me what is wrong with the second column of the table.\n\nThanks!";
    let content = vec![ContentBlock::text(long), image];
    assert_snapshot!(forms(|shown| {
        shown.event(&E::UserMessage { content: content.clone(), time: time(), entry: None });
        shown.event(&said("and more"));
    }));
}

#[test]
fn folds_long_prompts() {
    let long = format!("explain this:\n{}", lines(30));
    let mut shown = Shown::new(40, 60);
    shown.event(&said(&long));
    assert_snapshot!(shown.draw());
    shown.transcript.toggle_calls();
    let open = shown.draw();
    assert!(open.contains("line 30 of the output") && !open.contains("ctrl+o"), "{open}");
}

#[test]
fn attached_files_are_one_row_each() {
    let mut shown = Shown::new(60, 20);
    let content = vec![
        ContentBlock::text("compare @a.txt and @b.txt"),
        attached_file("a.txt", "one\ntwo\n"),
        attached_file("b.txt", "one"),
    ];
    shown.event(&E::UserMessage { content, time: time(), entry: None });
    assert_snapshot!(shown.draw(), @"
    › compare @a.txt and @b.txt
      attached a.txt, 2 lines
      attached b.txt, 1 line
    ");
}

#[test]
fn shows_thinking_and_answer() {
    assert_snapshot!(forms(|shown| {
        shown.event(&said("hi"));
        shown.event(&E::AssistantStart);
        shown.event(&thinks(
            "Let me see.\n\nThe **table** has two columns, and one of them is far too narrow for that.",
        ));
        shown.pass(4_000);
        shown.event(&delta("# Found\n\nIt is `this`:\n\n```rust\nfn main() {}\n```\n\n- one\n- two"));
    }));
}

#[test]
fn shows_unfinished_thinking() {
    assert_snapshot!(forms(|shown| {
        shown.event(&E::AssistantStart);
        shown.event(&thinks(
            "Let me see.\nThe table has two columns, and one of them is far too narrow for what",
        ));
    }));
}

#[test]
fn labeled_tool_shows_its_newest_progress() {
    let mut shown = Shown::new(60, 8);
    let state =
        |text: &str| E::ToolProgress { id: id("1"), text: text.into(), replaces: true, details: None };
    shown.event(&call("count_lines", "{}"));
    assert!(shown.rows().concat().contains("count_lines"));
    let label = Some("Count\u{1b}[31m lines".to_owned());
    shown.event(&E::ToolStart { id: id("1"), name: "count_lines".into(), args: json("{}"), label });
    for text in ["1 of 40 files\nold", "2 of 40 files"] {
        shown.event(&state(text));
    }
    let rows = shown.rows().concat();
    assert!(rows.contains("Count lines") && rows.contains("2 of 40 files"), "{rows}");
    assert!(!rows.contains("count_lines") && !rows.contains("old"), "{rows}");
}

#[test]
fn shows_running_command() {
    assert_snapshot!(forms(|shown| {
        shown.event(&E::ToolUseStart { id: id("0"), name: "write".into() });
        shown.event(&call("bash", "{\"command\":\"cargo test\"}"));
        shown.event(&start("bash", "{\"command\":\"cargo test\"}"));
        shown.event(&progress(&lines(8)));
        shown.event(&progress("half a"));
        shown.pass(12_340);
    }));
}

#[test]
fn shows_finished_command() {
    assert_snapshot!(forms(|shown| {
        shown.events(&called("bash", "{\"command\":\"cargo test -p x\"}", &lines(9)));
        let command = "{\"command\":\"cat <<E\\none\\ntwo\\nE\"}";
        shown.events(&[call("bash", command), start("bash", command), ended("bash", 75_000)]);
        shown.event(&with_details("bash", "no such file\nexit code 2", true, Some("{\"exit_code\":2}")));
        shown.event(&call("bash", "{\"command\":\"true\"}"));
    }));
}

#[test]
fn shows_file_reads_and_edits() {
    assert_snapshot!(forms(|shown| {
        shown.events(&called("read", "{\"path\":\"src/lib.rs\",\"offset\":3}", &lines(6)));
        shown.events(&called("edit", "{\"path\":\"src/lib.rs\"}", "")[..3]);
        shown.event(&with_details("edit", "edited src/lib.rs", false, Some(&details(8))));
    }));
}

#[test]
fn shows_tool_of_extension() {
    let image = ContentBlock::Image(Image { mime_type: "image/png".into(), data: "iVBORw0KGgo=".into() });
    assert_snapshot!(forms(|shown| {
        shown.event(&start(
            "todo_add",
            "{\"text\":\"milk\",\"list\":\"things to buy on the way home\",\"due\":null}",
        ));
        shown.event(&E::ToolResult {
            id: id("1"),
            name: "todo_add".into(),
            is_error: false,
            content: vec![ContentBlock::text("added"), image.clone()],
            extension: Some(ExtensionName::new("todo")),
            synthetic_by: Some("cache".into()),
            details: None,
            entry: None,
        });
    }));
}

#[test]
fn shows_decisions_about_call() {
    assert_snapshot!(forms(|shown| {
        shown.event(&call("bash", "{\"command\":\"rm -rf /\"}"));
        let args = json("{\"command\":\"rm -rf ./target\"}");
        let (by, changed) = ("guard".to_owned(), vec!["/command".to_owned()]);
        shown.event(&E::ToolRewritten { id: id("1"), by, tool: None, args, changed });
        let by = ["guard".to_owned(), "policy".to_owned()];
        shown.event(&E::ToolRewriteConflict { id: id("1"), path: "/command".into(), by });
        let reason = "this removes more than you think, so it does not run".to_owned();
        shown.event(&E::ToolBlocked { id: id("1"), by: "policy".into(), reason: reason.clone() });
        shown.event(&result("bash", &reason, true));
        shown.event(&E::ToolCall { id: id("2"), name: "ls".into(), args: json("{}") });
        let reason = "you said something else".to_owned();
        shown.event(&E::ToolSkipped { id: id("2"), name: "ls".into(), reason });
    }));
}

#[test]
fn shows_calls_by_extension() {
    let start = |id_: &str| E::HostCallStart {
        id: id(id_),
        extension: ExtensionName::new("todo"),
        name: "bash".into(),
        args: json("{\"command\":\"git status\"}"),
    };
    let end = |id_: &str, is_error| E::HostCallEnd {
        id: id(id_),
        extension: ExtensionName::new("todo"),
        name: "bash".into(),
        is_error,
        code: None,
        content: vec![ContentBlock::text("one\ntwo\nthree")],
        details: None,
    };
    assert_snapshot!(forms(|shown| {
        shown.events(&[start("a"), start("b"), start("c"), end("a", false)]);
        shown.pass(2_000);
        shown.event(&end("b", true));
    }));
}

#[test]
fn call_with_lost_end_is_not_shown_as_running() {
    let start = |id_: &str| E::HostCallStart {
        id: id(id_),
        extension: ExtensionName::new("todo"),
        name: "bash".into(),
        args: json("{\"command\":\"git status\"}"),
    };
    let end = |id_: &str| E::HostCallEnd {
        id: id(id_),
        extension: ExtensionName::new("todo"),
        name: "bash".into(),
        is_error: false,
        code: None,
        content: vec![ContentBlock::text("one")],
        details: None,
    };
    let mut shown = Shown::new(60, 12);
    shown.events(&[start("a"), start("b")]);
    shown.draw();
    assert!(shown.transcript.wakes_at(shown.now).is_some());
    shown.event(&E::EventGap { lost: 1 });
    shown.draw();
    assert_eq!(shown.transcript.wakes_at(shown.now), None);
    // An unfinished call still receives its end.
    shown.event(&end("b"));
    let screen = shown.draw();
    assert!(screen.contains("○ [todo] bash") && screen.contains("● [todo] bash"), "{screen}");
}

#[test]
fn shows_commands_of_person() {
    assert_snapshot!(forms(|shown| {
        let now = shown.now;
        let transcript: &mut Transcript = &mut shown.transcript;
        transcript.start_shell(1, "git log --oneline", true, now);
        transcript.shell_output(1, &lines(7));
        transcript.finish_shell(1, Ok(Some(0)), now);
        transcript.start_shell(2, "false", false, now);
        transcript.finish_shell(2, Ok(Some(1)), now);
        // sleep: the text is only displayed; no command runs
        transcript.start_shell(3, "sleep 9", false, now);
        transcript.finish_shell(3, Ok(None), now);
        transcript.start_shell(4, "x", false, now);
        transcript.finish_shell(4, Err("the shell could not be started: no such file".into()), now);
        transcript.start_shell(5, "top", true, now);
    }));
}

#[test]
fn shows_notes_about_run() {
    assert_snapshot!(forms(|shown| {
        let message = "the server is overloaded".to_owned();
        for attempt in [2, 3] {
            let (max_attempts, message) = (Some(5), message.clone());
            shown.event(&E::Retry { attempt, delay_ms: 4_000, message, max_attempts, reason: None });
        }
        shown.event(&E::ModelFallback { from: "a/b".into(), to: "c/d".into(), message });
        shown.event(&E::Interrupted { hint_bytes: 3 });
        shown.event(&E::EventGap { lost: 1 });
        shown.event(&E::EventGap { lost: 119 });
        shown.event(&E::TurnEnd { stop: StopCause::Length, error: None });
        shown.event(&E::TurnEnd { stop: StopCause::Aborted, error: Some("aborted".into()) });
        let error =
            "the context is larger than the model's window; use /compact, or a model with a larger one";
        shown.event(&E::TurnEnd { stop: StopCause::Error, error: Some(error.into()) });
        shown.event(&E::Error { message: format!("the model failed: {error}"), stage: None, advice: None });
        shown.event(&E::TurnDiscarded { by: "guard".into(), reason: "it was about a secret".into() });
    }));
}

#[test]
fn shows_notes_about_session() {
    assert_snapshot!(forms(|shown| {
        shown.event(&E::SessionRepaired { id: "1f".into(), message: "the last line was torn".into() });
        let skipped = vec![".haft/config.toml".to_owned(), "extension e".to_owned()];
        let message = "run `haft trust` to look at it".to_owned();
        shown.event(&E::TrustRequired { project: "/w".into(), skipped, message });
        let extension = ExtensionName::new("guard");
        shown.event(&E::GateOff { extension: extension.clone(), reason: "it did not answer in 5 s".into() });
        let (code, message) =
            ("hello_timeout".to_owned(), "it did not say hello; look at its log".to_owned());
        shown.event(&E::ExtensionError(ExtensionFault::new(extension.clone(), code, message)));
        shown.event(&E::ExtDisplay { extension, text: "two *things*\nto see".into() });
    }));
}

fn compacted(summary: Option<&str>, error: Option<&str>) -> E {
    E::CompactionEnd {
        summary: summary.map(str::to_owned),
        tokens_before: 34_000,
        tokens_after: summary.map(|_| 8_000),
        messages_summed_up: summary.map(|_| 40),
        messages_kept: summary.map(|_| 4),
        by: None,
        error: error.map(str::to_owned),
    }
}

#[test]
fn shows_compaction() {
    assert_snapshot!(forms(|shown| {
        shown.event(&E::CompactionStart { reason: CompactReason::Manual });
        shown.event(&compacted(Some("# Goal\n\nThe table."), None));
        shown.event(&E::CompactionStart { reason: CompactReason::Overflow });
        shown.event(&compacted(None, Some("the model did not answer")));
        shown.event(&E::CompactionStart { reason: CompactReason::Threshold });
    }));
}

#[test]
fn shows_compaction_without_savings() {
    let mut shown = Shown::new(100, 4);
    shown.event(&E::CompactionEnd {
        summary: Some("All of it.".to_owned()),
        tokens_before: 3_000,
        tokens_after: Some(4_000),
        messages_summed_up: Some(1),
        messages_kept: Some(2),
        by: None,
        error: None,
    });
    let text = "· context compacted without saving tokens: 3k → 4k tokens, 1 message";
    assert!(shown.draw().starts_with(text), "{}", shown.draw());
}

#[test]
fn shows_single_line_instead_of_hiding_it() {
    for (lines, last) in [(4, "line 3"), (5, "line 4"), (6, "line 5")] {
        let mut shown = Shown::new(60, 20);
        let output: String = (0..lines).map(|line| format!("line {line}\n")).collect();
        shown.events(&called("bash", "{\"command\":\"ls\"}", &output));
        let text = shown.draw();
        assert!(text.contains(last), "{text}");
        assert_eq!(text.contains("line 0"), lines < 6, "{text}");
        assert_eq!(text.contains("… +2 lines (ctrl+o)"), lines == 6, "{text}");
    }
}

#[test]
fn shows_messages_of_haft() {
    assert_snapshot!(forms(|shown| {
        shown.transcript.push_local(LocalMessage::Info("copied 12 lines".into()));
        shown.transcript.push_local(LocalMessage::Error("there is no file `x`\nlook at `ls`".into()));
        shown
            .transcript
            .push_local(LocalMessage::Page("Cost".into(), "| model | cost |\n|-|-|\n| a/b | $0.12 |".into()));
    }));
}

#[test]
fn shows_conversation_in_colors() {
    let mut shown = Shown::new(40, 20);
    shown.event(&said("hi"));
    shown.events(&called("bash", "{\"command\":\"ls\"}", "a\nb"));
    shown.events(&answers("**done**"));
    shown.draw();
    let lines = shown.transcript.last_rows(40, 20, &shown.theme.clone());
    assert_snapshot!(crate::shown::styled(&lines));
    assert_eq!(crate::shown::drawn(&lines, 40).trim_end(), shown.draw());
}

#[test]
fn shows_changed_answer() {
    assert_snapshot!(forms(|shown| {
        shown.events(&[E::AssistantStart, delta("the key is 123"), answer(&[block("the key is ***")])]);
        shown.event(&E::AssistantStart);
        shown.event(&E::ModelResponse { text_bytes: 9, tool_calls: 0, thinking: false });
        shown.events(&[delta("held"), answer(&[block("held")])]);
        shown.event(&E::AssistantStart);
        shown.event(&E::ModelResponse { text_bytes: 9, tool_calls: 0, thinking: false });
        shown.event(&E::TurnEnd { stop: StopCause::End, error: None });
    }));
}
