//! Items of extensions in the status line, which share the remaining width.

use ratatui_core::text::Span;

use crate::clean::{columns, span};
use crate::theme::{Role, Theme};

use super::super::status_item::ExtensionStatusItem;
use super::BETWEEN;

/// The minimum columns of a truncated item. If there is less room, the last items are omitted.
const LEAST: usize = 12;

/// The mark for omitted items.
const MORE: &str = "…";

/// Returns the items that fit into `room` columns.
pub(super) fn fit_extension_items<'i>(
    items: impl Iterator<Item = &'i ExtensionStatusItem>,
    room: usize,
    theme: &Theme,
) -> Vec<Vec<Span<'static>>> {
    let items: Vec<&ExtensionStatusItem> = items.collect();
    let widths: Vec<usize> = items.iter().map(|item| item.columns()).collect();
    let (count, most) = divide_room(&widths, room);
    let mut shown: Vec<_> = items.iter().take(count).map(|item| item.fit_spans(most, theme)).collect();
    if count < items.len() && count > 0 {
        shown.push(vec![span(MORE, theme.style(Role::Muted))]);
    }
    shown
}

/// Returns the number of items that fit, and the maximum width of each.
fn divide_room(widths: &[usize], room: usize) -> (usize, usize) {
    let between = columns(BETWEEN);
    for count in (1..=widths.len()).rev() {
        let left_out = if count < widths.len() { between + columns(MORE) } else { 0 };
        let taken = between * (count - 1) + left_out;
        let Some(shown) = widths.get(..count) else { continue };
        let most = room.checked_sub(taken).map(|room| fair_share(shown, room));
        if let Some(most) = most.filter(|most| *most >= LEAST || shown.iter().all(|width| width <= most)) {
            return (count, most);
        }
    }
    (0, 0)
}

/// Returns the maximum width of an item. Long items use the room that short items leave.
fn fair_share(widths: &[usize], room: usize) -> usize {
    let mut widths = widths.to_vec();
    widths.sort_unstable();
    let (mut room, mut others) = (room, widths.len());
    for width in widths {
        let share = room / others.max(1);
        if width > share {
            return share;
        }
        room -= width;
        others -= 1;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_items_use_the_room_of_short_items() {
        assert_eq!(fair_share(&[10, 10], 20), usize::MAX);
        assert_eq!(fair_share(&[4, 30, 30], 44), 20);
        assert_eq!(fair_share(&[30, 30], 41), 20);
        assert_eq!(fair_share(&[], 5), usize::MAX);
    }

    #[test]
    fn omits_last_items_without_room() {
        assert_eq!(divide_room(&[10, 10], 23), (2, usize::MAX));
        assert_eq!(divide_room(&[20, 20], 27), (2, 12));
        assert_eq!(divide_room(&[20, 20], 26), (1, usize::MAX));
        assert_eq!(divide_room(&[20, 20], 16), (1, 12));
        assert_eq!(
            (divide_room(&[20, 20], 15), divide_room(&[20], 11), divide_room(&[5], 5)),
            ((0, 0), (0, 0), (1, usize::MAX))
        );
    }
}
