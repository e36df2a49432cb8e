//! Runs extensions.
