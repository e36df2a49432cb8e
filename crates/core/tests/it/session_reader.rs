//! Tests that the reader in `examples/sessions`, written in another language, agrees with haft on whole, truncated and
//! damaged files.

use std::path::{Path, PathBuf};
use std::process::Command;

use haft_core::protocol::RawJson;
use haft_core::protocol::content::{ContentBlock, ToolCall};
use haft_core::protocol::ids::ToolCallId;
use haft_core::protocol::message::{AssistantBlock, AssistantMessage, Message, Rfc3339Time, ToolMessage};
use haft_core::session::entry::{Compaction, EntryBody, Tags, ToolStart};
use haft_core::session::intervention::{HookIntervention, InterventionAction};
use haft_core::session::{Durability, EntryId, Session};

const READER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/sessions/read.py");
const EVERY_TYPE: &[u8] = include_bytes!("../fixtures/sessions/v1/every-type.jsonl");
const TAGS_AND_DETAILS: &[u8] = include_bytes!("../fixtures/sessions/v1/tags-and-details.jsonl");
const TAGS_AS_WORDS: &[u8] = include_bytes!("../fixtures/sessions/v1/tags-as-words.jsonl");

fn time() -> Rfc3339Time {
    Rfc3339Time("2026-01-02T03:04:05.678Z".to_owned())
}

fn user(text: &str) -> EntryBody {
    Message::User { content: vec![ContentBlock::text(text)], time: time() }.into()
}

fn call(id: &str) -> ToolCall {
    ToolCall { id: ToolCallId::new(id), name: "bash".to_owned(), args: RawJson::empty_object() }
}

fn calls(ids: &[&str]) -> EntryBody {
    let content = ids.iter().map(|id| AssistantBlock::ToolCall(call(id))).collect();
    Message::Assistant(AssistantMessage::new(content, time())).into()
}

fn start(id: &str) -> EntryBody {
    let ToolCall { id: call_id, name, args } = call(id);
    ToolStart::new(call_id, name, args).into()
}

fn result(id: &str) -> EntryBody {
    Message::Tool(ToolMessage::new(
        ToolCallId::new(id),
        "bash".to_owned(),
        vec![ContentBlock::text("done")],
        time(),
    ))
    .into()
}

fn compaction(first_kept: Option<EntryId>) -> EntryBody {
    Compaction::new("much was done".to_owned(), 1).with_first_kept(first_kept).into()
}

/// Returns the bytes of a session that `fill` writes.
async fn session(fill: impl AsyncFnOnce(&Session)) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let session = Session::create(dir.path(), Path::new("/project")).with_clock(time);
    fill(&session).await;
    session.flush().await.unwrap();
    std::fs::read(session.path().unwrap()).unwrap()
}

async fn add(session: &Session, body: EntryBody) -> EntryId {
    session.append(body, Durability::Soon).await.unwrap()
}

/// Creates a session whose user went back and tried again after a tool was interrupted.
async fn branched() -> Vec<u8> {
    session(async |session| {
        let root = add(session, user("one")).await;
        add(session, calls(&["a", "b", "c"])).await;
        add(session, start("a")).await;
        add(session, start("b")).await;
        add(session, result("a")).await;
        add(session, user("meanwhile")).await;
        session.move_to(Some(root)).unwrap();
        add(session, calls(&["d", "e"])).await;
        add(session, start("e")).await;
        add(session, user("two")).await;
    })
    .await
}

/// Creates a session with two compactions; the second one kept some entries.
async fn compacted(keeps: bool) -> Vec<u8> {
    session(async |session| {
        add(session, user("one")).await;
        add(session, compaction(None)).await;
        add(session, user("two")).await;
        let kept = add(session, calls(&["a"])).await;
        add(session, start("a")).await;
        add(session, result("a")).await;
        add(session, compaction(keeps.then_some(kept))).await;
        add(session, user("three")).await;
    })
    .await
}

/// Checks that both readers agree on each of these files.
#[track_caller]
fn check(dir: &Path, files: &[Vec<u8>]) {
    let mut paths = Vec::new();
    for (number, bytes) in files.iter().enumerate() {
        let dir = dir.join(number.to_string());
        std::fs::create_dir(&dir).unwrap();
        paths.push(dir.join(format!("{:032x}.jsonl", 1)));
        std::fs::write(&paths[number], bytes).unwrap();
    }
    let theirs = theirs("--json", &paths);
    assert_eq!(theirs.len(), files.len());
    for ((path, bytes), theirs) in paths.iter().zip(files).zip(theirs) {
        let session = Session::open_read_only(path).unwrap();
        let ours: Vec<_> =
            session.context().messages.iter().map(|message| serde_json::to_value(message).unwrap()).collect();
        assert_eq!(theirs, ours, "{}", String::from_utf8_lossy(bytes));
    }
}

/// Calls the example's `main` for one file after the other, because starting Python takes longer than reading all
/// files. Each output ends with a separator line.
const FOR_EACH: &str = r#"
import os, sys
reader, option, *files = sys.argv[1:]
sys.path.insert(0, os.path.dirname(reader))
import read
for file in files:
    read.main([option, file])
    print('"the end of the file"')
"#;

/// Returns the lines that the other reader prints for each file.
#[expect(clippy::disallowed_methods, reason = "the example is started as its user would start it")]
fn theirs(option: &str, files: &[PathBuf]) -> Vec<Vec<serde_json::Value>> {
    let mut python = Command::new("python3");
    python.env("PYTHONDONTWRITEBYTECODE", "1").args(["-c", FOR_EACH, READER, option]).args(files);
    let output = python.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut all, mut lines) = (Vec::new(), Vec::new());
    for line in output.stdout.split_inclusive(|byte| *byte == b'\n') {
        let value: serde_json::Value = serde_json::from_slice(line).unwrap();
        if value == "the end of the file" {
            all.push(std::mem::take(&mut lines));
        } else {
            lines.push(value);
        }
    }
    all
}

/// Returns the exit code and both outputs of the other reader for these arguments.
#[expect(clippy::disallowed_methods, reason = "the example is started as its user would start it")]
fn said(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new("python3").arg(READER).args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn other_reader_reports_unreadable_input() {
    let (code, out, err) = said(&["--help"]);
    assert!(code == Some(0) && out.starts_with("Reads a session file") && err.is_empty(), "{out}{err}");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    let name = path.to_str().unwrap();
    let gone = format!("read.py: cannot read {name}: No such file or directory\n");
    assert_eq!(said(&[name]), (Some(1), String::new(), gone));
    std::fs::write(&path, "root:x:0:0\n{}\n").unwrap();
    let none = format!("read.py: {name} is not a session of haft\n");
    assert_eq!(said(&["--json", name]), (Some(1), String::new(), none));
}

/// The reader of its output is gone before the program writes.
#[test]
#[expect(clippy::disallowed_methods, reason = "the example is started as its user would start it")]
fn other_reader_exits_quietly_on_a_closed_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(format!("{:032x}.jsonl", 1));
    std::fs::write(&path, EVERY_TYPE).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new("python3").arg(READER).arg(&path).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[tokio::test]
async fn readers_agree_on_interventions() {
    let by = || vec!["guard".to_owned()];
    let call_id = Some(ToolCallId::new("a"));
    let done = [
        HookIntervention::new(InterventionAction::Rewritten, by()).with_call_id(call_id.clone()),
        HookIntervention::new(InterventionAction::Edited, by()).with_call_id(call_id),
        HookIntervention::new(InterventionAction::Replaced, by()),
        HookIntervention::new(InterventionAction::TurnEnded, by()),
    ];
    let bytes = session(async |session| {
        add(session, user("one")).await;
        add(session, calls(&["a"])).await;
        for one in &done {
            add(session, one.to_custom().unwrap().into()).await;
        }
        let mut custom = done[0].to_custom().unwrap();
        custom.owner = "guard".to_owned();
        add(session, custom.into()).await;
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("session.jsonl");
    std::fs::write(&path, &bytes).unwrap();
    let ours: Vec<_> = done.iter().map(|one| serde_json::to_value(one).unwrap()).collect();
    assert_eq!(theirs("--interventions", &[path]), [ours]);
    check(dir.path(), &[bytes]);
}

#[tokio::test]
async fn readers_agree_on_tags() {
    let tags = |key: &str, value: Option<&str>, replace| {
        Tags::new([(key.to_owned(), value.map(str::to_owned))].into()).with_replace(replace).into()
    };
    let changed = session(async |session| {
        let root = add(session, tags("a", Some("1"), false)).await;
        add(session, tags("b", Some(""), false)).await;
        session.move_to(Some(root)).unwrap();
        add(session, tags("a", None, false)).await;
        add(session, tags("c", Some("3"), false)).await;
    })
    .await;
    let replaced = session(async |session| {
        add(session, tags("a", Some("1"), false)).await;
        add(session, tags("b", Some("2"), true)).await;
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let files = [EVERY_TYPE, TAGS_AND_DETAILS, TAGS_AS_WORDS, &changed, &replaced].into_iter().enumerate();
    let paths: Vec<PathBuf> = files
        .map(|(number, bytes)| {
            let path = dir.path().join(format!("{number}.jsonl"));
            std::fs::write(&path, bytes).unwrap();
            path
        })
        .collect();
    let expect = [
        r#"{"work":""}"#,
        r#"{"ticket":"HA-7","work":""}"#,
        r#"{"three":""}"#,
        r#"{"b":"","c":"3"}"#,
        r#"{"b":"2"}"#,
    ];
    for ((path, theirs), expect) in paths.iter().zip(theirs("--tags", &paths)).zip(expect) {
        let ours = Session::open_read_only(path).unwrap().tags().unwrap();
        assert_eq!(serde_json::to_string(&ours).unwrap(), expect);
        assert_eq!(theirs, [serde_json::to_value(ours).unwrap()]);
    }
}

#[tokio::test]
async fn readers_agree_on_whole_files() {
    let dir = tempfile::tempdir().unwrap();
    check(
        dir.path(),
        &[
            EVERY_TYPE.to_vec(),
            TAGS_AND_DETAILS.to_vec(),
            branched().await,
            compacted(true).await,
            compacted(false).await,
        ],
    );
}

#[tokio::test]
async fn readers_agree_on_damaged_files() {
    let dir = tempfile::tempdir().unwrap();
    let whole = branched().await;
    let mut files: Vec<Vec<u8>> =
        (0..whole.len()).step_by(whole.len() / 12).map(|cut| whole[..cut].to_vec()).collect();
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    for damaged in 0..lines.len() {
        let keep_beginning = &lines[damaged][..100];
        for line in [b"garbage".as_slice(), keep_beginning] {
            let mut lines = lines.clone();
            let line = [line, b"\n"].concat();
            lines[damaged] = &line;
            files.push(lines.concat());
        }
    }
    check(dir.path(), &files);
}
