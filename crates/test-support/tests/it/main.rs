//! What this crate offers, tried out.

#[cfg(unix)]
mod pty;
