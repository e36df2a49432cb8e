//! Mistakes of extensions that are reported once a turn, however often they are repeated.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_protocol::ids::ExtensionName;

/// The reports of the current turn, each with the number of its repetitions.
#[derive(Debug, Default)]
pub(crate) struct TurnReports(Mutex<HashMap<(ExtensionName, String), u64>>);

impl TurnReports {
    /// Begins a turn.
    pub(crate) fn clear_all(&self) {
        self.lock().clear();
    }

    /// Counts a report. Returns true for the first of its kind in this turn.
    pub(crate) fn count_report(&self, extension: &ExtensionName, report: &str) -> bool {
        match self.lock().entry((extension.clone(), report.to_owned())) {
            Entry::Vacant(first) => {
                first.insert(0);
                true
            }
            Entry::Occupied(mut more) => {
                *more.get_mut() += 1;
                false
            }
        }
    }

    /// Ends a turn, and returns its repeated reports with their counts.
    pub(crate) fn take_repeated(&self) -> Vec<(ExtensionName, String, u64)> {
        let reports = std::mem::take(&mut *self.lock()).into_iter();
        reports.filter(|(_, more)| *more > 0).map(|((name, report), more)| (name, report, more)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(ExtensionName, String), u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
