//! Immediate writes, waiting lines, and the end of writing.

use super::event::{BatchBuilder, OutgoingEvent};
use super::pump::EventRecipients;
use super::*;
use haft_protocol::ids::ExtensionName;
use tokio::io::{AsyncReadExt, DuplexStream};

use crate::session::offers::{EventTopic, ExtensionOffers};

struct QueueFixture {
    queue: Arc<SendQueue>,
    pump: Arc<EventPump>,
    far: DuplexStream,
    mailbox: Arc<mpsc::UnboundedSender<ActorCommand>>,
    inbox: mpsc::UnboundedReceiver<ActorCommand>,
}

impl QueueFixture {
    fn new(pipe: usize) -> Self {
        let (near, far) = tokio::io::duplex(pipe);
        let (mailbox, inbox) = mpsc::unbounded();
        let mailbox = Arc::new(mailbox);
        let outlet = StdinWriter::Stream(Box::new(near));
        let (stall, limits) = (Duration::from_secs(10), Limits::default());
        let pump = Arc::new(EventPump::new(&limits));
        let queue = SendQueue::new(outlet, stall, &limits, Arc::clone(&pump), Arc::downgrade(&mailbox));
        Self { queue: Arc::new(queue), pump, far, mailbox, inbox }
    }

    /// Creates a fixture whose extension watches turns.
    fn watching(pipe: usize) -> Self {
        let fixture = Self::new(pipe);
        let events = ["turn_start".to_owned()].into();
        let offers = ExtensionOffers { events, ..ExtensionOffers::default() };
        fixture.queue.subscribe(EventFilter::from_offers(&ExtensionName::new("log"), &offers), true);
        fixture
    }

    fn ask(&self, number: u64, text: &str) -> bool {
        self.queue.push(number, text.to_owned())
    }

    fn step(&self, step: u32) {
        self.queue.push_events(&batch(&[("turn_start", step)], 100));
    }

    fn has_task(&self) -> bool {
        self.queue.lock().task.is_some()
    }

    /// Waits for the next command.
    async fn command(&mut self) -> ActorCommand {
        self.inbox.recv().await.unwrap()
    }

    async fn rest(&mut self) -> String {
        self.queue.close();
        let mut all = String::new();
        self.far.read_to_string(&mut all).await.unwrap();
        all
    }
}

/// Returns `turn_start` events under these names.
fn batch(events: &[(&str, u32)], longest: usize) -> EventBatch {
    let mut batch = BatchBuilder::default();
    for &(name, step) in events {
        batch.add(EventTopic::for_lifecycle(name, None), Some(line(step)), longest);
    }
    batch.take()
}

/// Publishes a `turn_start` event.
fn publish(pump: &EventPump, recipients: &Arc<dyn EventRecipients>, step: u32) {
    let topic = EventTopic::for_lifecycle("turn_start", None);
    pump.publish_event(recipients, &[OutgoingEvent { topic, encode: &|| Some(line(step)) }]);
}

fn line(step: u32) -> String {
    format!("{{\"type\":\"event\",\"event\":\"turn_start\",\"step\":{step}}}\n")
}

#[tokio::test(start_paused = true)]
async fn ends_without_progress_but_not_with_slow_progress() {
    let mut fixture = QueueFixture::new(16);
    assert!(fixture.ask(1, &"x".repeat(64)));
    for _ in 0..3 {
        tokio::time::advance(Duration::from_secs(9)).await;
        fixture.far.read_exact(&mut [0; 8]).await.unwrap();
    }
    assert_eq!(fixture.queue.flushed_lines(), 0);
    assert!(matches!(fixture.command().await, ActorCommand::WriterEnd(WriterEnd::Stalled)));
    assert!(!fixture.ask(2, "late\n"));
}

#[tokio::test]
async fn writes_short_line_immediately_and_finishes_partial_line() {
    let mut fixture = QueueFixture::new(10);
    assert!(fixture.ask(1, "first\n"));
    assert_eq!(fixture.queue.flushed_lines(), 1, "nothing was awaited yet");
    for number in [2, 3] {
        assert!(fixture.ask(number, "second\n"));
        assert_eq!(fixture.queue.flushed_lines(), 1);
    }
    assert_eq!(fixture.rest().await, "first\nsecond\nsecond\n");
    assert!(matches!(fixture.command().await, ActorCommand::WriterEnd(WriterEnd::Done)));
    assert_eq!(fixture.queue.flushed_lines(), 3);
}

#[tokio::test]
async fn query_is_sent_after_earlier_events() {
    let mut fixture = QueueFixture::watching(1024);
    fixture.step(1);
    assert!(fixture.ask(1, "question\n"));
    assert_eq!(fixture.queue.flushed_lines(), 1, "nothing was awaited yet");
    fixture.step(2);
    assert_eq!(fixture.rest().await, line(1) + "question\n" + &line(2));
}

#[tokio::test]
async fn starts_no_task_before_a_line_waits() {
    let fixture = QueueFixture::new(10);
    assert!(fixture.ask(1, "short\n"));
    assert!(!fixture.has_task());
    assert!(fixture.ask(2, "too long for what is left\n"));
    assert!(fixture.has_task());
}

#[tokio::test]
async fn closes_unused_queue() {
    let mut fixture = QueueFixture::new(10);
    assert_eq!(fixture.rest().await, "");
    assert!(matches!(fixture.command().await, ActorCommand::WriterEnd(WriterEnd::Done)));
    assert!(!fixture.ask(1, "late\n"));
}

#[tokio::test]
async fn sends_only_watched_events_and_announces_first() {
    let mut fixture = QueueFixture::watching(1024);
    fixture.queue.push_events(&batch(&[("turn_start", 1), ("turn_end", 0), ("turn_start", 2)], 100));
    assert!(matches!(fixture.command().await, ActorCommand::EventSent));
    fixture.queue.note_sign_of_life();
    fixture.step(3);
    assert!(matches!(fixture.command().await, ActorCommand::EventSent));
    assert_eq!(fixture.rest().await, line(1) + &line(2) + &line(3));
}

#[tokio::test]
async fn event_waits_for_earlier_commands() {
    let mut fixture = QueueFixture::watching(1024);
    // A query is pending that the extension's task has not encoded yet.
    fixture.queue.expect_command();
    fixture.step(1);
    fixture.step(2);
    assert_eq!(fixture.queue.pending_commands(), 3);
    assert!(fixture.ask(1, "question\n"));
    for _ in 0..2 {
        let ActorCommand::Events(run) = fixture.command().await else { panic!("no events") };
        fixture.queue.push_posted(run);
    }
    fixture.queue.note_commands_done(3);
    fixture.step(3);
    assert_eq!(fixture.rest().await, "question\n".to_owned() + &line(1) + &line(2) + &line(3));
}

#[tokio::test]
async fn reports_overlong_event_as_lost() {
    let mut fixture = QueueFixture::watching(1024);
    fixture.step(1);
    fixture.queue.push_events(&batch(&[("turn_start", 2)], 10));
    fixture.step(3);
    assert_eq!(fixture.queue.lost_events(), 1);
    assert_eq!(fixture.rest().await, line(1) + "{\"type\":\"event_gap\",\"lost\":1}\n" + &line(3));
    assert!(matches!(fixture.command().await, ActorCommand::EventSent));
    assert!(matches!(fixture.command().await, ActorCommand::EventsLost));
}

#[tokio::test]
async fn keeps_order_through_narrow_pipe() {
    let mut fixture = QueueFixture::watching(7);
    (0..600).for_each(|step| fixture.step(step));
    let expect: String = (0..600).map(line).collect();
    assert_eq!(fixture.rest().await, expect);
}

#[tokio::test]
async fn closes_input_when_extension_task_ends() {
    let mut fixture = QueueFixture::watching(4);
    fixture.step(1);
    drop(QueueOwner(Arc::clone(&fixture.queue)));
    let mut all = Vec::new();
    fixture.far.read_to_end(&mut all).await.unwrap();
    assert!(all.is_empty());
    assert!(!fixture.ask(1, "late\n"));
    drop(fixture.mailbox);
}

/// Recipients of events, as a list of queues.
struct QueueRecipients(Vec<Arc<SendQueue>>);

impl EventRecipients for QueueRecipients {
    fn deliver(&self, batch: &EventBatch) {
        self.0.iter().for_each(|queue| queue.push_events(batch));
    }
}

#[tokio::test]
async fn keeps_order_of_events_and_lines() {
    let mut fixture = QueueFixture::watching(1024);
    let recipients: Arc<dyn EventRecipients> = Arc::new(QueueRecipients(vec![Arc::clone(&fixture.queue)]));
    let tell = |step| {
        publish(&fixture.pump, &recipients, step);
    };
    tell(1);
    tell(2);
    assert!(fixture.ask(1, "question\n"));
    tell(3);
    assert_eq!(fixture.queue.flushed_lines(), 1, "nothing was awaited yet");
    assert_eq!(fixture.rest().await, line(1) + &line(2) + "question\n" + &line(3));
}

#[tokio::test]
async fn distributes_events_for_other_extensions_first() {
    let (mut both, mut one) = (QueueFixture::watching(1024), QueueFixture::watching(1024));
    let queues = vec![Arc::clone(&both.queue), Arc::clone(&one.queue)];
    let rows: [Arc<dyn EventRecipients>; 2] =
        [Arc::new(QueueRecipients(queues.clone())), Arc::new(QueueRecipients(queues[..1].to_vec()))];
    for (step, index) in [(1, 0), (2, 1), (3, 0)] {
        publish(&both.pump, &rows[index], step);
    }
    both.pump.distribute_events();
    assert_eq!(both.rest().await, line(1) + &line(2) + &line(3));
    assert_eq!(one.rest().await, line(1) + &line(3));
}

#[tokio::test]
async fn skips_encoding_of_unwatched_events() {
    let mut fixture = QueueFixture::watching(1024);
    let recipients: Arc<dyn EventRecipients> = Arc::new(QueueRecipients(vec![Arc::clone(&fixture.queue)]));
    for topic in [EventTopic::for_lifecycle("turn_end", None), EventTopic::for_session("turn_start", None)] {
        let unwatched = OutgoingEvent { topic, encode: &|| panic!("unwatched event") };
        fixture.pump.publish_event(&recipients, &[unwatched]);
    }
    assert_eq!(fixture.rest().await, "");
}

#[tokio::test]
async fn pump_writes_events_without_further_calls() {
    let mut fixture = QueueFixture::watching(1024);
    let recipients: Arc<dyn EventRecipients> = Arc::new(QueueRecipients(vec![Arc::clone(&fixture.queue)]));
    for step in [1, 2] {
        publish(&fixture.pump, &recipients, step);
    }
    let expect = line(1) + &line(2);
    let mut all = vec![0; expect.len()];
    fixture.far.read_exact(&mut all).await.unwrap();
    assert_eq!(String::from_utf8(all).unwrap(), expect);
}
