//! Where the blocks of a text end.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// What of Markdown is understood beside CommonMark.
pub(super) const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// The ends of the blocks that are finished: each that another one follows, and at the end of the text the last. `text`
/// begins where a block has ended, and has whole lines only.
pub(super) fn finished(text: &str, at_end: bool) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut ends = Vec::new();
    // Where what is shown of the block ends.
    let mut shown = 0;
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        match event {
            Event::Start(Tag::List(_) | Tag::Item | Tag::BlockQuote(_)) => {
                depth += 1;
                shown = shown.max(range.start + 1);
            }
            Event::End(TagEnd::List(_) | TagEnd::Item | TagEnd::BlockQuote(_)) => depth -= 1,
            Event::Start(_) => {
                depth += 1;
                shown = shown.max(range.end);
            }
            Event::End(_) => depth -= 1,
            Event::Text(_)
            | Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_) => shown = shown.max(range.end),
        }
        if depth == 0 {
            ends.push(end(text, shown..range.end));
        }
    }
    if !at_end {
        ends.pop();
    }
    ends
}

/// Where a block ends, of which the parser says that it shows nothing in `rest`.
///
/// What is blank behind a block belongs to nobody; how much of it there is may still change. Addresses of links that
/// follow a list or a quote are counted to it by the parser. They belong to what comes next: without them, that could
/// be something else.
fn end(text: &str, rest: Range<usize>) -> usize {
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
    // A block shows at least where it begins.
    without_end(text.get(..end).unwrap_or(text)).len()
}

/// A block without what is blank at its end.
pub(super) fn without_end(block: &str) -> &str {
    block.trim_end_matches([' ', '\n'])
}
