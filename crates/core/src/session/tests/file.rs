//! Tests of sessions on the real file system.

use std::fs;
use std::path::{Path, PathBuf};

use haft_protocol::content::ContentBlock;
use haft_protocol::message::{AssistantMessage, Message, Rfc3339Time};
use tempfile::TempDir;

use crate::session::entry::*;
use crate::session::intervention::{HookIntervention, InterventionAction};
use crate::session::{Durability, Session, SessionError, SessionRepair, current_time, store};

fn user(text: &str) -> EntryBody {
    Message::User { content: vec![ContentBlock::text(text)], time: Rfc3339Time("t".to_owned()) }.into()
}

async fn started(dir: &Path) -> (Session, PathBuf) {
    let session = Session::create(dir, Path::new("/project"));
    session.append(user("first"), Durability::Now).await.unwrap();
    let path = session.path().unwrap();
    (session, path)
}

fn texts(session: &Session) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::User { content, .. } => haft_protocol::content::joined_text(content),
        Message::Assistant(said) => said.text(),
        Message::Tool(result) => haft_protocol::content::joined_text(&result.content),
    };
    session.context().messages.iter().map(text).collect()
}

#[tokio::test]
async fn reopened_session_contains_all_entries() {
    let dir = TempDir::new().unwrap();
    let (session, path) = started(dir.path()).await;
    session.append(user("second"), Durability::Soon).await.unwrap();
    let leaf = session.leaf();
    drop(session);
    let session = Session::open(&path).unwrap();
    assert_eq!(texts(&session), ["first", "second"]);
    assert_eq!((session.leaf(), session.take_repairs()), (leaf, vec![]));
    assert_eq!(session.header().cwd, "/project");
}

#[tokio::test]
async fn session_without_content_leaves_no_file() {
    let dir = TempDir::new().unwrap();
    let inside = dir.path().join("project");
    let session = Session::create(&inside, Path::new("/project"));
    let change = ModelChange { provider: "p".to_owned(), model: "m".to_owned() };
    session.append(change.clone(), Durability::Now).await.unwrap();
    assert!(!inside.exists());
    session.append(user("first"), Durability::Now).await.unwrap();
    let path = session.path().unwrap();
    drop(session);
    let session = Session::open(&path).unwrap();
    assert_eq!(session.context().settings.model, Some(change));
    assert_eq!(session.branch().len(), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn session_file_is_accessible_only_to_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let dir = TempDir::new().unwrap();
    let (_session, path) = started(&dir.path().join("project")).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
}

#[tokio::test]
async fn second_opener_can_only_read() {
    let dir = TempDir::new().unwrap();
    let (session, path) = started(dir.path()).await;
    let error = Session::open(&path).unwrap_err();
    assert!(matches!(error, SessionError::Locked { .. }));
    assert!(error.to_string().ends_with("is in use; open it read-only or fork it"), "{error}");
    let reader = Session::open_read_only(&path).unwrap();
    assert_eq!(texts(&reader), ["first"]);
    let error = reader.append(user("x"), Durability::Now).await.unwrap_err();
    assert!(matches!(error, SessionError::ReadOnly { .. }));
    drop(session);
    Session::open(&path).unwrap();
}

#[tokio::test]
async fn branch_begins_at_the_entry_moved_to() {
    let session = Session::in_memory(Path::new("/project"));
    let first = session.append(user("first"), Durability::Now).await.unwrap();
    let second = session.append(user("second"), Durability::Now).await.unwrap();
    session.move_to(Some(first)).unwrap();
    session.append(user("other"), Durability::Now).await.unwrap();
    assert_eq!(texts(&session), ["first", "other"]);
    session.move_to(Some(second)).unwrap();
    assert_eq!(texts(&session), ["first", "second"]);
    session.move_to(None).unwrap();
    assert_eq!(texts(&session), [""; 0]);
}

#[tokio::test]
async fn reports_prompt_without_an_answer() {
    let dir = TempDir::new().unwrap();
    let (session, path) = started(dir.path()).await;
    let reopened = |session: Session| {
        drop(session);
        let session = Session::open(&path).unwrap();
        session.report_missing_answer();
        (session.take_repairs(), session)
    };
    // An entry outside of the conversation is not an answer.
    session.append(Name { name: "n".into() }, Durability::Soon).await.unwrap();
    let (repairs, session) = reopened(session);
    assert_eq!(repairs, [SessionRepair::Unanswered]);
    let message = AssistantMessage::new(vec![], current_time());
    let said = MessageEntry { message: Message::Assistant(message), answer: None };
    session.append(said, Durability::Soon).await.unwrap();
    let (repairs, session) = reopened(session);
    assert_eq!(repairs, []);
    // A hook ended the turn.
    session.append(user("second"), Durability::Soon).await.unwrap();
    let ended =
        HookIntervention { call_id: None, action: InterventionAction::TurnEnded, by: vec!["guard".into()] };
    session.append(ended.to_custom().unwrap(), Durability::Soon).await.unwrap();
    assert_eq!(reopened(session).0, []);
}

#[tokio::test]
async fn saves_and_cuts_off_incomplete_last_line() {
    let dir = TempDir::new().unwrap();
    let (session, path) = started(dir.path()).await;
    drop(session);
    let whole = fs::read(&path).unwrap();
    let torn = [b"{\"type\":\"mess".as_slice(), &[0; 100_000], &[0xf0, 0x9f]].concat();
    fs::write(&path, [whole.clone(), torn.clone()].concat()).unwrap();
    let session = Session::open(&path).unwrap();
    let repairs = session.take_repairs();
    let [SessionRepair::TornTail { bytes, saved: Some(saved) }] = &repairs[..] else { panic!("{repairs:?}") };
    assert_eq!((*bytes, fs::read(saved).unwrap()), (torn.len() as u64, torn));
    assert_eq!(saved, &path.with_extension("torn-1"));
    assert_eq!(fs::read(&path).unwrap(), whole);
    session.append(user("second"), Durability::Now).await.unwrap();
    assert_eq!(texts(&session), ["first", "second"]);
}

#[tokio::test]
async fn newer_format_is_opened_read_only() {
    let dir = TempDir::new().unwrap();
    let (session, path) = started(dir.path()).await;
    drop(session);
    let newer = fs::read_to_string(&path).unwrap().replace("\"format_version\":1", "\"format_version\":2");
    fs::write(&path, &newer).unwrap();
    let session = Session::open(&path).unwrap();
    assert_eq!(session.take_repairs(), [SessionRepair::Newer { version: 2 }]);
    assert_eq!(texts(&session), ["first"]);
    let error = session.append(user("x"), Durability::Now).await.unwrap_err();
    assert!(
        error.to_string().ends_with("was written by a newer version of haft (format 2; this version reads up to 1); upgrade haft to continue it"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), newer);
    // This version cannot interpret the end of a newer format, and a copy would claim the older format.
    let torn = format!("{newer}{{\"type\":");
    fs::write(&path, &torn).unwrap();
    Session::open(&path).unwrap();
    let error = store::fork(&path, None).unwrap_err();
    assert!(matches!(error, SessionError::Newer { version: 2, .. }), "{error}");
    assert_eq!((fs::read_to_string(&path).unwrap(), fs::read_dir(dir.path()).unwrap().count()), (torn, 1));
}

#[cfg(unix)]
#[tokio::test]
async fn opens_session_through_a_link() {
    let dir = TempDir::new().unwrap();
    let (session, path) = started(dir.path()).await;
    drop(session);
    let link = dir.path().join("link.jsonl");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let session = Session::open(&link).unwrap();
    session.append(user("second"), Durability::Now).await.unwrap();
    assert_eq!((session.take_repairs(), session.path()), (vec![], Some(fs::canonicalize(&path).unwrap())));
    drop(session);
    assert_eq!(texts(&Session::open(&path).unwrap()), ["first", "second"]);
}

/// Checks that the session continues in another file, for this reason, after `harm` changed the file.
#[track_caller]
fn goes_on(reason: &str, harm: impl FnOnce(&Path)) {
    let dir = TempDir::new().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let appended = |session: &Session, text| {
        runtime.block_on(session.append(user(text), Durability::Now)).unwrap();
    };
    let session = Session::create(dir.path(), Path::new("/project"));
    appended(&session, "first");
    appended(&session, "second");
    let (old, id) = (session.path().unwrap(), session.id());
    harm(&old);
    appended(&session, "third");
    let repairs = session.take_repairs();
    let [SessionRepair::Moved { from, to, session: moved, reason: why }] = &repairs[..] else {
        panic!("{repairs:?}")
    };
    assert_eq!((from, Some(to.clone()), *moved, why.as_str()), (&old, session.path(), session.id(), reason));
    assert_eq!(session.header().forked_from.unwrap().session, id);
    drop(session);
    let session = Session::open(to).unwrap();
    assert_eq!(
        (texts(&session), session.take_repairs()),
        (["first", "second", "third"].map(str::to_owned).to_vec(), vec![])
    );
}

#[test]
fn session_survives_removal_of_its_file() {
    goes_on("the file was deleted or renamed", |path| fs::remove_file(path).unwrap());
    goes_on("the file was deleted or renamed", |path| fs::rename(path, path.with_extension("x")).unwrap());
    let cut = |path: &Path| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(300).unwrap();
    goes_on("another program changed its length", cut);
    goes_on("another program changed its length", |path| {
        fs::write(path, [fs::read(path).unwrap(), b"{}\n".to_vec()].concat()).unwrap();
    });
    #[cfg(unix)]
    goes_on("another file replaced it", |path| {
        let aside = path.with_extension("x");
        fs::rename(path, &aside).unwrap();
        std::os::unix::fs::symlink(&aside, path).unwrap();
    });
}

#[tokio::test]
async fn line_without_end_is_skipped_and_not_kept_in_memory() {
    use std::io::{Seek as _, SeekFrom, Write as _};
    let dir = TempDir::new().unwrap();
    let (session, path) = started(dir.path()).await;
    session.append(user("second"), Durability::Now).await.unwrap();
    drop(session);
    let mut lines = fs::read_to_string(&path).unwrap();
    let last = lines.split_off(lines.trim_end().rfind('\n').unwrap() + 1);
    fs::write(&path, lines).unwrap();
    let mut file = fs::File::options().write(true).open(&path).unwrap();
    // Zeros that need no space on the disk.
    file.seek(SeekFrom::End(256 * 1024 * 1024)).unwrap();
    file.write_all(format!("\n{last}").as_bytes()).unwrap();
    drop(file);
    assert!(crate::session::disk::read_file_lines(&path).unwrap().len() < 4096);
    let session = Session::open(&path).unwrap();
    assert_eq!(texts(&session), ["first", "second"]);
    let repairs = session.take_repairs();
    assert!(matches!(&*repairs, [SessionRepair::BadLine { line: 3, .. }]), "{repairs:?}");
}

#[tokio::test]
async fn many_damaged_lines_are_counted() {
    let dir = TempDir::new().unwrap();
    let (session, path) = started(dir.path()).await;
    session.append(user("second"), Durability::Now).await.unwrap();
    drop(session);
    let lines = fs::read_to_string(&path).unwrap();
    fs::write(&path, lines + &"{broken}\n".repeat(200_000)).unwrap();
    let session = Session::open(&path).unwrap();
    assert_eq!(texts(&session), ["first", "second"]);
    let repairs = session.take_repairs();
    assert_eq!(repairs.len(), 21);
    assert_eq!(
        repairs.last().unwrap().to_string(),
        "199980 more lines were skipped or lost their parent entry"
    );
    assert!(repairs.iter().map(|repair| repair.to_string().len()).sum::<usize>() < 2_000);
}
