//! Image placement, and the text shown when the terminal cannot display images.
//!
//! A view reserves columns and rows for an image, with a label in the first row, and [marks](ImagePlacement::mark_area)
//! the cells. The terminal part then shows the image if all its marks remain and it is decoded, and otherwise the
//! label. So anything drawn over an image covers it and needs no knowledge of images.

use std::sync::{Arc, Weak};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_protocol::content::Image;
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::clean::{CleanLine, span};
use crate::theme::{Role, Theme};

const MOST_ROWS: u16 = 16;

/// The maximum width or height of an image for a terminal, in pixels.
const MOST_ACROSS: u16 = 4000;

/// The maximum size of a decoded image: 40 megapixels.
pub(crate) const MOST_PIXELS: u64 = 40_000_000;

/// The maximum size of the data of a decoded image: 20 MB.
pub(crate) const MOST_BYTES: u64 = 20_000_000;

/// The mark of a cell reserved for an image. Text never contains control characters, so no other cell looks like
/// this. A painter without image support shows a blank.
const MARK: &str = "\0\u{34f}";

/// The number of bytes that are read to find the size in pixels: the header is at the beginning.
const HEADER: usize = 256 * 1024;

/// The longest image kind in a label, in columns.
const MAX_KIND: usize = 24;

/// The facts about an image that are known without decoding it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFacts {
    /// The kind, for example `PNG`.
    pub kind: CleanLine,
    /// The size in bytes.
    pub bytes: u64,
    /// Width and height, if the header has them.
    pub pixels: Option<(usize, usize)>,
}

impl ImageFacts {
    /// Reads the facts of an image.
    pub fn from_image(image: &Image) -> Self {
        let text = image.data.as_bytes();
        let padding = text.iter().rev().take(2).filter(|byte| **byte == b'=').count();
        let bytes = (text.len() / 4 * 3).saturating_sub(padding);
        let whole = text.len().min(HEADER) / 4 * 4;
        let start = text.get(..whole).and_then(|start| STANDARD.decode(start).ok());
        let size = start.and_then(|start| imagesize::blob_size(&start).ok());
        let pixels = size.map(|size| (size.width, size.height)).filter(|size| *size != (0, 0));
        Self { pixels, ..Self::from_mime_type(&image.mime_type, u64::try_from(bytes).unwrap_or(u64::MAX)) }
    }

    /// Makes the facts of an image of which only kind and size are known.
    pub fn from_mime_type(mime_type: &str, bytes: u64) -> Self {
        let kind = mime_type.strip_prefix("image/").unwrap_or(mime_type).to_uppercase();
        let kind =
            if kind.is_empty() { "image".into() } else { CleanLine::new(&kind).truncate_to_width(MAX_KIND) };
        Self { kind, bytes, pixels: None }
    }

    /// Formats a label: `[PNG, 640×480, 12.3 KiB]`.
    pub fn label_line(&self, theme: &Theme) -> Line<'static> {
        let text = CleanLine::new(&format!("[{}]", self.description()));
        Line::from(span(text, theme.style(Role::Muted)))
    }

    /// Formats a description: `PNG, 640×480, 12.3 KiB`.
    pub fn description(&self) -> CleanLine {
        let pixels = self.pixels.map(|(across, down)| format!(", {across}×{down}")).unwrap_or_default();
        CleanLine::new(&format!("{}{pixels}, {}", self.kind, format_size(self.bytes)))
    }
}

fn format_size(bytes: u64) -> String {
    let tenths = |unit: u64| {
        let tenths = u128::from(bytes) * 10 / u128::from(unit);
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    match bytes {
        1 => "1 byte".to_owned(),
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", tenths(1024)),
        1_048_576.. => format!("{} MiB", tenths(1024 * 1024)),
    }
}

/// The size of a terminal cell in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellSize {
    /// The width.
    pub width: u16,
    /// The height.
    pub height: u16,
}

impl CellSize {
    /// A common size of most terminals. Terminals on Windows always report this size.
    pub const USUAL: Self = Self { width: 10, height: 20 };
}

/// The image support of a terminal.
#[derive(Debug, Clone)]
pub struct ImageDisplay {
    cell: CellSize,
    broken: Vec<Weak<Image>>,
}

impl ImageDisplay {
    /// Makes it for a terminal with cells of this size.
    pub fn new(cell: CellSize) -> Self {
        Self { cell: CellSize { width: cell.width.max(1), height: cell.height.max(1) }, broken: Vec::new() }
    }

    /// Returns the size of a cell in pixels.
    pub fn cell_size(&self) -> CellSize {
        self.cell
    }

    /// Returns a copy in which an image cannot be shown.
    #[must_use]
    pub fn without_image(&self, image: &Arc<Image>) -> Self {
        let mut broken: Vec<_> =
            self.broken.iter().filter(|known| known.strong_count() > 0).cloned().collect();
        broken.push(Arc::downgrade(image));
        Self { cell: self.cell, broken }
    }

    /// Returns the columns and rows of an image, for the given columns and rows of the screen. `None` if only its
    /// label can be shown.
    pub fn image_cells(
        &self,
        image: &Arc<Image>,
        facts: &ImageFacts,
        columns: u16,
        screen_rows: u16,
    ) -> Option<(u16, u16)> {
        let (across, down) = facts.pixels?;
        let (across, down) = (u64::try_from(across).ok()?, u64::try_from(down).ok()?);
        let pixels = across.checked_mul(down)?;
        let too_large = pixels > MOST_PIXELS || facts.bytes > MOST_BYTES;
        let is_broken = self.broken.iter().any(|broken| std::ptr::eq(broken.as_ptr(), Arc::as_ptr(image)));
        if pixels == 0 || too_large || is_broken {
            return None;
        }
        let cell = self.cell;
        let columns = columns.min(MOST_ACROSS / cell.width);
        let rows = MOST_ROWS.min(screen_rows / 3 * 2);
        let most = (u64::from(columns) * u64::from(cell.width), u64::from(rows) * u64::from(cell.height));
        if most.0 == 0 || most.1 == 0 {
            return None;
        }
        let (across, down) = fit_within((across, down), most);
        let cells = |pixels: u64, cell: u16| u16::try_from(pixels.div_ceil(u64::from(cell))).ok();
        Some((cells(across, cell.width)?, cells(down, cell.height)?))
    }
}

/// Scales a size down to fit within another, keeping the aspect ratio.
pub(crate) fn fit_within((across, down): (u64, u64), (most_across, most_down): (u64, u64)) -> (u64, u64) {
    if across <= most_across && down <= most_down {
        return (across, down);
    }
    if across.saturating_mul(most_down) >= down.saturating_mul(most_across) {
        (most_across, (down.saturating_mul(most_across) / across.max(1)).max(1))
    } else {
        ((across.saturating_mul(most_down) / down.max(1)).max(1), most_down)
    }
}

/// The position of an image in a frame. Its cells are marked, and text drawn over them covers the image.
#[derive(Debug, Clone)]
pub struct ImagePlacement {
    /// The image.
    pub image: Arc<Image>,
    /// The area.
    pub area: Rect,
    /// The area reserved for the image, as wide as the label that is shown without the image.
    space: Rect,
    instead: Vec<Cell>,
}

impl ImagePlacement {
    /// Marks an area for an image. The first row of the surrounding space already contains the label.
    pub fn mark_area(image: Arc<Image>, area: Rect, space: Rect, buffer: &mut Buffer) -> Self {
        let (area, space) = (area.intersection(buffer.area), space.intersection(buffer.area));
        let instead =
            (space.left()..space.right()).filter_map(|x| buffer.cell((x, space.y)).cloned()).collect();
        for cell in space.positions() {
            if let Some(cell) = buffer.cell_mut(cell) {
                *cell = cell_with_style_of(MARK, cell);
            }
        }
        Self { image, area, space, instead }
    }

    /// True if nothing was drawn over it.
    pub(crate) fn is_uncovered(&self, buffer: &Buffer) -> bool {
        let is_marked = |at| buffer.cell(at).is_some_and(|cell| cell.symbol() == MARK);
        !self.area.is_empty() && self.area.positions().all(is_marked)
    }

    /// Removes the marks. The cells below a shown image become blank; without the image the label remains.
    pub(crate) fn clear_marks(&self, shown: bool, buffer: &mut Buffer) {
        for at in self.space.positions() {
            let Some(cell) = buffer.cell_mut(at).filter(|cell| cell.symbol() == MARK) else { continue };
            let word = self.instead.get(usize::from(at.x - self.space.x));
            let word = word.filter(|_| !shown && at.y == self.space.y);
            *cell = word.cloned().unwrap_or_else(|| cell_with_style_of(" ", cell));
        }
    }
}

/// Makes a cell differ from every other cell.
pub(crate) fn invalidate_cell(cell: &mut Cell) {
    *cell = Cell::new(MARK);
}

fn cell_with_style_of(symbol: &'static str, other: &Cell) -> Cell {
    let mut cell = Cell::new(symbol);
    cell.set_style(other.style());
    cell
}

#[cfg(test)]
mod tests;
