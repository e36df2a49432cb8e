//! Every duration of this crate.

use std::time::Duration;

/// How long each picture of the spinner stands, unless the theme says otherwise.
pub(crate) const SPINNER: Duration = Duration::from_millis(80);

/// The shortest time that a theme may ask for: each picture is a redraw.
pub(crate) const SPINNER_MIN: Duration = Duration::from_millis(40);

/// The longest time that a theme may ask for: beyond it, nobody sees that something moves.
pub(crate) const SPINNER_MAX: Duration = Duration::from_secs(5);

/// How long nothing may have been typed before the keys of a dialog that grants something count: who types when it
/// appears does not type at it.
pub(crate) const QUIET: Duration = Duration::from_millis(300);

/// How often a countdown looks different.
pub(crate) const COUNTDOWN: Duration = Duration::from_secs(1);
