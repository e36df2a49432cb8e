//! Snapshots of the whole screen in the main situations.

use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::event::{Advice, AgentEvent, CompactReason, ExtensionFault, NoteLevel};
use haft_protocol::ext::{SetWorkingCall, SpanColor, StyledSpan};
use haft_protocol::ids::{PanelId, ToolCallId};
use haft_protocol::message::{AssistantBlock, StopCause, TokenUsage};
use haft_protocol::rpc::{PanelContent, RpcEvent, UiAnswer, UiKind, UiRequest};
use haft_tui::app::{AppOptions, WorkingTreeDiff};
use haft_tui::theme::Role;

use super::fake::{Fake, extension, time};
use crate::shown::styled_row;

/// Compares the wide and the narrow screen with a snapshot.
#[track_caller]
fn check(name: &str, mut fake: Fake) {
    let wide = fake.screen();
    fake.resize(40, 12);
    let narrow = fake.screen();
    insta::assert_snapshot!(name, format!("{wide}\n\n{narrow}"));
}

#[test]
fn empty_session_shows_composer() {
    check("empty_session_shows_composer", Fake::new());
}

#[test]
fn status_line_shows_context_and_not_the_request_for_a_summary() {
    let mut fake = Fake::new();
    fake.event(AgentEvent::CompactionStart { reason: CompactReason::Manual });
    let usage = TokenUsage::default().with_input(90_000);
    fake.event(AgentEvent::Usage { usage, cumulative: usage });
    assert!(fake.screen().contains("34k/200k (17 %)"), "{}", fake.screen());
    fake.context = 5_000;
    fake.event(AgentEvent::CompactionEnd {
        summary: Some("notes".to_owned()),
        tokens_before: 34_000,
        tokens_after: Some(5_000),
        messages_summed_up: None,
        messages_kept: None,
        by: None,
        error: None,
    });
    let screen = fake.screen();
    assert!(screen.contains("5k/200k (2 %)") && screen.contains("34k → 5k tokens"), "{screen}");
    fake.event(AgentEvent::Usage { usage, cumulative: usage });
    assert!(fake.screen().contains("90k/200k (45 %)"), "{}", fake.screen());
}

#[test]
fn compaction_error_has_one_row() {
    let mut fake = Fake::new();
    fake.event(AgentEvent::CompactionStart { reason: CompactReason::Manual });
    fake.event(AgentEvent::CompactionEnd {
        summary: None,
        tokens_before: 34_000,
        tokens_after: None,
        messages_summed_up: None,
        messages_kept: None,
        by: None,
        error: Some("the summary is empty".to_owned()),
    });
    fake.event(AgentEvent::Error { message: "the summary is empty".to_owned(), stage: None, advice: None });
    let screen = fake.screen();
    assert_eq!(screen.matches("the summary is empty").count(), 1, "{screen}");
    // The last attempt and the error that ended it are one row, too.
    let message = "the server cannot be reached";
    let (delay_ms, attempt) = (1_700, 4);
    fake.event(AgentEvent::Retry {
        attempt,
        delay_ms,
        message: message.to_owned(),
        max_attempts: Some(4),
        reason: None,
    });
    fake.event(AgentEvent::Error {
        message: format!("{message} (tried 4 times)"),
        stage: None,
        advice: None,
    });
    let screen = fake.screen();
    assert_eq!(screen.matches(message).count(), 1, "{screen}");
    assert!(screen.contains("(tried 4 times)"), "{screen}");
}

#[test]
fn streamed_answer_shows_activity() {
    let mut fake = Fake::new();
    fake.enter("How does the lexer work?");
    fake.event(AgentEvent::TurnStart { step: 1 });
    fake.event(AgentEvent::AssistantStart);
    fake.event(AgentEvent::ThinkingDelta { delta: "Look at the lexer first.".to_owned() });
    let delta =
        "It reads **one character** at a time:\n\n```rust\nfn next(&mut self) -> Option<char> {".to_owned();
    fake.event(AgentEvent::TextDelta { delta });
    fake.later(12.0);
    check("streamed_answer_shows_activity", fake);
}

fn with_call() -> Fake {
    let mut fake = Fake::new();
    fake.enter("Run the tests.");
    fake.event(AgentEvent::TurnStart { step: 1 });
    fake.event(AgentEvent::AssistantStart);
    let call = call();
    let (id, name, args) = (call.id.clone(), call.name.clone(), call.args.clone());
    let text = AssistantBlock::Text { text: "I run them.".to_owned() };
    fake.event(AgentEvent::AssistantMessage {
        content: vec![text, AssistantBlock::ToolCall(call)],
        time: time(),
        entry: None,
    });
    fake.event(AgentEvent::ToolCall { id, name, args });
    fake
}

fn call() -> ToolCall {
    let args = RawJson::parse(r#"{"command":"cargo test -p haft-tui"}"#).unwrap();
    ToolCall { id: ToolCallId::new("t1"), name: "bash".to_owned(), args }
}

#[test]
fn running_tool_shows_progress() {
    let mut fake = with_call();
    let ToolCall { id, name, args } = call();
    fake.event(AgentEvent::ToolStart { id: id.clone(), name, args, label: None });
    fake.event(AgentEvent::ToolProgress {
        id,
        text: "running 12 tests\ntest a ... ok\n".to_owned(),
        replaces: false,
        details: None,
    });
    fake.later(3.0);
    check("running_tool_shows_progress", fake);
}

#[test]
fn approval_dialog_shows_call() {
    let mut fake = with_call();
    fake.rpc(RpcEvent::UiRequest(Box::new(UiRequest {
        id: "q1".to_owned(),
        extension: None,
        kind: UiKind::Approve,
        title: "Run bash?".to_owned(),
        message: String::new(),
        options: Vec::new(),
        call: Some(call()),
        preview: None,
        placeholder: None,
        prefill: None,
        timeout_ms: None,
        default: UiAnswer::Confirmed(false),
    })));
    check("approval_dialog_shows_call", fake);
}

/// Returns a question about a call, or of an extension.
fn asked(id: &str, call: Option<ToolCall>, title: &str) -> RpcEvent {
    let (kind, extension) = match call {
        Some(_) => (UiKind::Approve, None),
        None => (UiKind::Confirm, Some(extension("todo"))),
    };
    RpcEvent::UiRequest(Box::new(UiRequest {
        id: id.to_owned(),
        extension,
        kind,
        title: title.to_owned(),
        message: String::new(),
        options: Vec::new(),
        call,
        preview: None,
        placeholder: None,
        prefill: None,
        timeout_ms: None,
        default: UiAnswer::Confirmed(false),
    }))
}

#[test]
fn waiting_questions_are_listed() {
    let mut fake = with_call();
    fake.rpc(asked("q1", Some(call()), "Run bash?"));
    fake.rpc(asked("q2", None, "Delete the list?"));
    fake.rpc(asked("q3", Some(call()), "Run bash?"));
    check("waiting_questions_are_listed", fake);
}

#[test]
fn list_of_waiting_questions_is_short() {
    let mut fake = with_call();
    for id in ["q1", "q2", "q3", "q4", "q5", "q6"] {
        fake.rpc(asked(id, None, &format!("Is {id} right?")));
    }
    let screen = fake.screen();
    assert!(screen.contains("? next question: [todo] Is q2 right?"), "{screen}");
    assert!(screen.contains("? then: 3 more questions") && !screen.contains("Is q4"), "{screen}");
    fake.resize(80, 11);
    let screen = fake.screen();
    assert!(!screen.contains("next question") && screen.contains("5 more questions"), "{screen}");
}

#[test]
fn second_esc_on_approval_stops_turn() {
    let mut fake = with_call();
    fake.rpc(asked("q1", Some(call()), "Run bash?"));
    fake.screen();
    fake.later(0.4);
    fake.take_log();
    fake.keys("esc");
    assert!(fake.screen().contains("esc again to stop the turn"), "{}", fake.screen());
    assert_eq!(fake.take_log(), "");
    fake.keys("esc");
    insta::assert_snapshot!(fake.take_log(), @r#"
    > abort queued=true
    > take_queued
    > ui_response cancelled=true request="q1"
    > get_state
    ? Branch
    > get_state
    "#);
    assert!(!fake.screen().contains("Run bash?"), "{}", fake.screen());
}

#[test]
fn empty_session_describes_access_and_trust() {
    let welcome = |sandbox: &str, approve: &str, is_trusted: bool, has_sandbox_gap: bool| {
        let mut options = AppOptions {
            sandbox: Some(sandbox.to_owned()),
            has_sandbox_gap,
            is_trusted,
            ..AppOptions::default()
        };
        options.settings.set("tools.approve", approve).unwrap();
        let screen = Fake::with(options).screen();
        screen.lines().skip(8).take_while(|row| !row.starts_with(" Things")).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(welcome("workspace, network", "none", true, false), @"
    sandbox workspace, network: the agent changes this directory; it asks before …
    project trusted: haft uses its settings, extensions and instructions
    ");
    insta::assert_snapshot!(welcome("read-only", "bash", false, true), @"
    sandbox read-only, incomplete: the agent reads files; it asks before other ca…
    asks before each call of bash
    the project contains nothing that needs trust
    ");
    insta::assert_snapshot!(welcome("full", "bash", false, false), @"
    sandbox full: the agent may do what you may do
    asks before each call of bash
    the project contains nothing that needs trust
    ");
    insta::assert_snapshot!(welcome("full", "none", false, false), @"
    sandbox full: the agent may do what you may do, without asking
    the project contains nothing that needs trust
    ");
}

#[test]
fn diff_page_shows_changed_files() {
    let mut fake = Fake::new();
    fake.enter("/diff");
    assert!(fake.screen().contains("no file has changed since this session was opened"), "{}", fake.screen());
    let added: String = (1..=30).map(|line| format!("+line {line}\n")).collect();
    let text = format!(
        "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n\
         diff --git a/b.txt b/b.txt\nnew file mode 100644\n--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1,30 @@\n{added}"
    );
    fake.changes = WorkingTreeDiff { text, is_cut: false };
    fake.enter("/diff");
    check("diff_page_shows_changed_files", fake);
}

#[test]
fn extension_dialog_shows_options() {
    let mut fake = Fake::new();
    fake.enter("go on");
    fake.rpc(RpcEvent::UiRequest(Box::new(UiRequest {
        id: "q1".to_owned(),
        extension: Some(extension("todo")),
        kind: UiKind::Select,
        title: "Which list?".to_owned(),
        message: "There are two of them.".to_owned(),
        options: vec!["work".to_owned(), "home".to_owned()],
        call: None,
        preview: None,
        placeholder: None,
        prefill: None,
        timeout_ms: None,
        default: UiAnswer::Value("work".to_owned()),
    })));
    check("extension_dialog_shows_options", fake);
}

#[test]
fn panel_shows_content_and_receives_keys() {
    let mut fake = Fake::new();
    let panel = PanelContent {
        panel_id: PanelId::new("list"),
        title: "To do".to_owned(),
        lines: vec!["[ ] buy milk".to_owned(), "[x] write tests".to_owned()],
        footer: "space marks, d deletes".to_owned(),
    };
    fake.rpc(RpcEvent::PanelOpen { extension: extension("todo"), panel });
    fake.later(1.0);
    let log = fake.take_log();
    assert!(log.contains("> panel_resize extension=\"todo\""), "{log}");
    fake.keys("d down");
    let log = fake.take_log();
    assert!(
        log.contains("key=\"rune\"") && log.contains("text=\"d\"") && log.contains("key=\"down\""),
        "{log}"
    );
    check("panel_shows_content_and_receives_keys", fake);
}

#[test]
fn panel_closes_from_both_sides() {
    let mut fake = Fake::new();
    let panel = || PanelContent {
        panel_id: PanelId::new("list"),
        title: "To do".to_owned(),
        lines: vec!["[ ] buy milk".to_owned()],
        footer: String::new(),
    };
    fake.rpc(RpcEvent::PanelOpen { extension: extension("todo"), panel: panel() });
    fake.later(1.0);
    fake.tell(haft_tui::app::UiEvent::Paste("several\nlines".to_owned()));
    assert!(fake.take_log().contains(r#"text="several\nlines""#));
    fake.keys("esc");
    assert!(fake.take_log().contains("> panel_close extension=\"todo\" panel_id=\"list\""));
    assert!(!fake.screen().contains("buy milk"));
    fake.enter("/todo");
    fake.rpc(RpcEvent::PanelOpen { extension: extension("todo"), panel: panel() });
    fake.later(1.0);
    fake.take_log();
    fake.rpc(RpcEvent::PanelClose { extension: extension("todo"), panel_id: PanelId::new("list") });
    assert_eq!(fake.take_log(), "");
    assert!(!fake.screen().contains("buy milk"));
}

#[test]
fn model_picker_lists_models() {
    let mut fake = Fake::new();
    fake.enter("/model");
    check("model_picker_lists_models", fake);
}

#[test]
fn completion_lists_candidates() {
    let mut fake = Fake::new();
    fake.type_text("/t");
    check("completion_lists_candidates", fake);
}

#[test]
fn queued_messages_are_shown() {
    let mut fake = Fake::new();
    fake.enter("go on");
    fake.enter("not so fast");
    fake.enter("and look at the other file, too, before you change anything that others use");
    check("queued_messages_are_shown", fake);
}

#[test]
fn notes_and_errors_are_shown() {
    let mut fake = Fake::new();
    fake.enter("go on");
    let fault = ExtensionFault::new(
        extension("guard"),
        "exited".to_owned(),
        "guard ended with status 1; see its log".to_owned(),
    );
    fake.event(AgentEvent::ExtensionError(fault));
    let note = |level, message: &str| AgentEvent::ExtNotify {
        extension: extension("todo"),
        level,
        message: message.to_owned(),
    };
    fake.event(note(NoteLevel::Success, "3 things are done"));
    fake.event(note(NoteLevel::Error, "the list cannot be written\nthe disk is full"));
    fake.event(AgentEvent::Error {
        message: "the model cannot be asked: no network".to_owned(),
        stage: None,
        advice: Some(Advice::Model),
    });
    fake.event(AgentEvent::TurnEnd { stop: StopCause::Error, error: Some("no network".to_owned()) });
    fake.done();
    check("notes_and_errors_are_shown", fake);
}

#[test]
fn start_and_status_line_show_sandbox() {
    for level in ["read-only", "workspace", "workspace, network", "full"] {
        let options =
            AppOptions { sandbox: Some(level.to_owned()), size: (120, 20), ..AppOptions::default() };
        let screen = Fake::with(options).screen();
        assert_eq!(screen.matches(&format!("sandbox {level}")).count(), 2, "{screen}");
        assert!(!screen.contains("incomplete"), "{screen}");
    }
    let options = AppOptions {
        sandbox: Some("workspace".to_owned()),
        has_sandbox_gap: true,
        size: (120, 12),
        ..AppOptions::default()
    };
    let screen = Fake::with(options).screen();
    assert!(screen.contains("sandbox workspace, incomplete"), "{screen}");
}

#[test]
fn extension_items_share_the_status_line() {
    let mut fake = Fake::new();
    let mut set_status = |name: &str, key: &str, text: Option<&str>| {
        fake.rpc(RpcEvent::ExtStatus {
            extension: extension(name),
            key: key.to_owned(),
            text: text.map(str::to_owned),
            styled: Vec::new(),
        });
    };
    set_status("todo", "open", Some("3 open"));
    set_status("todo", "late", Some("1 late"));
    set_status("clock", "time", Some("12:00, and it is \u{1b}[31mnot\nlate at all"));
    set_status("todo", "late", None);
    let mut lines = Vec::new();
    for columns in [120, 100, 80, 60] {
        fake.resize(columns, 12);
        lines.push(fake.screen().lines().rev().nth(1).unwrap().to_owned());
    }
    insta::assert_snapshot!(lines.join("\n"), @"
    claude-opus · thinking high · 34k/200k (17 %) · $0.12 · main · clock: 12:00, and it is not late at all · todo: 3 open
    claude-opus · thinking high · 34k/200k (17 %) · $0.12 · main · clock: 12:00, and it … · todo: 3 open
    claude-opus · thinking high · 34k/200k (17 %) · $0.12 · main · clock: 12:00… · …
    claude-opus · thinking high · 34k/200k (17 %) · $0.12 · main
    ");
}

#[test]
fn styled_items_have_colors_and_the_name_of_their_extension() {
    let mut fake = Fake::new();
    let styled = vec![
        StyledSpan::new("3").with_color(SpanColor::Error).with_bold(),
        StyledSpan::new(" open, "),
        StyledSpan::new("8 done\u{1b}[0m").with_color(SpanColor::Ok),
    ];
    let (key, text) = ("open".to_owned(), Some("3 open, 8 done".to_owned()));
    fake.rpc(RpcEvent::ExtStatus { extension: extension("todo"), key, text, styled });
    let mut lines = Vec::new();
    for columns in [100, 80] {
        fake.resize(columns, 12);
        let row = styled_row(&fake.drawn().0, 11);
        lines.push(row.split("main").nth(1).unwrap().split("   ").next().unwrap().trim().to_owned());
    }
    insta::assert_snapshot!(lines.join("\n"), @"
    · todo: {#e6736b on reset bold}3{#8a919e on reset} open, {#7fbf7a on reset}8 done{reset on reset}
    · todo: {#e6736b on reset bold}3{#8a919e on reset} open, {#7fbf7a on reset}8 …
    ");
}

#[test]
fn extension_items_follow_the_extension_state() {
    let mut fake = Fake::new();
    let status = |text: Option<&str>| RpcEvent::ExtStatus {
        extension: extension("todo"),
        key: "open".to_owned(),
        text: text.map(str::to_owned),
        styled: Vec::new(),
    };
    fake.rpc(status(Some("3 open")));
    assert!(fake.screen().contains(" · todo: 3 open"));
    fake.rpc(status(None));
    assert!(!fake.screen().contains("todo"));
    // The list of extensions includes the present items.
    fake.hold.push("list_extensions");
    fake.event(AgentEvent::GateOff { extension: extension("guard"), reason: String::new() });
    let request = fake.held.pop().unwrap();
    let todo = r#"{"extensions":[{"name":"todo","state":"ready","origin":"global","dir":"/x","required":false,
        "gates_off":false,"commands":[],"tools":[],"status":[{"key":"open","text":"2 open"}]}]}"#;
    fake.reply(&request, todo);
    assert!(fake.screen().contains(" · todo: 2 open"));
    fake.enter("/ext todo");
    let request = fake.held.pop().unwrap();
    fake.reply(&request, todo);
    assert!(fake.screen().contains("open: 2 open"), "{}", fake.screen());
}

#[test]
fn extension_sets_the_title_and_the_line_of_work() {
    let mut fake = Fake::new();
    let todo = || extension("todo");
    fake.rpc(RpcEvent::SetTitle { extension: todo(), text: "3 open\u{1b}]2;x".to_owned() });
    assert!(fake.take_log().contains(r#"Title("3 open"#));
    fake.rpc(RpcEvent::SetTitle { extension: todo(), text: String::new() });
    assert!(fake.take_log().contains(r#"Title("haft")"#));
    fake.enter("go");
    fake.event(AgentEvent::TurnStart { step: 1 });
    fake.event(AgentEvent::AssistantStart);
    let working = |working| RpcEvent::SetWorking { extension: todo(), working };
    let own = fake.screen();
    assert!(own.contains("· esc to stop"), "{own}");
    let text = SetWorkingCall { text: Some("shopping".into()), ..SetWorkingCall::default() };
    fake.rpc(working(text));
    assert!(fake.screen().contains("Shopping [todo]…"), "{}", fake.screen());
    fake.rpc(working(SetWorkingCall { visible: Some(false), ..SetWorkingCall::default() }));
    assert!(!fake.screen().contains("· esc to stop"), "{}", fake.screen());
    fake.rpc(working(SetWorkingCall::reset()));
    assert_eq!(fake.screen(), own);
}

#[test]
fn key_of_an_extension_runs_its_shortcut_while_a_prompt_is_written() {
    let mut fake = Fake::new();
    let plan = r#"{"extensions":[{"name":"plan","state":"ready","origin":"global","dir":"/h/plan","required":false,
        "gates_off":false,"shortcuts":[{"key":"f8"}]}]}"#;
    fake.hold = vec!["list_extensions"];
    fake.enter("/ext");
    let request = fake.held.pop().unwrap();
    fake.reply(&request, plan);
    fake.take_log();
    fake.keys("f8");
    assert_eq!(fake.take_log(), "", "the list of extensions is open");
    fake.keys("esc");
    fake.type_text("draft");
    fake.keys("f8");
    assert_eq!(fake.take_log(), "> run_shortcut extension=\"plan\" key=\"f8\"");
    // Many changes are one question for the new keys.
    for _ in 0..3 {
        fake.rpc(RpcEvent::RegistrationsChanged { extension: extension("plan") });
    }
    assert_eq!(fake.take_log(), "");
    fake.later(0.1);
    assert_eq!(fake.take_log(), "> list_extensions\n> list_commands");
    let request = fake.held.pop().unwrap();
    fake.reply(&request, &plan.replace("f8", "f9"));
    fake.keys("f8 f9");
    assert_eq!(fake.take_log(), "> run_shortcut extension=\"plan\" key=\"f9\"");
}

#[test]
fn extension_sets_the_text_for_hidden_thoughts() {
    let mut fake = Fake::new();
    let think = |fake: &mut Fake, delta: &str| {
        fake.event(AgentEvent::AssistantStart);
        fake.event(AgentEvent::ThinkingDelta { delta: delta.to_owned() });
    };
    let label = SetWorkingCall { thinking: Some("pondering".into()), ..SetWorkingCall::default() };
    fake.rpc(RpcEvent::SetWorking { extension: extension("todo"), working: label });
    fake.enter("go");
    fake.event(AgentEvent::TurnStart { step: 1 });
    think(&mut fake, "secret plan");
    let screen = fake.screen();
    assert!(screen.contains("∴ pondering [todo]") && !screen.contains("secret plan"), "{screen}");
    fake.rpc(RpcEvent::SetWorking { extension: extension("todo"), working: SetWorkingCall::reset() });
    think(&mut fake, "open plan");
    assert!(fake.screen().contains("∴ thinking… open plan"), "{}", fake.screen());
}

#[test]
fn replaced_text_of_the_editor_comes_back_by_undo() {
    let mut fake = Fake::new();
    fake.type_text("my draft");
    fake.rpc(RpcEvent::SetEditor { extension: extension("todo"), text: "theirs".to_owned() });
    assert!(fake.screen().contains("› theirs"), "{}", fake.screen());
    assert!(fake.screen().contains("[todo] replaced the text in the editor"), "{}", fake.screen());
    fake.keys("ctrl+_");
    assert!(fake.screen().contains("› my draft"), "{}", fake.screen());
}

#[test]
fn help_key_shows_help() {
    let mut fake = Fake::new();
    fake.keys("f1");
    check("help_key_shows_help", fake);
}

#[test]
fn search_highlights_beside_a_long_prompt() {
    let mut fake = Fake::new();
    fake.enter("find it");
    fake.answer("It is here, and here.");
    fake.type_text(
        "a prompt that is so long that it needs more than one row of the editor, however wide that is",
    );
    fake.keys("ctrl+s");
    fake.type_text("here");
    check("search_highlights_beside_a_long_prompt", fake);
}

#[test]
fn long_search_continues_between_frames() {
    let mut fake = Fake::new();
    // Non-ASCII text is folded slowly, so that a moderate amount of it is enough.
    let text = "ä word and another word\n".repeat(400_000 / 24);
    for _ in 0..5 {
        fake.enter("go on");
        fake.answer(&text);
    }
    assert_eq!(fake.state.wakes_at(fake.now), None);
    fake.keys("ctrl+s");
    fake.type_text("ö");
    let row = |fake: &mut Fake| {
        fake.screen().lines().find(|row| row.starts_with("search: ö")).unwrap_or_default().to_owned()
    };
    assert_eq!(row(&mut fake), "search: ö  searching… 45 %");
    let wakes = fake.state.wakes_at(fake.now).unwrap();
    fake.later(0.001);
    assert_eq!(row(&mut fake), "search: ö  searching… 45 %", "the search waits for the next frame");
    assert_eq!(fake.state.wakes_at(fake.now), Some(wakes));
    fake.later(0.02);
    assert_eq!(row(&mut fake), "search: ö  no matches");
    assert_eq!(fake.state.wakes_at(fake.now), None);
}

#[test]
fn nearly_full_context_is_highlighted() {
    for (context, role) in [(34_000, Role::Status), (160_000, Role::Warning), (195_000, Role::Error)] {
        let mut fake = Fake::new();
        fake.context = context;
        fake.done();
        let (buffer, _) = fake.drawn();
        let row = buffer.area.height - 1;
        let at = (0..buffer.area.width).find(|x| buffer[(*x, row)].symbol() == "%").unwrap();
        assert_eq!(buffer[(at, row)].style().fg, fake.state.theme().style(role).fg, "{context}");
    }
}

#[test]
fn lists_show_a_row_on_tiny_screens() {
    for command in ["/settings", "/model", "/thinking", "/theme", "/resume", "/tools", "/ext", "/login"] {
        let mut fake = Fake::new();
        for _ in 0..3 {
            fake.event(AgentEvent::ExtNotify {
                extension: extension("todo"),
                level: NoteLevel::Info,
                message: "a note".to_owned(),
            });
        }
        fake.enter(command);
        for size in [(20, 6), (20, 8), (24, 5), (40, 7), (80, 10)] {
            fake.resize(size.0, size.1);
            let screen = fake.screen();
            assert!(
                screen.contains("› ")
                    && screen.lines().any(|row| row.trim_start_matches(['│', ' ']).starts_with("› ")
                        && !row.contains("type to")),
                "{command} {size:?}\n{screen}"
            );
        }
    }
    let mut fake = Fake::new();
    fake.enter("/settings");
    fake.resize(20, 6);
    insta::assert_snapshot!(fake.screen());
}

#[test]
fn composer_is_visible_on_tiny_screens() {
    let mut fake = Fake::new();
    fake.type_text("hi");
    let mut screens = String::new();
    for (columns, rows) in [(20, 6), (10, 4), (6, 3), (4, 2), (1, 1)] {
        fake.resize(columns, rows);
        screens.push_str(&format!("{columns}×{rows}\n{}\n\n", fake.screen()));
    }
    insta::assert_snapshot!(screens);
}

#[test]
fn completion_list_is_opaque() {
    let mut fake = Fake::new();
    fake.enter("go on");
    fake.answer(&"**`code code code code code`**\n\n".repeat(20));
    fake.type_text("/t");
    assert!(fake.screen().contains("/tree"));
    let (buffer, _) = fake.drawn();
    let row = (0..buffer.area.height).find(|row| {
        let cell = |column| buffer[(column, *row)].symbol();
        (2..7).map(cell).collect::<String>() == "/tree"
    });
    let style = buffer[(4, row.unwrap())].style();
    assert_eq!(style, ratatui_core::buffer::Cell::EMPTY.style());
}
