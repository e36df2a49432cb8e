//! Example extension `hello`.
