//! Rendering of blocks: handles one parser event after the other with an explicit stack, so nesting depth is
//! unlimited.

mod code;
mod container;

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{BrokenLink, CodeBlockKind, CowStr, Event, HeadingLevel, Parser, Tag, TagEnd};
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};

use super::OPTIONS;
use super::inline::InlineSpans;
use super::table::MarkdownTable;
use crate::clean::{CleanLine, span};
use crate::theme::{Role, Theme};
use crate::wrap::{RowPrefixes, WrapMode, wrap};
use code::CodeBlock;
use container::ContainerStack;

/// Turns events into lines.
pub(super) struct BlockRenderer<'t> {
    width: u16,
    theme: &'t Theme,
    /// False while the block is incomplete: its code is not highlighted yet.
    finished: bool,
    containers: ContainerStack,
    inline: InlineSpans,
    code: Option<CodeBlock>,
    table: Option<MarkdownTable>,
    /// The state in which rendering resumes inside a block.
    resume: Option<ResumeState>,
    made: RenderedBlock,
    /// The beginning of the last item, which may still turn out to be something else.
    item: Option<ResumePoint>,
}

#[derive(Default)]
pub(super) struct RenderedBlock {
    pub(super) lines: Vec<Line<'static>>,
    /// True if the items of a top-level list are loose.
    pub(super) loose: bool,
    /// The last position at which rendering can resume: nothing before it changes.
    pub(super) mark: Option<ResumePoint>,
}

/// The state in which rendering resumes inside a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResumeState {
    List {
        /// The number of the item; `None` for bullets.
        number: Option<u64>,
        /// True if the list is loose.
        loose: bool,
    },
    /// At a line of code, after this opening fence.
    Code(String),
}

impl ResumeState {
    /// Returns the text to put before the rest of the block so that it parses as in the whole block.
    pub(super) fn source_prefix(&self) -> &str {
        match self {
            Self::List { .. } => "",
            Self::Code(fence) => fence,
        }
    }

    /// True for a tight list.
    pub(super) fn is_tight(&self) -> bool {
        matches!(self, Self::List { loose: false, .. })
    }

    /// True if the part above stays unchanged with this rest below. Link definitions in a list may belong to links
    /// above.
    pub(super) fn allows_rest(&self, rest: &str) -> bool {
        match self {
            Self::List { .. } => !rest.contains("]:"),
            Self::Code(_) => true,
        }
    }

    pub(super) fn full_source<'s>(&self, rest: &'s str) -> Cow<'s, str> {
        match self.source_prefix() {
            "" => Cow::Borrowed(rest),
            before => Cow::Owned([before, rest].concat()),
        }
    }
}

/// A position in the source at which rendering can resume, and the number of lines before it.
#[derive(Debug, Clone)]
pub(super) struct ResumePoint {
    pub(super) at: usize,
    pub(super) lines: usize,
    pub(super) resume: ResumeState,
}

impl<'t> BlockRenderer<'t> {
    pub(super) fn new(width: u16, theme: &'t Theme, finished: bool, resume: Option<ResumeState>) -> Self {
        Self {
            width,
            theme,
            finished,
            containers: ContainerStack::default(),
            inline: InlineSpans::new(theme.style(Role::Text)),
            code: None,
            table: None,
            resume,
            made: RenderedBlock::default(),
            item: None,
        }
    }

    pub(super) fn render<'s>(
        mut self,
        source: &'s str,
        mut links: impl FnMut(BrokenLink<'_>) -> Option<(CowStr<'static>, CowStr<'static>)>,
    ) -> RenderedBlock {
        let find = |link: BrokenLink<'s>| links(link);
        let parser = Parser::new_with_broken_link_callback(source, OPTIONS, Some(find));
        for (event, range) in parser.into_offset_iter() {
            self.event(event, source, &range);
        }
        self.flush();
        // The first item decides whether the list is loose; until then rows are shown as tight.
        let loose = self.made.loose;
        self.made.mark.take_if(|mark| loose && mark.resume.is_tight());
        self.made
    }

    fn event(&mut self, event: Event<'_>, source: &str, range: &Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, source, range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) => match &mut self.code {
                Some(code) => code.push(&text, source, range),
                None => self.inline.push_text(&text),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.inline.push_styled(&text, self.theme.style(Role::CodeInline));
            }
            Event::InlineHtml(text) => self.inline.push_styled(&text, self.theme.style(Role::Muted)),
            Event::FootnoteReference(name) => self.inline.push_text(&name),
            Event::SoftBreak => self.inline.push_text(" "),
            Event::HardBreak => self.inline.lines.push(Vec::new()),
            Event::Rule => {
                self.begin_block();
                let rule = span(
                    CleanLine::from_repeated_char('─', self.text_columns()),
                    self.theme.style(Role::Rule),
                );
                self.push_line(&[rule], WrapMode::Columns);
            }
            Event::TaskListMarker(done) => {
                self.containers.set_marker(if done { "[x] " } else { "[ ] " });
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>, source: &str, range: &Range<usize>) {
        let resume = self.resume.take();
        match tag {
            Tag::Paragraph => {
                self.containers.mark_loose();
                self.begin_block();
            }
            Tag::Heading { level, .. } => {
                self.begin_block();
                self.inline = InlineSpans::new(self.heading_style(level));
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.containers.open_quote();
                self.inline = InlineSpans::new(self.base_style());
            }
            Tag::CodeBlock(kind) => self.begin_code(kind, source, range, resume.is_some()),
            Tag::HtmlBlock => {
                self.begin_block();
                self.code = Some(CodeBlock::new_html());
            }
            Tag::List(first) => self.begin_list(first, resume),
            Tag::Item => self.begin_item(line_prefix(source, range.start)),
            Tag::Table(alignments) => {
                self.begin_block();
                self.table = Some(MarkdownTable::new(alignments));
            }
            Tag::TableHead => {
                self.inline = InlineSpans::new(self.base_style().patch(self.theme.own_style(Role::Strong)))
            }
            Tag::TableRow | Tag::TableCell => {}
            Tag::Emphasis => self.inline.open_style(self.theme.own_style(Role::Emphasis)),
            Tag::Strong => self.inline.open_style(self.theme.own_style(Role::Strong)),
            Tag::Strikethrough => self.inline.open_style(self.theme.own_style(Role::Strikethrough)),
            Tag::Link { dest_url, .. } => self.inline.open_link(&dest_url, false, self.theme),
            Tag::Image { dest_url, .. } => self.inline.open_link(&dest_url, true, self.theme),
            // These extensions are off; their content is shown anyway.
            Tag::Superscript | Tag::Subscript => self.inline.open_style(Style::new()),
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::MetadataBlock(_) => self.begin_block(),
        }
    }

    fn begin_code(&mut self, kind: CodeBlockKind<'_>, source: &str, range: &Range<usize>, continues: bool) {
        self.begin_block();
        self.code = Some(match kind {
            CodeBlockKind::Fenced(label) => {
                CodeBlock::new_fenced(label.to_string(), line_at(source, range), continues)
            }
            CodeBlockKind::Indented => CodeBlock::default(),
        });
    }

    fn begin_list(&mut self, first: Option<u64>, resume: Option<ResumeState>) {
        self.begin_block();
        match resume {
            Some(ResumeState::List { number, loose }) => self.containers.open_list(number, loose, 1),
            Some(ResumeState::Code(_)) | None => self.containers.open_list(first, false, 0),
        }
    }

    fn begin_item(&mut self, at: usize) {
        self.flush();
        if let Some((number, loose)) = self.containers.only_list() {
            let mark =
                ResumePoint { at, lines: self.made.lines.len(), resume: ResumeState::List { number, loose } };
            self.made.mark = self.item.replace(mark);
        }
        if self.containers.open_item() {
            self.push_gap(1);
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::Heading(_) => self.flush(),
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.close_container();
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock => self.end_code(),
            TagEnd::List(_) => {
                self.flush();
                if let Some((_, loose)) = self.containers.only_list() {
                    self.made.loose |= loose;
                }
                self.containers.close();
            }
            TagEnd::Item => {
                self.flush();
                self.close_container();
            }
            TagEnd::TableCell => {
                let next = InlineSpans::new(self.cell_style());
                let cell = std::mem::replace(&mut self.inline, next);
                if let Some(table) = &mut self.table {
                    // All on one line.
                    table.row.push(cell.lines.into_iter().flatten().collect());
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                self.inline = InlineSpans::new(self.base_style());
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::Table => self.end_table(),
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript => self.inline.close_style(),
            TagEnd::Link | TagEnd::Image => self.inline.close_link(self.theme),
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::MetadataBlock(_) => self.flush(),
        }
    }

    fn base_style(&self) -> Style {
        let role = if self.containers.quotes > 0 { Role::Quote } else { Role::Text };
        self.theme.style(role)
    }

    fn cell_style(&self) -> Style {
        let in_head = self.table.as_ref().is_some_and(|table| table.rows.is_empty());
        let strong = if in_head { self.theme.own_style(Role::Strong) } else { Style::new() };
        self.base_style().patch(strong)
    }

    fn heading_style(&self, level: HeadingLevel) -> Style {
        let style = self.theme.style(Role::Heading);
        if level == HeadingLevel::H1 { style.add_modifier(Modifier::UNDERLINED) } else { style }
    }

    /// Ends the previous block, and adds a blank line between loose blocks.
    fn begin_block(&mut self) {
        self.flush();
        if self.containers.needs_gap() && !self.made.lines.is_empty() {
            self.push_gap(0);
        }
    }

    /// Adds a line with only the bars of quotes, without the given number of innermost containers.
    fn push_gap(&mut self, without: usize) {
        let bars = self.containers.gap_prefix(self.theme, without);
        self.made.lines.extend(wrap(&[], self.width, &RowPrefixes::repeated(bars), WrapMode::Words));
    }

    /// Ends a quote or an item. An empty one still has a line.
    fn close_container(&mut self) {
        if self.containers.untouched {
            self.push_line(&[], WrapMode::Words);
        }
        self.containers.close();
        self.inline = InlineSpans::new(self.base_style());
    }

    fn flush(&mut self) {
        let next = InlineSpans::new(self.base_style());
        let inline = std::mem::replace(&mut self.inline, next);
        if !inline.is_empty() {
            inline.lines.iter().for_each(|line| self.push_line(line, WrapMode::Words));
        }
    }

    fn end_code(&mut self) {
        let Some(mut code) = self.code.take() else { return };
        let mark = code.take_resume_point().filter(|_| self.containers.open.is_empty());
        for (number, line) in code.into_lines(self.theme, self.finished).into_iter().enumerate() {
            if let Some(mark) = mark.as_ref().filter(|mark| mark.lines == number) {
                self.made.mark = Some(ResumePoint { lines: self.made.lines.len(), ..mark.clone() });
            }
            self.push_line(&line, WrapMode::Columns);
        }
    }

    fn end_table(&mut self) {
        if let Some(table) = self.table.take() {
            for row in table.into_rows(self.text_columns(), self.theme) {
                self.push_line(&row, WrapMode::Words);
            }
        }
        self.inline = InlineSpans::new(self.base_style());
    }

    /// Returns the columns beside bars and indentation.
    fn text_columns(&self) -> usize {
        let width = usize::from(self.width);
        width.saturating_sub(self.containers.columns().min(width / 2)).max(1)
    }

    fn push_line(&mut self, line: &[Span<'static>], mode: WrapMode) {
        let hang = self.containers.line_prefixes(self.theme);
        self.made.lines.extend(wrap(line, self.width, &hang, mode));
    }
}

/// Returns the line up to a byte of the source, from its first column.
fn line_prefix(source: &str, at: usize) -> usize {
    source.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1)
}

/// Returns the whole line in which a range begins, with its line end.
fn line_at(source: &str, range: &Range<usize>) -> String {
    let rest = source.get(line_prefix(source, range.start)..).unwrap_or_default();
    let line = rest.lines().next().unwrap_or_default();
    format!("{line}\n")
}
