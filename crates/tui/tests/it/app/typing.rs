//! Typed input and the requests that it sends.

use std::sync::Arc;
use std::time::Instant;

use haft_protocol::event::{AgentEvent, NoteLevel};
use haft_protocol::ids::PanelId;
use haft_protocol::rpc::{
    Command, CommandFailure, ErrorCode, HelloCommand, HelloData, PanelContent, RpcEvent, RpcResponse,
    ServerLine,
};
use haft_tui::app::{self, AppOptions, AppState, BackendReply, Effect, TerminalCommand, UiEvent};

use super::fake::{Fake, extension, image};

#[track_caller]
fn sent(fake: &mut Fake, expect: &str) {
    let log = fake.take_log();
    let beside =
        |line: &str| line.contains("get_state") || line.starts_with("? Remember") || line == "? Branch";
    let sent = log.lines().filter(|line| !beside(line));
    assert_eq!(sent.collect::<Vec<_>>().join("\n"), expect);
}

#[test]
fn start_sends_hello_and_loads_data() {
    let mut state = AppState::new(AppOptions::default(), Instant::now());
    let effects = app::start(&mut state);
    let names = effects.iter().map(|effect| {
        if let Effect::Send(request) = effect {
            return request.command.kind().name().to_owned();
        }
        if let Effect::Ask(ask) = effect { format!("{ask:?}") } else { format!("{effect:?}") }
    });
    let names = names.collect::<Vec<_>>().join(" ");
    assert_eq!(
        names,
        "hello get_state list_commands list_extensions list_sessions Branch History Themes Title(\"haft\")"
    );
}

#[test]
fn prompt_starts_a_run_and_later_input_steers() {
    let mut fake = Fake::new();
    fake.enter("fix the bug");
    sent(&mut fake, "> prompt message=\"fix the bug\"\nTitle(\"haft – fix the bug\")");
    assert!(fake.state.is_working());
    fake.enter("the first one");
    fake.type_text("and then the other");
    fake.keys("alt+enter");
    sent(&mut fake, "> steer message=\"the first one\"\n> follow_up message=\"and then the other\"");
    fake.answer("done");
    assert!(!fake.state.is_working());
}

#[test]
fn sends_initial_prompt_after_loading() {
    let options = AppOptions { prompt: Some("hi".to_owned()), ..AppOptions::default() };
    let fake = Fake::with(options);
    assert!(fake.state.is_working());
}

#[test]
fn esc_aborts_and_restores_queued_messages() {
    let mut fake = Fake::new();
    fake.enter("go");
    fake.enter("not like this");
    fake.take_log();
    fake.type_text("x");
    fake.keys("esc");
    sent(&mut fake, "> abort queued=true\n> take_queued");
    assert!(!fake.state.is_working());
    let screen = fake.screen();
    assert!(screen.contains("› not like this") && screen.contains("\n  x"), "{screen}");
}

#[test]
fn resends_message_that_the_run_missed() {
    let mut fake = Fake::new();
    fake.enter("go");
    // The run has ended, but its event has not arrived yet.
    fake.busy = false;
    fake.enter("wait");
    fake.take_log();
    fake.done();
    sent(&mut fake, "> take_queued\n> prompt message=\"wait\" plain=true");
}

#[test]
fn restores_rejected_prompt() {
    let mut fake = Fake::new();
    fake.hold = vec!["prompt"];
    fake.enter("go");
    let request = fake.held.remove(0);
    fake.fail(&request, CommandFailure::new(ErrorCode::QueueFull, "too much waits; try again later"));
    assert!(!fake.state.is_working());
    assert!(fake.screen().contains("› go"));
}

#[test]
fn sends_prompt_after_loading_images() {
    let mut fake = Fake::new();
    fake.type_text("see ");
    fake.tell(UiEvent::Paste("/pictures/a.png".to_owned()));
    sent(&mut fake, "? Image { number: 1, path: \"/pictures/a.png\" }");
    assert!(fake.screen().contains("› see /pictures/a.png"), "the file may not be an image");
    fake.tell(UiEvent::Answer(BackendReply::Image(1, Ok(image()))));
    assert!(fake.screen().contains("› see [image #1: a.png]"));
    fake.keys("enter");
    sent(&mut fake, "? Image { number: 2, path: \"/pictures/a.png\" }");
    fake.tell(UiEvent::Answer(BackendReply::Image(2, Ok(image()))));
    let log = fake.take_log();
    assert!(log.contains("> prompt images=") && log.contains("\"data\":\"aGk=\""), "{log}");
}

#[test]
fn paste_of_missing_files_stays_text() {
    let mut fake = Fake::new();
    fake.type_text("write ");
    fake.tell(UiEvent::Paste("/new/a.png /new/b.png".to_owned()));
    // A prompt that is sent at once waits for its images.
    fake.keys("enter");
    assert!(!fake.take_log().contains("prompt"));
    fake.tell(UiEvent::Answer(BackendReply::Image(1, Ok(image()))));
    assert!(!fake.take_log().contains("prompt"));
    fake.tell(UiEvent::Answer(BackendReply::Image(2, Err(CommandFailure::other("there is no such file")))));
    sent(
        &mut fake,
        "> prompt message=\"write /new/a.png /new/b.png\"\nTitle(\"haft – write /new/a.png /new/b.png\")",
    );
}

#[test]
fn second_enter_sends_without_waiting_for_images() {
    let mut fake = Fake::new();
    fake.tell(UiEvent::Paste("/slow/a.png".to_owned()));
    fake.keys("enter");
    sent(&mut fake, "? Image { number: 1, path: \"/slow/a.png\" }");
    fake.keys("enter");
    sent(&mut fake, "> prompt message=\"/slow/a.png\"\nTitle(\"haft – /slow/a.png\")");
    fake.tell(UiEvent::Answer(BackendReply::Image(1, Ok(image()))));
    assert_eq!(fake.take_log(), "");
}

#[test]
fn unreadable_image_restores_the_prompt() {
    let mut fake = Fake::new();
    fake.type_text("see ");
    fake.tell(UiEvent::Paste("/pictures/a.png".to_owned()));
    fake.tell(UiEvent::Answer(BackendReply::Image(1, Ok(image()))));
    fake.keys("enter");
    // The file was deleted meanwhile.
    fake.tell(UiEvent::Answer(BackendReply::Image(2, Err(CommandFailure::other("there is no such file")))));
    assert!(!fake.take_log().contains("prompt"));
    assert!(fake.screen().contains("› see [image #1: a.png]"));
}

#[test]
fn requests_branch_after_runs_and_shell_commands() {
    let mut fake = Fake::new();
    fake.enter("go");
    fake.take_log();
    fake.done();
    assert!(fake.take_log().contains("? Branch"));
    fake.enter("!!git checkout main");
    assert!(!fake.take_log().contains("? Branch"));
    fake.tell(UiEvent::Answer(BackendReply::ShellEnd(1, Ok((String::new(), Some(0))))));
    assert!(fake.take_log().contains("? Branch"));
}

#[test]
fn shell_output_is_sent_only_for_single_mark() {
    let mut fake = Fake::new();
    fake.enter("!ls");
    fake.enter("!!pwd");
    sent(
        &mut fake,
        "? Shell { number: 1, shell: ShellRequest { command: \"ls\", excluded: false } }\n? Shell { number: 2, shell: ShellRequest { command: \"pwd\", excluded: true } }",
    );
    fake.tell(UiEvent::Answer(BackendReply::ShellOutput(1, "a\n".to_owned())));
    fake.tell(UiEvent::Answer(BackendReply::ShellEnd(1, Ok(("a\n".to_owned(), Some(0))))));
    fake.tell(UiEvent::Answer(BackendReply::ShellEnd(2, Ok(("/".to_owned(), Some(0))))));
    sent(&mut fake, "> steer message=\"I ran `ls`:\\n\\n```\\na\\n```\"");
    assert_eq!(fake.state.wakes_at(fake.now), None);
}

#[test]
fn command_that_needs_terminal_runs_there_after_question() {
    let mut fake = Fake::new();
    fake.enter("!vim x");
    fake.tell(UiEvent::Answer(BackendReply::TerminalNeeded(1, "vim x".to_owned())));
    let why = CommandFailure::other("the command needs a terminal");
    fake.tell(UiEvent::Answer(BackendReply::ShellEnd(1, Err(why))));
    let screen = fake.screen();
    assert!(screen.contains("Run the command in your terminal?") && screen.contains("vim x"), "{screen}");
    fake.take_log();
    // Keys that were typed while the question appeared do not run the command.
    fake.keys("y");
    assert_eq!(fake.take_log(), "");
    fake.later(0.4);
    fake.keys("y");
    let command = TerminalCommand { command: "vim x".to_owned(), is_reported: true };
    assert_eq!(fake.take_log(), format!("{:?}", Effect::RunInTerminal(command.clone())));
    fake.tell(UiEvent::RanInTerminal(command, Ok(Some(0))));
    assert!(
        fake.screen().contains("!vim x ran in the terminal and exited with status 0"),
        "{}",
        fake.screen()
    );
    let log = fake.take_log();
    assert!(
        log.contains("? Branch") && log.contains("> steer message=\"I ran `vim x` in my own terminal."),
        "{log}"
    );
}

#[test]
fn terminal_is_not_offered_without_need_or_screen() {
    let mut fake = Fake::new();
    fake.enter("!!vim x");
    fake.tell(UiEvent::Answer(BackendReply::TerminalNeeded(1, "vim x".to_owned())));
    fake.screen();
    fake.later(0.4);
    fake.keys("n");
    assert!(!fake.take_log().contains("RunInTerminal"));
    // The model learns nothing of a command with two marks.
    let command = TerminalCommand { command: "vim x".to_owned(), is_reported: false };
    fake.tell(UiEvent::RanInTerminal(command.clone(), Ok(None)));
    assert!(fake.screen().contains("!vim x ran in the terminal and was stopped"), "{}", fake.screen());
    assert!(!fake.take_log().contains("steer"));
    fake.tell(UiEvent::RanInTerminal(command, Err("Cannot start the shell: gone.".to_owned())));
    assert!(fake.screen().contains("Cannot start the shell: gone."));
    let mut options = AppOptions::default();
    options.settings.set("tui.screen", "linear").unwrap();
    let mut lines = Fake::with(options);
    lines.tell(UiEvent::TypedLine("!vim x".to_owned()));
    lines.tell(UiEvent::Answer(BackendReply::TerminalNeeded(1, "vim x".to_owned())));
    lines.tell(UiEvent::TypedLine("y".to_owned()));
    assert!(!lines.take_log().contains("RunInTerminal"));
}

#[test]
fn runs_extension_commands() {
    let mut fake = Fake::new();
    fake.hold = vec!["run_command"];
    fake.enter("/todo buy milk");
    sent(&mut fake, "> run_command args=\"buy milk\" name=\"todo\"");
    let request = fake.held.remove(0);
    fake.fail(&request, CommandFailure::other("extension todo/todo: there is no list"));
    // Text that an extension inserts runs only when the user sends it.
    fake.rpc(RpcEvent::Insert { extension: extension("todo"), text: "/quit".to_owned() });
    assert_eq!(fake.take_log(), "");
    assert!(fake.screen().contains("› /quit"));
}

#[test]
fn rejects_misspelled_commands() {
    let mut fake = Fake::new();
    fake.enter("/modle");
    sent(&mut fake, "");
    assert!(fake.screen().contains("› /modle"));
    fake.keys("ctrl+c");
    fake.hold = vec!["run_command"];
    fake.enter("/foobar");
    let request = fake.held.remove(0);
    fake.fail(&request, CommandFailure::new(ErrorCode::CommandNotFound, "there is no command /foobar"));
    assert!(fake.screen().contains("› /foobar"));
    fake.keys("ctrl+c");
    fake.take_log();
    fake.enter("/etc/hosts says what?");
    sent(&mut fake, "> prompt message=\"/etc/hosts says what?\"\nTitle(\"haft – /etc/hosts says what?\")");
}

#[test]
fn ctrl_c_clears_and_second_press_quits() {
    let mut fake = Fake::new();
    fake.type_text("draft");
    fake.keys("ctrl+c ctrl+c");
    assert_eq!(fake.take_log(), "");
    assert!(fake.screen().contains("ctrl+c again to quit"));
    fake.later(2.5);
    fake.keys("ctrl+c");
    assert_eq!(fake.take_log(), "");
    fake.later(1.0);
    fake.keys("ctrl+c");
    assert_eq!(fake.take_log(), "Quit");
}

#[test]
fn leading_space_makes_a_command_a_prompt() {
    let mut fake = Fake::new();
    fake.enter(" /todo add x");
    assert!(fake.take_log().contains("> prompt message=\"/todo add x\" plain=true"));
    fake.answer("ok");
    // A path is always a prompt.
    fake.enter("/srv/app is a directory");
    sent(&mut fake, "> prompt message=\"/srv/app is a directory\"");
}

#[test]
fn completion_inserts_then_runs() {
    let mut fake = Fake::new();
    fake.type_text("/comp");
    fake.keys("enter");
    assert!(fake.screen().contains("› /compact"));
    fake.keys("enter");
    sent(&mut fake, "> compact");
    fake.type_text("see @main");
    sent(&mut fake, "? Files");
    fake.keys("tab");
    assert!(fake.screen().contains("› see @src/main.rs"));
}

#[test]
fn completion_lists_typed_directory_that_is_not_listed() {
    let mut fake = Fake::new();
    fake.type_text("see @src/ma");
    sent(&mut fake, "? Files");
    fake.keys("ctrl+u");
    fake.type_text("see @target/in");
    sent(&mut fake, "? Directory { path: \"target/\" }");
    fake.keys("tab");
    assert!(fake.screen().contains("› see @target/inner.txt"));
    fake.type_text("@target/in");
    sent(&mut fake, "");
}

#[test]
fn argument_completion_loads_once() {
    let mut fake = Fake::new();
    fake.type_text("/model gp");
    sent(&mut fake, "> get_models all=true");
    fake.keys("tab enter");
    sent(&mut fake, "> set_model model=\"openai/gpt-5\"");
    assert!(fake.screen().contains("model: openai/gpt-5"));
}

#[test]
fn searches_prompt_history() {
    let mut fake = Fake::new();
    for prompt in ["write a parser", "fix the lexer"] {
        fake.enter(prompt);
        fake.answer("ok");
    }
    fake.type_text("draft");
    fake.keys("ctrl+r");
    fake.type_text("pars");
    assert!(fake.screen().contains("› write a parser"));
    fake.keys("esc");
    assert!(fake.screen().contains("› draft"));
    fake.keys("ctrl+r");
    fake.type_text("lex");
    fake.keys("enter");
    assert!(fake.screen().contains("› fix the lexer"));
    fake.keys("ctrl+c up up");
    assert!(fake.screen().contains("› write a parser"));
    // Commands in the history do not stop the navigation.
    fake.keys("ctrl+c");
    fake.enter("/copy");
    fake.keys("up");
    assert!(fake.screen().contains("› /copy"));
    fake.keys("up up");
    assert!(fake.screen().contains("› write a parser"));
}

#[test]
fn notes_disappear_on_prompt_esc_and_owner_clear() {
    let mut fake = Fake::new();
    let note = |owner: &str| AgentEvent::ExtNotify {
        extension: extension(owner),
        level: NoteLevel::Info,
        message: "something to know".to_owned(),
    };
    fake.event(note("todo"));
    fake.event(note("guard"));
    assert!(fake.screen().contains("[todo] something to know\n[guard] something"));
    fake.event(AgentEvent::ExtClearNotes { extension: extension("todo") });
    assert!(!fake.screen().contains("[todo]"));
    fake.keys("esc");
    assert!(!fake.screen().contains("[guard]"));
    fake.event(note("guard"));
    fake.enter("go");
    assert!(!fake.screen().contains("[guard]"));
}

#[test]
fn idle_interface_schedules_no_tick() {
    let mut fake = Fake::new();
    assert_eq!(fake.state.wakes_at(fake.now), None);
    fake.enter("go");
    assert!(fake.state.wakes_at(fake.now).is_some_and(|at| at > fake.now));
    fake.answer("ok");
    assert_eq!(fake.state.wakes_at(fake.now), None);
}

#[test]
fn ignores_events_of_other_sessions() {
    let mut fake = Fake::new();
    let note = AgentEvent::ExtNotify {
        extension: extension("todo"),
        level: NoteLevel::Info,
        message: "elsewhere".to_owned(),
    };
    fake.event_of(note, Some("another".to_owned()));
    fake.event_of(AgentEvent::TurnStart { step: 1 }, Some("another".to_owned()));
    assert!(!fake.screen().contains("elsewhere") && !fake.state.is_working());
}

#[test]
fn quit_key_works_in_every_component() {
    let panel = PanelContent {
        panel_id: PanelId::new("list"),
        title: String::new(),
        lines: vec!["a row".to_owned()],
        footer: String::new(),
    };
    type Opens = fn(&mut Fake, PanelContent);
    let opens: [(&str, Opens); 4] = [
        ("a list", |fake, _| fake.keys("alt+m")),
        ("a dialog", |fake, _| fake.enter("/login anthropic")),
        ("a search", |fake, _| fake.keys("ctrl+r")),
        ("a panel", |fake, panel| fake.rpc(RpcEvent::PanelOpen { extension: extension("todo"), panel })),
    ];
    for (what, open) in opens {
        let mut fake = Fake::new();
        open(&mut fake, panel.clone());
        fake.take_log();
        fake.type_text("q");
        assert!(!fake.take_log().contains("Quit"), "{what}");
        fake.keys("ctrl+q");
        assert_eq!(fake.take_log().trim(), "Quit", "{what}");
    }
}

#[test]
fn sends_deferred_prompt_once_after_loading() {
    let now = Instant::now();
    let mut state = AppState::new(AppOptions::default(), now);
    app::start(&mut state);
    let mut tell = |event| {
        let effects = app::update(&mut state, now, event);
        let is_prompt = |effect: &&Effect| matches!(effect, Effect::Send(request) if matches!(request.command, Command::Prompt(_)));
        effects.iter().filter(is_prompt).count()
    };
    let data = HelloData {
        protocol_version: 1,
        version: String::new(),
        provider: "p".to_owned(),
        model: "m".to_owned(),
        capabilities: Vec::new(),
        session: "s".to_owned(),
    };
    let greeted = RpcResponse::success::<HelloCommand>(Some("ui-1".to_owned()), &data).unwrap();
    tell(UiEvent::Line(Box::new(ServerLine::Reply(greeted))));
    tell(UiEvent::Key("x".parse().unwrap()));
    assert_eq!(
        tell(UiEvent::Key("enter".parse().unwrap())),
        0,
        "the conversation may already contain the prompt"
    );
    assert_eq!(tell(UiEvent::Answer(BackendReply::Conversation("s".to_owned(), Ok(Arc::default())))), 1);
    assert_eq!(tell(UiEvent::Answer(BackendReply::Conversation("s".to_owned(), Ok(Arc::default())))), 0);
}
