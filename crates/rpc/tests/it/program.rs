//! A program that is driven: a model that is played, a tool, an extension at the other end of two streams.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use haft_core::Agent;
use haft_core::hooks::CancellationToken;
use haft_core::model::{
    Model, ModelError, ModelErrorKind, ModelEvent, ModelInfo, ModelRequest, ModelResponse, ModelStream,
};
use haft_core::session::Session;
use haft_core::session::store::Store;
use haft_core::tool::{Tool, ToolContext, ToolOutput, ToolSpec};
use haft_host::{Host, HostConfig};
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{Message, Time};
use haft_protocol::rpc::{CommandInfo, ErrorCode, Failure, SessionInfo};
use haft_rpc::{Expanded, Opened, Screens, Sessions, Which};
use tokio::io::{DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::Notify;

/// What the model does with one request.
pub(crate) enum Answer {
    Say(&'static str),
    /// The same piece so many times.
    Pieces(&'static str, usize),
    Call(&'static str, &'static str),
    /// Says the beginning at once, and the rest when it is told to.
    Held(&'static str, Arc<Notify>, &'static str),
    Fail(&'static str),
    Panic,
}

/// A model that is played: an answer for each request, and `echo: …` behind the last.
pub(crate) struct Played {
    name: &'static str,
    answers: Mutex<VecDeque<Answer>>,
}

impl Played {
    pub(crate) fn new(name: &'static str, answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        Arc::new(Self { name, answers: Mutex::new(answers.into_iter().collect()) })
    }

    pub(crate) fn then(&self, answer: Answer) {
        self.answers.lock().unwrap().push_back(answer);
    }
}

#[async_trait]
impl Model for Played {
    fn info(&self) -> ModelInfo {
        ModelInfo { provider: "played".into(), model: self.name.into() }
    }

    async fn stream(&self, _: CancellationToken, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let next = self.answers.lock().unwrap().pop_front();
        let Some(next) = next else {
            return Ok(ModelResponse::text(format!("echo: {}", last_text(&request))).into_stream());
        };
        Ok(match next {
            Answer::Say(text) => ModelResponse::text(text).into_stream(),
            Answer::Pieces(text, count) => {
                let pieces = (0..count).map(move |_| Ok(ModelEvent::Text(text.into())));
                let whole = ModelEvent::Done(ModelResponse::text(text.repeat(count)));
                stream::iter(pieces.chain([Ok(whole)])).boxed()
            }
            Answer::Call(name, args) => {
                let (id, args) = (ToolCallId::new("call-1"), RawJson::parse(args).unwrap());
                ModelResponse::calls([ToolCall { id, name: name.into(), args }]).into_stream()
            }
            Answer::Held(before, gate, after) => {
                let whole = ModelResponse::text(format!("{before}{after}"));
                let rest = async move {
                    gate.notified().await;
                    stream::iter([Ok(ModelEvent::Text(after.into())), Ok(ModelEvent::Done(whole))])
                };
                stream::iter([Ok(ModelEvent::Text(before.into()))])
                    .chain(stream::once(rest).flatten())
                    .boxed()
            }
            Answer::Fail(why) => return Err(ModelError::new(ModelErrorKind::Rejected, why)),
            Answer::Panic => panic!("the model is broken"),
        })
    }
}

fn last_text(request: &ModelRequest) -> String {
    let text = request.messages.iter().rev().find_map(|message| match message {
        Message::User { content, .. } => Some(joined_text(content)),
        Message::Assistant(_) | Message::Tool(_) => None,
    });
    text.unwrap_or_default()
}

/// A tool that says what it got.
struct Look;

#[async_trait]
impl Tool for Look {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::new(ToolSpec::new("look", "Looks at something."))
    }

    async fn execute(&self, context: ToolContext, call: ToolCall) -> ToolOutput {
        context.progress("looking");
        ToolOutput::text(format!("saw {}", call.args))
    }
}

/// The streams of an extension that somebody else plays.
pub(crate) type Streams = (ReadHalf<DuplexStream>, WriteHalf<DuplexStream>);

/// A program with one model, and another one that can be switched to.
pub(crate) struct Program {
    pub(crate) model: Arc<Played>,
    /// The extension of the first session, if it has one.
    extension: Mutex<Option<Streams>>,
    /// Where sessions are recorded; none are without it.
    sessions: Option<PathBuf>,
    ticks: Arc<AtomicU64>,
}

impl Program {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self {
            model: Played::new("one", answers),
            extension: Mutex::default(),
            sessions: None,
            ticks: Arc::default(),
        }
    }

    pub(crate) fn with_extension(self, streams: Streams) -> Self {
        Self { extension: Mutex::new(Some(streams)), ..self }
    }

    pub(crate) fn recording(self, sessions: &Path) -> Self {
        Self { sessions: Some(sessions.to_owned()), ..self }
    }

    fn cwd() -> &'static Path {
        Path::new("/srv/app")
    }

    fn fresh(&self, ephemeral: bool) -> Session {
        match &self.sessions {
            Some(dir) if !ephemeral => Store::new(dir).create(Self::cwd()),
            _ => Session::in_memory(Self::cwd()),
        }
    }

    async fn begin(&self, session: Session, screens: &Screens) -> Opened {
        let clock = clock(&self.ticks);
        let session = session.with_clock(clock.clone());
        let screen = screens.begin(&session);
        let streams = self.extension.lock().unwrap().take();
        let mut config = HostConfig::new("1.0.0", self.model.info(), Self::cwd());
        config.reserved_tools = vec!["look".into()];
        let mut host = Host::builder(config).events(screen.events()).frontend(screen.clone());
        if let Some((reader, writer)) = streams {
            host = host.streams("todo", reader, writer);
        }
        let host = host.start().await;
        let own: Vec<Arc<dyn Tool>> = vec![Arc::new(Look)];
        let agent = Agent::builder(Arc::clone(&self.model))
            .session(session)
            .clock(clock)
            .hook_source(host.hook_source())
            .add_tools(own.iter().cloned().chain(host.tools()));
        let agent = screen.joined(agent).build().unwrap();
        host.serve(agent.caller());
        Opened::new(agent, screen).with_extensions(host, own)
    }
}

/// A second goes by with each look at it.
fn clock(ticks: &Arc<AtomicU64>) -> impl Fn() -> Time + Clone + Send + Sync + 'static {
    let ticks = Arc::clone(ticks);
    move || {
        let seconds = ticks.fetch_add(1, Ordering::Relaxed);
        Time(format!("2026-01-02T03:{:02}:{:02}Z", seconds / 60 % 60, seconds % 60))
    }
}

#[async_trait]
impl Sessions for Program {
    type Error = Failure;

    async fn first(&self, screens: &Screens) -> Result<Opened, Failure> {
        self.open(Which::New { ephemeral: None }, screens).await
    }

    async fn open(&self, which: Which, screens: &Screens) -> Result<Opened, Failure> {
        let session = match which {
            Which::New { ephemeral } => self.fresh(ephemeral.unwrap_or(false)),
            Which::Given(session) => session,
            Which::Stored(name) => {
                let none =
                    || Failure::new(ErrorCode::SessionNotFound, format!("no session is called {name:?}"));
                let store = Store::new(self.sessions.as_ref().ok_or_else(none)?);
                let found = store.find(&name).map_err(|_| none())?;
                Session::open(&found.path)
                    .map_err(|error| Failure::new(ErrorCode::SessionLocked, error.to_string()))?
            }
        };
        Ok(self.begin(session, screens).await)
    }

    async fn stored(&self) -> Result<Vec<SessionInfo>, Failure> {
        let Some(dir) = &self.sessions else { return Ok(Vec::new()) };
        let found = Store::new(dir).list(Self::cwd()).unwrap_or_default();
        let info = |found: haft_core::session::store::Found| {
            let summary = found.summary().unwrap();
            SessionInfo {
                session: found.id.to_string(),
                open: false,
                current: false,
                busy: false,
                path: Some(found.path.to_string_lossy().into_owned()),
                cwd: summary.cwd,
                created: summary.created,
                last: summary.last,
                name: summary.name,
                tags: summary.tags,
                first_text: summary.first_text,
                messages: summary.messages as u64,
                usage: summary.usage,
                forked_from: summary.forked_from.map(|origin| origin.session.to_string()),
            }
        };
        Ok(found.into_iter().map(info).collect())
    }

    async fn model(&self, name: &str, _: &ModelInfo) -> Result<Arc<dyn Model>, Failure> {
        match name {
            "two" | "played/two" => Ok(Played::new("two", [])),
            _ => {
                Err(Failure::new(ErrorCode::ModelNotFound, format!("there is no model {name}; there is two")))
            }
        }
    }

    fn templates(&self) -> Vec<CommandInfo> {
        vec![CommandInfo { name: "review".into(), description: "Looks at a file.".into(), extension: None }]
    }

    fn expand(&self, name: &str, arguments: &str) -> Expanded {
        match name {
            "review" if arguments.is_empty() => Expanded::Failed("say which file".into()),
            "review" => Expanded::Message(format!("/review {arguments} with care")),
            _ => Expanded::Unknown,
        }
    }
}
