//! Every duration of this crate.

use std::time::Duration;

/// The time of each picture of the spinner, unless the theme sets another.
pub(crate) const SPINNER: Duration = Duration::from_millis(80);

/// The shortest time that a theme may ask for: each picture is a redraw.
pub(crate) const SPINNER_MIN: Duration = Duration::from_millis(40);

/// The longest time that a theme may ask for: beyond it, nobody sees that something moves.
pub(crate) const SPINNER_MAX: Duration = Duration::from_secs(5);

/// The time without typing before the keys of a dialog that grants something count: who types when it appears does not
/// type at it. And how long nothing may have been typed before keys count for something else, where a question has
/// gone: who types on types at that.
pub(crate) const QUIET: Duration = Duration::from_millis(300);

/// Where lines are typed, how long after a question has gone by itself a line is taken for its answer, and not sent.
pub(crate) const LATE_LINE: Duration = Duration::from_secs(10);

/// A frame that takes this long went to a terminal that took nothing for a while: keys that are read afterwards may have
/// been typed at any time in between.
pub(crate) const SLOW_FRAME: Duration = Duration::from_millis(100);

/// The time between two changes of a countdown.
pub(crate) const COUNTDOWN: Duration = Duration::from_secs(1);

/// The shortest time from the end of a frame to the begin of the next, unless a key asks for it.
pub(crate) const FRAME: Duration = Duration::from_millis(16);

/// The time that the first frame waits for the terminal to report its background.
pub(crate) const BACKGROUND: Duration = Duration::from_millis(100);

/// The time that what may be the begin of an answer of the terminal is kept from being a key.
pub(crate) const REPLY_BEGIN: Duration = Duration::from_millis(50);

/// The time for the rest of such an answer, once it can be nothing else.
pub(crate) const REPLY_REST: Duration = Duration::from_secs(2);

/// The time after the question in which an answer counts.
pub(crate) const REPLY_EXPECTED: Duration = Duration::from_secs(10);

/// The time that a shell has to stop haft: where none is, nothing stops.
pub(crate) const STOPPED: Duration = Duration::from_millis(300);

/// The time that a terminal that takes nothing is left alone.
pub(crate) const TAKES_NOTHING: Duration = Duration::from_millis(5);

/// The time that answers of the program have after the end.
pub(crate) const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// Within this time, ctrl+c a second time quits.
pub(crate) const QUIT_AGAIN: Duration = Duration::from_secs(2);

/// Where a panel is printed and not drawn, the shortest time until it is printed again.
pub(crate) const PANEL_PRINTED: Duration = Duration::from_secs(1);

/// The time that a word stands in the status line.
pub(crate) const FLASH: Duration = Duration::from_secs(3);

/// While extensions start or stop, how long until it is asked again how they are.
pub(crate) const EXTENSIONS_AGAIN: Duration = Duration::from_secs(1);
