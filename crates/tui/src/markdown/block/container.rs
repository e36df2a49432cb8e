//! The containers of a block: quotes, lists and their items.

use ratatui_core::text::Span;

use crate::clean::{CleanLine, span};
use crate::theme::{Role, Theme};
use crate::wrap::RowPrefixes;

/// The bullets, by nesting depth of the list.
const BULLETS: &[&str] = &["• ", "◦ ", "▪ "];

const BAR: &str = "│ ";

#[derive(Debug)]
pub(super) enum BlockContainer {
    Quote,
    List {
        /// The number of the next item; `None` for bullets.
        next: Option<u64>,
        loose: bool,
        items: usize,
    },
    Item {
        marker: CleanLine,
        shown: bool,
    },
}

/// The open containers, the outermost first. There may be thousands: `- - - -` opens nested lists.
#[derive(Debug, Default)]
pub(super) struct ContainerStack {
    pub(super) open: Vec<BlockContainer>,
    pub(super) quotes: usize,
    lists: usize,
    /// True if the innermost container is still empty.
    pub(super) untouched: bool,
}

impl ContainerStack {
    pub(super) fn open_quote(&mut self) {
        self.quotes += 1;
        self.open.push(BlockContainer::Quote);
        self.untouched = true;
    }

    pub(super) fn open_list(&mut self, next: Option<u64>, loose: bool, items: usize) {
        self.lists += 1;
        self.open.push(BlockContainer::List { next, loose, items });
    }

    /// Returns the number of the next item and whether the list is loose, if a single list is open.
    pub(super) fn only_list(&self) -> Option<(Option<u64>, bool)> {
        match self.open.as_slice() {
            [BlockContainer::List { next, loose, .. }] => Some((*next, *loose)),
            _ => None,
        }
    }

    /// Opens an item. Returns true if it is separated from the previous one.
    pub(super) fn open_item(&mut self) -> bool {
        let bullet = BULLETS.get((self.lists.max(1) - 1) % BULLETS.len()).copied().unwrap_or("• ");
        let mut marker = CleanLine::from(bullet);
        let mut apart = false;
        if let Some(BlockContainer::List { next, loose, items }) = self.open.last_mut() {
            apart = *loose && *items > 0;
            *items += 1;
            if let Some(number) = next {
                marker = CleanLine::new(&format!("{number}. "));
                *number = number.saturating_add(1);
            }
        }
        self.open.push(BlockContainer::Item { marker, shown: false });
        self.untouched = true;
        apart
    }

    /// Replaces the bullet with a checkbox.
    pub(super) fn set_marker(&mut self, with: &'static str) {
        if let Some(BlockContainer::Item { marker, shown: false }) = self.open.last_mut() {
            *marker = CleanLine::from(with);
        }
    }

    /// Records that the list of the innermost item has items with paragraphs.
    pub(super) fn mark_loose(&mut self) {
        if let [.., BlockContainer::List { loose, .. }, BlockContainer::Item { .. }] =
            self.open.as_mut_slice()
        {
            *loose = true;
        }
    }

    pub(super) fn close(&mut self) {
        match self.open.pop() {
            Some(BlockContainer::Quote) => self.quotes -= 1,
            Some(BlockContainer::List { .. }) => self.lists -= 1,
            Some(BlockContainer::Item { .. }) | None => {}
        }
        self.untouched = false;
    }

    /// True if a blank line precedes a block: not at the beginning of a container, and not in a tight list.
    pub(super) fn needs_gap(&self) -> bool {
        let together = matches!(
            self.open.as_slice(),
            [.., BlockContainer::List { loose: false, .. }, BlockContainer::Item { .. }]
        );
        !self.untouched && !together
    }

    pub(super) fn columns(&self) -> usize {
        let columns = self.open.iter().map(|container| match container {
            BlockContainer::Quote => CleanLine::from(BAR).columns(),
            BlockContainer::List { .. } => 0,
            BlockContainer::Item { marker, .. } => marker.columns(),
        });
        columns.sum()
    }

    /// Returns the prefixes of a line's rows. Markers are shown once.
    pub(super) fn line_prefixes(&mut self, theme: &Theme) -> RowPrefixes {
        let mut hang = RowPrefixes::default();
        for container in &mut self.open {
            match container {
                BlockContainer::Quote => {
                    hang.first.push(quote_bar(theme));
                    hang.rest.push(quote_bar(theme));
                }
                BlockContainer::List { .. } => {}
                BlockContainer::Item { marker, shown } => {
                    let style = theme.style(Role::ListMarker);
                    let blank = span(CleanLine::from_repeated_char(' ', marker.columns()), style);
                    let first = if *shown { blank.clone() } else { span(marker.clone(), style) };
                    *shown = true;
                    hang.first.push(first);
                    hang.rest.push(blank);
                }
            }
        }
        self.untouched = false;
        hang
    }

    /// Returns the prefix of a blank line.
    pub(super) fn gap_prefix(&self, theme: &Theme, without: usize) -> Vec<Span<'static>> {
        let around = self.open.get(..self.open.len().saturating_sub(without)).unwrap_or_default();
        let last = around.iter().rposition(|container| matches!(container, BlockContainer::Quote));
        let around = around.get(..last.map_or(0, |at| at + 1)).unwrap_or_default();
        let before = around.iter().filter_map(|container| match container {
            BlockContainer::Quote => Some(quote_bar(theme)),
            BlockContainer::List { .. } => None,
            BlockContainer::Item { marker, .. } => Some(span(
                CleanLine::from_repeated_char(' ', marker.columns()),
                theme.style(Role::ListMarker),
            )),
        });
        before.collect()
    }
}

fn quote_bar(theme: &Theme) -> Span<'static> {
    span(BAR, theme.style(Role::Quote))
}
