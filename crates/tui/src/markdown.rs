//! Markdown as styled lines, also while it streams.
//!
//! A text is split into blocks (paragraphs, lists, tables, code blocks). Each finished block is rendered once. Only
//! the open block is rendered again, and of a long open block only the end. A block is finished when the next one has
//! begun on a whole line, because later text cannot change it. So a link whose address is defined in a later block is
//! not resolved and is shown as written.

mod block;
mod inline;
mod table;

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{BrokenLink, CowStr, Event, Options, Parser, Tag};
use ratatui_core::text::Line;

use crate::clean::{CleanText, StreamCleaner};
use crate::theme::Theme;
use block::{BlockRenderer, RenderedBlock, ResumeState};

/// The enabled extensions of CommonMark.
const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// Blocks below this size in bytes are rendered whole.
const LONG: usize = 4 << 10;

/// Renders a whole text as lines of a width.
pub fn render(outside: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut text = StreamingMarkdown::default();
    text.push(outside);
    text.finish();
    text.lines(width, theme);
    text.drawn.map(|drawn| drawn.lines).unwrap_or_default()
}

/// A streaming text. Pushing is cheap: [`lines`](Self::lines) renders the text added since the last call, once for
/// any number of pieces.
#[derive(Debug, Clone, Default)]
pub struct StreamingMarkdown {
    cleaner: StreamCleaner,
    text: CleanText,
    /// The end of each finished block. It begins at the end of the previous one.
    ends: Vec<usize>,
    /// The number of bytes searched for finished blocks.
    seen: usize,
    finished: bool,
    links: LinkDefinitions,
    drawn: Option<RenderedLines>,
    rendered: usize,
    read: usize,
    /// The minimum length of a block that is rendered by its end, if it differs from [`LONG`].
    long: Option<usize>,
}

#[derive(Debug, Clone)]
struct RenderedLines {
    width: u16,
    theme: Theme,
    lines: Vec<Line<'static>>,
    /// The number of lines up to the end of each finished block.
    blocks: Vec<usize>,
    /// The stable part of the open block.
    grown: Option<StablePrefix>,
    /// The length of the text at that time.
    upto: usize,
    finished: bool,
}

/// The beginning of the unstable rest of the open block.
///
/// Once the next items of a list or the next lines of code have begun, the rows above do not change. The exception is
/// a list that turns out to be loose, which changes all of its rows.
#[derive(Debug, Clone)]
struct StablePrefix {
    block: usize,
    /// The byte in the text.
    from: usize,
    /// The number of lines of the whole text before it.
    lines: usize,
    resume: ResumeState,
}

impl StreamingMarkdown {
    /// Appends the next piece of text from outside.
    pub fn push(&mut self, piece: &str) {
        self.text.push(&self.cleaner.push(piece));
    }

    /// Marks the text as complete. The last block is then finished, too.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Returns the source text so far.
    pub fn text(&self) -> &CleanText {
        &self.text
    }

    /// Returns the number of blocks and partial blocks rendered so far: a measure of the cost of a piece.
    pub fn rendered_blocks(&self) -> usize {
        self.rendered
    }

    /// Returns the number of bytes parsed for rendering: another measure of the cost.
    pub fn bytes_read(&self) -> usize {
        self.read
    }

    /// Returns the lines for a width and a theme. Finished blocks are rendered again only if one of the two has
    /// changed.
    pub fn lines(&mut self, width: u16, theme: &Theme) -> &[Line<'static>] {
        let fits = |drawn: &RenderedLines| drawn.width == width && drawn.theme.is_same(theme);
        let is_whole =
            |drawn: &RenderedLines| drawn.upto == self.text.as_str().len() && drawn.finished == self.finished;
        if !self.drawn.as_ref().is_some_and(|drawn| fits(drawn) && is_whole(drawn)) {
            self.find_finished_blocks();
            let mut drawn =
                self.drawn.take().filter(fits).unwrap_or_else(|| RenderedLines::new(width, theme.clone()));
            self.render_new_blocks(&mut drawn);
            self.drawn = Some(drawn);
        }
        self.drawn.as_ref().map(|drawn| drawn.lines.as_slice()).unwrap_or_default()
    }

    /// Returns the number of lines up to the end of each finished block. Later text does not change those lines.
    pub fn block_ends(&mut self, width: u16, theme: &Theme) -> &[usize] {
        self.lines(width, theme);
        self.drawn.as_ref().map(|drawn| drawn.blocks.as_slice()).unwrap_or_default()
    }

    /// Returns the source of the first blocks, as far as they are finished.
    pub(crate) fn text_of_blocks(&mut self, blocks: usize) -> &str {
        self.find_finished_blocks();
        let end = self.block_start(blocks.min(self.ends.len()));
        self.text.as_str().get(..end).unwrap_or_default()
    }

    fn block_start(&self, block: usize) -> usize {
        block.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default()
    }

    /// Finds the blocks that were finished since the last call.
    fn find_finished_blocks(&mut self) {
        let text = self.text.as_str();
        let whole = if self.finished { text.len() } else { text.rfind('\n').map_or(0, |at| at + 1) };
        // Only the end of the text can finish its last block.
        if whole <= self.seen && !self.finished {
            return;
        }
        self.seen = whole;
        let grown = self.drawn.as_ref().and_then(|drawn| drawn.stable_prefix_of(self.ends.len()));
        let from = grown.map_or(self.block_start(self.ends.len()), |grown| grown.from);
        let Some(open) = text.get(from..whole) else { return };
        self.read += open.len();
        let before = grown.map_or("", |grown| grown.resume.source_prefix());
        let source = grown.map_or(Cow::Borrowed(open), |grown| grown.resume.full_source(open));
        for end in finished_block_ends(&source, self.finished) {
            let start = self.block_start(self.ends.len());
            let end = from + end.saturating_sub(before.len());
            // Trailing blanks may precede the text that was already read.
            let block = trim_block_end(text.get(start..end).unwrap_or_default());
            let end = start + block.len();
            self.links.collect_from(block, self.ends.len());
            self.ends.push(end);
        }
    }

    fn render_new_blocks(&mut self, drawn: &mut RenderedLines) {
        let stays = drawn.stable_prefix_of(self.ends.len()).map(|grown| grown.lines);
        drawn.lines.truncate(stays.or(drawn.blocks.last().copied()).unwrap_or_default());
        for block in drawn.blocks.len()..self.ends.len() {
            let part = self.block_start(block)..self.block_start(block + 1);
            let made = self.render_part(part, block, true, None, drawn);
            drawn.push_block_gap(&made);
            drawn.lines.extend(made.lines);
            drawn.blocks.push(drawn.lines.len());
        }
        self.render_open_block(drawn);
        (drawn.upto, drawn.finished) = (self.text.as_str().len(), self.finished);
    }

    /// Renders the open block, or its unstable rest.
    fn render_open_block(&mut self, drawn: &mut RenderedLines) {
        let (block, end) = (self.ends.len(), self.text.as_str().len());
        let begin = self.block_start(block);
        let text = self.text.as_str();
        let holds =
            |grown: &StablePrefix| grown.resume.allows_rest(text.get(grown.from..).unwrap_or_default());
        let mut grown = drawn.grown.take().filter(|grown| grown.block == block && holds(grown));
        let from = grown.as_ref().map_or(begin, |grown| grown.from);
        let mut made = self.render_part(from..end, block, false, grown.as_ref(), drawn);
        if made.loose && grown.as_ref().is_some_and(|grown| grown.resume.is_tight()) {
            // The rows above become loose, too.
            grown = None;
            made = self.render_part(begin..end, block, false, None, drawn);
        }
        let lines = grown.as_ref().map(|grown| grown.lines).or(drawn.blocks.last().copied());
        drawn.lines.truncate(lines.unwrap_or_default());
        if grown.is_none() {
            drawn.push_block_gap(&made);
        }
        let next = self.extend_stable_prefix(block, grown.as_ref(), &made, drawn);
        drawn.grown = next.or(grown);
        drawn.lines.extend(made.lines);
    }

    /// Returns the extended stable part of the open block, if enough text was added.
    fn extend_stable_prefix(
        &mut self,
        block: usize,
        grown: Option<&StablePrefix>,
        made: &RenderedBlock,
        drawn: &RenderedLines,
    ) -> Option<StablePrefix> {
        let from = grown.map_or(self.block_start(block), |grown| grown.from);
        let rest = self.text.as_str().get(from..)?;
        if rest.len() <= self.long.unwrap_or(LONG) {
            return None;
        }
        // An incomplete line is uncertain, and so is its effect.
        let whole = rest.rfind('\n').map_or(0, |at| at + 1);
        let mark = match whole == rest.len() {
            true => made.mark.clone(),
            false => {
                let sure = self.render_part(from..from + whole, block, false, grown, drawn);
                sure.mark.filter(|_| sure.loose == made.loose)
            }
        }?;
        if !mark.resume.allows_rest(self.text.as_str().get(from..)?) {
            return None;
        }
        let before = grown.map_or(0, |grown| grown.resume.source_prefix().len());
        let (from, lines) = (from + mark.at.saturating_sub(before), drawn.lines.len() + mark.lines);
        Some(StablePrefix { block, from, lines, resume: mark.resume })
    }

    /// Renders a block, or part of the open block.
    fn render_part(
        &mut self,
        part: Range<usize>,
        block: usize,
        finished: bool,
        grown: Option<&StablePrefix>,
        drawn: &RenderedLines,
    ) -> RenderedBlock {
        let resume = grown.map(|grown| grown.resume.clone());
        let rest = self.text.as_str().get(part).unwrap_or_default();
        let source = resume.as_ref().map_or(Cow::Borrowed(rest), |resume| resume.full_source(rest));
        if source.trim().is_empty() {
            return RenderedBlock::default();
        }
        self.rendered += 1;
        self.read += rest.len();
        let source = match finished || resume.is_some() {
            true => source,
            false => with_table_delimiter(&source).map_or(source, Cow::Owned),
        };
        let renderer = BlockRenderer::new(drawn.width, &drawn.theme, finished, resume);
        renderer.render(&source, self.links.definitions_before(block))
    }
}

impl RenderedLines {
    fn new(width: u16, theme: Theme) -> Self {
        Self { width, theme, lines: Vec::new(), blocks: Vec::new(), grown: None, upto: 0, finished: false }
    }

    fn push_block_gap(&mut self, made: &RenderedBlock) {
        if !made.lines.is_empty() && !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
    }

    /// Returns the stable part of a block, if it is the open one.
    fn stable_prefix_of(&self, block: usize) -> Option<&StablePrefix> {
        self.grown.as_ref().filter(|grown| grown.block == block)
    }
}

/// Completes the row below the head of a table in the open block, so that the head is not shown as text until that row
/// has arrived. Returns `None` if the block needs no completion.
fn with_table_delimiter(open: &str) -> Option<String> {
    // Rows in lists, quotes and code are left alone.
    let first = open.trim_start_matches('\n').chars().next();
    first.filter(|first| *first == '|' || first.is_alphabetic())?;
    let (whole, delimiter) = open.rsplit_once('\n')?;
    let is_delimiter = |line: &str| line.chars().all(|char| matches!(char, '|' | '-' | ':' | ' '));
    let is_row = |line: &str| line.len() > 1 && line.starts_with('|') && line.ends_with('|');
    // A row that has only begun would end the table.
    if delimiter.trim() == "|" && whole.lines().filter(|line| line.starts_with('|')).count() > 1 {
        return Some(format!("{whole}\n"));
    }
    let mut lines = whole.lines().rev();
    let head = lines.next().map(str::trim_end).filter(|line| is_row(line) && !is_delimiter(line))?;
    if !is_delimiter(delimiter) || lines.next().is_some_and(|above| above.starts_with('|')) {
        return None;
    }
    let bars = head.matches('|').count() - head.matches("\\|").count();
    Some(format!("{whole}\n|{}", "-|".repeat(bars - 1)))
}

/// Returns the ends of finished blocks: each block that another one follows, and at the end of the text the last
/// block. `text` begins at the end of a block and contains whole lines only.
fn finished_block_ends(text: &str, at_end: bool) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut ends = Vec::new();
    // The end of the visible part of the block.
    let mut shown = 0;
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        let is_end = matches!(event, Event::End(_));
        if matches!(event, Event::Start(Tag::List(_) | Tag::Item | Tag::BlockQuote(_))) {
            shown = shown.max(range.start + 1);
        } else if !is_end {
            shown = shown.max(range.end);
        }
        depth += usize::from(matches!(event, Event::Start(_)));
        depth -= usize::from(is_end);
        if depth == 0 {
            ends.push(block_end(text, shown..range.end));
        }
    }
    if !at_end {
        ends.pop();
    }
    ends
}

/// Returns the end of a block that shows nothing in `rest`, according to the parser.
///
/// Blank text after a block belongs to no block, and its length may still change. The parser counts link definitions
/// after a list or a quote as part of it. They belong to the next block, because that block could be parsed
/// differently without them.
fn block_end(text: &str, rest: Range<usize>) -> usize {
    let mut end = rest.end;
    let behind = text.get(rest.clone()).unwrap_or_default();
    for (at, _) in behind.match_indices('\n') {
        let line = behind.get(at + 1..).unwrap_or_default();
        let indented = line.len() - line.trim_start_matches(' ').len();
        if indented <= 3 && line.trim_start_matches(' ').starts_with('[') {
            end = rest.start + at;
            break;
        }
    }
    // A block shows something at least at its beginning.
    trim_block_end(text.get(..end).unwrap_or(text)).len()
}

fn trim_block_end(block: &str) -> &str {
    block.trim_end_matches([' ', '\n'])
}

/// The link definitions of a text (`[name]: address`), each with the block in or before which it is defined.
#[derive(Debug, Clone, Default)]
struct LinkDefinitions(Vec<LinkDefinition>);

#[derive(Debug, Clone)]
struct LinkDefinition {
    block: usize,
    name: String,
    address: String,
}

impl LinkDefinitions {
    fn collect_from(&mut self, source: &str, block: usize) {
        if !source.contains("]:") {
            return;
        }
        let parser = Parser::new_ext(source, OPTIONS);
        let mut given: Vec<LinkDefinition> = parser
            .reference_definitions()
            .iter()
            .map(|(name, link)| LinkDefinition {
                block,
                name: normalize_name(name),
                address: link.dest.to_string(),
            })
            .collect();
        given.sort_by(|a, b| a.name.cmp(&b.name));
        self.0.extend(given);
    }

    /// Returns the link definitions of earlier blocks that a block lacks, the first definition first.
    fn definitions_before(
        &self,
        block: usize,
    ) -> impl FnMut(BrokenLink<'_>) -> Option<(CowStr<'static>, CowStr<'static>)> {
        move |link| {
            let name = normalize_name(&link.reference);
            let given =
                self.0.iter().take_while(|given| given.block < block).find(|given| given.name == name)?;
            Some((given.address.clone().into(), CowStr::Borrowed("")))
        }
    }
}

/// Normalizes a link name: case and blanks do not matter.
fn normalize_name(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests;
