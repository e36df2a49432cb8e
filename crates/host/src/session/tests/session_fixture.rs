//! A session, a clock that a test moves, and a transcript of all outputs.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use haft_adapter_picoclaw::peer::HookDialect;
use haft_adapter_picoclaw::wire::HookSubscriptions;
use haft_packages::Permissions;
use haft_protocol::RawJson;
use haft_protocol::codec::{self, PlainSpan};
use haft_protocol::ext::{
    CallTool, ExtensionFrame, HelloAck, HostQuery, InterceptApprove, InterceptToolCall, Limits,
    ToolCallProgress,
};
use haft_protocol::foreign::{ForeignDialect as _, PeerSetup};
use haft_protocol::ids::{ExtensionName, RequestId, ToolCallId};

use crate::session::hello_ack::{HelloAckFields, PreparedHelloAck};
use crate::session::ids::RequestIdGenerator;
use crate::session::{
    ExtensionSession, OutgoingQuestion, ProgressSender, QueryAnswer, SessionConfig, SessionOutput,
};
use crate::timeouts::Timeouts;
use crate::wire::translator::SharedTranslator;

pub(super) struct SessionFixture {
    pub(super) session: ExtensionSession<&'static str>,
    ids: RequestIdGenerator,
    start: Instant,
    pub(super) now: Instant,
    flushed: u64,
    pub(super) written: u64,
    pub(super) transcript: String,
    is_translated: bool,
}

fn facts(name: &str, limits: Limits) -> SessionConfig {
    SessionConfig {
        name: ExtensionName::new(name),
        greeting: None,
        translator: None,
        timeouts: Timeouts::default().into(),
        limits: Arc::new(limits),
        services: true,
        has_terminate_signal: true,
        granted: None,
    }
}

impl SessionFixture {
    pub(super) fn new() -> Self {
        Self::within(Limits::default())
    }

    pub(super) fn within(limits: Limits) -> Self {
        Self::with(limits, None)
    }

    /// Returns a session with these permissions, in the form of a manifest.
    pub(super) fn granted(permissions: &str) -> Self {
        Self::with(Limits::default(), Some(Arc::new(serde_json::from_str(permissions).unwrap())))
    }

    fn with(limits: Limits, granted: Option<Arc<Permissions>>) -> Self {
        let ack = HelloAck {
            protocol_version: 1,
            mode: None,
            zot_version: "0.1.0".into(),
            haft_version: None,
            provider: "scripted".into(),
            model: "demo".into(),
            cwd: "/work".into(),
            extension_dir: None,
            data_dir: None,
            capabilities: Vec::new(),
            limits: None,
            config: None,
            sandbox: None,
            granted: None,
        };
        let ack = PreparedHelloAck::new(PreparedHelloAck::encode_common(ack), HelloAckFields::default());
        let facts = SessionConfig { greeting: Some(Box::new(ack)), granted, ..facts("ext", limits) };
        Self::configured(facts, RequestIdGenerator::new("r"))
    }

    /// Returns a process hook for tools that has just been started.
    pub(super) fn hook() -> Self {
        Self::hook_within(Limits::default())
    }

    pub(super) fn hook_within(limits: Limits) -> Self {
        let setup = PeerSetup {
            name: ExtensionName::new("gate"),
            config: None,
            workspace: "/work".to_owned(),
            run: "run".to_owned(),
            user: "user".to_owned(),
            now: String::new,
        };
        let watch = HookSubscriptions::parse(&[], &["before_tool"]).unwrap();
        let peer = HookDialect::new(watch).open_peer(setup);
        let translator = Some(SharedTranslator::new(peer.new_translator()));
        let timeouts = Timeouts { hello: Duration::from_secs(5), ..Timeouts::default() };
        let facts = SessionConfig {
            translator,
            timeouts: timeouts.into(),
            has_terminate_signal: false,
            ..facts("gate", limits)
        };
        let ids = facts.request_ids();
        let mut fixture = Self::configured(facts, ids);
        fixture.settle();
        fixture
    }

    /// Returns a process hook that has answered hello.
    pub(super) fn ready_hook() -> Self {
        let mut fixture = Self::hook();
        fixture.line(r#"{"jsonrpc":"2.0","id":1,"result":{"ok":true}}"#);
        fixture.transcript.clear();
        fixture
    }

    fn configured(facts: SessionConfig, ids: RequestIdGenerator) -> Self {
        let now = Instant::now();
        Self {
            is_translated: facts.translator.is_some(),
            session: ExtensionSession::new(facts, now),
            ids,
            start: now,
            now,
            flushed: 0,
            written: 0,
            transcript: String::new(),
        }
    }

    /// Returns a session after `hello`, a `tool_call` intercept and `ready`.
    pub(super) fn ready() -> Self {
        Self::ready_within(Limits::default())
    }

    pub(super) fn ready_within(limits: Limits) -> Self {
        let mut fixture = Self::within(limits);
        fixture.line(r#"{"type":"hello","name":"ext"}"#);
        fixture.line(r#"{"type":"subscribe","intercept":["tool_call"]}"#);
        fixture.line(r#"{"type":"ready"}"#);
        fixture.transcript.clear();
        fixture
    }

    pub(super) fn line(&mut self, line: &str) {
        self.bytes(line.as_bytes());
    }

    pub(super) fn bytes(&mut self, line: &[u8]) {
        self.note("←", &String::from_utf8_lossy(line));
        self.session.handle_line(&Bytes::copy_from_slice(line), PlainSpan::default(), self.now);
        self.session.handle_read(1, 0, self.now);
        self.settle();
    }

    /// Records a sign of life that is not a frame yet.
    pub(super) fn heard(&mut self) {
        self.session.handle_read(0, 1, self.now);
    }

    /// Reports that the extension's input is closed.
    pub(super) fn deafened(&mut self) {
        self.session.on_input_closed(self.flushed, self.now);
    }

    /// Lets time pass and handles deadlines in order. All written lines count as read.
    pub(super) fn pass(&mut self, time: Duration) {
        self.wait_until(self.now + time, true);
    }

    /// Lets time pass while the extension reads nothing.
    pub(super) fn pass_unread(&mut self, time: Duration) {
        self.wait_until(self.now + time, false);
    }

    fn wait_until(&mut self, end: Instant, reading: bool) {
        while let Some(at) = self.session.poll_deadline().filter(|at| *at <= end) {
            if reading {
                self.flushed = self.written;
            }
            self.now = at.max(self.now);
            self.session.handle_deadline(self.now, self.flushed);
            self.settle();
        }
        self.now = end;
        if reading {
            self.flushed = self.written;
        }
    }

    pub(super) fn ask(&mut self, ticket: &'static str, request: impl HostQuery, after: u64) -> RequestId {
        let id = self.ids.request_id(self.ids.next_number());
        let after = Duration::from_secs(after);
        let question = OutgoingQuestion {
            id: id.clone(),
            frame: request.into_frame(id.clone()),
            what: ticket.into(),
            asked: self.now,
            after,
            clock: None,
            ticket,
            progress: Some(ProgressSender::new(None)),
        };
        self.session.send(question);
        self.settle();
        id
    }

    /// Sends the query to approve `bash`.
    pub(super) fn approval(&mut self, ticket: &'static str) -> RequestId {
        let (tool_id, tool_name) = (ToolCallId::new("t1"), "bash".into());
        let (tool_args, resolved_paths) = (RawJson::empty_object(), Vec::new());
        self.ask(ticket, InterceptApprove { tool_id, tool_name, tool_args, caller: None, resolved_paths }, 60)
    }

    pub(super) fn guard(&mut self, ticket: &'static str) -> RequestId {
        let tool_args = RawJson::parse(r#"{"command":"ls"}"#).unwrap();
        let (tool_id, tool_name) = (ToolCallId::new("t1"), "bash".into());
        let question =
            InterceptToolCall { tool_id, tool_name, tool_args, caller: None, resolved_paths: Vec::new() };
        self.ask(ticket, question, 5)
    }

    pub(super) fn tool(&mut self, ticket: &'static str) -> RequestId {
        self.ask(
            ticket,
            CallTool { name: "weather".into(), args: RawJson::empty_object(), tool_id: None },
            60,
        )
    }

    pub(super) fn settle(&mut self) {
        while let Some(output) = self.session.poll_output() {
            match output {
                SessionOutput::Write { number, line, .. } => {
                    self.written = number;
                    self.note("→", line.trim_end());
                }
                SessionOutput::Answer(ticket, Ok(QueryAnswer { response: Ok(response), reports, .. })) => {
                    self.note(
                        "=",
                        &match self.is_translated {
                            false => format!("{ticket}: {response:?}"),
                            true => {
                                let frame = codec::encode(&ExtensionFrame::from(response)).unwrap();
                                let reports: Vec<_> =
                                    reports.iter().map(|report| format!(" ({report})")).collect();
                                format!("{ticket}: {}{}", frame.trim_end(), reports.concat())
                            }
                        },
                    );
                }
                SessionOutput::Answer(ticket, Ok(QueryAnswer { response: Err(mistake), .. })) => {
                    self.note("=", &format!("{ticket}: {mistake}"));
                }
                SessionOutput::Answer(ticket, Err(error)) => self.note("=", &format!("{ticket}: {error}")),
                SessionOutput::Progress(_, ToolCallProgress { id, content, details }) => {
                    self.note("%", &format!("{id}: {content:?} {details:?}"));
                }
                SessionOutput::Fault(code, message) => self.note("!", &format!("{code}: {message}")),
                SessionOutput::Log(text) => self.note("·", &format!("log: {text}")),
                SessionOutput::Ui(ui) => self.note("·", &format!("{ui:?}")),
                SessionOutput::CloseInput => self.note("·", "close input"),
                SessionOutput::Terminate => self.note("·", "terminate"),
                SessionOutput::Call(wanted) => {
                    let name = wanted.task.name();
                    self.note("*", &format!("{name} {}", wanted.id))
                }
                SessionOutput::CancelCall(id) => self.note("*", &format!("cancel {id}")),
                SessionOutput::DropCalls => self.note("*", "cancel all"),
                SessionOutput::Changed => self.note("·", &format!("{:?}", self.session.state())),
            }
        }
    }

    fn note(&mut self, arrow: &str, text: &str) {
        let at = (self.now - self.start).as_secs_f64();
        writeln!(self.transcript, "+{at:.3} {arrow} {text}").unwrap();
    }

    /// Takes the codes of all faults since the last call.
    pub(super) fn faults(&mut self) -> Vec<String> {
        let transcript = std::mem::take(&mut self.transcript);
        let faults = transcript.lines().filter_map(|line| line.split_once(" ! ")?.1.split_once(':'));
        faults.map(|(code, _)| code.to_owned()).collect()
    }
}
