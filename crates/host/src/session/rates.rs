//! Rates of unrequested lines of an extension. Pure: `now` is a parameter.

use std::time::{Duration, Instant};

use haft_protocol::ext::{HostCallKind, HostService, Limits};

use crate::timeouts::{CALM, GARBLED_WINDOW, SECOND};

/// The size that counts as one line: a long line counts once for each begun portion, because it costs more.
const PORTION_BYTES: usize = 64 * 1024;

/// The number of blank lines that count as one frame, because a frame may end with a blank line.
const BLANKS_PER_FRAME: usize = 64;

/// The tolerated number of lines that are not text.
const MAX_GARBLED: usize = 4;

/// The rate of calls of each [`LoopingCall`].
pub(super) const LOOPING_PER_SECOND: u32 = 50;

/// The burst of such calls.
const LOOPING_BURST: u32 = 200;

/// The calls with which several extensions can answer each other forever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopingCall {
    /// A message on the bus.
    Message,
    /// A call with the permission `session.write`.
    SessionWrite,
    /// A panel that the extension opens on its own. It takes the keyboard.
    Panel,
}

impl LoopingCall {
    /// Returns `None` for other calls.
    pub(super) fn from_kind(kind: HostCallKind) -> Option<Self> {
        match kind.service() {
            _ if kind == HostCallKind::OpenPanel => Some(Self::Panel),
            HostService::Bus => Some(Self::Message),
            HostService::SessionWrite => Some(Self::SessionWrite),
            HostService::FsRead
            | HostService::FsWrite
            | HostService::Exec
            | HostService::FilesLock
            | HostService::Ui
            | HostService::SessionRead
            | HostService::SessionControl
            | HostService::ModelCall => None,
        }
    }

    /// Returns the name of several such calls, for people.
    pub(super) fn plural_name(self) -> &'static str {
        match self {
            Self::Message => "messages on the bus",
            Self::SessionWrite => "writes to the session",
            Self::Panel => "panels on its own",
        }
    }
}

/// A token bucket, stored as the time at which it is full again.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenBucket {
    /// The time in which one token returns.
    interval: Duration,
    /// The time in which all tokens return.
    depth: Duration,
    full_at: Option<Instant>,
}

impl TokenBucket {
    pub(super) fn new(per_second: u32, burst: u32) -> Self {
        let interval = SECOND / per_second.max(1);
        Self { interval, depth: interval * burst.max(1), full_at: None }
    }

    /// Takes tokens, also if there are too few. Returns the time at which the debt is paid, if there is one.
    pub(super) fn spend(&mut self, tokens: u32, now: Instant) -> Option<Instant> {
        let full_at = self.full_at_after(tokens, now);
        self.full_at = Some(full_at);
        self.debt_end(full_at, now)
    }

    /// Takes one token, or returns the time of the next one.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Instant> {
        let full_at = self.full_at_after(1, now);
        if let Some(at) = self.debt_end(full_at, now) {
            return Err(at);
        }
        self.full_at = Some(full_at);
        Ok(())
    }

    fn full_at_after(&self, tokens: u32, now: Instant) -> Instant {
        self.full_at.map_or(now, |at| at.max(now)) + self.interval * tokens
    }

    fn debt_end(&self, full_at: Instant, now: Instant) -> Option<Instant> {
        (full_at > now + self.depth).then(|| full_at - self.depth)
    }
}

/// The treatment of one more unrequested line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RateCheck {
    Within,
    /// The rate is exceeded: reading pauses until this time. `since` is the start of the excess.
    Over {
        until: Instant,
        since: Instant,
    },
}

/// The treatment of one more call that may be part of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopCheck {
    Within,
    /// The rate is exceeded for the first time after a calm period.
    FirstOver,
    /// The extension has not been calm since the rate was exceeded.
    Over,
}

/// A rate after whose excess all calls are over it until the extension has made none for a while, so that a loop of
/// several extensions ends.
#[derive(Debug)]
struct LoopLimiter {
    calls: TokenBucket,
    /// The time of the last call since the rate was exceeded.
    last_dropped: Option<Instant>,
}

impl LoopLimiter {
    fn new() -> Self {
        Self { calls: TokenBucket::new(LOOPING_PER_SECOND, LOOPING_BURST), last_dropped: None }
    }

    fn count_call(&mut self, now: Instant) -> LoopCheck {
        if self.last_dropped.is_some_and(|last| now <= last + CALM) {
            self.last_dropped = Some(now);
            return LoopCheck::Over;
        }
        let is_within = self.calls.take(now).is_ok();
        self.last_dropped = (!is_within).then_some(now);
        if is_within { LoopCheck::Within } else { LoopCheck::FirstOver }
    }
}

/// The unrequested lines of one connection.
#[derive(Debug)]
pub(super) struct RateLimiter {
    lines: TokenBucket,
    calls: TokenBucket,
    notes: TokenBucket,
    messages: LoopLimiter,
    session_writes: LoopLimiter,
    panels: LoopLimiter,
    blank: usize,
    /// The first and the last time at which the rate was exceeded.
    excess_span: Option<(Instant, Instant)>,
    /// The time of the last excess of any kind.
    last_excess: Option<Instant>,
    notes_dropped: u64,
    garbled: [Option<Instant>; MAX_GARBLED],
}

impl RateLimiter {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            lines: TokenBucket::new(limits.frames_per_second, limits.frame_burst),
            calls: TokenBucket::new(limits.frames_per_second, limits.frame_burst),
            notes: TokenBucket::new(limits.notes_per_second, limits.note_burst),
            messages: LoopLimiter::new(),
            session_writes: LoopLimiter::new(),
            panels: LoopLimiter::new(),
            blank: 0,
            excess_span: None,
            last_excess: None,
            notes_dropped: 0,
            garbled: [None; MAX_GARBLED],
        }
    }

    pub(super) fn count_line(&mut self, bytes: usize, now: Instant) -> RateCheck {
        self.spend_lines(token_count(bytes), now)
    }

    /// Counts a host call of this size. Returns the end of the reading pause if the rate is exceeded. A busy extension is
    /// slowed down and not ended for its calls; its unrequested lines are counted separately.
    pub(super) fn count_call(&mut self, bytes: usize, now: Instant) -> Option<Instant> {
        self.calls.spend(u32::try_from(token_count(bytes)).unwrap_or(u32::MAX), now)
    }

    pub(super) fn count_blank(&mut self, lines: usize, now: Instant) -> RateCheck {
        self.blank += lines;
        let tokens = self.blank / BLANKS_PER_FRAME;
        self.blank %= BLANKS_PER_FRAME;
        if tokens == 0 { RateCheck::Within } else { self.spend_lines(tokens, now) }
    }

    /// Counts one note; returns true if it may be shown.
    pub(super) fn count_note(&mut self, now: Instant) -> bool {
        let shown = self.notes.take(now).is_ok();
        self.notes_dropped += u64::from(!shown);
        shown
    }

    pub(super) fn count_looping(&mut self, call: LoopingCall, now: Instant) -> LoopCheck {
        match call {
            LoopingCall::Message => self.messages.count_call(now),
            LoopingCall::SessionWrite => self.session_writes.count_call(now),
            LoopingCall::Panel => self.panels.count_call(now),
        }
    }

    /// Takes the number of dropped notes since the last call.
    pub(super) fn take_dropped_notes(&mut self) -> u64 {
        std::mem::take(&mut self.notes_dropped)
    }

    /// Records an excess; returns true if it is the first after a calm period.
    pub(super) fn is_new_excess(&mut self, now: Instant) -> bool {
        let last = self.last_excess.replace(now);
        last.is_none_or(|last| now > last + CALM)
    }

    /// Counts a line that is not text; returns true if the limit is exceeded.
    pub(super) fn count_garbled(&mut self, now: Instant) -> bool {
        let [first, ..] = self.garbled;
        self.garbled.rotate_left(1);
        if let Some(last) = self.garbled.last_mut() {
            *last = Some(now);
        }
        first.is_some_and(|first| now <= first + GARBLED_WINDOW)
    }

    fn spend_lines(&mut self, tokens: usize, now: Instant) -> RateCheck {
        let Some(until) = self.lines.spend(u32::try_from(tokens).unwrap_or(u32::MAX), now) else {
            return RateCheck::Within;
        };
        let since = self.excess_span.filter(|(_, last)| now <= *last + CALM).map_or(now, |(since, _)| since);
        self.excess_span = Some((since, now));
        RateCheck::Over { until, since }
    }
}

fn token_count(bytes: usize) -> usize {
    1 + bytes / PORTION_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn bucket_allows_burst_and_then_rate() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(10, 50);
        let taken = |bucket: &mut TokenBucket, at| (0..1000).filter(|_| bucket.take(at).is_ok()).count();
        assert_eq!(taken(&mut bucket, start), 50);
        assert_eq!(bucket.take(start), Err(start + Duration::from_millis(100)));
        assert_eq!(taken(&mut bucket, start + Duration::from_millis(99)), 0);
        assert_eq!(taken(&mut bucket, start + Duration::from_millis(100)), 1);
        assert_eq!(taken(&mut bucket, start + seconds(2)), 19);
        assert_eq!(taken(&mut bucket, start + seconds(3600)), 50);
    }

    #[test]
    fn debt_is_paid_at_rate() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(10, 2);
        assert_eq!(bucket.spend(2, start), None);
        assert_eq!(bucket.spend(3, start), Some(start + Duration::from_millis(300)));
        assert_eq!(bucket.spend(1, start + seconds(1)), None);
    }

    #[test]
    fn zero_rate_means_one_per_second() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(0, 0);
        assert_eq!(bucket.take(start), Ok(()));
        assert_eq!(bucket.take(start), Err(start + seconds(1)));
    }

    #[test]
    fn allows_burst_but_not_one_more() {
        let start = Instant::now();
        let mut rates = RateLimiter::new(&Limits::default());
        for _ in 0..2000 {
            assert_eq!(rates.count_line(100, start), RateCheck::Within);
        }
        let until = start + Duration::from_millis(5);
        assert_eq!(rates.count_line(100, start), RateCheck::Over { until, since: start });
    }

    #[test]
    fn long_line_counts_for_each_portion() {
        let start = Instant::now();
        let mut rates = RateLimiter::new(&Limits { frame_burst: 17, ..Limits::default() });
        assert_eq!(rates.count_line(1024 * 1024, start), RateCheck::Within);
        assert_ne!(rates.count_line(1, start), RateCheck::Within);
    }

    #[test]
    fn slows_down_calls_separately_from_lines() {
        let start = Instant::now();
        let mut rates = RateLimiter::new(&Limits { frame_burst: 17, ..Limits::default() });
        assert_eq!(rates.count_call(1024 * 1024, start), None);
        assert_eq!(rates.count_call(1, start), Some(start + Duration::from_millis(5)));
        assert_eq!(rates.count_line(1024 * 1024, start), RateCheck::Within);
    }

    #[test]
    fn counts_blank_lines_in_groups() {
        let start = Instant::now();
        let mut rates = RateLimiter::new(&Limits { frame_burst: 1, ..Limits::default() });
        assert_eq!(rates.count_blank(BLANKS_PER_FRAME, start), RateCheck::Within);
        assert_eq!(rates.count_blank(BLANKS_PER_FRAME - 1, start), RateCheck::Within);
        assert_ne!(rates.count_blank(1, start), RateCheck::Within);
    }

    #[test]
    fn excess_lasts_until_calm() {
        let start = Instant::now();
        let mut rates = RateLimiter::new(&Limits { frame_burst: 1, ..Limits::default() });
        let mut since = |ms: u64| {
            let at = start + Duration::from_millis(ms);
            match rates.spend_lines(300, at) {
                RateCheck::Over { since, .. } => since - start,
                RateCheck::Within => panic!("within"),
            }
        };
        assert_eq!(since(0), Duration::ZERO);
        assert_eq!(since(1000), Duration::ZERO);
        assert_eq!(since(2001), Duration::from_millis(2001));
        let mut rates = RateLimiter::new(&Limits::default());
        let mut begins = |ms: u64| rates.is_new_excess(start + Duration::from_millis(ms));
        assert!(begins(0) && !begins(1000) && begins(2001));
    }

    #[test]
    fn looping_calls_are_dropped_until_the_extension_is_calm() {
        let start = Instant::now();
        let mut rates = LoopLimiter::new();
        let mut count = |ms: u64| rates.count_call(start + Duration::from_millis(ms));
        assert!((0..LOOPING_BURST).all(|_| count(0) == LoopCheck::Within));
        assert_eq!((count(0), count(0)), (LoopCheck::FirstOver, LoopCheck::Over));
        // A slow loop goes on being dropped.
        assert_eq!([count(900), count(1800), count(2800)], [LoopCheck::Over; 3]);
        assert_eq!(count(3801), LoopCheck::Within);
    }

    #[test]
    fn rejects_fifth_garbled_line_within_a_minute() {
        let start = Instant::now();
        let mut rates = RateLimiter::new(&Limits::default());
        let mut garbled = |second| rates.count_garbled(start + seconds(second));
        assert!(!(garbled(0) || garbled(1) || garbled(2) || garbled(3)));
        assert!(!garbled(61), "the first one is forgotten");
        assert!(garbled(61), "the second one is not");
    }
}
