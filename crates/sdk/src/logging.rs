//! The log: stderr, which the host keeps in `ext-<name>.log`.

use std::fmt;
use std::io::{self, Write};

/// Writes one line to the extension's log (stderr). [`log!`](crate::log!) formats its arguments first.
pub fn log(line: impl fmt::Display) {
    // One write a line, so that lines of several threads do not mix. A closed stderr is no reason to fail.
    let line = format!("{line}\n");
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// Writes one formatted line to the extension's log (stderr), like `println!` would to stdout.
///
/// ```
/// haft_sdk::log!("cache has {} entries", 12);
/// ```
#[macro_export]
macro_rules! log {
    ($($arg:tt)*) => { $crate::log(format_args!($($arg)*)) };
}
