//! Example extension `weather`.
