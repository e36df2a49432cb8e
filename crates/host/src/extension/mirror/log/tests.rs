//! Tests of mirrors: random sessions, and the frames of chosen ones.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use futures::FutureExt as _;
use haft_core::session::entry::Name;
use haft_core::session::{Durability, Session, SessionWatcher};
use haft_protocol::codec::DecodedFrame;
use haft_protocol::ext::{HostFrame, Limits, QueueData};
use haft_protocol::thinking::ThinkingLevel;
use proptest::prelude::*;

use super::*;

/// The frames that wait for an extension, as in a send queue.
const QUEUE: usize = 4;

/// A mirror as an extension builds it from its frames.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Copy {
    session: String,
    entries: Vec<Arc<str>>,
    leaf: Option<String>,
    busy: Option<bool>,
    name: Option<String>,
}

impl Copy {
    /// Applies a frame. Returns its number, and true if the next frame continues it.
    fn apply(&mut self, frame: HostFrame) -> (u64, bool) {
        if let HostFrame::State(state) = frame {
            self.session = state.session;
            self.busy = state.busy.or(self.busy);
            self.name = state.name.or(self.name.take());
            return (state.seq, true);
        }
        let HostFrame::Entries(frame) = frame else { panic!("{frame:?}") };
        if frame.reset {
            self.entries.clear();
        }
        assert!(frame.header.is_some() || !frame.reset, "a new mirror has a header");
        self.session = frame.session;
        self.entries.extend(frame.append.iter().map(|line| Arc::from(line.as_str())));
        self.leaf = frame.leaf;
        (frame.seq, frame.more)
    }
}

struct Recorder(Mutex<MirrorLog>);

/// The number of the only recorded session.
const NUMBER: u64 = 1;

impl SessionWatcher for Recorder {
    fn session_changed(&self, change: SessionChange) {
        self.0.lock().unwrap().add_change(NUMBER, change);
    }
}

/// One extension, with its queue and its mirror.
struct Peer {
    place: MirrorPlace,
    queue: VecDeque<Bytes>,
    copy: Copy,
}

impl Peer {
    fn start() -> Self {
        let parts = ["entries", "busy", "name"].map(str::to_owned);
        let place = MirrorPlace::new(MirrorParts::from_names(&parts));
        Self { place, queue: VecDeque::new(), copy: Copy::default() }
    }

    fn fill(&mut self, log: &mut MirrorLog, most: usize) {
        while self.queue.len() < most {
            let Some(frame) = log.next_frame(&mut self.place) else { break };
            self.queue.push_back(frame);
        }
    }

    /// Reads one frame. Returns its number, and false for a frame that another one continues.
    fn read(&mut self) -> Option<(u64, bool)> {
        let line = self.queue.pop_front()?;
        let Ok(DecodedFrame::Known(frame)) = codec::decode::<HostFrame>(&line[..line.len() - 1]) else {
            panic!("{line:?}")
        };
        // The state and the entries of one time are two frames.
        let (seq, more) = self.copy.apply(frame);
        Some((seq, !more))
    }
}

#[derive(Debug, Clone)]
enum Step {
    Append,
    AppendMany(u8),
    Move(u8),
    Clear,
    OtherFile,
    Busy(bool),
    Publish,
    Fill,
    Read,
    Restart,
    Question,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Append),
        1 => (2_u8..40).prop_map(Step::AppendMany),
        3 => any::<u8>().prop_map(Step::Move),
        1 => Just(Step::Clear),
        1 => Just(Step::OtherFile),
        2 => any::<bool>().prop_map(Step::Busy),
        6 => Just(Step::Publish),
        6 => Just(Step::Fill),
        6 => Just(Step::Read),
        1 => Just(Step::Restart),
        3 => Just(Step::Question),
    ]
}

/// A session with its log and what it was at each publication.
struct World {
    session: Session,
    recorder: Arc<Recorder>,
    header: SessionHeader,
    busy: bool,
    /// The number of names so far.
    names: usize,
    lines: HashMap<EntryId, Arc<str>>,
    history: HashMap<u64, Copy>,
}

impl World {
    fn new(before: usize) -> Self {
        let session = Session::in_memory("/srv/app".as_ref());
        let recorder = Arc::new(Recorder(Mutex::new(MirrorLog::new(&Limits::default()))));
        let header = session.header();
        let (lines, history) = (HashMap::new(), HashMap::new());
        let mut world = Self { session, recorder, header, busy: false, names: 0, lines, history };
        (0..before).for_each(|_| world.append());
        assert_eq!(world.recorder.0.lock().unwrap().begin_reading(), NUMBER);
        let content = world.session.watch_changes(Arc::downgrade(&world.recorder) as _);
        // A change between the two belongs to the mirror, too.
        world.append();
        let (header, leaf) = (content.header.clone(), content.leaf);
        let entries = content.entries().unwrap();
        world.recorder.0.lock().unwrap().finish_reading(&header, leaf, entries);
        world.publish();
        world
    }

    fn append(&mut self) {
        self.names += 1;
        let name = Name { name: format!("name {}", self.names) };
        self.session.append(name, Durability::Soon).now_or_never().unwrap().unwrap();
    }

    fn publish(&mut self) {
        let name = self.session.name().unwrap().unwrap_or_default();
        let mut log = self.recorder.0.lock().unwrap();
        let session = self.header.id.to_string();
        let state = StateFrame {
            session: session.clone(),
            busy: Some(self.busy),
            name: Some(name.clone()),
            ..StateFrame::default()
        };
        log.set_state(state);
        log.publish_changes();
        let entries = self.session.entries().unwrap();
        let line = |entry: &SessionEntry| String::from_utf8(entry.to_line().unwrap()).unwrap();
        let lines = entries.iter().map(|entry| {
            let line = self.lines.entry(entry.id).or_insert_with(|| line(entry).trim_end().into());
            Arc::clone(line)
        });
        let copy = Copy {
            session,
            entries: lines.collect(),
            leaf: self.session.leaf().map(|leaf| leaf.to_string()),
            busy: Some(self.busy),
            name: Some(name),
        };
        self.history.insert(log.published, copy);
    }

    fn take(&mut self, step: &Step, peer: &mut Peer) {
        match step {
            Step::Append => self.append(),
            Step::AppendMany(count) => (0..*count).for_each(|_| self.append()),
            Step::Move(to) => {
                let entries = self.session.entries().unwrap();
                let to = entries.get(usize::from(*to) % (entries.len() + 1)).map(|entry| entry.id);
                self.session.move_to(to).unwrap();
            }
            Step::Clear => {
                self.session.clear().unwrap();
                self.publish();
            }
            Step::OtherFile => {
                self.header.id = haft_core::session::SessionId::new();
                let change = SessionChange::HeaderChanged(self.header.clone());
                self.recorder.session_changed(change);
                self.publish();
            }
            Step::Busy(busy) => self.busy = *busy,
            Step::Publish => self.publish(),
            Step::Fill => peer.fill(&mut self.recorder.0.lock().unwrap(), QUEUE),
            Step::Read => self.read(peer),
            Step::Restart => *peer = Peer::start(),
            Step::Question => {
                self.publish();
                peer.fill(&mut self.recorder.0.lock().unwrap(), usize::MAX);
                while !peer.queue.is_empty() {
                    self.read(peer);
                }
                assert_eq!(Some(&peer.copy), self.history.get(&self.recorder.0.lock().unwrap().published));
            }
        }
    }

    /// Reads one frame, and compares the mirror with the session at that time.
    fn read(&self, peer: &mut Peer) {
        let Some((seq, true)) = peer.read() else { return };
        let then = &self.history[&seq];
        assert_eq!((&peer.copy.entries, &peer.copy.leaf), (&then.entries, &then.leaf));
        assert_eq!(peer.copy.session, then.session);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn mirror_equals_session_after_every_frame(
        before in 0_usize..4,
        steps in prop::collection::vec(step(), 1..24),
    ) {
        let mut world = World::new(before);
        let mut peer = Peer::start();
        steps.iter().chain([&Step::Question]).for_each(|step| world.take(step, &mut peer));
    }
}

fn parts(names: &[&str]) -> MirrorPlace {
    let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
    MirrorPlace::new(MirrorParts::from_names(&names))
}

fn text(log: &mut MirrorLog, place: &mut MirrorPlace) -> String {
    let frame = log.next_frame(place).map(|frame| String::from_utf8(frame.to_vec()).unwrap());
    frame.unwrap_or_default().trim_end().to_owned()
}

#[test]
fn state_frame_has_only_changed_and_mirrored_parts() {
    let mut log = MirrorLog::new(&Limits::default());
    let mut place = parts(&["busy", "thinking", "queue", "later_part"]);
    let state = StateFrame {
        session: "0199".into(),
        busy: Some(false),
        thinking: Some(ThinkingLevel::High),
        queue: Some(QueueData::default()),
        model: Some("m".into()),
        ..StateFrame::default()
    };
    log.set_state(state.clone());
    assert_eq!(text(&mut log, &mut place), "", "nothing is published yet");
    log.publish_changes();
    insta::assert_snapshot!(text(&mut log, &mut place), @r#"{"type":"state","seq":1,"session":"0199","thinking":"high","busy":false,"queue":{"steering":[],"follow_up":[],"next_turn":[]}}"#);
    log.set_state(state.clone());
    log.set_state(StateFrame { busy: Some(true), model: Some("other".into()), ..state });
    log.publish_changes();
    insta::assert_snapshot!(text(&mut log, &mut place), @r#"{"type":"state","seq":2,"session":"0199","busy":true}"#);
    assert_eq!(text(&mut log, &mut place), "");
}

#[test]
fn frames_are_encoded_once_for_all_mirrors_at_the_same_place() {
    let world = World::new(3);
    let mut log = world.recorder.0.lock().unwrap();
    let (mut one, mut two) = (parts(&["entries"]), parts(&["entries"]));
    let (first, second) = (log.next_frame(&mut one).unwrap(), log.next_frame(&mut two).unwrap());
    assert_eq!(first.as_ptr(), second.as_ptr());
    assert_eq!(one, two);
}

#[test]
fn long_session_is_sent_in_several_frames() {
    let mut world = World::new(0);
    let name = Name { name: "n".repeat(100 * 1024) };
    for _ in 0..6 {
        world.session.append(name.clone(), Durability::Soon).now_or_never().unwrap().unwrap();
    }
    world.publish();
    let mut peer = Peer::start();
    peer.fill(&mut world.recorder.0.lock().unwrap(), usize::MAX);
    let lengths: Vec<_> = peer.queue.iter().map(|frame| frame.len() / 1024).collect();
    assert_eq!(lengths, [100, 200, 200, 200]);
    while !peer.queue.is_empty() {
        world.read(&mut peer);
    }
    assert_eq!(peer.copy.entries.len(), 7);
}

#[test]
fn entry_that_is_too_long_for_a_frame_is_omitted() {
    let limits = Limits { max_result_line: 4096, ..Limits::default() };
    let session = Session::in_memory("/srv/app".as_ref());
    let name = Name { name: "n".repeat(4096) };
    session.append(name, Durability::Soon).now_or_never().unwrap().unwrap();
    let mut log = MirrorLog::new(&limits);
    log.finish_reading(&session.header(), session.leaf(), session.entries().unwrap());
    log.publish_changes();
    let frame = text(&mut log, &mut parts(&["entries"]));
    assert!(frame.len() < 1024, "{frame}");
    let leaf = session.leaf().unwrap();
    assert!(frame.contains(&format!(r#"{{"type":"omitted","id":"{leaf}","parent":null"#)), "{frame}");
    assert!(frame.contains(r#""of":"name","bytes":"#), "{frame}");
}

#[test]
fn part_that_does_not_fit_into_a_frame_is_absent() {
    let mut log = MirrorLog::new(&Limits::default());
    let mut place = parts(&["name", "busy"]);
    let state = StateFrame { session: "0199".into(), busy: Some(false), ..StateFrame::default() };
    log.set_state(StateFrame { name: Some("n".repeat(1024 * 1024)), ..state });
    log.publish_changes();
    assert_eq!(text(&mut log, &mut place), r#"{"type":"state","seq":1,"session":"0199","busy":false}"#);
}

#[test]
fn other_id_of_the_session_is_sent_with_all_parts() {
    let mut log = MirrorLog::new(&Limits::default());
    let mut place = parts(&["busy"]);
    let state = StateFrame { session: "0199".into(), busy: Some(false), ..StateFrame::default() };
    for (session, seq) in [("0199", 1), ("0200", 2)] {
        log.set_state(StateFrame { session: session.into(), ..state.clone() });
        log.publish_changes();
        let expect = format!(r#"{{"type":"state","seq":{seq},"session":"{session}","busy":false}}"#);
        assert_eq!(text(&mut log, &mut place), expect);
    }
}

#[test]
fn other_session_takes_the_place_of_the_first() {
    let (first, second) = (World::new(3), World::new(1));
    let mut log = first.recorder.0.lock().unwrap();
    let mut peer = Peer::start();
    peer.fill(&mut log, usize::MAX);
    let number = log.begin_reading();
    log.finish_reading(&second.header, second.session.leaf(), second.session.entries().unwrap());
    let change = SessionChange::LeafMoved(None);
    log.add_change(NUMBER, change.clone());
    peer.fill(&mut log, usize::MAX);
    while peer.read().is_some() {}
    let leaf = second.session.leaf().map(|leaf| leaf.to_string());
    assert_eq!((peer.copy.entries.len(), &peer.copy.leaf), (2, &leaf), "an old change does not count");
    log.add_change(number, change);
    log.publish_changes();
    peer.fill(&mut log, usize::MAX);
    while peer.read().is_some() {}
    assert_eq!((peer.copy.session, peer.copy.leaf), (second.header.id.to_string(), None));
}
