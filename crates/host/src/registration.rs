//! Dates of files, by which a changed file is told from an unchanged one without reading it.

mod stamp;

pub(crate) use stamp::{Change, Glance};
