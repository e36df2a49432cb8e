//! Turns frames into bytes, as the program's own loop does.

use anyhow::{Context as _, Result};
use haft_test_support::terminal::{OutputKind, is_deceptive};
use haft_tui::app::{self, AppState, LinearOutput};
use haft_tui::draw_context::DrawContext;
use haft_tui::terminal::output::{self, ImagePainter, InlineViewport, ScreenPainter};
use haft_tui::terminal::{ImageProtocol, UserInterface};
use haft_tui::theme::ColorDepth;
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use tokio::runtime::Runtime;

/// The target of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RenderTarget {
    /// A screen.
    Screen,
    /// A screen that shows images.
    Pictures(ImageProtocol),
    /// The inline mode, and a full screen for views that need one.
    Inline,
    /// Lines.
    Lines,
}

impl RenderTarget {
    /// Returns the value of `tui.screen` for the target.
    pub(super) fn setting(self) -> &'static str {
        match self {
            Self::Screen | Self::Pictures(_) => "alternate",
            Self::Inline => "inline",
            Self::Lines => "linear",
        }
    }
}

/// The painter that turns frames into bytes.
pub(super) enum FramePainter {
    Painter(ScreenPainter),
    Pictures(Box<ImagePainter>, Runtime),
    Inline(Box<InlinePainters>),
    Lines,
}

/// The painters of the normal screen and of the alternate screen.
#[derive(Default)]
pub(super) struct InlinePainters {
    strip: InlineViewport,
    /// The rows that were drawn last.
    rows: u16,
    painter: ScreenPainter,
    /// True if the alternate screen is visible.
    alternate: bool,
}

/// Inspects cells.
#[derive(Default)]
pub(super) struct CellInspector {
    /// True if the drawn rows are kept.
    pub(super) keeps: bool,
    /// The drawn rows.
    pub(super) drawn: String,
    /// A cell with terminal commands.
    pub(super) hostile: Option<String>,
}

impl CellInspector {
    fn inspect(&mut self, buffer: &Buffer) {
        self.hostile = hostile_cell(buffer);
        self.keep_rows(buffer);
    }

    fn keep_rows(&mut self, buffer: &Buffer) {
        if self.keeps {
            self.drawn = rows(buffer);
        }
    }
}

impl FramePainter {
    pub(super) fn for_target(place: RenderTarget) -> Result<Self> {
        Ok(match place {
            RenderTarget::Screen => Self::Painter(ScreenPainter::default()),
            RenderTarget::Pictures(protocol) => {
                let runtime = tokio::runtime::Builder::new_current_thread().build();
                Self::Pictures(Box::new(ImagePainter::new(protocol)), runtime.context("create a runtime")?)
            }
            RenderTarget::Inline => Self::Inline(Box::default()),
            RenderTarget::Lines => Self::Lines,
        })
    }

    /// Returns the output for a frame, and its kind.
    pub(super) fn draw(
        &mut self,
        state: &mut AppState,
        area: Rect,
        look: &mut DrawContext,
        eye: &mut CellInspector,
    ) -> Vec<(String, OutputKind)> {
        match self {
            Self::Painter(painter) => vec![draw_screen(painter, state, area, look, eye)],
            Self::Pictures(pictures, runtime) => with_pictures(pictures, runtime, state, area, look, eye),
            Self::Inline(inline) => vec![inline.draw(state, area, look, eye)],
            Self::Lines => {
                let LinearOutput { rows, .. } = state.take_linear_output(look.now, area.width);
                state.mark_printed(look.now);
                vec![(output::lines(&rows), OutputKind::Lines)]
            }
        }
    }

    /// Returns the text that removes the drawing from the normal screen.
    pub(super) fn remove_drawing(&mut self) -> Option<(String, OutputKind)> {
        let Self::Inline(inline) = self else { return None };
        let rows = std::mem::take(&mut inline.rows);
        Some((inline.strip.clear_viewport(), OutputKind::InlineRemoval(rows)))
    }
}

impl InlinePainters {
    fn draw(
        &mut self,
        state: &mut AppState,
        area: Rect,
        look: &DrawContext,
        eye: &mut CellInspector,
    ) -> (String, OutputKind) {
        let below = UserInterface::inline_output(state, area, look);
        if std::mem::replace(&mut self.alternate, below.is_none()) != below.is_none() {
            self.painter.forget_screen();
            self.strip.force_redraw();
        }
        let Some(below) = below else { return draw_screen(&mut self.painter, state, area, look, eye) };
        let size = (area.width, below.height);
        let frame = self.strip.render_frame(size, &below.printed, ColorDepth::True, |area, buffer| {
            let cursor = app::draw(state, area, buffer, look);
            eye.inspect(buffer);
            cursor
        });
        let before = std::mem::replace(&mut self.rows, below.height);
        (frame, OutputKind::Inline { columns: size.0, rows: size.1, before })
    }
}

/// Draws a whole screen.
fn draw_screen(
    painter: &mut ScreenPainter,
    state: &mut AppState,
    area: Rect,
    look: &DrawContext,
    eye: &mut CellInspector,
) -> (String, OutputKind) {
    let frame = painter.render_frame(area, |area, buffer| {
        let cursor = app::draw(state, area, buffer, look);
        eye.inspect(buffer);
        cursor
    });
    (frame, OutputKind::Frame(area.width, area.height))
}

/// Draws until every image that can be shown is shown.
fn with_pictures(
    pictures: &mut ImagePainter,
    runtime: &Runtime,
    state: &mut AppState,
    area: Rect,
    look: &mut DrawContext,
    eye: &mut CellInspector,
) -> Vec<(String, OutputKind)> {
    let mut written = Vec::new();
    loop {
        look.images = pictures.image_display();
        let frame = pictures.render_frame(area, |area, buffer| {
            let cursor = app::draw(state, area, buffer, look);
            eye.keep_rows(buffer);
            (cursor, UserInterface::images(state).to_vec())
        });
        written.push((frame, OutputKind::Pictures(area.width, area.height)));
        if !runtime.block_on(pictures.encode_next()) {
            return written;
        }
    }
}

/// Returns a cell with terminal commands, before the painter's own filter.
pub(super) fn hostile_cell(buffer: &Buffer) -> Option<String> {
    let hostile = |cell: &&Cell| match cell.symbol().as_bytes() {
        [byte] => byte.is_ascii_control(),
        _ => cell.symbol().contains(char::is_control) || is_deceptive(cell.symbol()),
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
