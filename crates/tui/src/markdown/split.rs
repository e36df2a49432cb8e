//! Where the blocks of a text end.

use pulldown_cmark::{Event, Options, Parser};

/// What of Markdown is understood beside CommonMark.
pub(super) const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// The ends of the blocks that are finished: each that another one follows, and at the end of the text the last. `text`
/// begins where a block has ended, and has whole lines only.
pub(super) fn finished(text: &str, at_end: bool) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut ends = Vec::new();
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
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
            | Event::TaskListMarker(_) => {}
        }
        if depth == 0 {
            // What is blank behind a block belongs to nobody; how much of it there is may still change.
            let block = text.get(..range.end).unwrap_or(text);
            ends.push(block.trim_end_matches([' ', '\n']).len());
        }
    }
    if !at_end {
        ends.pop();
    }
    ends
}
