//! Tests of summaries of branches that a session leaves.

use haft_core::compact::CompactError;
use haft_core::hooks::CancellationToken;
use haft_core::session::{Durability, EntryId, Session, left_branch};
use haft_protocol::content::{ContentBlock, joined_text};
use haft_protocol::message::{Message, Rfc3339Time};

use crate::fake::{Script, run, says};

async fn append(session: &Session, text: &str) -> EntryId {
    let said = Message::User { content: vec![ContentBlock::text(text)], time: Rfc3339Time("T".into()) };
    session.append(said, Durability::Soon).await.unwrap()
}

#[tokio::test]
async fn left_branch_is_what_the_new_place_does_not_have() {
    let session = Session::in_memory("/w".as_ref());
    let one = append(&session, "1").await;
    let two = append(&session, "2").await;
    let three = append(&session, "3").await;
    session.move_to(Some(one)).unwrap();
    let other = append(&session, "4").await;
    let left = |leaf, to| -> Vec<EntryId> {
        let entries = session.entries().unwrap();
        left_branch(&entries, leaf, to).iter().map(|entry| entry.id).collect()
    };
    assert_eq!(left(Some(three), Some(one)), [two, three]);
    assert_eq!(left(Some(three), Some(other)), [two, three]);
    assert_eq!(left(Some(other), Some(three)), [other]);
    assert_eq!(left(Some(three), None), [one, two, three]);
    assert_eq!(left(Some(one), Some(three)), []);
    assert_eq!(left(None, Some(three)), []);
}

#[tokio::test]
async fn model_summarizes_a_branch_without_a_run() {
    let script = Script::new(vec![says("a lock"), says("A lock deadlocks."), says(" ")]);
    let agent = script.agent().build().unwrap();
    run(&agent).await.1.unwrap();
    let left = agent.session().branch();
    let cancel = CancellationToken::new();
    let summary = agent.summarize_branch(cancel.clone(), &left, Some("mind the lock".into())).await.unwrap();
    assert_eq!((summary.summary.as_str(), summary.by), ("A lock deadlocks.", None));
    assert_eq!((summary.from, summary.answer.unwrap().model.as_str()), (left.last().unwrap().id, "test"));
    let asked = script.requests.lock().unwrap()[1].messages.clone();
    let [Message::User { content, .. }] = asked.as_slice() else { panic!("not one question") };
    let asked = joined_text(content);
    assert!(asked.contains("[user]\ngo\n\n[assistant]\na lock\n</conversation>"), "{asked}");
    assert!(asked.contains("an attempt that the user has left"), "{asked}");
    assert!(asked.ends_with("above all:\nmind the lock"), "{asked}");
    let empty = agent.summarize_branch(cancel.clone(), &left, None).await;
    assert_eq!(empty, Err(CompactError::Empty));
    assert_eq!(agent.summarize_branch(cancel.clone(), &[], None).await, Err(CompactError::Nothing));
    cancel.cancel();
    assert_eq!(agent.summarize_branch(cancel, &left, None).await, Err(CompactError::Aborted));
    // The agent is free again.
    assert_eq!(agent.reload(), Ok(()));
}
