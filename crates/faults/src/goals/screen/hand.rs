//! Makes bytes of drawings, as the program's own loop does.

use anyhow::{Context as _, Result};
use haft_test_support::terminal::{Written, deceives};
use haft_tui::app::{self, Printed, State};
use haft_tui::look::Look;
use haft_tui::terminal::written::{self, Painter, Pictures, Strip};
use haft_tui::terminal::{Interface, Protocol};
use haft_tui::theme::ColorDepth;
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use tokio::runtime::Runtime;

/// Where it is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// On a screen.
    Screen,
    /// On a screen that shows images.
    Pictures(Protocol),
    /// At the end of the terminal's own screen, and on one of its own for what needs all of it.
    Inline,
    /// In lines.
    Lines,
}

impl Place {
    /// The value of `tui.screen` for it.
    pub(super) fn setting(self) -> &'static str {
        match self {
            Self::Screen | Self::Pictures(_) => "alternate",
            Self::Inline => "inline",
            Self::Lines => "linear",
        }
    }
}

/// The painter that makes bytes of frames.
pub(super) enum Hand {
    Painter(Painter),
    Pictures(Box<Pictures>, Runtime),
    Inline(Box<Inline>),
    Lines,
}

/// The painters of the terminal's own screen, and of the other one.
#[derive(Default)]
pub(super) struct Inline {
    strip: Strip,
    /// The rows that were drawn last.
    rows: u16,
    painter: Painter,
    /// True if the other one is seen.
    alternate: bool,
}

/// Looks at cells.
#[derive(Default)]
pub(super) struct Eye {
    /// True if what is drawn is kept.
    pub(super) keeps: bool,
    /// The rows of it.
    pub(super) drawn: String,
    /// A cell that a terminal would obey.
    pub(super) hostile: Option<String>,
}

impl Eye {
    fn sees(&mut self, buffer: &Buffer) {
        self.hostile = hostile_cell(buffer);
        self.keeps(buffer);
    }

    fn keeps(&mut self, buffer: &Buffer) {
        if self.keeps {
            self.drawn = rows(buffer);
        }
    }
}

impl Hand {
    pub(super) fn of(place: Place) -> Result<Self> {
        Ok(match place {
            Place::Screen => Self::Painter(Painter::default()),
            Place::Pictures(protocol) => {
                let runtime = tokio::runtime::Builder::new_current_thread().build();
                Self::Pictures(Box::new(Pictures::new(protocol)), runtime.context("make a runtime")?)
            }
            Place::Inline => Self::Inline(Box::default()),
            Place::Lines => Self::Lines,
        })
    }

    /// Everything that is written for a frame, and as what.
    pub(super) fn draw(
        &mut self,
        state: &mut State,
        area: Rect,
        look: &mut Look,
        eye: &mut Eye,
    ) -> Vec<(String, Written)> {
        match self {
            Self::Painter(painter) => vec![whole(painter, state, area, look, eye)],
            Self::Pictures(pictures, runtime) => with_pictures(pictures, runtime, state, area, look, eye),
            Self::Inline(inline) => vec![inline.draw(state, area, look, eye)],
            Self::Lines => {
                let Printed { rows, .. } = state.print(look.now, area.width);
                state.was_printed(look.now);
                vec![(written::lines(&rows), Written::Lines)]
            }
        }
    }

    /// Returns the text that takes the drawing from the terminal's own screen.
    pub(super) fn farewell(&mut self) -> Option<(String, Written)> {
        let Self::Inline(inline) = self else { return None };
        let rows = std::mem::take(&mut inline.rows);
        Some((inline.strip.farewell(), Written::Unstrip(rows)))
    }
}

impl Inline {
    fn draw(&mut self, state: &mut State, area: Rect, look: &Look, eye: &mut Eye) -> (String, Written) {
        let below = Interface::below(state, area, look);
        if std::mem::replace(&mut self.alternate, below.is_none()) != below.is_none() {
            self.painter.forget();
            self.strip.again();
        }
        let Some(below) = below else { return whole(&mut self.painter, state, area, look, eye) };
        let size = (area.width, below.height);
        let frame = self.strip.frame(size, &below.printed, ColorDepth::True, |area, buffer| {
            let cursor = app::draw(state, area, buffer, look);
            eye.sees(buffer);
            cursor
        });
        let before = std::mem::replace(&mut self.rows, below.height);
        (frame, Written::Strip { columns: size.0, rows: size.1, before })
    }
}

/// All of a screen.
fn whole(
    painter: &mut Painter,
    state: &mut State,
    area: Rect,
    look: &Look,
    eye: &mut Eye,
) -> (String, Written) {
    let frame = painter.frame(area, |area, buffer| {
        let cursor = app::draw(state, area, buffer, look);
        eye.sees(buffer);
        cursor
    });
    (frame, Written::Frame(area.width, area.height))
}

/// The same until each image is shown that can be.
fn with_pictures(
    pictures: &mut Pictures,
    runtime: &Runtime,
    state: &mut State,
    area: Rect,
    look: &mut Look,
    eye: &mut Eye,
) -> Vec<(String, Written)> {
    let mut written = Vec::new();
    loop {
        look.images = pictures.images();
        let frame = pictures.frame(area, |area, buffer| {
            let cursor = app::draw(state, area, buffer, look);
            eye.keeps(buffer);
            (cursor, Interface::images(state).to_vec())
        });
        written.push((frame, Written::Pictures(area.width, area.height)));
        if !runtime.block_on(pictures.make_ready()) {
            return written;
        }
    }
}

/// Returns the cell of a picture that a terminal would obey if it was written as it is: before the painter's own fence.
pub(super) fn hostile_cell(buffer: &Buffer) -> Option<String> {
    let hostile = |cell: &&Cell| match cell.symbol().as_bytes() {
        [byte] => byte.is_ascii_control(),
        _ => cell.symbol().contains(char::is_control) || deceives(cell.symbol()),
    };
    buffer.content.iter().find(hostile).map(|cell| format!("{:?} is drawn", cell.symbol()))
}

fn rows(buffer: &Buffer) -> String {
    let mut text = String::new();
    for row in buffer.content.chunks(usize::from(buffer.area.width.max(1))) {
        text.extend(row.iter().map(|cell| cell.symbol()));
        text.push('\n');
    }
    text
}
