//! Markdown as styled lines, also while it is still being written.
//!
//! A text is cut into its blocks (paragraphs, lists, tables, blocks of code). Each is rendered once it is finished, and
//! stays; only the block that still grows is rendered anew. A block is finished when the next one has begun on a whole
//! line: what comes after that changes it no more. So a link whose address is given in a later block is not followed;
//! it is shown as it is written.

mod block;
mod inline;
mod links;
mod split;
mod table;

use ratatui_core::text::Line;

use crate::clean::{Clean, Cleaner};
use crate::theme::Theme;
use block::{Renderer, Stage};
use links::Links;

/// A whole text as lines of a width.
pub fn render(outside: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut text = Streaming::default();
    text.push(outside);
    text.finish();
    text.lines(width, theme);
    text.drawn.map(|drawn| drawn.lines).unwrap_or_default()
}

/// A text that grows. Pushing costs next to nothing; [`lines`](Self::lines) renders what is new since it was last asked,
/// once for however many pieces.
#[derive(Debug, Clone, Default)]
pub struct Streaming {
    cleaner: Cleaner,
    text: Clean,
    /// Where each finished block ends. It begins where the one before it ends.
    ends: Vec<usize>,
    /// How much of the text has been looked at for finished blocks.
    seen: usize,
    finished: bool,
    links: Links,
    drawn: Option<Drawn>,
    rendered: usize,
}

/// What has been rendered.
#[derive(Debug, Clone)]
struct Drawn {
    width: u16,
    theme: Theme,
    lines: Vec<Line<'static>>,
    /// With how many of them each finished block ends.
    blocks: Vec<usize>,
    /// How long the text was.
    upto: usize,
    finished: bool,
}

impl Streaming {
    /// Adds what comes next, as it comes from outside.
    pub fn push(&mut self, piece: &str) {
        self.text.push(&self.cleaner.push(piece));
    }

    /// Says that nothing more comes: the last block is finished, too.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// The text so far, as it is written.
    pub fn text(&self) -> &Clean {
        &self.text
    }

    /// How many blocks have been rendered so far: the measure of what a piece costs.
    pub fn rendered(&self) -> usize {
        self.rendered
    }

    /// The lines for a width and a theme. Finished blocks are rendered anew only when one of the two has changed.
    pub fn lines(&mut self, width: u16, theme: &Theme) -> &[Line<'static>] {
        self.split();
        let fits = |drawn: &Drawn| drawn.width == width && drawn.theme.is_same(theme);
        let mut drawn = self.drawn.take().filter(fits).unwrap_or_else(|| Drawn::new(width, theme.clone()));
        if drawn.upto != self.text.as_str().len() || drawn.finished != self.finished {
            self.draw(&mut drawn);
        }
        &self.drawn.insert(drawn).lines
    }

    /// With how many lines each block ends that is finished, for a width and a theme. Whatever comes next, those lines stay.
    pub fn blocks(&mut self, width: u16, theme: &Theme) -> &[usize] {
        self.lines(width, theme);
        self.drawn.as_ref().map(|drawn| drawn.blocks.as_slice()).unwrap_or_default()
    }

    /// The text of the first blocks, as many of them as are finished.
    pub(crate) fn begin(&mut self, blocks: usize) -> &str {
        self.split();
        let end = self.ends.get(..blocks).unwrap_or(&self.ends).last().copied().unwrap_or_default();
        self.text.as_str().get(..end).unwrap_or_default()
    }

    /// Finds the blocks that are finished since it was last asked.
    fn split(&mut self) {
        let text = self.text.as_str();
        let whole = if self.finished { text.len() } else { text.rfind('\n').map_or(0, |at| at + 1) };
        // The block that ends the text may be finished by nothing but the end.
        if whole <= self.seen && !self.finished {
            return;
        }
        self.seen = whole;
        let from = self.ends.last().copied().unwrap_or_default();
        let Some(open) = text.get(from..whole) else { return };
        for end in split::finished(open, self.finished) {
            let start = self.ends.last().copied().unwrap_or_default();
            let block = text.get(start..from + end).unwrap_or_default();
            self.links.learn(block, self.ends.len());
            self.ends.push(from + end);
        }
    }

    fn draw(&mut self, drawn: &mut Drawn) {
        drawn.lines.truncate(drawn.blocks.last().copied().unwrap_or_default());
        for block in drawn.blocks.len()..self.ends.len() {
            let start =
                block.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
            let end = self.ends.get(block).copied().unwrap_or_default();
            self.render(start..end, block, Stage::Finished, drawn);
            drawn.blocks.push(drawn.lines.len());
        }
        let open = self.ends.last().copied().unwrap_or_default()..self.text.as_str().len();
        self.render(open, self.ends.len(), Stage::Open, drawn);
        (drawn.upto, drawn.finished) = (self.text.as_str().len(), self.finished);
    }

    fn render(&mut self, part: std::ops::Range<usize>, block: usize, stage: Stage, drawn: &mut Drawn) {
        let source = self.text.as_str().get(part).unwrap_or_default();
        if source.trim().is_empty() {
            return;
        }
        self.rendered += 1;
        let renderer = Renderer::new(drawn.width, &drawn.theme, stage);
        let lines = renderer.run(source, self.links.before(block));
        if !lines.is_empty() && !drawn.lines.is_empty() {
            drawn.lines.push(Line::default());
        }
        drawn.lines.extend(lines);
    }
}

impl Drawn {
    fn new(width: u16, theme: Theme) -> Self {
        Self { width, theme, lines: Vec::new(), blocks: Vec::new(), upto: 0, finished: false }
    }
}
