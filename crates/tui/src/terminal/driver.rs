//! `Driver`: the loop between the terminal, the interface, the program and the connection.

mod draw;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Instant;

use haft_protocol::rpc;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};

use super::editor::{self, Draft};
use super::guard::Guard;
use super::images::{Gallery, Protocol};
use super::input::{self, Input};
use super::modes::Modes;
use super::pace::Pace;
use super::paint::Painter;
use super::perform::Performs;
use super::reply::{self, Heard, Replies};
use super::signals::{Signal, Signals};
use super::strip::Strip;
use super::{ANSWERS, MOST_LINES, osc};
use super::{Connection, End, Environment, Interface, Program, Setup, TerminalError, out, tail};
use crate::app::{Answer, Ask, Effect, Event};
use crate::image::CellSize;
use crate::look::Look;
use crate::theme::{Appearance, ColorDepth, Theme};
use crate::timeouts;

/// The pixels that a cell may have: across, and down.
const CELL_WIDTHS: RangeInclusive<u16> = 3..=64;
const CELL_HEIGHTS: RangeInclusive<u16> = 6..=128;

/// Everything that the loop has.
pub(super) struct Driver<I, P> {
    interface: I,
    program: Arc<P>,
    requests: mpsc::UnboundedSender<rpc::Request>,
    /// None once the connection is over.
    lines: Option<mpsc::Receiver<rpc::Line>>,
    batch: Vec<rpc::Line>,
    answer: mpsc::Sender<Answer>,
    answers: mpsc::Receiver<Answer>,
    tasks: JoinSet<Done>,
    signals: Signals,
    input: Input,
    replies: Replies,
    guard: Guard,
    painter: Painter,
    strip: Option<Strip>,
    /// None where no images can be shown.
    gallery: Option<Gallery>,
    pace: Pace,
    /// Before, nothing is drawn: the terminal may still say what its background is.
    draws_from: Instant,
    ticked_at: Option<Instant>,
    /// The moment at which the interface is told the time next. Once it has come it stays until it was told: asked then, the
    /// interface would name a later one, as whoever counts the seconds does.
    tick_due: Option<Instant>,
    cells: (u16, u16),
    theme: Option<(Theme, Theme)>,
    depth: ColorDepth,
    environment: Environment,
    tail: usize,
    end: Option<End>,
}

/// A task is over.
enum Done {
    /// The program was asked something; what it says came by the channel.
    Asked,
    /// The person's editor is closed: its file, its name, and how it ended.
    Edited(Draft, String, io::Result<Option<i32>>),
}

/// A happening that the loop waited for.
enum Happening {
    Signal(Signal),
    Input(Result<Vec<crossterm::event::Event>, TerminalError>),
    Lines(usize),
    Answer(Answer),
    Done(Result<Done, JoinError>),
    /// An image can be shown, or is known to be none.
    Image,
    Time,
}

impl<I: Interface, P: Program> Driver<I, P> {
    pub(super) fn new(
        mut interface: I,
        program: Arc<P>,
        connection: Connection,
        setup: Setup,
    ) -> Result<Self, TerminalError> {
        let Setup { environment, inline, mouse, appearance, depth, tail } = setup;
        let signals = Signals::listen().map_err(TerminalError::Signals)?;
        let modern = environment.ignores_unknown();
        // Where the terminal scrolls what was printed, the mouse is its own, too.
        let mouse = mouse && !inline;
        let guard = Guard::take(Modes { inline, alternate: !inline, mouse, modern })?;
        let (answer, answers) = mpsc::channel(ANSWERS);
        let (now, mut replies) = (Instant::now(), Replies::default());
        let mut draws_from = now;
        interface.appearance(appearance.or_else(|| environment.appearance()).unwrap_or_default());
        if appearance.is_none() && modern {
            out::write(reply::QUESTION).map_err(TerminalError::Write)?;
            replies.expect(now);
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
            input: Input::new(),
            replies,
            guard,
            painter: Painter::default(),
            strip: inline.then(|| Strip::new(environment.cuts_rows)),
            gallery: environment.images.filter(|_| !inline).map(gallery),
            pace: Pace::default(),
            draws_from,
            ticked_at: None,
            tick_due: None,
            cells: (0, 0),
            theme: None,
            depth: depth.unwrap_or_else(|| environment.depth()),
            environment,
            tail,
            end: None,
        })
    }

    pub(super) async fn drive(&mut self) -> Result<End, TerminalError> {
        let effects = self.interface.start(Instant::now());
        self.perform_all(effects).await?;
        self.measure().await?;
        self.pace.touched(Instant::now());
        loop {
            if let Some(end) = self.end {
                return Ok(end);
            }
            self.draw_if_due()?;
            match self.happening().await {
                Happening::Signal(signal) => self.signal(signal).await?,
                Happening::Input(events) => self.input(events?).await?,
                Happening::Lines(count) => self.lines(count).await?,
                Happening::Answer(answer) => self.tell(Event::Answer(answer)).await?,
                Happening::Done(done) => self.done(done).await?,
                Happening::Image => self.pace.changed(Instant::now()),
                Happening::Time => self.time().await?,
            }
        }
    }

    /// Gives the terminal back with the end of the transcript on it, and lets what is under way come to its end for a
    /// moment: a prompt that goes into the history, for example. While another program has the terminal, nothing is written
    /// over that, and its file stays.
    pub(super) async fn leave(mut self) {
        if !self.input.is_paused() {
            self.give_back();
            let look = self.look();
            let rows = self.interface.tail(self.cells.0, self.tail, &look);
            // A terminal that is gone shows nothing.
            let _ = out::write(&tail::text(&rows, self.cells.0, self.depth));
        }
        self.answers.close();
        let over = async { while self.tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(timeouts::LAST_ANSWERS, over).await;
    }

    /// Tells the interface what happens, and does what it wants.
    async fn tell(&mut self, event: Event) -> Result<(), TerminalError> {
        self.tell_at(Instant::now(), event).await
    }

    async fn signal(&mut self, signal: Signal) -> Result<(), TerminalError> {
        match signal {
            Signal::End(number) => self.end = Some(End::Signal(number)),
            // The program that has the terminal gets it, too, and it is meant.
            Signal::Interrupt(_) if self.input.is_paused() => {}
            Signal::Interrupt(number) => self.end = Some(End::Signal(number)),
            // Whoever stopped it may have changed the terminal.
            Signal::Continued if self.input.is_paused() => {}
            Signal::Continued => self.take_again().await?,
        }
        Ok(())
    }

    async fn input(&mut self, events: Vec<crossterm::event::Event>) -> Result<(), TerminalError> {
        let resized = events.iter().any(|event| matches!(event, crossterm::event::Event::Resize(..)));
        if resized {
            self.measure().await?;
        }
        for event in events {
            let Heard { events, appearance } = self.replies.hear(Instant::now(), event);
            self.events(events).await?;
            if let Some(appearance) = appearance {
                self.background(appearance);
            }
        }
        Ok(())
    }

    async fn events(&mut self, events: Vec<crossterm::event::Event>) -> Result<(), TerminalError> {
        for event in events.into_iter().filter_map(input::event) {
            self.tell(event).await?;
        }
        Ok(())
    }

    async fn lines(&mut self, count: usize) -> Result<(), TerminalError> {
        if count == 0 {
            self.lines = None;
            return self.tell(Event::Gone).await;
        }
        let mut batch = std::mem::take(&mut self.batch);
        for line in batch.drain(..) {
            self.tell(Event::Line(Box::new(line))).await?;
        }
        self.batch = batch;
        Ok(())
    }

    async fn done(&mut self, done: Result<Done, JoinError>) -> Result<(), TerminalError> {
        match done {
            Ok(Done::Asked) => Ok(()),
            Ok(Done::Edited(draft, name, ended)) => {
                let edited = editor::edited(&draft, &name, ended);
                self.signals.forget_interrupts().await;
                self.input.resume();
                self.take_again().await?;
                self.tell(Event::Edited(edited)).await
            }
            // The terminal is given back already, by the hook: this thread is the one that has it.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Ok(()),
        }
    }

    async fn time(&mut self) -> Result<(), TerminalError> {
        let now = Instant::now();
        if self.replies.gives_up_at().is_some_and(|at| at <= now) {
            let events = self.replies.give_up();
            self.events(events).await?;
        }
        if self.tick_due.take_if(|at| *at <= now).is_some() {
            self.ticked_at = Some(now);
            self.tell(Event::Tick).await?;
        }
        Ok(())
    }

    fn background(&mut self, appearance: Appearance) {
        let now = Instant::now();
        self.interface.appearance(appearance);
        self.draws_from = now;
        self.pace.touched(now);
    }

    async fn take_again(&mut self) -> Result<(), TerminalError> {
        self.guard.take_again()?;
        self.forget();
        self.measure().await
    }

    /// Asks how large the terminal is, and tells the interface when it is not as large as it was.
    async fn measure(&mut self) -> Result<(), TerminalError> {
        match self.measured() {
            Some((columns, rows)) => self.tell(Event::Resize(columns, rows)).await,
            None => Ok(()),
        }
    }

    /// Returns the size of the terminal, when it has changed.
    fn measured(&mut self) -> Option<(u16, u16)> {
        let cells = super::cells();
        let changed = cells != self.cells;
        if let Some(strip) = self.strip.as_mut().filter(|_| changed) {
            strip.again();
        }
        if let Some(gallery) = &mut self.gallery {
            gallery.measured(cell_size());
        }
        self.cells = cells;
        changed.then_some(cells)
    }

    /// The next thing that happens. Whatever else has happened by then is kept for the next time.
    async fn happening(&mut self) -> Happening {
        let now = Instant::now();
        if self.tick_due.is_none_or(|at| at > now) {
            self.tick_due = self.tick_at(now);
        }
        let wakes_at = self.wakes_at();
        tokio::select! {
            signal = self.signals.next() => Happening::Signal(signal),
            events = self.input.next() => Happening::Input(events),
            count = lines(&mut self.lines, &mut self.batch) => Happening::Lines(count),
            Some(answer) = self.answers.recv() => Happening::Answer(answer),
            Some(done) = self.tasks.join_next() => Happening::Done(done),
            () = image(&mut self.gallery) => Happening::Image,
            () = until(wakes_at) => Happening::Time,
        }
    }

    /// When there is something to do though nothing happens.
    fn wakes_at(&self) -> Option<Instant> {
        let frame = self.pace.due_at().filter(|_| !self.input.is_paused()).map(|at| at.max(self.draws_from));
        [frame, self.tick_due, self.replies.gives_up_at()].into_iter().flatten().min()
    }

    /// When the interface is told the time. It cannot keep the loop busy with it.
    fn tick_at(&self, now: Instant) -> Option<Instant> {
        let wanted = self.interface.wakes_at(now)?;
        Some(self.ticked_at.map_or(wanted, |at| wanted.max(at + timeouts::FRAME)))
    }

    fn ask(&mut self, ask: Ask) {
        let (program, answer) = (self.program.clone(), self.answer.clone());
        self.tasks.spawn(async move {
            program.answer(ask, answer).await;
            Done::Asked
        });
    }

    fn copy(&self, text: &str) -> Result<Event, TerminalError> {
        let copied = match osc::copy(text, self.environment.tmux) {
            Ok(sequence) => self.say(&sequence).map(Ok)?,
            Err(error) => Err(error),
        };
        Ok(Event::Copied(copied))
    }

    fn title(&self, title: &str) -> Result<(), TerminalError> {
        if !self.environment.ignores_unknown() {
            return Ok(());
        }
        self.say(&osc::title(title))
    }

    /// Writes to the terminal beside the frames; nothing while another program has it.
    fn say(&self, text: &str) -> Result<(), TerminalError> {
        if self.input.is_paused() {
            return Ok(());
        }
        out::write(text).map_err(TerminalError::Write)
    }

    /// Gives the terminal to the person's editor. The error is for the person.
    fn open_editor(&mut self, text: &str) -> Result<(), String> {
        if self.input.is_paused() {
            return Err("An editor is open already.".to_owned());
        }
        let mut command = editor::command(&self.environment)?;
        let name = command.first().cloned().unwrap_or_default();
        let draft = Draft::new(text)
            .map_err(|error| format!("The text cannot be written for the editor: {error}."))?;
        command.push(draft.path().to_string_lossy().into_owned());
        self.input.pause();
        self.give_back();
        let program = self.program.clone();
        self.tasks.spawn(async move {
            let ended = program.edit(command).await;
            Done::Edited(draft, name, ended)
        });
        Ok(())
    }

    async fn suspend(&mut self) -> Result<Option<Event>, TerminalError> {
        if self.input.is_paused() || cfg!(not(unix)) {
            return Ok(None);
        }
        self.give_back();
        // What cannot be stopped goes on.
        let _ = self.signals.stop().await;
        self.guard.take_again()?;
        self.forget();
        Ok(self.measured().map(|(columns, rows)| Event::Resize(columns, rows)))
    }
}

impl<I: Interface, P: Program> Performs for Driver<I, P> {
    fn hears(&mut self, now: Instant, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(_) | Event::Paste(_) | Event::Mouse(_) | Event::Resize(..) => self.pace.touched(now),
            Event::Edited(_) | Event::Copied(_) => self.pace.touched(now),
            Event::Line(_) | Event::Gone | Event::Answer(_) | Event::Tick => self.pace.changed(now),
            Event::Typed(_) | Event::Interrupt => self.pace.changed(now),
        }
        self.interface.update(now, event)
    }

    async fn perform(&mut self, effect: Effect) -> Result<Option<Event>, TerminalError> {
        match effect {
            // Nobody takes commands any more: that the connection is over is an event of its own.
            Effect::Send(request) => drop(self.requests.send(*request)),
            Effect::Ask(ask) => self.ask(ask),
            Effect::Copy(text) => return self.copy(&text).map(Some),
            Effect::OpenEditor(text) => {
                return Ok(self.open_editor(&text).err().map(|error| Event::Edited(Err(error))));
            }
            Effect::Suspend => return self.suspend().await,
            Effect::Redraw => self.redraw(),
            Effect::Bell => self.say("\x07")?,
            Effect::Title(title) => self.title(&title)?,
            Effect::Quit => self.end = self.end.or(Some(End::Quit)),
        }
        Ok(None)
    }
}

/// Hashers begin with a random key, which is random enough for numbers of images.
fn gallery(protocol: Protocol) -> Gallery {
    let random = RandomState::new().build_hasher().finish();
    Gallery::new(protocol, u32::try_from(random >> 32).unwrap_or_default())
}

/// The pixels of a cell, where the terminal says how many it has, and says something likely.
fn cell_size() -> Option<CellSize> {
    let size = crossterm::terminal::window_size().ok()?;
    let (width, height) = (size.width.checked_div(size.columns)?, size.height.checked_div(size.rows)?);
    (CELL_WIDTHS.contains(&width) && CELL_HEIGHTS.contains(&height)).then_some(CellSize { width, height })
}

/// The number of lines that have come; none once none comes any more.
async fn lines(lines: &mut Option<mpsc::Receiver<rpc::Line>>, batch: &mut Vec<rpc::Line>) -> usize {
    match lines {
        Some(lines) => lines.recv_many(batch, MOST_LINES).await,
        None => std::future::pending().await,
    }
}

async fn image(gallery: &mut Option<Gallery>) {
    match gallery {
        Some(gallery) => gallery.ready().await,
        None => std::future::pending().await,
    }
}

/// Waits until a time; for ever where there is none.
pub(super) async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
