//! The interactive mode without a user, and all its output to a terminal.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use haft_protocol::RawJson;
use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::{self, CommandFailure, EventLine, RpcEvent, RpcRequest, RpcResponse, ServerLine};
use haft_test_support::terminal::{OutputKind, forbidden_actions};
use haft_tui::app::settings::Settings;
use haft_tui::app::{self, AppOptions, AppState, BackendReply, BackendRequest, Effect, UiEvent};
use haft_tui::draw_context::DrawContext;
use haft_tui::keys::{Chord, ChordKey, Modifiers};
use haft_tui::terminal::UserInterface;
use haft_tui::terminal::output;
use haft_tui::theme::ColorDepth;
use ratatui_core::layout::Rect;
use serde::Serialize;

use super::painting::{CellInspector, FramePainter, RenderTarget};

/// The id of the session.
pub(super) const SESSION: &str = "0199";

/// The largest number of transcript rows left on the normal screen.
const TAIL: usize = 200;

/// The interactive mode without a user.
pub(super) struct HeadlessInterface {
    state: AppState,
    now: Instant,
    area: Rect,
    look: DrawContext,
    hand: FramePainter,
    /// The requests without a reply.
    requests: Vec<RpcRequest>,
    /// The number of the last question.
    number: u64,
    /// The defects of the output.
    found: Vec<String>,
    /// The output outside of frames.
    said: String,
    /// The rows of the last frame.
    pub(super) drawn: String,
    keeps: bool,
    calls: u64,
}

impl HeadlessInterface {
    /// Creates a stage of this size. `keeps` keeps the drawn rows for inspection.
    pub(super) fn new(place: RenderTarget, size: (u16, u16), keeps: bool) -> Result<Self> {
        let now = Instant::now();
        let mut settings = Settings::default();
        settings.set("tui.screen", place.setting()).context("choose the screen")?;
        let options = AppOptions { size, settings, version: "0.1.0".to_owned(), ..AppOptions::default() };
        let state = AppState::new(options, now);
        let look = state.look(now);
        let mut stage = Self {
            state,
            now,
            area: Rect::new(0, 0, size.0, size.1),
            look,
            hand: FramePainter::for_target(place)?,
            requests: Vec::new(),
            number: 0,
            found: Vec::new(),
            said: String::new(),
            drawn: String::new(),
            keeps,
            calls: 0,
        };
        let effects = app::start(&mut stage.state);
        stage.carry_out(effects);
        let hello = serde_json::json!({
            "protocol_version": 1, "version": "0.1.0", "provider": "p", "model": "m", "session": SESSION,
        });
        stage.reply("hello", &hello)?;
        stage.update(UiEvent::Answer(BackendReply::Conversation(SESSION.to_owned(), Ok(Vec::new().into()))));
        Ok(stage)
    }

    pub(super) fn update(&mut self, event: UiEvent) {
        let effects = app::update(&mut self.state, self.now, event);
        self.carry_out(effects);
    }

    pub(super) fn answer(&mut self, answer: BackendReply) {
        self.update(UiEvent::Answer(answer));
    }

    pub(super) fn event(&mut self, event: AgentEvent) {
        let session = Some(SESSION.to_owned());
        self.update(UiEvent::Line(Box::new(ServerLine::Event(EventLine { event: event.into(), session }))));
    }

    pub(super) fn rpc_event(&mut self, event: RpcEvent) {
        let session = Some(SESSION.to_owned());
        self.update(UiEvent::Line(Box::new(ServerLine::Event(EventLine { event: event.into(), session }))));
    }

    /// Presses keys by name, separated by blanks.
    pub(super) fn keys(&mut self, keys: &str) -> Result<()> {
        for key in keys.split_whitespace() {
            self.update(UiEvent::Key(key.parse().with_context(|| format!("the key {key}"))?));
        }
        Ok(())
    }

    /// Types a text, character by character.
    pub(super) fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            self.update(UiEvent::Key(Chord::new(ChordKey::Char(c), Modifiers::default())));
        }
    }

    /// Closes whatever is open and sends this line.
    pub(super) fn command(&mut self, line: &str) -> Result<()> {
        self.write(line)?;
        if matches!(self.hand, FramePainter::Lines) { Ok(()) } else { self.keys("enter") }
    }

    /// Closes whatever is open and puts this text into the editor.
    pub(super) fn write(&mut self, text: &str) -> Result<()> {
        if !matches!(self.hand, FramePainter::Lines) {
            self.keys("esc ctrl+c")?;
        }
        self.now += Duration::from_secs(5);
        self.update(UiEvent::Tick);
        match self.hand {
            FramePainter::Lines => {
                // Two views may be open, and the answer to a dialog must be printed first.
                for line in [":close", ":close", text] {
                    self.draw();
                    self.now += Duration::from_secs(1);
                    self.update(UiEvent::TypedLine(line.to_owned()));
                }
            }
            FramePainter::Painter(_) | FramePainter::Pictures(..) | FramePainter::Inline(_) => {
                self.update(UiEvent::Paste(text.to_owned()))
            }
        }
        Ok(())
    }

    /// Replies to the last command of this name, if it was sent.
    pub(super) fn reply<T: Serialize + ?Sized>(&mut self, command: &str, data: &T) -> Result<()> {
        let data = RawJson::from_value(data).context("write a reply")?;
        if let Some(request) = self.take(command) {
            let reply = RpcResponse::success_of_kind(request.id.clone(), request.command.kind(), data);
            self.update(UiEvent::Line(Box::new(ServerLine::Reply(reply))));
        }
        Ok(())
    }

    /// Rejects the last command of this name, if it was sent.
    pub(super) fn refuse(&mut self, command: &str, why: &str) {
        if let Some(request) = self.take(command) {
            let failure = CommandFailure::new(rpc::ErrorCode::Failed, why);
            let reply = RpcResponse::failure(request.id.clone(), request.command.kind(), failure);
            self.update(UiEvent::Line(Box::new(ServerLine::Reply(reply))));
        }
    }

    fn take(&mut self, command: &str) -> Option<RpcRequest> {
        let at = self.requests.iter().rposition(|request| request.command.kind().name() == command)?;
        Some(self.requests.remove(at))
    }

    /// Returns the number of the last numbered question.
    pub(super) fn last_number(&self) -> u64 {
        self.number
    }

    /// Returns an unused number for a call.
    pub(super) fn next_call(&mut self) -> u64 {
        self.calls += 1;
        self.calls
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send(request) => {
                    let kind = request.command.kind();
                    self.requests.retain(|waiting| waiting.command.kind() != kind);
                    self.requests.push(*request);
                }
                Effect::Ask(BackendRequest::Shell { number, .. } | BackendRequest::Image { number, .. }) => {
                    self.number = number
                }
                Effect::Copy(text) => {
                    // Text that exceeds the limit is not sent.
                    for tmux in [false, true] {
                        let copied = output::clipboard_sequence(&text, tmux).unwrap_or_default();
                        self.check_output(&copied, OutputKind::Clipboard);
                    }
                }
                Effect::Title(title) => self.check_output(&output::title_sequence(&title), OutputKind::Title),
                Effect::Ask(_) | Effect::OpenEditor(_) | Effect::RunInTerminal(_) => {}
                Effect::Suspend | Effect::Redraw | Effect::Bell | Effect::Notify(_) | Effect::Quit => {}
            }
        }
    }

    fn check_output(&mut self, text: &str, what: OutputKind) {
        if text.is_empty() {
            return;
        }
        self.found.extend(forbidden_actions(text.as_bytes(), what));
        if self.keeps {
            self.said.push_str(text);
        }
    }

    /// Redraws the next frame completely.
    pub(super) fn look_again(&mut self) {
        self.look = self.state.look(self.now);
    }

    /// Draws a frame and checks each cell and the output.
    pub(super) fn draw(&mut self) {
        let Self { state, look, hand, area, now, keeps, .. } = self;
        look.now = *now;
        let mut eye = CellInspector { keeps: *keeps, ..CellInspector::default() };
        let written = hand.draw(state, *area, look, &mut eye);
        state.mark_drawn(*now);
        self.drawn = eye.drawn;
        self.found.extend(eye.hostile);
        written.into_iter().for_each(|(text, what)| self.check_output(&text, what));
    }

    /// Quits and checks the remaining rows.
    pub(super) fn quit(&mut self) {
        if let Some((bye, what)) = self.hand.remove_drawing() {
            self.check_output(&bye, what);
        }
        let Self { state, look, area, .. } = self;
        let rows = UserInterface::tail(state, area.width, TAIL, look);
        for depth in [ColorDepth::None, ColorDepth::True] {
            let text = output::tail(&rows, self.area.width, depth);
            self.check_output(&text, OutputKind::Rows);
        }
    }

    /// Takes the defects since the previous call.
    pub(super) fn take_found(&mut self) -> Vec<String> {
        std::mem::take(&mut self.found)
    }

    /// Takes the output since the previous call, without sequences that would split a word.
    pub(super) fn take_said(&mut self) -> String {
        std::mem::take(&mut self.said)
    }
}
