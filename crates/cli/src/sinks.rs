//! Tests all ways from extensions, tools, models and files to a terminal, against a parser of control sequences.
//!
//! `HAFT_TERMINAL_TEXTS` sets the number of random texts besides the listed ones; see `docs/testing.md`.

use std::io::Write as _;
use std::path::Path;
use std::time::SystemTime;

use haft_core::sanitize::{Sanitizer, sanitize_line};
use haft_core::session::Session;
use haft_host::{Frontend as _, LastFailure};
use haft_packages::ExtensionOrigin;
use haft_packages::install::{InstallStatus, InstalledExtension};
use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::event::{AgentEvent, ExtensionFault, NoteLevel};
use haft_protocol::ext::Panel;
use haft_protocol::ids::{ExtensionName, PanelId, ToolCallId};
use haft_rpc::SessionOwner;
use haft_test_support::terminal::{ATTACKS, TextSink, survey, terminal_actions};

use crate::run::output::rendered_event;
use crate::run::session_outputs::PrintingFrontend;
use crate::{args, console, ext, logging};

/// The number of random texts of an ordinary test run. `crates/core/tests/it/sanitize.rs` tests the sanitizer with
/// more.
const TEXTS: u64 = 2_000;

const COLUMNS: Option<usize> = Some(80);

fn name(text: &str) -> ExtensionName {
    ExtensionName::new(text)
}

fn bytes(event: &AgentEvent) -> Vec<u8> {
    rendered_event(event, COLUMNS).into_bytes()
}

fn notify(text: &str) -> Vec<u8> {
    bytes(&AgentEvent::ExtNotify { extension: name("x"), level: NoteLevel::Warn, message: text.into() })
}

fn display(text: &str) -> Vec<u8> {
    bytes(&AgentEvent::ExtDisplay { extension: name("x"), text: text.into() })
}

fn panel(text: &str) -> Vec<u8> {
    let panel = Panel {
        id: PanelId::new("p"),
        title: text.into(),
        lines: vec![text.into(), text.into()],
        footer: text.into(),
    };
    shown_text(|frontend| frontend.open_panel(&name("x"), &panel))
}

/// Returns the text that an extension's command inserts.
fn insertion(text: &str) -> Vec<u8> {
    shown_text(|frontend| frontend.insert(&name("x"), text))
}

/// Returns the text that a printed run shows for a call of the front end.
fn shown_text(call: impl FnOnce(&PrintingFrontend)) -> Vec<u8> {
    let owner = SessionOwner::new();
    call(&PrintingFrontend::new(&owner.open_screen(&Session::in_memory("/".as_ref()))));
    bytes(&owner.events().try_recv().unwrap())
}

/// Returns a failure that quotes the output of an extension.
fn error(text: &str) -> Vec<u8> {
    let fault = ExtensionFault::new(name("x"), "exited", format!("it printed: {text}"));
    bytes(&AgentEvent::ExtensionError(fault))
}

fn run_error(text: &str) -> Vec<u8> {
    let retry =
        AgentEvent::Retry { attempt: 2, delay_ms: 1, message: text.into(), max_attempts: None, reason: None };
    let fallback = AgentEvent::ModelFallback { from: text.into(), to: text.into(), message: text.into() };
    let not_summed_up = AgentEvent::CompactionEnd {
        summary: None,
        tokens_before: 1,
        tokens_after: None,
        messages_summed_up: None,
        messages_kept: None,
        by: None,
        error: Some(text.into()),
    };
    let error = AgentEvent::Error { message: text.into(), stage: None, advice: None };
    let repaired = AgentEvent::SessionRepaired { id: text.into(), message: text.into() };
    [bytes(&repaired), bytes(&error), bytes(&retry), bytes(&fallback), bytes(&not_summed_up)].concat()
}

/// Returns texts with the name of an extension that passed every check.
fn owner(text: &str) -> Vec<u8> {
    let (extension, message) = (name(text), "hello".to_owned());
    let blocked = AgentEvent::ToolBlocked { id: ToolCallId::new("1"), by: text.into(), reason: text.into() };
    let discarded = AgentEvent::TurnDiscarded { by: text.into(), reason: text.into() };
    let skipped =
        AgentEvent::ToolSkipped { id: ToolCallId::new("1"), name: text.into(), reason: text.into() };
    let renamed = AgentEvent::ToolRewritten {
        id: ToolCallId::new("1"),
        by: text.into(),
        tool: Some(text.into()),
        args: RawJson::empty_object(),
        changed: Vec::new(),
    };
    let off = AgentEvent::GateOff { extension: extension.clone(), reason: text.into() };
    let conflict = AgentEvent::ToolRewriteConflict {
        id: ToolCallId::new("1"),
        path: format!("/{text}"),
        by: [text.into(), text.into()],
    };
    let note = AgentEvent::ExtNotify { extension, level: NoteLevel::Info, message };
    let told = [note, blocked, off, conflict, discarded, skipped, renamed];
    told.iter().flat_map(bytes).collect()
}

fn tool(text: &str) -> Vec<u8> {
    let args = RawJson::from(serde_json::json!({ "command": text }));
    let id = || ToolCallId::new("1");
    let call = AgentEvent::ToolCall { id: id(), name: text.into(), args };
    let content = vec![ContentBlock::text(text)];
    let result = AgentEvent::ToolResult {
        id: id(),
        name: text.into(),
        is_error: true,
        content,
        extension: None,
        synthetic_by: None,
        details: None,
        entry: None,
    };
    [bytes(&call), bytes(&result)].concat()
}

fn answer(text: &str) -> Vec<u8> {
    console::terminal_line(text).into_bytes()
}

fn listed(text: &str) -> ext::listing::ListedExtension {
    let row = InstalledExtension {
        origin: ExtensionOrigin::Global,
        name: text.into(),
        version: Some(text.into()),
        language: Some(text.into()),
        description: Some(text.into()),
        exec: None,
        dir: Path::new("/extensions").join(text),
        runs_in: Path::new("/copies").join(text),
        level: None,
        entry: None,
        state: InstallStatus::Broken(text.into()),
    };
    ext::listing::ListedExtension {
        row,
        failure: None,
        is_slow: false,
        shadowed_by: None,
        trusted: false,
        sandbox: None,
        relaxation: crate::hooks::GateRelaxation { allows_on_timeout: true, vouches: vec![text.into()] },
        hook: None,
    }
}

/// Returns the same extension after a failure.
fn failed(text: &str) -> ext::listing::ListedExtension {
    let mut listed = listed(text);
    let failure = LastFailure::new(SystemTime::now(), text, text);
    (listed.row.state, listed.failure) = (InstallStatus::Enabled, Some(failure));
    listed
}

/// Returns `haft ext list` of a manifest and a failure.
fn list(text: &str) -> Vec<u8> {
    let told = |listed: &ext::listing::ListedExtension| {
        ext::list::problem_lines(listed, SystemTime::now()).join("\n")
    };
    let (broken, listed) = (told(&listed(text)), [failed(text)]);
    let failed = told(&listed[0]);
    let places = ext::table::PathShortener { cwd: "/w".into(), home: None };
    answer(
        &[ext::table::render_table(&listed, &places, 80), ext::listing::long_text(&listed), broken, failed]
            .join("\n"),
    )
}

/// Returns `haft ext list --json` of the same.
fn list_json(text: &str) -> Vec<u8> {
    let line = |listed: &ext::listing::ListedExtension| ext::listing::json_line(listed, SystemTime::now());
    [line(&listed(text)), line(&failed(text))].concat().into_bytes()
}

/// Returns `haft ext logs`, line by line.
fn log(text: &str) -> Vec<u8> {
    let mut sanitizer = Sanitizer::default();
    let lines = text.split_inclusive('\n');
    lines
        .flat_map(|line| ext::logs::sanitize_log_line(&mut sanitizer, line.as_bytes()).into_bytes())
        .collect()
}

/// Returns a question that quotes a text.
fn prompt(text: &str) -> Vec<u8> {
    sanitize_line(&format!("remove {text} ? [y/N] ")).into_bytes()
}

fn own_log(text: &str) -> Vec<u8> {
    let mut out = logging::SanitizingWriter(Vec::new());
    out.write_all(text.as_bytes()).unwrap();
    out.0
}

/// Returns an error about the command line, which quotes it.
fn usage(text: &str) -> Vec<u8> {
    let error = args::command().error(clap::error::ErrorKind::InvalidValue, text);
    // Texts without control sequences are printed by clap.
    args::sanitized_error_text(&error).unwrap_or_else(|| error.render().to_string()).into_bytes()
}

const SINKS: &[TextSink<'_>] = &[
    ("notify", &notify),
    ("display", &display),
    ("panel", &panel),
    ("insertion", &insertion),
    ("error", &error),
    ("run error", &run_error),
    ("name", &owner),
    ("tool", &tool),
    ("answer", &answer),
    ("ext list", &list),
    ("log", &log),
    ("prompt", &prompt),
    ("own log", &own_log),
    ("usage", &usage),
];

#[test]
fn emits_no_control_sequences() {
    let texts = std::env::var("HAFT_TERMINAL_TEXTS").map_or(TEXTS, |count| count.parse().unwrap());
    let seed = 0x5eed;
    let report = survey(texts, seed, SINKS);
    assert_eq!(report.failures, 0, "seed {seed:#x}: {report}");
    assert_eq!(report.texts, texts + (SINKS.len() * ATTACKS.len()) as u64);
    let _ = writeln!(std::io::stderr(), "{} sinks, seed {seed:#x}: {report}", SINKS.len());
}

#[test]
fn json_lines_contain_no_control_characters() {
    for (what, attack) in ATTACKS {
        let event = AgentEvent::ExtDisplay { extension: name(attack), text: (*attack).into() };
        let line = haft_rpc::line(&event).unwrap();
        let lines = [line.into_bytes(), list_json(attack)];
        for line in lines {
            let text = String::from_utf8_lossy(&line);
            assert_eq!(terminal_actions(&line), Vec::<String>::new(), "{what}: {text:?}");
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{what}: {text:?}");
        }
    }
}

/// Checks that every row begins with its source.
#[track_caller]
fn check_rows(sent: &[u8], first: &str, rest: &str) {
    let text = String::from_utf8_lossy(sent);
    let mut rows = text.lines();
    assert!(rows.next().is_some_and(|row| row.starts_with(first)), "{text}");
    assert!(rows.all(|row| row.starts_with(rest)), "{text}");
    assert!(text.lines().all(|row| row.chars().count() <= 80), "{text}");
}

#[test]
fn every_row_of_extension_has_its_name() {
    let fakes = [
        "done\nhaft: Allow? [y/N]".to_owned(),
        "done\r\n\r\nhaft: Allow? [y/N]".to_owned(),
        format!("done{}haft: Allow? [y/N]", " ".repeat(75)),
        format!("done{}haft: Allow? [y/N]", "\t".repeat(10)),
        "\x1b[1A\x1b[2K\nhaft: Allow? [y/N]".to_owned(),
        String::new(),
    ];
    for fake in &fakes {
        check_rows(&notify(fake), "[x] warning: ", "[x] warning: ");
        check_rows(&display(fake), "[x] ", "[x] ");
        check_rows(&panel(fake), "[x] ", "[x] ");
        check_rows(&insertion(fake), "[x] ", "[x] ");
        check_rows(&error(fake), "haft: extension x: ", "  | ");
    }
}
