//! Tests of the test tools.

#[cfg(unix)]
mod pty;
