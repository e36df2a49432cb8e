//! A fake server and backend for tests of the interface.

mod data;
mod values;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::{AssistantBlock, Message, StopCause};
use haft_protocol::rpc::{
    ClientEvent as SessionEvent, Command, CommandFailure, EventLine, RpcEvent, RpcRequest, RpcResponse,
    ServerLine,
};
use haft_tui::app::{
    self, AppOptions, AppState, BackendReply, BackendRequest, ContextUse, Effect, FileList, SavedKey,
    TrustReview, UiEvent, WorkingTreeDiff,
};
use haft_tui::draw_context::DrawContext;
use haft_tui::theme::Theme;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

pub(crate) use values::{extension, image, time};
use values::{providers, queue, row};

/// The ID of the first session.
pub(crate) const SESSION: &str = "0199-first";

/// An interface with a fake server and backend.
pub(crate) struct Fake {
    pub(crate) state: AppState,
    pub(crate) now: Instant,
    pub(crate) messages: Vec<Message>,
    /// The requests and effects, one line each.
    pub(crate) log: Vec<String>,
    /// The requests that wait for a reply of the test.
    pub(crate) held: Vec<RpcRequest>,
    /// The commands whose replies the test sends.
    pub(crate) hold: Vec<&'static str>,
    pub(crate) busy: bool,
    /// The provider and the model of the session.
    model: (String, String),
    name: Option<String>,
    /// The tokens in the context.
    pub(crate) context: u64,
    /// The number of messages in the first session.
    pub(crate) said: usize,
    /// The changes of files since the start of the session.
    pub(crate) changes: WorkingTreeDiff,
    /// The background commands of the session.
    pub(crate) jobs: serde_json::Value,
    waiting: Vec<String>,
    sessions: usize,
    /// True if the backend does not load conversations.
    pub(crate) keeps_conversations: bool,
    todo: VecDeque<Effect>,
    carries: bool,
    size: (u16, u16),
}

/// Returns two hours after the time stamps of the sessions.
fn time_of_day() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_330_245)
}

impl Fake {
    /// Returns an interface with an empty, loaded session.
    pub(crate) fn new() -> Self {
        Self::with(AppOptions::default())
    }

    pub(crate) fn with(options: AppOptions) -> Self {
        Self::begun(options, false)
    }

    /// Returns an interface that waits for the conversation.
    pub(crate) fn waiting(options: AppOptions) -> Self {
        Self::begun(options, true)
    }

    /// Returns an interface whose session has no model.
    pub(crate) fn without_model(options: AppOptions) -> Self {
        Self::begun_with(options, false, (app::NO_MODEL, app::NO_MODEL))
    }

    fn begun(options: AppOptions, keeps_conversations: bool) -> Self {
        Self::begun_with(options, keeps_conversations, ("anthropic", "claude-opus"))
    }

    fn begun_with(
        options: AppOptions,
        keeps_conversations: bool,
        model: (&'static str, &'static str),
    ) -> Self {
        let now = Instant::now();
        let size = options.size;
        let version = "0.1.0".to_owned();
        let state = AppState::new(AppOptions { version, clock: time_of_day, ..options }, now);
        let mut fake = Self {
            state,
            now,
            size,
            messages: Vec::new(),
            log: Vec::new(),
            held: Vec::new(),
            hold: Vec::new(),
            busy: false,
            model: (model.0.to_owned(), model.1.to_owned()),
            name: None,
            context: 34_000,
            said: 3,
            changes: WorkingTreeDiff::default(),
            jobs: serde_json::json!([]),
            waiting: Vec::new(),
            sessions: 0,
            keeps_conversations,
            todo: VecDeque::new(),
            carries: false,
        };
        let effects = app::start(&mut fake.state);
        fake.carry_out(effects);
        fake.log.clear();
        fake
    }

    pub(crate) fn tell(&mut self, event: UiEvent) {
        let effects = app::update(&mut self.state, self.now, event);
        self.carry_out(effects);
    }

    pub(crate) fn later(&mut self, seconds: f32) {
        self.now += Duration::from_secs_f32(seconds);
        self.tell(UiEvent::Tick);
    }

    /// Presses keys, given by name and separated by spaces.
    pub(crate) fn keys(&mut self, keys: &str) {
        for key in keys.split_whitespace() {
            self.tell(UiEvent::Key(key.parse().unwrap()));
        }
    }

    pub(crate) fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            let key = if c == ' ' { "space".to_owned() } else { c.to_string() };
            self.tell(UiEvent::Key(key.parse().unwrap()));
        }
    }

    /// Types a line and presses enter.
    pub(crate) fn enter(&mut self, text: &str) {
        self.type_text(text);
        // Enter must not accept a completion candidate.
        if self.screen().contains('▸') {
            self.keys("esc");
        }
        self.keys("enter");
    }

    pub(crate) fn event(&mut self, event: impl Into<SessionEvent>) {
        let session = Some(SESSION.to_owned());
        self.event_of(event, session);
    }

    pub(crate) fn event_of(&mut self, event: impl Into<SessionEvent>, session: Option<String>) {
        self.tell(UiEvent::Line(Box::new(ServerLine::Event(EventLine { event: event.into(), session }))));
    }

    pub(crate) fn rpc(&mut self, event: RpcEvent) {
        self.event(event);
    }

    /// Loads the conversation of a session.
    pub(crate) fn read(&mut self, session: &str) {
        let messages = Ok(Arc::new(self.messages.clone()));
        self.tell(UiEvent::Answer(BackendReply::Conversation(session.to_owned(), messages)));
    }

    /// Answers the running prompt.
    pub(crate) fn answer(&mut self, text: &str) {
        self.event(AgentEvent::TurnStart { step: 1 });
        self.event(AgentEvent::AssistantStart);
        self.event(AgentEvent::TextDelta { delta: text.to_owned() });
        let content = vec![AssistantBlock::Text { text: text.to_owned() }];
        self.event(AgentEvent::AssistantMessage { content, time: time(), entry: None });
        self.event(AgentEvent::TurnEnd { stop: StopCause::End, error: None });
        self.done();
    }

    pub(crate) fn done(&mut self) {
        self.busy = false;
        self.event(AgentEvent::Done);
    }

    pub(crate) fn fail(&mut self, request: &RpcRequest, failure: CommandFailure) {
        let reply = RpcResponse::failure(request.id.clone(), request.command.kind(), failure);
        self.tell(UiEvent::Line(Box::new(ServerLine::Reply(reply))));
    }

    pub(crate) fn reply(&mut self, request: &RpcRequest, data: &str) {
        let data = RawJson::parse(data).unwrap();
        let reply = RpcResponse::success_of_kind(request.id.clone(), request.command.kind(), data);
        self.tell(UiEvent::Line(Box::new(ServerLine::Reply(reply))));
    }

    /// Returns the screen as text, with the position of the cursor.
    pub(crate) fn screen(&mut self) -> String {
        let (buffer, cursor) = self.drawn();
        let area = buffer.area;
        let mut rows = Vec::new();
        for y in 0..area.height {
            let mut row = String::new();
            let mut x = 0;
            while x < area.width {
                let symbol = buffer[(x, y)].symbol();
                row.push_str(symbol);
                x += 1.max(u16::try_from(ratatui_core::text::Line::raw(symbol).width()).unwrap());
            }
            rows.push(row.trim_end().to_owned());
        }
        let cursor = cursor.map_or_else(|| "no cursor".to_owned(), |(x, y)| format!("cursor {x},{y}"));
        format!("{}\n-- {cursor}", rows.join("\n"))
    }

    pub(crate) fn drawn(&mut self) -> (Buffer, Option<(u16, u16)>) {
        let area = Rect::new(0, 0, self.size.0, self.size.1);
        let mut buffer = Buffer::empty(area);
        let look = DrawContext { theme: Theme::clone(self.state.theme()), now: self.now, images: None };
        let cursor = app::draw(&mut self.state, area, &mut buffer, &look);
        self.state.mark_drawn(self.now);
        (buffer, cursor)
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.size = (columns, rows);
        self.tell(UiEvent::Resize(columns, rows));
    }

    /// Returns the log since the last call.
    pub(crate) fn take_log(&mut self) -> String {
        std::mem::take(&mut self.log).join("\n")
    }

    pub(crate) fn carry_out(&mut self, effects: Vec<Effect>) {
        self.todo.extend(effects);
        if std::mem::replace(&mut self.carries, true) {
            return;
        }
        while let Some(effect) = self.todo.pop_front() {
            match effect {
                Effect::Send(request) => self.send(*request),
                Effect::Ask(ask) => self.ask(ask),
                Effect::Copy(text) => {
                    self.log.push(format!("copy {text:?}"));
                    self.tell(UiEvent::Copied(Ok(())));
                }
                effect @ (Effect::OpenEditor(_)
                | Effect::RunInTerminal(_)
                | Effect::Suspend
                | Effect::Redraw) => {
                    self.log.push(format!("{effect:?}"));
                }
                effect @ (Effect::Bell | Effect::Notify(_) | Effect::Title(_) | Effect::Quit) => {
                    self.log.push(format!("{effect:?}"));
                }
            }
        }
        self.carries = false;
    }

    fn send(&mut self, request: RpcRequest) {
        let session = request.session.clone().unwrap_or_default();
        let line = request.encode().unwrap();
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        let fields = line.as_object().unwrap().iter();
        let fields = fields.filter(|(name, _)| !matches!(name.as_str(), "id" | "type" | "session"));
        let mut fields: Vec<String> = fields.map(|(name, value)| format!(" {name}={value}")).collect();
        fields.sort();
        let fields = fields.concat();
        let other =
            if session.is_empty() || session == SESSION { String::new() } else { format!(" @{session}") };
        self.log.push(format!("> {}{fields}{other}", request.command.kind()));
        if self.hold.contains(&request.command.kind().name()) {
            self.held.push(request);
            return;
        }
        let data = self.data(&request);
        self.reply(&request, &data);
        self.after(&request);
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the other commands have no data")]
    fn data(&mut self, request: &RpcRequest) -> String {
        match &request.command {
            Command::Hello(_) => format!(
                r#"{{"protocol_version":1,"version":"0.1.0","provider":"{}","model":"{}","session":"{SESSION}"}}"#,
                self.model.0, self.model.1
            ),
            Command::GetState(_) => self.state_data(request),
            Command::ListCommands(_) => data::COMMANDS.to_owned(),
            Command::ListExtensions(_) => data::EXTENSIONS.to_owned(),
            Command::ListJobs(_) => serde_json::json!({ "jobs": self.jobs }).to_string(),
            Command::ListSessions(_) => data::sessions(SESSION, self.said),
            Command::GetModels(_) => data::MODELS.to_owned(),
            Command::GetTools(_) => data::TOOLS.to_owned(),
            Command::SetTools(set) => {
                serde_json::json!({ "active": set.tools.clone().unwrap_or_default() }).to_string()
            }
            Command::SetModel(set) => {
                let (provider, model) = set.model.split_once('/').unwrap_or(("anthropic", &set.model));
                self.model = (provider.to_owned(), model.to_owned());
                serde_json::json!({ "provider": provider, "model": model }).to_string()
            }
            Command::SetThinking(set) => serde_json::json!({ "level": set.level.name() }).to_string(),
            Command::Prompt(_) | Command::Compact(_) => r#"{"started":true}"#.to_owned(),
            Command::Steer(said) => self.wait(&said.message),
            Command::FollowUp(said) => self.wait(&said.message),
            Command::TakeQueued(_) => {
                let steering = std::mem::take(&mut self.waiting);
                serde_json::json!({ "steering": steering, "follow_up": [], "next_turn": [] }).to_string()
            }
            Command::NewSession(_) | Command::Fork(_) => {
                self.sessions += 1;
                format!(r#"{{"session":"0199-next-{}","ephemeral":false}}"#, self.sessions)
            }
            Command::SwitchSession(_) => {
                let session = request.session.clone().unwrap();
                serde_json::json!({ "session": session, "ephemeral": false }).to_string()
            }
            Command::Tree(_) => data::TREE.to_owned(),
            Command::CompleteCommand(_) => data::COMPLETIONS.to_owned(),
            Command::MoveTo(to) if to.before == Some(true) => {
                r#"{"entry":"e2","text":"the first\n\nwith all that was said of it"}"#.to_owned()
            }
            Command::RunCommand(_) => r#"{"action":"noop","extension":"todo"}"#.to_owned(),
            Command::ReloadExt(_) => r#"{"stopped":2,"loaded":2,"ready":2,"kept":0,"errors":[]}"#.to_owned(),
            _ => "{}".to_owned(),
        }
    }

    fn wait(&mut self, message: &str) -> String {
        self.waiting.push(message.to_owned());
        serde_json::json!({ "running": self.busy }).to_string()
    }

    /// Sends the events that a server sends after a command.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most commands are replied to and no more")]
    fn after(&mut self, request: &RpcRequest) {
        let session = || request.session.clone();
        match &request.command {
            Command::SetName(set) => self.name = Some(set.name.clone()),
            Command::Prompt(said) => {
                self.busy = true;
                if !std::mem::take(&mut self.waiting).is_empty() {
                    self.event_of(queue(Vec::new()), session());
                }
                let content = vec![ContentBlock::text(said.message.clone())];
                self.event_of(AgentEvent::UserMessage { content, time: time(), entry: None }, session());
            }
            Command::Steer(_) | Command::FollowUp(_) => {
                let steering = self.waiting.clone();
                self.event_of(queue(steering), session());
            }
            Command::Abort(_) if self.busy => {
                self.event(AgentEvent::TurnEnd { stop: StopCause::Aborted, error: None });
                self.done();
            }
            _ => {}
        }
    }

    fn state_data(&self, request: &RpcRequest) -> String {
        let session = request.session.as_deref().unwrap_or(SESSION);
        let usage = RawJson::parse(if self.context > 0 { data::USED } else { data::UNUSED }).unwrap();
        let queue = serde_json::json!({ "steering": self.waiting, "follow_up": [], "next_turn": [] });
        serde_json::json!({
            "provider": self.model.0, "model": self.model.1, "cwd": "/projects/haft", "message_count": 0,
            "busy": self.busy, "name": self.name, "usage": usage, "session": session, "thinking": "high",
            "context": { "tokens": self.context, "estimated": 0, "window": 200_000 }, "prompts": 0, "queue": queue,
        })
        .to_string()
    }

    fn ask(&mut self, ask: BackendRequest) {
        self.log.push(format!("? {ask:?}"));
        let answer = match ask {
            BackendRequest::Conversation { .. } if self.keeps_conversations => return,
            BackendRequest::Conversation { session } => {
                BackendReply::Conversation(session, Ok(Arc::new(self.messages.clone())))
            }
            BackendRequest::Files => {
                let paths = ["src/", "src/main.rs", "README.md", "target/"].map(str::to_owned).to_vec();
                BackendReply::Files(FileList { paths, is_cut: false })
            }
            BackendRequest::Directory { path } => BackendReply::Directory(vec![format!("{path}inner.txt")]),
            BackendRequest::Branch => BackendReply::Branch(Some("main".to_owned())),
            BackendRequest::History => BackendReply::History(Ok(String::new())),
            BackendRequest::Providers => BackendReply::Providers(providers()),
            BackendRequest::Login { provider, .. } => BackendReply::Login(Ok(SavedKey {
                message: "the key is stored".to_owned(),
                model: Some(format!("{provider}/default")),
            })),
            BackendRequest::Logout { .. } => BackendReply::Logout(Ok("the key is removed".to_owned())),
            BackendRequest::ContextUse => BackendReply::ContextUse(Ok(ContextUse {
                tokens: 34_000,
                window: Some(200_000),
                parts: vec![("tool results", 20_000), ("system prompt and tools", 14_000)],
            })),
            BackendRequest::Diff => BackendReply::Diff(Ok(self.changes.clone())),
            BackendRequest::Usage => BackendReply::Usage(Ok("| total |\n|---|\n| $1.20 |\n".to_owned())),
            BackendRequest::Demo => BackendReply::Demo(Ok("Berlin: 16°C, fog".to_owned())),
            BackendRequest::Export { .. } => BackendReply::Export(Ok("/projects/haft/session.html".into())),
            BackendRequest::Delete { session } => BackendReply::Delete(Ok(session)),
            BackendRequest::Rename { session, name } => BackendReply::Rename(Ok((session, Some(name)))),
            BackendRequest::Trust => BackendReply::Trust(Ok(TrustReview {
                project: "/projects/haft".to_owned(),
                granted: false,
                items: vec!["extension guard".to_owned(), "AGENTS.md".to_owned()],
                digest: "d1".to_owned(),
            })),
            BackendRequest::Grant { .. } => {
                BackendReply::Grant(Ok("the project is trusted as it is".to_owned()))
            }
            BackendRequest::Settings => BackendReply::Settings(vec![
                row("tui.screen", "alternate", &["alternate", "inline", "linear"]),
                row("model", "claude-opus", &[]),
            ]),
            BackendRequest::Set { name, value } => BackendReply::Set(Ok(row(&name, &value, &[]))),
            BackendRequest::Clipboard => BackendReply::Clipboard(Ok("copied text".to_owned())),
            BackendRequest::Themes => BackendReply::Themes(Vec::new()),
            BackendRequest::Remember(_)
            | BackendRequest::Image { .. }
            | BackendRequest::Shell { .. }
            | BackendRequest::StopShell { .. } => return,
        };
        self.tell(UiEvent::Answer(answer));
    }
}
