//! A small interface in the loop of the terminal, which shows its events and performs requests by key. The tests of
//! the terminal run it in a pseudo-terminal.

#![expect(clippy::unwrap_used, reason = "a peer that fails shall fail its test")]

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_protocol::content::Image;
use haft_protocol::rpc::{
    AbortCommand, CommandKind, NoData, ReplyPayload, RpcRequest, RpcResponse, ServerLine,
};
use haft_tui::app::{BackendReply, BackendRequest, Effect, LinearOutput, TerminalCommand, UiEvent};
use haft_tui::clean::{CleanLine, span};
use haft_tui::draw_context::DrawContext;
use haft_tui::image::{ImageFacts, ImagePlacement};
use haft_tui::terminal::{
    Connection, Environment, ExitReason, InlineOutput, LinearInterface, ProgramServices, TerminalSetup,
    UserInterface, run, run_linear,
};
use haft_tui::theme::{Appearance, Role, Theme};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line as Row;
use tokio::sync::mpsc;

/// The interval of its counter.
const COUNTS: Duration = Duration::from_millis(20);

/// An interface that shows its events.
#[derive(Default)]
struct Peer {
    appearance: Appearance,
    size: (u16, u16),
    told: Vec<String>,
    lines: usize,
    ticks: bool,
    next_tick: Option<Instant>,
    /// The start of the counter. Like a spinner, it always requests the next tick.
    counts: Option<Instant>,
    hides: bool,
    printed: usize,
    pictures: Pictures,
    /// True for inline mode, in which events are printed.
    inline: bool,
}

/// Images to show, and their positions.
#[derive(Default)]
struct Pictures {
    image: Option<Arc<Image>>,
    row: u16,
    covered: bool,
    shown: Vec<ImagePlacement>,
    hidden: bool,
}

impl Pictures {
    fn key(&mut self, name: &str) {
        match name {
            "m" => self.row += 1,
            "c" => self.covered = !self.covered,
            "i" => self.hidden = !self.hidden,
            _ => {}
        }
    }

    fn draw(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) {
        self.shown.clear();
        let Some(image) = &self.image else { return };
        let facts = ImageFacts::from_image(image);
        buffer.set_line(60, self.row, &facts.label_line(&look.theme), 20);
        let size = look.images.as_ref().and_then(|images| images.image_cells(image, &facts, 20, area.height));
        if let Some((width, height)) = size {
            let space = Rect { x: 60, y: self.row, width: 20, height };
            self.shown.push(ImagePlacement::mark_area(image.clone(), Rect { width, ..space }, space, buffer));
        }
        if self.covered {
            buffer.set_span(61, self.row + 1, &span(CleanLine::new("over"), look.theme.style(Role::Text)), 4);
        }
    }
}

impl Peer {
    fn key(&mut self, name: &str) -> Vec<Effect> {
        match name {
            "ctrl+d" => vec![Effect::Quit],
            "ctrl+z" => vec![Effect::Suspend],
            "ctrl+l" => vec![Effect::Redraw],
            "ctrl+b" => vec![Effect::Bell, Effect::Title("the title".to_owned())],
            "ctrl+y" => vec![Effect::Copy("copied".to_owned())],
            "ctrl+n" => vec![Effect::Copy("x".repeat(100_000))],
            "ctrl+a" => vec![Effect::Ask(BackendRequest::Branch)],
            "ctrl+x" => vec![Effect::Ask(BackendRequest::Files)],
            "ctrl+r" => vec![Effect::Send(Box::new(RpcRequest::new(AbortCommand::default())))],
            "ctrl+e" => vec![Effect::OpenEditor("the draft".to_owned())],
            "ctrl+g" => vec![Effect::RunInTerminal(TerminalCommand {
                command: "test -t 0 && echo real; read answer; exit $answer".to_owned(),
                is_reported: false,
            })],
            "ctrl+p" => panic!("on the thread of the terminal"),
            "ctrl+o" => {
                let _ = std::thread::spawn(|| panic!("on another thread\x1b[2J")).join();
                Vec::new()
            }
            "ctrl+t" => {
                self.ticks = true;
                Vec::new()
            }
            "ctrl+u" => {
                self.counts = Some(Instant::now());
                Vec::new()
            }
            _ => Vec::new(),
        }
    }
}

impl Peer {
    /// True in full-screen mode: after `w`, until the next key.
    fn is_whole(&self) -> bool {
        self.told.last().is_some_and(|told| told == "key w")
    }
}

impl UserInterface for Peer {
    fn set_appearance(&mut self, appearance: Appearance) {
        self.appearance = appearance;
    }

    fn start(&mut self, _: Instant) -> Vec<Effect> {
        vec![Effect::Title("peer".to_owned())]
    }

    fn update(&mut self, now: Instant, event: UiEvent) -> Vec<Effect> {
        let mut effects = Vec::new();
        let told = match event {
            UiEvent::Key(chord) => {
                effects = self.key(&chord.to_string());
                format!("key {chord}")
            }
            UiEvent::TypedLine(line) => {
                self.hides = line == "hide";
                format!("typed {line:?}")
            }
            UiEvent::Interrupt => "interrupt".to_owned(),
            UiEvent::Paste(text) => format!("paste {text:?}"),
            UiEvent::Mouse(mouse) => format!("{:?} {} {}", mouse.kind, mouse.column, mouse.row),
            UiEvent::Resize(columns, rows) => {
                self.size = (columns, rows);
                return effects;
            }
            UiEvent::Line(_) => {
                self.lines += 1;
                return effects;
            }
            UiEvent::Disconnected => "gone".to_owned(),
            UiEvent::Answer(answer) => format!("{answer:?}"),
            UiEvent::RanInTerminal(_, ended) => format!("ran {ended:?}"),
            UiEvent::Edited(edited) => format!("edited {edited:?}"),
            UiEvent::Copied(copied) => format!("copied {copied:?}"),
            UiEvent::Tick => {
                self.next_tick = Some(now + Duration::from_millis(10));
                "tick".to_owned()
            }
        };
        self.pictures.key(told.trim_start_matches("key "));
        self.told.push(told);
        effects
    }

    fn draw(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)> {
        let (columns, rows) = self.size;
        let head = format!("peer {columns}x{rows} {:?}, {} lines", self.appearance, self.lines);
        let head = span(CleanLine::new(&head), look.theme.style(Role::Error));
        buffer.set_span(0, 0, &head, area.width);
        let is_below = self.inline && !self.is_whole();
        let room = if is_below { 0 } else { usize::from(area.height.saturating_sub(1)) };
        let told = &self.told[self.told.len().saturating_sub(room)..];
        for (row, text) in (1..).zip(told) {
            buffer.set_span(0, row, &span(CleanLine::new(text), look.theme.style(Role::Text)), area.width);
        }
        self.pictures.draw(area, buffer, look);
        Some((0, area.height.saturating_sub(1)))
    }

    fn mark_drawn(&mut self, _: Instant) {}

    fn mark_hidden(&mut self) {}

    fn inline_output(&mut self, _: Rect, look: &DrawContext) -> Option<InlineOutput> {
        if self.is_whole() {
            return None;
        }
        let rows = self.tail(0, usize::MAX, look);
        Some(InlineOutput { printed: rows, height: 2 })
    }

    fn wants_images(&self) -> bool {
        !self.pictures.hidden
    }

    fn images(&self) -> &[ImagePlacement] {
        &self.pictures.shown
    }

    fn wakes_at(&self, now: Instant) -> Option<Instant> {
        let ticks = self.ticks.then(|| self.next_tick.unwrap_or(now));
        let counts = self.counts.map(|began| {
            let turns = (now - began).as_millis() / COUNTS.as_millis() + 1;
            began + COUNTS * u32::try_from(turns).unwrap()
        });
        ticks.into_iter().chain(counts).min()
    }

    fn theme(&self) -> Theme {
        Theme::built_in(self.appearance)
    }

    fn tail(&mut self, _: u16, rows: usize, look: &DrawContext) -> Vec<Row<'static>> {
        let style = look.theme.style(Role::Error);
        let from = if self.inline { self.printed } else { self.told.len().saturating_sub(rows) };
        self.printed = self.told.len();
        let told = &self.told[from..];
        told.iter().map(|text| Row::from(vec![span(CleanLine::new(text), style)])).collect()
    }
}

impl LinearInterface for Peer {
    fn take_output(&mut self, _: Instant, width: u16) -> LinearOutput {
        let mut rows = Vec::new();
        if self.printed == 0 {
            self.told.insert(0, format!("lines of {width}"));
        }
        rows.extend(self.told.iter().skip(self.printed).map(|text| CleanLine::new(text)));
        self.printed = self.told.len();
        LinearOutput { rows, asks_for_grant: false }
    }

    fn mark_printed(&mut self, _: Instant) {}

    fn hides_input(&self) -> bool {
        self.hides
    }
}

/// Services that know a branch and run editors.
struct Knows;

#[async_trait::async_trait]
impl ProgramServices for Knows {
    async fn answer(&self, ask: BackendRequest, answers: mpsc::Sender<BackendReply>) {
        assert!(matches!(ask, BackendRequest::Branch), "the program fails");
        answers.send(BackendReply::Branch(Some("main".to_owned()))).await.unwrap();
    }

    #[expect(clippy::disallowed_methods, reason = "a test's editor")]
    async fn run_in_terminal(&self, command: Vec<String>) -> io::Result<Option<i32>> {
        let run = move || std::process::Command::new(&command[0]).args(&command[1..]).status();
        let status = tokio::task::spawn_blocking(run).await.map_err(io::Error::other)?;
        status.map(|status| status.code())
    }
}

/// Replies to each request, after sending a number of lines.
async fn serve(
    mut requests: mpsc::UnboundedReceiver<RpcRequest>,
    lines: mpsc::Sender<ServerLine>,
    flood: usize,
) {
    let reply = |id| {
        ServerLine::from(RpcResponse::success_of_kind(
            id,
            CommandKind::Abort,
            ReplyPayload::from_value(NoData {}),
        ))
    };
    for _ in 0..flood {
        let _ = lines.send(reply(None)).await;
    }
    while let Some(request) = requests.recv().await {
        let _ = lines.send(reply(request.id)).await;
    }
}

fn main() {
    let argument = |name: &str| std::env::args().any(|arg| arg == name);
    let (requests, received) = mpsc::unbounded_channel();
    let (sender, lines) = mpsc::channel(64);
    let flood = if argument("flood") { 50_000 } else { 0 };
    let setup = TerminalSetup {
        environment: Environment::from_process(),
        inline: argument("inline"),
        mouse: argument("mouse"),
        appearance: argument("dark").then_some(Appearance::Dark),
        depth: None,
        tail: 3,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let end = runtime.block_on(async {
        if argument("gone") {
            drop((received, sender));
        } else {
            tokio::spawn(serve(received, sender, flood));
        }
        if argument("lines") {
            return run_linear(Peer::default(), Arc::new(Knows), Connection { requests, lines }).await;
        }
        let image = std::env::args().find_map(|arg| arg.strip_prefix("image=").map(str::to_owned));
        let image =
            image.map(|data| Arc::new(Image { mime_type: "image/png".to_owned(), data: data.into() }));
        let pictures = Pictures { image, row: 2, ..Pictures::default() };
        run(
            Peer { pictures, inline: argument("inline"), ..Peer::default() },
            Arc::new(Knows),
            Connection { requests, lines },
            setup,
        )
        .await
    });
    std::process::exit(match end {
        Ok(ExitReason::Quit) => 0,
        Ok(ExitReason::Signal(number)) => 128 + number,
        Err(error) => {
            use io::Write as _;
            let _ = writeln!(io::stderr(), "{error}");
            2
        }
    });
}
