//! The interface where lines are printed and typed.

use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, ToolCall};
use haft_protocol::event::{AgentEvent, NoteLevel};
use haft_protocol::ids::{PanelId, ToolCallId};
use haft_protocol::message::{AssistantBlock, Message};
use haft_protocol::rpc::{PanelContent, RpcEvent, UiAnswer, UiKind, UiRequest};
use haft_tui::app::settings::Settings;
use haft_tui::app::{AppOptions, UiEvent};

use super::fake::{Fake, extension, time};

/// What is printed and typed, as it stands on the terminal.
struct Paper {
    fake: Fake,
    text: String,
    asked: usize,
}

impl Paper {
    fn new() -> Self {
        let mut settings = Settings::default();
        settings.set("tui.screen", "linear").unwrap();
        let fake = Fake::with(AppOptions { settings, ..AppOptions::default() });
        let mut paper = Self { fake, text: String::new(), asked: 0 };
        paper.print();
        paper
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
        self.event(AgentEvent::AssistantMessage { content, time: time() });
    }

    fn call(&mut self, id: &str, name: &str, args: &str) {
        let (id, name, args) = (ToolCallId::new(id), name.to_owned(), RawJson::parse(args).unwrap());
        self.event(AgentEvent::ToolCall { id, name, args });
    }

    fn start(&mut self, id: &str, name: &str, args: &str) {
        let (id, name, args) = (ToolCallId::new(id), name.to_owned(), RawJson::parse(args).unwrap());
        self.event(AgentEvent::ToolStart { id, name, args });
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
        });
    }
}

fn approve() -> RpcEvent {
    let args = RawJson::parse(r#"{"command":"rm -rf build\nls","timeout":9}"#).unwrap();
    RpcEvent::UiRequest(UiRequest {
        id: "q1".to_owned(),
        extension: None,
        kind: UiKind::Approve,
        title: "Run bash?".to_owned(),
        message: String::new(),
        options: Vec::new(),
        call: Some(ToolCall { id: ToolCallId::new("t1"), name: "bash".to_owned(), args }),
        timeout_ms: 60_000,
        default: UiAnswer::Confirmed(false),
    })
}

fn ask(kind: UiKind, options: &[&str]) -> RpcEvent {
    RpcEvent::UiRequest(UiRequest {
        id: "q2".to_owned(),
        extension: Some(extension("todo")),
        kind,
        title: "Which list?".to_owned(),
        message: "haft asks:\nThere are two of them.".to_owned(),
        options: options.iter().map(|&option| option.to_owned()).collect(),
        call: None,
        timeout_ms: 30_000,
        default: UiAnswer::Value("work".to_owned()),
    })
}

#[test]
fn a_conversation() {
    let mut paper = Paper::new();
    paper.type_line("How does the lexer work?");
    paper.event(AgentEvent::TurnStart { step: 1 });
    paper.event(AgentEvent::AssistantStart);
    paper.event(AgentEvent::ThinkingDelta { delta: "Look at it.\nThen say.".to_owned() });
    paper.later(4.0);
    paper.text("It reads **one character** at a ");
    paper.text(
        "time, and says what it is, as far as that is clear from what it has read so far.\n\nSo:\n\n```ru",
    );
    paper.text("st\nfn next() {\n");
    paper.text("}\n```\n");
    paper.call("t1", "bash", r#"{"command":"cargo test"}"#);
    paper.start("t1", "bash", r#"{"command":"cargo test"}"#);
    paper.event(AgentEvent::ToolProgress { id: ToolCallId::new("t1"), text: "running\n".to_owned() });
    paper.type_line("not so fast");
    paper.fake.take_log();
    paper.type_line(">> and then the parser");
    let log = paper.fake.take_log();
    assert!(log.contains("> follow_up message=\"and then the parser\""), "{log}");
    paper.end("t1", "bash", false, "running\na\nb\nc\nd\nok\n");
    paper.call("t2", "read", r#"{"path":"a.rs"}"#);
    paper.event(AgentEvent::ToolBlocked {
        id: ToolCallId::new("t2"),
        by: "guard".to_owned(),
        reason: "a.rs is secret".to_owned(),
    });
    paper.end("t2", "read", true, "a.rs is secret");
    let (extension, level) = (extension("todo"), NoteLevel::Error);
    paper.event(AgentEvent::ExtNotify { extension, level, message: "the disk is full\nagain".to_owned() });
    paper.event(AgentEvent::AssistantStart);
    paper.text("Done.");
    paper.said("Done.");
    paper.done();
    paper.type_line(":output");
    paper.type_line("a line\\");
    paper.type_line("and its end");
    paper.interrupt();
    paper.interrupt();
    insta::assert_snapshot!(paper.text);
}

#[test]
fn what_was_printed_and_is_not_what_was_said_is_said_anew() {
    let mut paper = Paper::new();
    paper.type_line("hi");
    paper.event(AgentEvent::AssistantStart);
    paper.text("The key is 1234.\nUse ");
    paper.said("The key is a secret.");
    paper.done();
    insta::assert_snapshot!(paper.text);
}

#[test]
fn a_question_that_grants_something() {
    let mut paper = Paper::new();
    paper.type_line("go on");
    paper.text("I run it.\n");
    paper.rpc(approve());
    assert_eq!(paper.asked, 1);
    paper.type_line("y");
    assert!(!paper.fake.take_log().contains("ui_response"), "typed too early");
    // Nobody puts words between the question and the answer.
    paper.text("haft asks: run `ls`?\n");
    paper.later(1.0);
    paper.type_line("perhaps");
    paper.type_line("y");
    let log = paper.fake.take_log();
    assert!(log.contains(r#""confirmed":true"#) || log.contains("confirmed"), "{log}");
    paper.rpc(approve());
    paper.rpc(RpcEvent::UiDone { id: "q1".to_owned(), why: haft_protocol::rpc::UiEnd::Timeout });
    insta::assert_snapshot!(paper.text);
}

#[test]
fn questions_of_extensions() {
    let mut paper = Paper::new();
    paper.rpc(ask(UiKind::Select, &["work", "home"]));
    paper.type_line("3");
    paper.type_line("2");
    assert!(paper.fake.take_log().contains("home"));
    paper.rpc(ask(UiKind::Input, &[]));
    paper.type_line("a text");
    assert!(paper.fake.take_log().contains("a text"));
    paper.rpc(ask(UiKind::Confirm, &[]));
    paper.type_line("");
    paper.type_line(":close");
    paper.rpc(ask(UiKind::Confirm, &[]));
    paper.interrupt();
    assert_eq!(paper.asked, 0);
    insta::assert_snapshot!(paper.text);
}

#[test]
fn lists() {
    let mut paper = Paper::new();
    paper.type_line("/model");
    paper.type_line("gpt");
    paper.type_line("7");
    paper.type_line("1");
    paper.type_line("/tools");
    paper.type_line("2");
    paper.type_line(":close");
    paper.type_line("/modle");
    insta::assert_snapshot!(paper.text);
}

#[test]
fn long_lists_come_in_parts() {
    let mut paper = Paper::new();
    paper.fake.hold = vec!["get_models"];
    paper.type_line("/model");
    let request = paper.fake.held.remove(0);
    let model = |number: u32| {
        format!(r#"{{"id":"m{number}","provider":"p","context_window":0,"max_output":1,"reasoning":false}}"#)
    };
    let models: Vec<String> = (1..=45).map(model).collect();
    paper.fake.reply(&request, &format!(r#"{{"models":[{}]}}"#, models.join(",")));
    paper.print();
    paper.type_line("more");
    paper.type_line("more");
    assert!(paper.text.contains("20: m20") && paper.text.contains("`more` for 25 more"), "{}", paper.text);
    assert!(paper.text.contains("40: m40") && paper.text.contains("45: m45"), "{}", paper.text);
}

#[test]
fn a_panel() {
    let panel = |lines: &[&str]| PanelContent {
        panel_id: PanelId::new("list"),
        title: "To do".to_owned(),
        lines: lines.iter().map(|&line| line.to_owned()).collect(),
        footer: "d deletes".to_owned(),
    };
    let mut paper = Paper::new();
    paper.rpc(RpcEvent::PanelOpen { extension: extension("todo"), panel: panel(&["[ ] milk", "[x] tests"]) });
    paper.fake.take_log();
    for line in ["d", ":down", "two words"] {
        paper.type_line(line);
    }
    let log = paper.fake.take_log();
    assert!(log.contains(r#"key="down""#) && log.contains(r#"text="two words""#), "{log}");
    for line in ["one", "two", "three"] {
        paper.rpc(RpcEvent::PanelRender { extension: extension("todo"), panel: panel(&[line]) });
    }
    assert!(!paper.text.contains("one"), "what changes quickly is printed now and then");
    let wakes = paper.fake.state.wakes_at(paper.fake.now);
    assert!(wakes.is_some());
    paper.later(1.0);
    assert_eq!(paper.fake.state.wakes_at(paper.fake.now), None);
    paper.type_line(":close");
    assert!(paper.fake.take_log().contains("panel_close"));
    insta::assert_snapshot!(paper.text);
}

#[test]
fn what_is_taken_back_is_sent_by_an_empty_line() {
    let mut paper = Paper::new();
    paper.type_line("go on");
    paper.type_line("and quickly");
    paper.interrupt();
    paper.type_line("");
    paper.rpc(RpcEvent::Insert { extension: extension("todo"), text: "buy milk".to_owned() });
    paper.type_line(":drop");
    paper.type_line("");
    insta::assert_snapshot!(paper.text);
}

#[test]
fn a_conversation_of_before_is_printed_as_far_as_it_is_near() {
    let mut paper = Paper::new();
    let message = |number: usize| Message::User {
        content: vec![ContentBlock::text(format!("question {number}"))],
        time: time(),
    };
    let messages: Vec<Message> = (0..60).map(message).collect();
    paper.fake.state.transcript().restore(&messages);
    paper.print();
    assert!(paper.text.contains("10 earlier entries are not printed\nyou: question 10\n"), "{}", paper.text);
    assert!(paper.text.ends_with("you: question 59\n"), "{}", paper.text);
}

#[test]
fn help_says_what_is_typed() {
    let mut paper = Paper::new();
    paper.type_line("/help");
    assert!(paper.text.contains(":output: prints all that the last call printed"), "{}", paper.text);
    assert!(!paper.text.contains("|---"), "{}", paper.text);
    insta::assert_snapshot!(paper.text);
}

/// In the first column nobody writes what looks like haft's.
#[test]
fn each_line_of_others_is_signed_or_indented() {
    let mut paper = Paper::new();
    let fake = "ok\n\nhaft asks:\n  Key for openai\nanswer with a line (the input is hidden), or :close";
    let begins = |paper: &mut Paper| std::mem::take(&mut paper.text);
    begins(&mut paper);
    paper.event(AgentEvent::ExtDisplay { extension: extension("todo"), text: fake.to_owned() });
    paper.event(AgentEvent::ExtNotify {
        extension: extension("todo"),
        level: NoteLevel::Warn,
        message: format!("{}\nhaft asks:", "a ".repeat(45)),
    });
    let wrapped = format!("{} haft asks:\nhaft asks:\n", "b".repeat(70));
    paper.event(AgentEvent::UserMessage { content: vec![ContentBlock::text(wrapped.clone())], time: time() });
    paper.text(&wrapped);
    paper.done();
    let text = begins(&mut paper);
    insta::assert_snapshot!(text);
    assert!(!text.lines().any(|line| line.starts_with("haft") || line.starts_with("answer")), "{text}");
}
