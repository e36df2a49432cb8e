//! The linear mode's loop: printed and typed lines, for screen readers and for terminals without cursor control.
//!
//! The terminal's settings stay unchanged: its line editing is used, and printed output is never redrawn. No escape
//! sequence is written.

mod line_input;

use std::sync::Arc;
use std::time::Instant;

use haft_protocol::rpc;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};

use self::line_input::{TerminalEcho, TimedLine};
use super::effects::EffectPerformer;
use super::signals::{Signal, Signals};
use super::{
    ANSWERS, Connection, ExitReason, LinearInterface, MOST_LINES, ProgramServices, TerminalError, stdout,
};
use crate::app::{BackendReply, Effect, LinearOutput, UiEvent};
use crate::clean::CleanLine;
use crate::timeouts;

/// Runs an interface with printed and typed lines until it ends. Needs its own thread, and a single-threaded runtime
/// with IO and time.
///
/// # Errors
/// [`TerminalError`] if output fails.
pub async fn run_linear<I: LinearInterface, P: ProgramServices>(
    interface: I,
    program: Arc<P>,
    connection: Connection,
) -> Result<ExitReason, TerminalError> {
    let mut lines = LinearDriver::new(interface, program, connection)?;
    let end = lines.run().await;
    lines.shut_down().await;
    end
}

/// The state of the loop.
struct LinearDriver<I, P> {
    interface: I,
    program: Arc<P>,
    requests: mpsc::UnboundedSender<rpc::RpcRequest>,
    /// `None` after the end of the connection.
    lines: Option<mpsc::Receiver<rpc::ServerLine>>,
    answer: mpsc::Sender<BackendReply>,
    answers: mpsc::Receiver<BackendReply>,
    tasks: JoinSet<()>,
    signals: Signals,
    typed: mpsc::Receiver<TimedLine>,
    echo: TerminalEcho,
    ticked_at: Option<Instant>,
    cells: (u16, u16),
    end: Option<ExitReason>,
}

/// An event of the loop.
enum LinearEvent {
    Signal(Signal),
    Typed(Option<TimedLine>),
    Lines(Vec<rpc::ServerLine>),
    Answer(BackendReply),
    Done(Result<(), JoinError>),
    Time,
}

impl<I: LinearInterface, P: ProgramServices> EffectPerformer for LinearDriver<I, P> {
    fn update_interface(&mut self, now: Instant, event: UiEvent) -> Vec<Effect> {
        self.interface.update(now, event)
    }

    async fn perform(&mut self, effect: Effect) -> Result<Option<UiEvent>, TerminalError> {
        match effect {
            // The receiver may be gone: the end of the connection is reported by an event of its own.
            Effect::Send(request) => drop(self.requests.send(*request)),
            Effect::Ask(ask) => {
                let (program, answer) = (self.program.clone(), self.answer.clone());
                self.tasks.spawn(async move { program.answer(ask, answer).await });
            }
            Effect::Copy(_) => {
                let why = "The clipboard is not available in linear mode; copy with the terminal instead.";
                return Ok(Some(UiEvent::Copied(Err(why.to_owned()))));
            }
            Effect::OpenEditor(_) => {
                let why = "An external editor is not available in linear mode.";
                return Ok(Some(UiEvent::Edited(Err(why.to_owned()))));
            }
            Effect::RunInTerminal(command) => {
                let why = "A command cannot use the terminal in linear mode; run it in another terminal.";
                return Ok(Some(UiEvent::RanInTerminal(command, Err(why.to_owned()))));
            }
            Effect::Bell => stdout::write("\x07").map_err(TerminalError::Write)?,
            // The terminal itself stops the program. Nothing is drawn, and titles stay unchanged.
            Effect::Suspend | Effect::Redraw | Effect::Notify(_) | Effect::Title(_) => {}
            Effect::Quit => self.end = self.end.or(Some(ExitReason::Quit)),
        }
        Ok(None)
    }
}

impl<I: LinearInterface, P: ProgramServices> LinearDriver<I, P> {
    fn new(interface: I, program: Arc<P>, connection: Connection) -> Result<Self, TerminalError> {
        let (answer, answers) = mpsc::channel(ANSWERS);
        Ok(Self {
            interface,
            program,
            requests: connection.requests,
            lines: Some(connection.lines),
            answer,
            answers,
            tasks: JoinSet::new(),
            signals: Signals::listen().map_err(TerminalError::Signals)?,
            typed: line_input::spawn_line_reader().map_err(TerminalError::Read)?,
            echo: TerminalEcho::default(),
            ticked_at: None,
            cells: (0, 0),
            end: None,
        })
    }

    async fn run(&mut self) -> Result<ExitReason, TerminalError> {
        let effects = self.interface.start(Instant::now());
        self.perform_all(effects).await?;
        loop {
            self.update_size().await?;
            self.print_new_rows()?;
            if let Some(end) = self.end {
                return Ok(end);
            }
            match self.next_event().await {
                LinearEvent::Signal(Signal::End(number)) => self.end = Some(ExitReason::Signal(number)),
                LinearEvent::Signal(Signal::Interrupt(_)) => {
                    self.send_event_at(Instant::now(), UiEvent::Interrupt).await?
                }
                LinearEvent::Signal(Signal::Continued) | LinearEvent::Done(Ok(())) => {}
                LinearEvent::Typed(Some(TimedLine { line, at })) => {
                    self.send_event_at(at, UiEvent::TypedLine(line)).await?
                }
                LinearEvent::Typed(None) => self.end = Some(ExitReason::Quit),
                LinearEvent::Lines(lines) => self.handle_lines(lines).await?,
                LinearEvent::Answer(answer) => {
                    self.send_event_at(Instant::now(), UiEvent::Answer(answer)).await?
                }
                LinearEvent::Done(Err(error)) if error.is_panic() => {
                    std::panic::resume_unwind(error.into_panic());
                }
                LinearEvent::Done(Err(_)) => {}
                LinearEvent::Time => self.send_tick().await?,
            }
        }
    }

    /// Waits for the next event. Other events stay available for the next call.
    async fn next_event(&mut self) -> LinearEvent {
        let wakes_at = self.wakes_at();
        tokio::select! {
            signal = self.signals.next() => LinearEvent::Signal(signal),
            typed = self.typed.recv() => LinearEvent::Typed(typed),
            lines = receive_lines(&mut self.lines) => LinearEvent::Lines(lines),
            Some(answer) = self.answers.recv() => LinearEvent::Answer(answer),
            Some(done) = self.tasks.join_next() => LinearEvent::Done(done),
            () = super::driver::sleep_until(wakes_at) => LinearEvent::Time,
        }
    }

    fn wakes_at(&self) -> Option<Instant> {
        let wanted = self.interface.wakes_at(Instant::now())?;
        Some(self.ticked_at.map_or(wanted, |at| wanted.max(at + timeouts::FRAME)))
    }

    async fn send_tick(&mut self) -> Result<(), TerminalError> {
        let now = Instant::now();
        self.ticked_at = Some(now);
        self.send_event_at(now, UiEvent::Tick).await
    }

    async fn handle_lines(&mut self, lines: Vec<rpc::ServerLine>) -> Result<(), TerminalError> {
        if lines.is_empty() {
            self.lines = None;
            return self.send_event_at(Instant::now(), UiEvent::Disconnected).await;
        }
        for line in lines {
            self.send_event_at(Instant::now(), UiEvent::Line(Box::new(line))).await?;
        }
        Ok(())
    }

    /// Tells the interface the terminal's size if it has changed.
    async fn update_size(&mut self) -> Result<(), TerminalError> {
        let cells = super::terminal_size();
        if std::mem::replace(&mut self.cells, cells) == cells {
            return Ok(());
        }
        self.send_event_at(Instant::now(), UiEvent::Resize(cells.0, cells.1)).await
    }

    fn print_new_rows(&mut self) -> Result<(), TerminalError> {
        let LinearOutput { rows, asks_for_grant: asks } =
            self.interface.take_output(Instant::now(), self.cells.0);
        if asks {
            self.echo.forget_typed();
        }
        self.echo.set(!self.interface.hides_input());
        if rows.is_empty() {
            return Ok(());
        }
        stdout::write(&rows_text(&rows)).map_err(TerminalError::Write)?;
        self.interface.mark_printed(Instant::now());
        Ok(())
    }

    /// Waits briefly for running tasks, such as saving a prompt to the history.
    async fn shut_down(mut self) {
        self.echo.set(true);
        self.answers.close();
        let over = async { while self.tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(timeouts::LAST_ANSWERS, over).await;
    }
}

/// Formats rows, each with a line end.
pub fn rows_text(rows: &[CleanLine]) -> String {
    rows.iter().flat_map(|row| [row.as_str(), "\n"]).collect()
}

/// Receives lines; `None` after the end.
async fn receive_lines(lines: &mut Option<mpsc::Receiver<rpc::ServerLine>>) -> Vec<rpc::ServerLine> {
    let mut batch = Vec::new();
    match lines {
        Some(lines) => {
            lines.recv_many(&mut batch, MOST_LINES).await;
            batch
        }
        None => std::future::pending().await,
    }
}
