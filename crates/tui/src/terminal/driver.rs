//! `TerminalDriver`: the loop between the terminal, the interface, the program and the connection.

mod draw;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Instant;

use haft_protocol::rpc;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};

use super::burst::BurstJoiner;
use super::effects::EffectPerformer;
use super::external_editor::{self, EditorFile};
use super::foreground::foreground_words;
use super::frame_limiter::FrameLimiter;
use super::guard::TerminalGuard;
use super::images::{ImageCache, ImageProtocol};
use super::inline_viewport::InlineViewport;
use super::input::{self, InputReader};
use super::modes::TerminalModes;
use super::paint::ScreenPainter;
use super::reply::{self, BackgroundReplyParser, ReplyOutcome};
use super::signals::{Signal, Signals};
use super::{ANSWERS, MOST_LINES, osc};
use super::{
    Connection, Environment, ExitReason, ProgramServices, TerminalError, TerminalSetup, UserInterface,
    stdout, tail,
};
use crate::app::{BackendReply, BackendRequest, Effect, TerminalCommand, UiEvent};
use crate::draw_context::DrawContext;
use crate::image::CellSize;
use crate::theme::{Appearance, ColorDepth, Theme};
use crate::timeouts;

/// Plausible widths of a cell in pixels. The range of heights follows.
const CELL_WIDTHS: RangeInclusive<u16> = 3..=64;
const CELL_HEIGHTS: RangeInclusive<u16> = 6..=128;

/// The error while another program has the terminal.
const TERMINAL_IN_USE: &str = "Another program uses the terminal already.";

/// The state of the loop.
pub(super) struct TerminalDriver<I, P> {
    interface: I,
    program: Arc<P>,
    requests: mpsc::UnboundedSender<rpc::RpcRequest>,
    /// `None` after the end of the connection.
    lines: Option<mpsc::Receiver<rpc::ServerLine>>,
    batch: Vec<rpc::ServerLine>,
    answer: mpsc::Sender<BackendReply>,
    answers: mpsc::Receiver<BackendReply>,
    tasks: JoinSet<TaskOutcome>,
    signals: Signals,
    input: InputReader,
    replies: BackgroundReplyParser,
    bursts: BurstJoiner,
    guard: TerminalGuard,
    painter: ScreenPainter,
    viewport: Option<InlineViewport>,
    /// `None` if no images can be shown.
    image_cache: Option<ImageCache>,
    frame_limiter: FrameLimiter,
    /// No frame is drawn earlier, because the terminal may still report its background.
    draws_from: Instant,
    ticked_at: Option<Instant>,
    /// The time of the next tick. Once reached, it stays until the tick is delivered: an interface that counts
    /// seconds would otherwise postpone it again and again.
    tick_due: Option<Instant>,
    cells: (u16, u16),
    theme: Option<(Theme, Theme)>,
    depth: ColorDepth,
    environment: Environment,
    tail: usize,
    end: Option<ExitReason>,
}

/// The outcome of a task.
enum TaskOutcome {
    /// The program's answer arrived by the channel.
    Asked,
    /// The person's editor ended: its file, its name, and its exit.
    Edited(EditorFile, String, io::Result<Option<i32>>),
    /// A shell command ended.
    Ran(TerminalCommand, io::Result<Option<i32>>),
}

/// An event of the loop.
enum DriverEvent {
    Signal(Signal),
    Input(Result<Vec<crossterm::event::Event>, TerminalError>),
    Lines(usize),
    Answer(BackendReply),
    Done(Result<TaskOutcome, JoinError>),
    /// An image was encoded, or its encoding failed.
    Image,
    Time,
}

impl<I: UserInterface, P: ProgramServices> TerminalDriver<I, P> {
    pub(super) fn new(
        mut interface: I,
        program: Arc<P>,
        connection: Connection,
        setup: TerminalSetup,
    ) -> Result<Self, TerminalError> {
        let TerminalSetup { environment, inline, mouse, appearance, depth, tail } = setup;
        let signals = Signals::listen().map_err(TerminalError::Signals)?;
        let modern = environment.ignores_unknown();
        // In inline mode, the terminal keeps the mouse for its scrollback.
        let mouse = mouse && !inline;
        let guard = TerminalGuard::take(TerminalModes { inline, alternate: !inline, mouse, modern })?;
        let (answer, answers) = mpsc::channel(ANSWERS);
        let (now, mut replies) = (Instant::now(), BackgroundReplyParser::default());
        let mut draws_from = now;
        interface.set_appearance(appearance.or_else(|| environment.appearance()).unwrap_or_default());
        if appearance.is_none() && modern {
            stdout::write(reply::QUESTION).map_err(TerminalError::Write)?;
            replies.expect_reply(now);
            draws_from = now + timeouts::BACKGROUND;
        }
        Ok(Self {
            interface,
            program,
            requests: connection.requests,
            lines: Some(connection.lines),
            batch: Vec::new(),
            answer,
            answers,
            tasks: JoinSet::new(),
            signals,
            input: InputReader::new(),
            replies,
            bursts: BurstJoiner::default(),
            guard,
            painter: ScreenPainter::default(),
            viewport: inline.then(|| InlineViewport::new(environment.cuts_rows)),
            image_cache: environment.images.filter(|_| !inline).map(new_image_cache),
            frame_limiter: FrameLimiter::default(),
            draws_from,
            ticked_at: None,
            tick_due: None,
            cells: (0, 0),
            theme: None,
            depth: depth.unwrap_or_else(|| environment.color_depth()),
            environment,
            tail,
            end: None,
        })
    }

    pub(super) async fn run(&mut self) -> Result<ExitReason, TerminalError> {
        let effects = self.interface.start(Instant::now());
        self.perform_all(effects).await?;
        self.update_size().await?;
        self.frame_limiter.request_frame_now(Instant::now());
        loop {
            if let Some(end) = self.end {
                return Ok(end);
            }
            self.draw_if_due()?;
            match self.next_event().await {
                DriverEvent::Signal(signal) => self.handle_signal(signal).await?,
                DriverEvent::Input(events) => self.handle_input(events?).await?,
                DriverEvent::Lines(count) => self.handle_lines(count).await?,
                DriverEvent::Answer(answer) => self.send_event(UiEvent::Answer(answer)).await?,
                DriverEvent::Done(done) => self.handle_task(done).await?,
                DriverEvent::Image => self.frame_limiter.request_frame(Instant::now()),
                DriverEvent::Time => self.handle_timer().await?,
            }
        }
    }

    /// Restores the terminal, leaves the end of the transcript on it, and waits briefly for running tasks, such as
    /// saving a prompt to the history. While another program owns the terminal, nothing is written and the editor's
    /// file stays.
    pub(super) async fn shut_down(mut self) {
        if !self.input.is_paused() {
            self.release_terminal();
            let look = self.draw_context();
            let rows = self.interface.tail(self.cells.0, self.tail, &look);
            // Ignore the error of a terminal that is gone.
            let _ = stdout::write(&tail::tail_text(&rows, self.cells.0, self.depth));
        }
        self.answers.close();
        let over = async { while self.tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(timeouts::LAST_ANSWERS, over).await;
    }

    /// Sends an event to the interface and performs the effects.
    async fn send_event(&mut self, event: UiEvent) -> Result<(), TerminalError> {
        self.send_event_at(Instant::now(), event).await
    }

    async fn handle_signal(&mut self, signal: Signal) -> Result<(), TerminalError> {
        match signal {
            Signal::End(number) => self.end = Some(ExitReason::Signal(number)),
            // The program that owns the terminal gets the signal, too, and it is meant for that program.
            Signal::Interrupt(_) if self.input.is_paused() => {}
            Signal::Interrupt(number) => self.end = Some(ExitReason::Signal(number)),
            // The process may have been stopped by a program that changed the terminal.
            Signal::Continued if self.input.is_paused() => {}
            Signal::Continued => self.retake_terminal().await?,
        }
        Ok(())
    }

    async fn handle_input(&mut self, events: Vec<crossterm::event::Event>) -> Result<(), TerminalError> {
        let resized = events.iter().any(|event| matches!(event, crossterm::event::Event::Resize(..)));
        if resized {
            self.update_size().await?;
        }
        let (now, mut input) = (Instant::now(), Vec::new());
        for event in events {
            let ReplyOutcome { events, appearance } = self.replies.feed_event(now, event);
            input.extend(events);
            if let Some(appearance) = appearance {
                self.set_appearance(appearance);
            }
        }
        let input = self.bursts.join_keys(now, input);
        self.send_events(input).await
    }

    async fn send_events(
        &mut self,
        events: impl IntoIterator<Item = crossterm::event::Event>,
    ) -> Result<(), TerminalError> {
        for event in events.into_iter().filter_map(input::convert_event) {
            self.send_event(event).await?;
        }
        Ok(())
    }

    async fn handle_lines(&mut self, count: usize) -> Result<(), TerminalError> {
        if count == 0 {
            self.lines = None;
            return self.send_event(UiEvent::Disconnected).await;
        }
        let mut batch = std::mem::take(&mut self.batch);
        for line in batch.drain(..) {
            self.send_event(UiEvent::Line(Box::new(line))).await?;
        }
        self.batch = batch;
        Ok(())
    }

    async fn handle_task(&mut self, done: Result<TaskOutcome, JoinError>) -> Result<(), TerminalError> {
        match done {
            Ok(TaskOutcome::Asked) => Ok(()),
            Ok(TaskOutcome::Edited(draft, name, ended)) => {
                let edited = external_editor::read_edited_text(&draft, &name, ended);
                self.resume_from_program().await?;
                self.send_event(UiEvent::Edited(edited)).await
            }
            Ok(TaskOutcome::Ran(command, ended)) => {
                let ended = ended.map_err(|error| format!("Cannot start the shell: {error}."));
                self.resume_from_program().await?;
                self.send_event(UiEvent::RanInTerminal(command, ended)).await
            }
            // The panic hook has already restored the terminal, because this thread owns it.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Ok(()),
        }
    }

    /// Takes the terminal back from another program.
    async fn resume_from_program(&mut self) -> Result<(), TerminalError> {
        self.signals.forget_interrupts().await;
        self.input.resume();
        self.retake_terminal().await
    }

    async fn handle_timer(&mut self) -> Result<(), TerminalError> {
        let now = Instant::now();
        if self.replies.gives_up_at().is_some_and(|at| at <= now) {
            let events = self.replies.give_up();
            self.send_events(events).await?;
        }
        if self.bursts.ends_at().is_some_and(|at| at <= now) {
            let paste = self.bursts.finish_paste();
            self.send_events(paste).await?;
        }
        if self.tick_due.take_if(|at| *at <= now).is_some() {
            self.ticked_at = Some(now);
            self.send_event(UiEvent::Tick).await?;
        }
        Ok(())
    }

    fn set_appearance(&mut self, appearance: Appearance) {
        let now = Instant::now();
        self.interface.set_appearance(appearance);
        self.draws_from = now;
        self.frame_limiter.request_frame_now(now);
    }

    async fn retake_terminal(&mut self) -> Result<(), TerminalError> {
        self.guard.retake()?;
        self.forget_screen();
        self.update_size().await
    }

    /// Reads the terminal's size and tells the interface if it has changed.
    async fn update_size(&mut self) -> Result<(), TerminalError> {
        match self.take_size_change() {
            Some((columns, rows)) => self.send_event(UiEvent::Resize(columns, rows)).await,
            None => Ok(()),
        }
    }

    /// Returns the size of the terminal, when it has changed.
    fn take_size_change(&mut self) -> Option<(u16, u16)> {
        let cells = super::terminal_size();
        let changed = cells != self.cells;
        if let Some(strip) = self.viewport.as_mut().filter(|_| changed) {
            strip.force_redraw();
        }
        if let Some(cache) = &mut self.image_cache {
            cache.set_cell_size(cell_size());
        }
        self.cells = cells;
        changed.then_some(cells)
    }

    /// Waits for the next event. Other events stay available for the next call.
    async fn next_event(&mut self) -> DriverEvent {
        let now = Instant::now();
        if self.tick_due.is_none_or(|at| at > now) {
            self.tick_due = self.tick_at(now);
        }
        let wakes_at = self.wakes_at();
        tokio::select! {
            signal = self.signals.next() => DriverEvent::Signal(signal),
            events = self.input.next() => DriverEvent::Input(events),
            count = receive_lines(&mut self.lines, &mut self.batch) => DriverEvent::Lines(count),
            Some(answer) = self.answers.recv() => DriverEvent::Answer(answer),
            Some(done) = self.tasks.join_next() => DriverEvent::Done(done),
            () = wait_for_image(&mut self.image_cache) => DriverEvent::Image,
            () = sleep_until(wakes_at) => DriverEvent::Time,
        }
    }

    /// Returns the next time at which the loop has work without an event.
    fn wakes_at(&self) -> Option<Instant> {
        let frame =
            self.frame_limiter.due_at().filter(|_| !self.input.is_paused()).map(|at| at.max(self.draws_from));
        [frame, self.tick_due, self.replies.gives_up_at(), self.bursts.ends_at()].into_iter().flatten().min()
    }

    /// Returns the time of the next tick, limited so that the interface cannot keep the loop busy.
    fn tick_at(&self, now: Instant) -> Option<Instant> {
        let wanted = self.interface.wakes_at(now)?;
        Some(self.ticked_at.map_or(wanted, |at| wanted.max(at + timeouts::FRAME)))
    }

    fn spawn_ask(&mut self, ask: BackendRequest) {
        let (program, answer) = (self.program.clone(), self.answer.clone());
        self.tasks.spawn(async move {
            program.answer(ask, answer).await;
            TaskOutcome::Asked
        });
    }

    fn copy_to_clipboard(&self, text: &str) -> Result<UiEvent, TerminalError> {
        let copied = match osc::clipboard_sequence(text, self.environment.tmux) {
            Ok(sequence) => self.write_sequence(&sequence).map(Ok)?,
            Err(error) => Err(error),
        };
        Ok(UiEvent::Copied(copied))
    }

    fn show_notification(&self, text: &str) -> Result<(), TerminalError> {
        if !self.environment.ignores_unknown() {
            return Ok(());
        }
        self.write_sequence(&osc::notification_sequence(text, self.environment.tmux))
    }

    fn set_title(&self, title: &str) -> Result<(), TerminalError> {
        if !self.environment.ignores_unknown() {
            return Ok(());
        }
        self.write_sequence(&osc::title_sequence(title))
    }

    /// Writes to the terminal outside of frames. Does nothing while another program owns the terminal.
    fn write_sequence(&self, text: &str) -> Result<(), TerminalError> {
        if self.input.is_paused() {
            return Ok(());
        }
        stdout::write(text).map_err(TerminalError::Write)
    }

    /// Gives the terminal to the person's editor. The error is shown to the person.
    fn open_editor(&mut self, text: &str) -> Result<(), String> {
        if self.input.is_paused() {
            return Err(TERMINAL_IN_USE.to_owned());
        }
        let mut command = external_editor::editor_command(&self.environment)?;
        let name = command.first().cloned().unwrap_or_default();
        let draft = EditorFile::new(text)
            .map_err(|error| format!("Cannot write the text for the editor: {error}."))?;
        command.push(draft.path().to_string_lossy().into_owned());
        self.input.pause();
        self.release_terminal();
        let program = self.program.clone();
        self.tasks.spawn(async move {
            let ended = program.run_in_terminal(command).await;
            TaskOutcome::Edited(draft, name, ended)
        });
        Ok(())
    }

    /// Gives the terminal to a shell command. Returns the event of a failure.
    fn run_in_terminal(&mut self, command: TerminalCommand) -> Option<UiEvent> {
        if self.input.is_paused() {
            return Some(UiEvent::RanInTerminal(command, Err(TERMINAL_IN_USE.to_owned())));
        }
        self.input.pause();
        self.release_terminal();
        let program = self.program.clone();
        self.tasks.spawn(async move {
            let ended = program.run_in_terminal(foreground_words(&command.command)).await;
            TaskOutcome::Ran(command, ended)
        });
        None
    }

    async fn suspend(&mut self) -> Result<Option<UiEvent>, TerminalError> {
        if self.input.is_paused() || cfg!(not(unix)) {
            return Ok(None);
        }
        self.release_terminal();
        // If the process cannot be stopped, it continues.
        let _ = self.signals.stop().await;
        self.guard.retake()?;
        self.forget_screen();
        Ok(self.take_size_change().map(|(columns, rows)| UiEvent::Resize(columns, rows)))
    }
}

impl<I: UserInterface, P: ProgramServices> EffectPerformer for TerminalDriver<I, P> {
    fn update_interface(&mut self, now: Instant, event: UiEvent) -> Vec<Effect> {
        match event {
            UiEvent::Key(_) | UiEvent::Paste(_) | UiEvent::Mouse(_) | UiEvent::Resize(..) => {
                self.frame_limiter.request_frame_now(now)
            }
            UiEvent::Edited(_) | UiEvent::RanInTerminal(..) | UiEvent::Copied(_) => {
                self.frame_limiter.request_frame_now(now)
            }
            UiEvent::Line(_) | UiEvent::Disconnected | UiEvent::Answer(_) | UiEvent::Tick => {
                self.frame_limiter.request_frame(now)
            }
            UiEvent::TypedLine(_) | UiEvent::Interrupt => self.frame_limiter.request_frame(now),
        }
        self.interface.update(now, event)
    }

    async fn perform(&mut self, effect: Effect) -> Result<Option<UiEvent>, TerminalError> {
        match effect {
            // The receiver may be gone: the end of the connection is reported by an event of its own.
            Effect::Send(request) => drop(self.requests.send(*request)),
            Effect::Ask(ask) => self.spawn_ask(ask),
            Effect::Copy(text) => return self.copy_to_clipboard(&text).map(Some),
            Effect::OpenEditor(text) => {
                return Ok(self.open_editor(&text).err().map(|error| UiEvent::Edited(Err(error))));
            }
            Effect::RunInTerminal(command) => return Ok(self.run_in_terminal(command)),
            Effect::Suspend => return self.suspend().await,
            Effect::Redraw => self.redraw(),
            Effect::Bell => self.write_sequence("\x07")?,
            Effect::Notify(text) => self.show_notification(&text)?,
            Effect::Title(title) => self.set_title(&title)?,
            Effect::Quit => self.end = self.end.or(Some(ExitReason::Quit)),
        }
        Ok(None)
    }
}

/// A hasher begins with a random key, which is random enough for image numbers.
fn new_image_cache(protocol: ImageProtocol) -> ImageCache {
    let random = RandomState::new().build_hasher().finish();
    ImageCache::new(protocol, u32::try_from(random >> 32).unwrap_or_default())
}

/// Returns the size of a cell in pixels, if the terminal reports a plausible one.
fn cell_size() -> Option<CellSize> {
    let size = crossterm::terminal::window_size().ok()?;
    let (width, height) = (size.width.checked_div(size.columns)?, size.height.checked_div(size.rows)?);
    (CELL_WIDTHS.contains(&width) && CELL_HEIGHTS.contains(&height)).then_some(CellSize { width, height })
}

/// Receives lines and returns their number; `None` after the end.
async fn receive_lines(
    lines: &mut Option<mpsc::Receiver<rpc::ServerLine>>,
    batch: &mut Vec<rpc::ServerLine>,
) -> usize {
    match lines {
        Some(lines) => lines.recv_many(batch, MOST_LINES).await,
        None => std::future::pending().await,
    }
}

async fn wait_for_image(cache: &mut Option<ImageCache>) {
    match cache {
        Some(cache) => cache.finish_encoding().await,
        None => std::future::pending().await,
    }
}

/// Waits until a time; forever for `None`.
pub(super) async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
