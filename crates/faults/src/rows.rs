//! The rows, by group: one file each, and one line here.

mod arguments;
mod ids;
mod life;
mod pressure;
mod protocol;

use crate::row::Row;
use life::{crashes, ends, reloads, starts};
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
    crashes::ROWS,
    reloads::ROWS,
    ends::ROWS,
    starts::ROWS,
    arguments::ROWS,
];

/// Every row, in the order of the matrix.
pub(crate) fn all() -> impl Iterator<Item = &'static Row> {
    GROUPS.iter().copied().flatten()
}
