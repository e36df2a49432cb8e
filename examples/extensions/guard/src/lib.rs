//! Example extension `guard`.
