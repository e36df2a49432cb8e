//! The extensions' part of the status line: the items of each process.
//!
//! While an extension is replaced, two of its processes may run. If both have an item, the text of the later
//! process is shown. An item of only one process disappears with that process. Items that a failed new
//! process has hidden reappear.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::ext::StatusText;
use haft_protocol::ids::ExtensionName;

use crate::extension::frontend::Frontend;

/// The items of one process, by key.
type StatusTexts = BTreeMap<String, StatusText>;

/// The status items of all extensions.
pub(crate) struct StatusLine {
    frontend: Arc<dyn Frontend>,
    items: Mutex<StatusItems>,
    /// Held while an item is changed and shown, so that the front end receives changes in order. This is
    /// separate from the lock of the items, because a front end may query the items.
    turn: Mutex<()>,
}

#[derive(Debug, Default)]
struct StatusItems {
    last: u64,
    /// The processes of each extension that have items, the earlier ones first.
    processes: BTreeMap<ExtensionName, BTreeMap<u64, StatusTexts>>,
}

impl StatusLine {
    pub(crate) fn new(frontend: Arc<dyn Frontend>) -> Self {
        Self { frontend, items: Mutex::default(), turn: Mutex::default() }
    }

    pub(crate) fn register_process(self: &Arc<Self>, extension: &ExtensionName) -> StatusLineWriter {
        let mut items = self.items();
        items.last += 1;
        StatusLineWriter { line: Arc::clone(self), extension: extension.clone(), number: items.last }
    }

    /// Returns the current items of an extension, by key.
    pub(crate) fn items_of(&self, extension: &ExtensionName) -> Vec<(String, StatusText)> {
        let items = self.items();
        let processes = items.processes.get(extension).into_iter().flat_map(BTreeMap::values);
        let now: BTreeMap<_, _> = processes.flatten().collect();
        now.into_iter().map(|(key, text)| (key.clone(), text.clone())).collect()
    }

    fn items(&self) -> MutexGuard<'_, StatusItems> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StatusItems {
    fn text(&self, extension: &ExtensionName, key: &str) -> Option<&StatusText> {
        let mut processes = self.processes.get(extension)?.values().rev();
        processes.find_map(|texts| texts.get(key))
    }
}

/// Writes the items of one process. They are removed when the process ends.
pub(crate) struct StatusLineWriter {
    line: Arc<StatusLine>,
    extension: ExtensionName,
    number: u64,
}

impl StatusLineWriter {
    /// Changes an item; an empty text removes it.
    pub(crate) fn set(&self, key: &str, text: StatusText) {
        self.update_item(key, |texts| {
            _ = match text.text.is_empty() {
                true => texts.remove(key),
                false => texts.insert(key.to_owned(), text),
            };
        });
    }

    pub(crate) fn remove_all(&self) {
        let keys: Vec<String> = {
            let items = self.line.items();
            let texts =
                items.processes.get(&self.extension).and_then(|processes| processes.get(&self.number));
            texts.into_iter().flat_map(BTreeMap::keys).cloned().collect()
        };
        for key in keys {
            self.update_item(&key, |texts| _ = texts.remove(&key));
        }
    }

    fn update_item(&self, key: &str, change: impl FnOnce(&mut StatusTexts)) {
        let Self { line, extension, number } = self;
        let _turn = line.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut items = line.items();
        let before = items.text(extension, key).cloned();
        let processes = items.processes.entry(extension.clone()).or_default();
        let texts = processes.entry(*number).or_default();
        change(texts);
        if texts.is_empty() {
            processes.remove(number);
        }
        if processes.is_empty() {
            items.processes.remove(extension);
        }
        let now = items.text(extension, key).cloned();
        drop(items);
        if now != before {
            line.frontend.set_status(extension, key, now.as_ref());
        }
    }
}

impl Drop for StatusLineWriter {
    fn drop(&mut self) {
        self.remove_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct StatusRecorder(Mutex<Vec<String>>);

    impl Frontend for StatusRecorder {
        fn set_status(&self, extension: &ExtensionName, key: &str, text: Option<&StatusText>) {
            let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            told.push(format!("{extension} {key}: {}", text.map_or("-", |text| &text.text)));
        }
    }

    fn line() -> (Arc<StatusLine>, Arc<StatusRecorder>) {
        let told = Arc::new(StatusRecorder::default());
        (Arc::new(StatusLine::new(Arc::clone(&told) as _)), told)
    }

    fn take(told: &StatusRecorder) -> Vec<String> {
        std::mem::take(&mut *told.0.lock().unwrap())
    }

    #[test]
    fn items_disappear_with_their_process() {
        let (line, told) = line();
        let name = ExtensionName::new("todo");
        let place = line.register_process(&name);
        place.set("open", "3".into());
        place.set("open", "3".into());
        place.set("late", "1".into());
        place.set("late", "".into());
        assert_eq!(line.items_of(&name), [("open".to_owned(), "3".into())]);
        drop(place);
        assert_eq!(take(&told), ["todo open: 3", "todo late: 1", "todo late: -", "todo open: -"]);
        assert_eq!((line.items_of(&name), line.items().processes.len()), (Vec::new(), 0));
    }

    #[test]
    fn new_process_hides_items_of_old_one() {
        let (line, told) = line();
        let name = ExtensionName::new("todo");
        let (old, new) = (line.register_process(&name), line.register_process(&name));
        old.set("open", "3".into());
        old.set("late", "1".into());
        new.set("open", "4".into());
        old.set("open", "5".into());
        assert_eq!(take(&told), ["todo open: 3", "todo late: 1", "todo open: 4"]);
        drop(old);
        assert_eq!(take(&told), ["todo late: -"]);
        assert_eq!(line.items_of(&name), [("open".to_owned(), "4".into())]);
    }

    #[test]
    fn hidden_items_reappear_after_failed_process() {
        let (line, told) = line();
        let name = ExtensionName::new("todo");
        let (old, new) = (line.register_process(&name), line.register_process(&name));
        old.set("open", "3".into());
        new.set("open", "?".into());
        new.remove_all();
        assert_eq!(take(&told), ["todo open: 3", "todo open: ?", "todo open: 3"]);
    }
}
