//! Group B: back-pressure and resources.

use crate::row::Row;

pub(crate) const ROWS: &[Row] = &[];
