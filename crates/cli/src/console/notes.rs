//! The destination of notes while a screen covers standard error.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The receiver of notes instead of standard error.
type NoteSink = Arc<dyn Fn(&str) + Send + Sync>;

enum NoteDestination {
    StandardError,
    /// Notes are kept until a screen exists or ends.
    Held(Vec<String>),
    Screen(NoteSink),
}

static PLACE: Mutex<NoteDestination> = Mutex::new(NoteDestination::StandardError);

pub(crate) fn hold_notes() {
    let mut place = lock_destination();
    if !matches!(*place, NoteDestination::Held(_)) {
        *place = NoteDestination::Held(Vec::new());
    }
}

/// Shows notes with `shows` from now on, beginning with the kept ones.
pub(crate) fn show(shows: impl Fn(&str) + Send + Sync + 'static) {
    let shows: NoteSink = Arc::new(shows);
    let before = std::mem::replace(&mut *lock_destination(), NoteDestination::Screen(Arc::clone(&shows)));
    take_held_notes(before).iter().for_each(|text| shows(text));
}

/// Sends notes to standard error from now on, beginning with the kept ones.
pub(crate) fn release_notes() {
    let before = std::mem::replace(&mut *lock_destination(), NoteDestination::StandardError);
    take_held_notes(before).iter().for_each(|text| super::note(text));
}

pub(super) fn try_redirect(text: &str) -> bool {
    let shows = match &mut *lock_destination() {
        NoteDestination::StandardError => return false,
        NoteDestination::Held(waiting) => {
            waiting.push(text.to_owned());
            return true;
        }
        NoteDestination::Screen(shows) => Arc::clone(shows),
    };
    // The lock is released first, because showing a note can add a note.
    shows(text);
    true
}

fn take_held_notes(place: NoteDestination) -> Vec<String> {
    match place {
        NoteDestination::Held(waiting) => waiting,
        NoteDestination::StandardError | NoteDestination::Screen(_) => Vec::new(),
    }
}

/// Locks the destination. A panic cannot leave it half changed, because each change is one assignment.
fn lock_destination() -> MutexGuard<'static, NoteDestination> {
    PLACE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::note;

    /// The only test that changes the process-wide destination.
    #[test]
    fn shows_held_notes_in_order() {
        let shown = Arc::new(Mutex::new(Vec::new()));
        hold_notes();
        note("one");
        let seen = Arc::clone(&shown);
        show(move |text| seen.lock().unwrap().push(text.to_owned()));
        note("two");
        hold_notes();
        note("three");
        assert_eq!(*shown.lock().unwrap(), ["one", "two"]);
        release_notes();
        note("four");
        assert_eq!(shown.lock().unwrap().len(), 2);
    }
}
