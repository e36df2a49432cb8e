//! Example extension `todo`.
