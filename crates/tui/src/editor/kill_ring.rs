//! The kill ring: cut texts that can be pasted.

use std::collections::VecDeque;

/// The maximum number of cuts.
const MOST: usize = 60;

/// The cuts, the latest first.
#[derive(Debug, Clone, Default)]
pub(super) struct KillRing {
    ring: VecDeque<String>,
    /// The index of the cut that was pasted last.
    at: usize,
}

/// The direction of a cut from the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KillDirection {
    Back,
    Forward,
}

impl KillRing {
    /// Records a cut. `joins` appends it to the previous cut.
    pub(super) fn record_cut(&mut self, text: &str, way: KillDirection, joins: bool) {
        self.at = 0;
        match (self.ring.front_mut().filter(|_| joins), way) {
            (Some(last), KillDirection::Forward) => last.push_str(text),
            (Some(last), KillDirection::Back) => last.insert_str(0, text),
            (None, _) => self.ring.push_front(text.to_owned()),
        }
        self.ring.truncate(MOST);
    }

    pub(super) fn latest(&mut self) -> Option<&str> {
        self.at = 0;
        self.ring.front().map(String::as_str)
    }

    /// Returns the cut before the one that was pasted. After the oldest comes the latest.
    pub(super) fn next_older(&mut self) -> Option<&str> {
        self.at = (self.at + 1).checked_rem(self.ring.len())?;
        self.ring.get(self.at).map(String::as_str)
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.ring.iter().map(String::as_str)
    }
}
