//! What leaves at once, what waits, and how writing ends.

use super::*;
use tokio::io::AsyncReadExt;

fn started(pipe: usize) -> (Writer, tokio::io::DuplexStream) {
    let (near, far) = tokio::io::duplex(pipe);
    (Writer::new(Outlet::Stream(Box::new(near)), Duration::from_secs(10), &Limits::default()), far)
}

#[tokio::test(start_paused = true)]
async fn events_give_way_and_questions_do_not() {
    let (mut writer, _far) = started(16);
    assert!(writer.push(1, "more than there is room for\n".into(), false, None));
    for number in 2..=256 {
        assert!(writer.push(number, "event\n".into(), true, None));
    }
    assert!(!writer.push(257, "event\n".into(), true, None));
    assert!(writer.push(258, "question\n".into(), false, None));
}

#[tokio::test(start_paused = true)]
async fn bytes_count_too_and_one_long_line_fits_alone() {
    let (mut writer, _far) = started(16);
    assert!(writer.push(1, "x".repeat(8 * 1024 * 1024), false, None));
    assert!(!writer.push(2, "x".into(), true, None));
    assert!(!writer.push(3, "x".into(), false, None));
}

#[tokio::test(start_paused = true)]
async fn a_long_event_does_not_take_the_room_of_a_question() {
    let (mut writer, _far) = started(16);
    assert!(writer.push(1, "x".repeat(5 * 1024 * 1024), true, None));
    assert!(writer.push(2, "x".repeat(8 * 1024 * 1024), false, None));
    assert!(!writer.push(3, "x".into(), false, None));
    assert!(!writer.push(4, "x".into(), true, None));
}

#[tokio::test(start_paused = true)]
async fn no_progress_for_the_stall_ends_it_and_slow_progress_does_not() {
    let (mut writer, mut far) = started(16);
    assert!(writer.push(1, "x".repeat(64), false, None));
    for _ in 0..3 {
        tokio::time::advance(Duration::from_secs(9)).await;
        far.read_exact(&mut [0; 8]).await.unwrap();
    }
    assert_eq!(writer.flushed(), 0);
    assert!(matches!(writer.ended().await, WriterEnd::Stalled));
}

#[tokio::test]
async fn a_short_line_leaves_at_once_and_half_of_one_is_finished_in_its_turn() {
    let (mut writer, mut far) = started(10);
    assert!(writer.push(1, "first\n".into(), false, None));
    assert_eq!(writer.flushed(), 1, "nothing was awaited yet");
    for number in [2, 3] {
        assert!(writer.push(number, "second\n".into(), true, None));
        assert_eq!(writer.flushed(), 1);
    }
    writer.close();
    let mut all = String::new();
    far.read_to_string(&mut all).await.unwrap();
    assert_eq!(all, "first\nsecond\nsecond\n");
    assert!(matches!(writer.ended().await, WriterEnd::Done));
    assert_eq!(writer.flushed(), 3);
}

#[tokio::test(start_paused = true)]
async fn closing_writes_what_waits_first() {
    let (mut writer, mut far) = started(4);
    assert!(writer.push(1, "one\n".into(), true, None));
    assert!(writer.push(2, "two\n".into(), false, None));
    writer.close();
    let mut all = String::new();
    far.read_to_string(&mut all).await.unwrap();
    assert_eq!(all, "one\ntwo\n");
    assert!(matches!(writer.ended().await, WriterEnd::Done));
    assert_eq!(writer.flushed(), 2);
}

#[tokio::test]
async fn nothing_is_started_before_something_has_to_wait() {
    let (mut writer, _far) = started(10);
    assert!(writer.push(1, "short\n".into(), false, None));
    assert!(writer.task.is_none() && !writer.take_started());
    assert!(writer.push(2, "too long for what is left\n".into(), false, None));
    assert!(writer.task.is_some() && writer.take_started() && !writer.take_started());
}

#[tokio::test]
async fn one_that_was_never_written_to_is_closed_all_the_same() {
    let (mut writer, mut far) = started(10);
    writer.close();
    assert!(writer.take_started());
    assert!(matches!(writer.ended().await, WriterEnd::Done));
    assert_eq!(far.read(&mut [0]).await.unwrap(), 0);
    assert!(!writer.push(1, "late\n".into(), false, None));
}
