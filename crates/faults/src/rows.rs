//! The rows, by group: one file each, and one line here.

mod arguments;
mod ids;
mod pressure;
mod protocol;

use crate::row::Row;
use pressure::{floods, pipes, resources};
use protocol::{frames, hello, lines};

const GROUPS: &[&[Row]] = &[
    hello::ROWS,
    lines::ROWS,
    frames::ROWS,
    ids::ROWS,
    pipes::ROWS,
    floods::ROWS,
    resources::ROWS,
    arguments::ROWS,
];

/// Every row, in the order of the matrix.
pub(crate) fn all() -> impl Iterator<Item = &'static Row> {
    GROUPS.iter().copied().flatten()
}
