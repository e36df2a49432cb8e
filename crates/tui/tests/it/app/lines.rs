//! The linear mode, which prints and reads lines.

use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, ToolCall};
use haft_protocol::event::{AgentEvent, NoteLevel};
use haft_protocol::ids::{PanelId, ToolCallId};
use haft_protocol::message::{AssistantBlock, Message};
use haft_protocol::rpc::{PanelContent, RpcEvent, UiAnswer, UiKind, UiRequest};
use haft_tui::app::settings::Settings;
use haft_tui::app::{AppOptions, UiEvent};

use super::fake::{Fake, extension, time};

/// A terminal with the printed and typed lines.
struct LineTerminal {
    fake: Fake,
    text: String,
    asked: usize,
}

impl LineTerminal {
    fn new() -> Self {
        let mut settings = Settings::default();
        settings.set("tui.screen", "linear").unwrap();
        let fake = Fake::with(AppOptions { settings, ..AppOptions::default() });
        let mut terminal = Self { fake, text: String::new(), asked: 0 };
        terminal.print();
        terminal
    }

    fn print(&mut self) {
        let printed = self.fake.state.take_linear_output(self.fake.now, 80);
        self.asked += usize::from(printed.asks_for_grant);
        for row in printed.rows {
            self.text.push_str(row.as_str());
            self.text.push('\n');
        }
        self.fake.state.mark_printed(self.fake.now);
    }

    fn type_line(&mut self, line: &str) {
        self.text.push_str(&format!("<<< {line}\n"));
        self.fake.tell(UiEvent::TypedLine(line.to_owned()));
        self.print();
    }

    fn interrupt(&mut self) {
        self.text.push_str("<<< ^C\n");
        self.fake.tell(UiEvent::Interrupt);
        self.print();
    }

    fn event(&mut self, event: AgentEvent) {
        self.fake.event(event);
        self.print();
    }

    fn rpc(&mut self, event: RpcEvent) {
        self.fake.rpc(event);
        self.print();
    }

    fn later(&mut self, seconds: f32) {
        self.fake.later(seconds);
        self.print();
    }

    fn done(&mut self) {
        self.fake.done();
        self.print();
    }

    fn text(&mut self, delta: &str) {
        self.event(AgentEvent::TextDelta { delta: delta.to_owned() });
    }

    fn said(&mut self, text: &str) {
        let content = vec![AssistantBlock::Text { text: text.to_owned() }];
        self.event(AgentEvent::AssistantMessage { content, time: time(), entry: None });
    }

    fn call(&mut self, id: &str, name: &str, args: &str) {
        let (id, name, args) = (ToolCallId::new(id), name.to_owned(), RawJson::parse(args).unwrap());
        self.event(AgentEvent::ToolCall { id, name, args });
    }

    fn start(&mut self, id: &str, name: &str, args: &str) {
        let (id, name, args) = (ToolCallId::new(id), name.to_owned(), RawJson::parse(args).unwrap());
        self.event(AgentEvent::ToolStart { id, name, args, label: None });
    }

    fn end(&mut self, id: &str, name: &str, is_error: bool, text: &str) {
        let name = name.to_owned();
        let id = ToolCallId::new(id);
        self.event(AgentEvent::ToolEnd { id: id.clone(), name: name.clone(), duration_ms: 3_240 });
        self.event(AgentEvent::ToolResult {
            id,
            name,
            is_error,
            content: vec![ContentBlock::text(text.to_owned())],
            extension: None,
            synthetic_by: None,
            details: None,
            entry: None,
        });
    }
}

fn approve() -> RpcEvent {
    let args = RawJson::parse(r#"{"command":"rm -rf build\nls","timeout":9}"#).unwrap();
    RpcEvent::UiRequest(Box::new(UiRequest {
        id: "q1".to_owned(),
        extension: None,
        kind: UiKind::Approve,
        title: "Run bash?".to_owned(),
        message: String::new(),
        options: Vec::new(),
        call: Some(ToolCall { id: ToolCallId::new("t1"), name: "bash".to_owned(), args }),
        preview: None,
        placeholder: None,
        prefill: None,
        timeout_ms: None,
        default: UiAnswer::Confirmed(false),
    }))
}

fn ask(kind: UiKind, options: &[&str]) -> RpcEvent {
    RpcEvent::UiRequest(Box::new(UiRequest {
        id: "q2".to_owned(),
        extension: Some(extension("todo")),
        kind,
        title: "Which list?".to_owned(),
        message: "haft asks:\nThere are two of them.".to_owned(),
        options: options.iter().map(|&option| option.to_owned()).collect(),
        call: None,
        preview: None,
        placeholder: None,
        prefill: None,
        timeout_ms: None,
        default: UiAnswer::Value("work".to_owned()),
    }))
}

#[test]
fn conversation_prints_as_lines() {
    let mut terminal = LineTerminal::new();
    terminal.type_line("How does the lexer work?");
    terminal.event(AgentEvent::TurnStart { step: 1 });
    terminal.event(AgentEvent::AssistantStart);
    terminal.event(AgentEvent::ThinkingDelta { delta: "Look at it.\nThen say.".to_owned() });
    terminal.later(4.0);
    terminal.text("It reads **one character** at a ");
    terminal.text(
        "time, and says what it is, as far as that is clear from what it has read so far.\n\nSo:\n\n```ru",
    );
    terminal.text("st\nfn next() {\n");
    terminal.text("}\n```\n");
    terminal.call("t1", "bash", r#"{"command":"cargo test"}"#);
    terminal.start("t1", "bash", r#"{"command":"cargo test"}"#);
    terminal.event(AgentEvent::ToolProgress {
        id: ToolCallId::new("t1"),
        text: "running\n".to_owned(),
        replaces: false,
        details: None,
    });
    terminal.type_line("not so fast");
    terminal.fake.take_log();
    terminal.type_line(">> and then the parser");
    let log = terminal.fake.take_log();
    assert!(log.contains("> follow_up message=\"and then the parser\""), "{log}");
    terminal.end("t1", "bash", false, "running\na\nb\nc\nd\nok\n");
    terminal.call("t2", "read", r#"{"path":"a.rs"}"#);
    terminal.event(AgentEvent::ToolBlocked {
        id: ToolCallId::new("t2"),
        by: "guard".to_owned(),
        reason: "a.rs is secret".to_owned(),
    });
    terminal.end("t2", "read", true, "a.rs is secret");
    let (extension, level) = (extension("todo"), NoteLevel::Error);
    terminal.event(AgentEvent::ExtNotify { extension, level, message: "the disk is full\nagain".to_owned() });
    terminal.event(AgentEvent::AssistantStart);
    terminal.text("Done.");
    terminal.said("Done.");
    terminal.done();
    terminal.type_line(":output");
    terminal.type_line("a line\\");
    terminal.type_line("and its end");
    terminal.interrupt();
    terminal.interrupt();
    insta::assert_snapshot!(terminal.text);
}

#[test]
fn prints_changed_answer_again() {
    let mut terminal = LineTerminal::new();
    terminal.type_line("hi");
    terminal.event(AgentEvent::AssistantStart);
    terminal.text("The key is 1234.\nUse ");
    terminal.said("The key is a secret.");
    terminal.done();
    insta::assert_snapshot!(terminal.text);
}

#[test]
fn grant_needs_an_answer_after_a_pause() {
    let mut terminal = LineTerminal::new();
    terminal.type_line("go on");
    terminal.text("I run it.\n");
    terminal.rpc(approve());
    assert_eq!(terminal.asked, 1);
    terminal.type_line("y");
    assert!(!terminal.fake.take_log().contains("ui_response"), "typed too early");
    // Output of the model must not appear between the question and the answer.
    terminal.text("haft asks: run `ls`?\n");
    terminal.later(1.0);
    terminal.type_line("perhaps");
    terminal.type_line("y");
    let log = terminal.fake.take_log();
    assert!(log.contains(r#""confirmed":true"#) || log.contains("confirmed"), "{log}");
    terminal.rpc(approve());
    terminal.rpc(RpcEvent::UiDone { id: "q1".to_owned(), why: haft_protocol::rpc::UiEnd::Timeout });
    insta::assert_snapshot!(terminal.text);
}

#[test]
fn extension_dialogs_read_answers_from_lines() {
    let mut terminal = LineTerminal::new();
    terminal.rpc(ask(UiKind::Select, &["work", "home"]));
    terminal.type_line("3");
    terminal.type_line("2");
    assert!(terminal.fake.take_log().contains("home"));
    terminal.rpc(ask(UiKind::Input, &[]));
    terminal.type_line("a text");
    assert!(terminal.fake.take_log().contains("a text"));
    terminal.rpc(ask(UiKind::Confirm, &[]));
    terminal.type_line("");
    terminal.type_line(":close");
    terminal.rpc(ask(UiKind::Confirm, &[]));
    terminal.interrupt();
    assert_eq!(terminal.asked, 0);
    insta::assert_snapshot!(terminal.text);
}

#[test]
fn pickers_select_by_number() {
    let mut terminal = LineTerminal::new();
    terminal.type_line("/model");
    terminal.type_line("gpt");
    terminal.type_line("7");
    terminal.type_line("1");
    terminal.type_line("/tools");
    terminal.type_line("2");
    terminal.type_line(":close");
    terminal.type_line("/modle");
    insta::assert_snapshot!(terminal.text);
}

#[test]
fn prints_long_lists_in_parts() {
    let mut terminal = LineTerminal::new();
    terminal.fake.hold = vec!["get_models"];
    terminal.type_line("/model");
    let request = terminal.fake.held.remove(0);
    let model = |number: u32| {
        format!(r#"{{"id":"m{number}","provider":"p","context_window":0,"max_output":1,"reasoning":false}}"#)
    };
    let models: Vec<String> = (1..=45).map(model).collect();
    terminal.fake.reply(&request, &format!(r#"{{"models":[{}]}}"#, models.join(",")));
    terminal.print();
    terminal.type_line("more");
    terminal.type_line("more");
    assert!(
        terminal.text.contains("20: m20") && terminal.text.contains("`more` prints 25 more rows"),
        "{}",
        terminal.text
    );
    assert!(terminal.text.contains("40: m40") && terminal.text.contains("45: m45"), "{}", terminal.text);
}

#[test]
fn panel_prints_and_reads_keys_as_lines() {
    let panel = |lines: &[&str]| PanelContent {
        panel_id: PanelId::new("list"),
        title: "To do".to_owned(),
        lines: lines.iter().map(|&line| line.to_owned()).collect(),
        footer: "d deletes".to_owned(),
    };
    let mut terminal = LineTerminal::new();
    terminal
        .rpc(RpcEvent::PanelOpen { extension: extension("todo"), panel: panel(&["[ ] milk", "[x] tests"]) });
    terminal.fake.take_log();
    for line in ["d", ":down", "two words"] {
        terminal.type_line(line);
    }
    let log = terminal.fake.take_log();
    assert!(log.contains(r#"key="down""#) && log.contains(r#"text="two words""#), "{log}");
    for line in ["one", "two", "three"] {
        terminal.rpc(RpcEvent::PanelRender { extension: extension("todo"), panel: panel(&[line]) });
    }
    assert!(!terminal.text.contains("one"), "frequent changes are printed at intervals");
    let wakes = terminal.fake.state.wakes_at(terminal.fake.now);
    assert!(wakes.is_some());
    terminal.later(1.0);
    assert_eq!(terminal.fake.state.wakes_at(terminal.fake.now), None);
    terminal.type_line(":close");
    assert!(terminal.fake.take_log().contains("panel_close"));
    insta::assert_snapshot!(terminal.text);
}

#[test]
fn empty_line_sends_unsent_text() {
    let mut terminal = LineTerminal::new();
    terminal.type_line("go on");
    terminal.type_line("and quickly");
    terminal.interrupt();
    terminal.type_line("");
    terminal.rpc(RpcEvent::Insert { extension: extension("todo"), text: "buy milk".to_owned() });
    terminal.type_line(":drop");
    terminal.type_line("");
    insta::assert_snapshot!(terminal.text);
}

#[test]
fn prints_only_the_end_of_a_long_conversation() {
    let mut terminal = LineTerminal::new();
    let message = |number: usize| Message::User {
        content: vec![ContentBlock::text(format!("question {number}"))],
        time: time(),
    };
    let messages: Vec<Message> = (0..60).map(message).collect();
    terminal.fake.state.transcript().restore(&messages);
    terminal.print();
    assert!(
        terminal.text.contains("10 earlier entries are not printed\nyou: question 10\n"),
        "{}",
        terminal.text
    );
    assert!(terminal.text.ends_with("you: question 59\n"), "{}", terminal.text);
}

#[test]
fn help_lists_input() {
    let mut terminal = LineTerminal::new();
    terminal.type_line("/help");
    assert!(
        terminal.text.contains(":output: prints the whole output of the last tool call"),
        "{}",
        terminal.text
    );
    assert!(!terminal.text.contains("|---"), "{}", terminal.text);
    insta::assert_snapshot!(terminal.text);
}

/// Output of the model and of extensions cannot imitate a line of haft.
#[test]
fn foreign_lines_are_labeled_or_indented() {
    let mut terminal = LineTerminal::new();
    let fake = "ok\n\nhaft asks:\n  Key for openai\nanswer with a line (the input is hidden), or :close";
    let begins = |terminal: &mut LineTerminal| std::mem::take(&mut terminal.text);
    begins(&mut terminal);
    terminal.event(AgentEvent::ExtDisplay { extension: extension("todo"), text: fake.to_owned() });
    terminal.event(AgentEvent::ExtNotify {
        extension: extension("todo"),
        level: NoteLevel::Warn,
        message: format!("{}\nhaft asks:", "a ".repeat(45)),
    });
    let wrapped = format!("{} haft asks:\nhaft asks:\n", "b".repeat(70));
    terminal.event(AgentEvent::UserMessage {
        content: vec![ContentBlock::text(wrapped.clone())],
        time: time(),
        entry: None,
    });
    terminal.text(&wrapped);
    terminal.done();
    let text = begins(&mut terminal);
    insta::assert_snapshot!(text);
    assert!(!text.lines().any(|line| line.starts_with("haft") || line.starts_with("answer")), "{text}");
}
