//! Completions of a command during typing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_protocol::ext::{CompletionItem, Limits, QueryCompletions};
use haft_protocol::ids::ExtensionName;
use tokio_util::sync::CancellationToken;

use crate::agent::managed_extension::ManagedExtension;
use crate::extension::Deadline;
use crate::wire::fault::{CallError, FaultCode};

/// The number of failures in a row after which a command is no longer queried until its extension restarts.
/// Each failure is reported to the user, who is only typing.
const MAX_FAILURES: u32 = 3;

/// The open requests and the failure counts of the commands.
#[derive(Debug, Default)]
pub(super) struct CompletionTracker(Mutex<BTreeMap<CommandKey, CompletionState>>);

/// A newer request for the same command replaced this one.
#[derive(Debug)]
pub(super) struct SupersededCompletion;

type CommandKey = (ExtensionName, String);

#[derive(Debug, Default)]
struct CompletionState {
    last: u64,
    open: Option<CancellationToken>,
    failures: u32,
}

impl CompletionTracker {
    /// Queries an extension for completions of a command. Returns no items if the extension fails or is no
    /// longer queried.
    ///
    /// # Errors
    /// A newer request for the same command replaced this one.
    pub(super) async fn complete(
        &self,
        cancel: &CancellationToken,
        entry: &ManagedExtension,
        question: QueryCompletions,
        limits: &Limits,
    ) -> Result<Vec<CompletionItem>, SupersededCompletion> {
        let key = (entry.name().clone(), question.name.clone());
        let Some((number, newest)) = self.begin(&key, cancel) else { return Ok(Vec::new()) };
        let ending = CompletionGuard { completing: self, key: &key, number, failed: None };
        let deadline = Deadline::after(entry.timeouts.completions);
        let answer = match entry.acquire_handle(&newest, &deadline).await {
            Ok(extension) => {
                let what = format!("completion of /{}", question.name).into();
                extension.query_or_report(&newest, question, what, deadline, FaultCode::FrameInvalid).await
            }
            Err(error) => Err(error),
        };
        match answer {
            Ok(items) => {
                ending.finish(Some(false));
                Ok(limit_items(items, limits))
            }
            Err(CallError::Cancelled) => Err(SupersededCompletion),
            // The extension is starting or has ended, which is not a failure of this command.
            Err(CallError::Gone { .. }) => Ok(Vec::new()),
            Err(CallError::TimedOut { .. } | CallError::BadResponse { .. } | CallError::NotSent { .. }) => {
                ending.finish(Some(true));
                Ok(Vec::new())
            }
        }
    }

    /// Opens a request and ends the previous one. Returns `None` when the command has failed too often.
    fn begin(&self, key: &CommandKey, cancel: &CancellationToken) -> Option<(u64, CancellationToken)> {
        let mut all = self.all();
        let asked = all.entry(key.clone()).or_default();
        if asked.failures >= MAX_FAILURES {
            return None;
        }
        let newest = cancel.child_token();
        if let Some(older) = asked.open.replace(newest.clone()) {
            older.cancel();
        }
        asked.last += 1;
        Some((asked.last, newest))
    }

    fn end(&self, key: &CommandKey, number: u64, failed: Option<bool>) {
        let mut all = self.all();
        let Some(asked) = all.get_mut(key) else { return };
        if asked.last == number {
            asked.open = None;
        }
        match failed {
            Some(true) => asked.failures += 1,
            Some(false) => asked.failures = 0,
            None => {}
        }
    }

    /// Clears the failure counts of an extension, because it is loaded again.
    pub(super) fn reset(&self, extension: Option<&ExtensionName>) {
        self.all().retain(|(of, _), _| extension.is_some_and(|extension| of != extension));
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<CommandKey, CompletionState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a request on drop, also when the caller went away.
struct CompletionGuard<'a> {
    completing: &'a CompletionTracker,
    key: &'a CommandKey,
    number: u64,
    failed: Option<bool>,
}

impl CompletionGuard<'_> {
    fn finish(mut self, failed: Option<bool>) {
        self.failed = failed;
    }
}

impl Drop for CompletionGuard<'_> {
    fn drop(&mut self) {
        self.completing.end(self.key, self.number, self.failed);
    }
}

/// Drops surplus and overlong items. Values are not truncated, because a truncated value is a different one.
fn limit_items(items: Vec<CompletionItem>, limits: &Limits) -> Vec<CompletionItem> {
    let longest = limits.max_completion_text;
    let cut = |text: String| match text.char_indices().nth(longest) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned(),
        None => text,
    };
    let is_line = |value: &str| {
        !value.is_empty() && value.chars().nth(longest).is_none() && !value.contains(char::is_control)
    };
    let items = items.into_iter().filter(|item| is_line(&item.value)).take(limits.max_completions);
    items
        .map(|CompletionItem { value, label, description }| CompletionItem {
            value,
            label: cut(label),
            description: cut(description),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_surplus_and_overlong_items() {
        let item = |value: &str, label: &str| CompletionItem {
            value: value.to_owned(),
            label: label.to_owned(),
            description: String::new(),
        };
        let limits = Limits { max_completions: 2, max_completion_text: 3, ..Limits::default() };
        let items =
            vec![item("", ""), item("a\nb", ""), item("abcd", ""), item("äbc", "äbcd"), item("x", "")];
        assert_eq!(limit_items(items.clone(), &limits), [item("äbc", "äbc"), item("x", "")]);
        assert_eq!(limit_items([items, vec![item("y", "")]].concat(), &limits).len(), 2);
    }

    #[test]
    fn newer_request_cancels_older_and_failures_stop_requests() {
        let completing = CompletionTracker::default();
        let key = (ExtensionName::new("todo"), "todo".to_owned());
        let cancel = CancellationToken::new();
        let begin = || completing.begin(&key, &cancel);
        let (first, older) = begin().unwrap();
        let (second, newer) = begin().unwrap();
        assert_eq!((older.is_cancelled(), newer.is_cancelled()), (true, false));
        completing.end(&key, first, None);
        let (third, _) = begin().unwrap();
        assert!(newer.is_cancelled(), "the end of an older one is not that of a newer one");
        for (number, failed) in [(second, true), (third, false), (third, true), (third, true)] {
            completing.end(&key, number, Some(failed));
            assert!(begin().is_some());
        }
        completing.end(&key, third, Some(true));
        assert!(begin().is_none());
        completing.reset(Some(&ExtensionName::new("other")));
        assert!(begin().is_none());
        completing.reset(None);
        assert!(begin().is_some());
    }
}
