//! Images: what stands in their place where none can be shown, and where they shall be where they can.
//!
//! A view lays an image out as so many columns and rows, with words for it in the first row, and [marks](ImagePlacement::mark)
//! the cells. Whoever draws the frame then shows the image if all of its marks are still there and it is decoded, and else
//! the words. So whatever is drawn over an image covers it, and needs to know nothing of images.

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

/// The most pixels across that are sent to a terminal.
const MOST_ACROSS: u16 = 4000;

/// The most pixels of an image that is decoded: 40 megapixels.
pub(crate) const MOST_PIXELS: u64 = 40_000_000;

/// The most bytes of an image that is decoded: 20 MB.
pub(crate) const MOST_BYTES: u64 = 20_000_000;

/// The mark of a cell that waits for an image. Text never has control characters, so nothing else looks like this; and
/// a painter that knows nothing of images shows a blank.
const MARK: &str = "\0\u{34f}";

/// The size of the part of an image that is read for its size in pixels: headers are at the beginning.
const HEADER: usize = 256 * 1024;

/// The longest kind that is shown, in columns.
const MAX_KIND: usize = 24;

/// The facts about an image that need no decoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFacts {
    /// `PNG`.
    pub kind: CleanLine,
    /// Its size in bytes.
    pub bytes: u64,
    /// Across and down, where the header says it.
    pub pixels: Option<(usize, usize)>,
}

impl ImageFacts {
    /// Of one that is there.
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

    /// Of one of which only that is known.
    pub fn from_mime_type(mime_type: &str, bytes: u64) -> Self {
        let kind = mime_type.strip_prefix("image/").unwrap_or(mime_type).to_uppercase();
        let kind =
            if kind.is_empty() { "image".into() } else { CleanLine::new(&kind).truncate_to_width(MAX_KIND) };
        Self { kind, bytes, pixels: None }
    }

    /// `[PNG, 640×480, 12.3 KiB]`
    pub fn label_line(&self, theme: &Theme) -> Line<'static> {
        let text = CleanLine::new(&format!("[{}]", self.description()));
        Line::from(span(text, theme.style(Role::Muted)))
    }

    /// `PNG, 640×480, 12.3 KiB`
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

/// The pixels of a cell of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellSize {
    /// Across.
    pub width: u16,
    /// Down.
    pub height: u16,
}

impl CellSize {
    /// The size that most terminals come near to, and that those of Windows report whatever they have.
    pub const USUAL: Self = Self { width: 10, height: 20 };
}

/// The way a terminal shows images.
#[derive(Debug, Clone)]
pub struct ImageDisplay {
    cell: CellSize,
    broken: Vec<Weak<Image>>,
}

impl ImageDisplay {
    /// A terminal with cells of this size.
    pub fn new(cell: CellSize) -> Self {
        Self { cell: CellSize { width: cell.width.max(1), height: cell.height.max(1) }, broken: Vec::new() }
    }

    /// The pixels of a cell.
    pub fn cell_size(&self) -> CellSize {
        self.cell
    }

    /// The same, but for an image that cannot be shown.
    #[must_use]
    pub fn without_image(&self, image: &Arc<Image>) -> Self {
        let mut broken: Vec<_> =
            self.broken.iter().filter(|known| known.strong_count() > 0).cloned().collect();
        broken.push(Arc::downgrade(image));
        Self { cell: self.cell, broken }
    }

    /// The columns and rows that an image takes where there are so many columns, on a screen of so many rows. None where
    /// only words can stand for it.
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

/// The largest size of the same shape that is within another, and not larger than it was.
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

/// Where an image shall be in a frame. Its cells are marked; what is drawn over them afterwards covers it.
#[derive(Debug, Clone)]
pub struct ImagePlacement {
    /// The image.
    pub image: Arc<Image>,
    /// Where.
    pub area: Rect,
    /// The marked rows: as wide as the words that stand there where the image is not.
    space: Rect,
    instead: Vec<Cell>,
}

impl ImagePlacement {
    /// Marks an area, and the first row of a space around it in which words stand already.
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

    /// Takes the marks away: below the image is nothing, and where it is not shown the words stand.
    pub(crate) fn clear_marks(&self, shown: bool, buffer: &mut Buffer) {
        for at in self.space.positions() {
            let Some(cell) = buffer.cell_mut(at).filter(|cell| cell.symbol() == MARK) else { continue };
            let word = self.instead.get(usize::from(at.x - self.space.x));
            let word = word.filter(|_| !shown && at.y == self.space.y);
            *cell = word.cloned().unwrap_or_else(|| cell_with_style_of(" ", cell));
        }
    }
}

/// Makes a cell one that differs from every other.
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
