//! Every duration of this crate.

use std::time::Duration;

/// The default duration of a spinner frame.
pub(crate) const SPINNER: Duration = Duration::from_millis(80);

/// The minimum duration of a spinner frame in a theme: each frame is a redraw.
pub(crate) const SPINNER_MIN: Duration = Duration::from_millis(40);

/// The maximum duration of a spinner frame in a theme: a slower animation is not noticeable.
pub(crate) const SPINNER_MAX: Duration = Duration::from_secs(5);

/// The quiet period before a dialog that grants something accepts keys, so that typing cannot answer it by accident.
/// Also the quiet period after a question has closed before keys have another meaning, because they may be meant for
/// the question.
pub(crate) const QUIET: Duration = Duration::from_millis(300);

/// In linear mode, the time after a question has closed by itself in which a line is treated as its answer and not
/// sent.
pub(crate) const LATE_LINE: Duration = Duration::from_secs(10);

/// The duration of a slow frame, during which the terminal did not read for a while. Keys that are read afterwards
/// may have been typed at any time during it.
pub(crate) const SLOW_FRAME: Duration = Duration::from_millis(100);

/// The interval of a countdown.
pub(crate) const COUNTDOWN: Duration = Duration::from_secs(1);

/// The minimum time between the end of a frame and the next one, unless a key requests it.
pub(crate) const FRAME: Duration = Duration::from_millis(16);

/// The time that the first frame waits for the terminal's reply about its background.
pub(crate) const BACKGROUND: Duration = Duration::from_millis(100);

/// The time for which a possible beginning of a terminal's reply is held back.
pub(crate) const REPLY_BEGIN: Duration = Duration::from_millis(50);

/// The time for the rest of a reply, once it can be nothing else.
pub(crate) const REPLY_REST: Duration = Duration::from_secs(2);

/// The pause that ends a paste in a terminal without bracketed paste.
pub(crate) const PASTE_REST: Duration = Duration::from_millis(30);

/// The time after the query in which a reply is expected.
pub(crate) const REPLY_EXPECTED: Duration = Duration::from_secs(10);

/// The time that a shell has to stop haft. Without a shell, nothing stops it.
pub(crate) const STOPPED: Duration = Duration::from_millis(300);

/// The pause before the next attempt to write to a terminal that does not read.
pub(crate) const TAKES_NOTHING: Duration = Duration::from_millis(5);

/// The time for answers of the program after the end.
pub(crate) const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// The time in which a second ctrl+c quits.
pub(crate) const QUIT_AGAIN: Duration = Duration::from_secs(2);

/// The minimum time between two printings of a panel in linear mode.
pub(crate) const PANEL_PRINTED: Duration = Duration::from_secs(1);

/// The duration of a message in the status line.
pub(crate) const FLASH: Duration = Duration::from_secs(3);

/// The duration of work whose end is shown on the desktop.
pub(crate) const LONG_WORK: Duration = Duration::from_secs(30);

/// The interval of status queries while extensions start or stop.
pub(crate) const EXTENSIONS_AGAIN: Duration = Duration::from_secs(1);

/// The wait after a changed registration of an extension, in which more of them can come.
pub(crate) const REGISTRATIONS_SETTLE: Duration = Duration::from_millis(50);

/// The time between requests for the background commands while some run.
pub(crate) const JOBS_AGAIN: Duration = Duration::from_secs(1);
