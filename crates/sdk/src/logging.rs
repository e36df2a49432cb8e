//! The log: stderr, which the host stores in `ext-<name>.log`.

use std::fmt;
use std::io::{self, Write};

/// Writes one line to the extension's log (stderr). [`log!`](crate::log!) formats its arguments first.
pub fn log(line: impl fmt::Display) {
    // One write per line, so that lines of several threads do not mix. A closed stderr is not an
    // error.
    let line = format!("{line}\n");
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// Writes one formatted line to the extension's log (stderr), as `println!` does to stdout.
///
/// ```
/// haft_sdk::log!("cache has {} entries", 12);
/// ```
#[macro_export]
macro_rules! log {
    ($($arg:tt)*) => { $crate::log(format_args!($($arg)*)) };
}
