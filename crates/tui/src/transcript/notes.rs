//! Conversion of events to notes.

use std::time::Duration;

use haft_protocol::event::{Advice, AgentEvent as E, ExtensionFault};

use super::document::TranscriptDocument;
use super::item::{ItemKind, PageItem, TranscriptItem};
use super::note::{NoteItem, NoteTag};
use crate::clean::{CleanLine, CleanText};
use crate::humanize::{format_elapsed, format_tokens};

/// Adds a note at the end, or replaces the note that it continues.
pub(super) fn push_note(doc: &mut TranscriptDocument, note: NoteItem) {
    let Some(last) = doc.items.last().and_then(TranscriptItem::note) else {
        doc.push(ItemKind::Note(Box::new(note)));
        return;
    };
    let continues = match (last.tag, note.tag) {
        // The error after the last attempt has the same text.
        (NoteTag::Retry, NoteTag::Retry | NoteTag::Failure) | (NoteTag::Gap(_), NoteTag::Gap(_)) => true,
        (NoteTag::Failure, NoteTag::Failure) if last.text.as_str().contains(note.text.as_str()) => return,
        (NoteTag::Failure, NoteTag::Failure) => note.text.as_str().contains(last.text.as_str()),
        _ => false,
    };
    // Printed notes are never replaced.
    let continues = continues && doc.items.last().is_some_and(|last| !last.printed);
    if continues && let Some(item) = doc.change_item(doc.items.len() - 1) {
        item.kind = ItemKind::Note(Box::new(note));
        return;
    }
    doc.push(ItemKind::Note(Box::new(note)));
}

pub(super) fn apply_note_event(doc: &mut TranscriptDocument, event: &E) {
    if let Some(note) = event_note(event) {
        push_note(doc, note);
    }
    if let E::ExtDisplay { extension, text } = event {
        let (owner, body) = (CleanLine::new(extension.as_str()), CleanText::new(text.trim_end()));
        let page = PageItem { owner: Some(owner), heading: CleanLine::default(), body, markdown: false };
        doc.push(ItemKind::Page(Box::new(page)));
    }
    apply_compaction(doc, event);
}

fn apply_compaction(doc: &mut TranscriptDocument, event: &E) {
    let E::CompactionEnd { summary, tokens_before, tokens_after, messages_summed_up, by, error, .. } = event
    else {
        return;
    };
    let by = by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let note = match (summary, error) {
        (_, Some(error)) => {
            NoteItem { tag: NoteTag::Failure, ..NoteItem::error(&format!("compaction{by} failed: {error}")) }
        }
        (None, None) => NoteItem::muted(&format!("the context was not compacted{by}")),
        (Some(summary), None) => {
            let messages = match messages_summed_up {
                None => String::new(),
                Some(1) => ", 1 message".to_owned(),
                Some(many) => format!(", {many} messages"),
            };
            let after =
                tokens_after.map(|after: u64| format!(" → {}", format_tokens(after))).unwrap_or_default();
            let before = format_tokens(*tokens_before);
            let shorter = tokens_after.is_none_or(|after| after < *tokens_before);
            let but = if shorter { "" } else { " without saving tokens" };
            let text = format!("context compacted{by}{but}: {before}{after} tokens{messages}");
            let more = Some(CleanText::new(summary)).filter(|more| !more.as_str().trim().is_empty());
            NoteItem { more, ..NoteItem::muted(&text) }
        }
    };
    let continues = |at: &usize| {
        let item = doc.items.get(*at).filter(|item| !item.printed);
        item.and_then(TranscriptItem::note).is_some_and(|note| note.tag == NoteTag::Compacting)
    };
    // Few items come between the two.
    let at = (0..doc.items.len()).rev().take(100).find(continues);
    match at.and_then(|at| doc.change_item(at)) {
        Some(item) => item.kind = ItemKind::Note(Box::new(note)),
        None => push_note(doc, note),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "there are many events, and some are notes")]
fn event_note(event: &E) -> Option<NoteItem> {
    Some(match event {
        E::Retry { attempt, delay_ms, message, max_attempts, .. } => {
            let of = max_attempts.map(|most| format!(" of {most}")).unwrap_or_default();
            let wait =
                format_elapsed(Duration::from_millis(*delay_ms)).unwrap_or_else(|| "a moment".to_owned());
            let text = format!("attempt {attempt}{of} in {wait}: {message}");
            NoteItem { tag: NoteTag::Retry, ..NoteItem::warning(&text) }
        }
        E::ModelFallback { from, to, message } => {
            NoteItem::warning(&format!("using {to} instead of {from}: {message}"))
        }
        E::Interrupted { .. } => NoteItem::muted("interrupted: tool calls that have not started are skipped"),
        E::TurnDiscarded { by, reason } => NoteItem::warning(&format!("{by} discarded this turn: {reason}")),
        E::CompactionStart { reason } => NoteItem::compacting(*reason),
        E::Error { message, advice, .. } => {
            let hint = advice.and_then(advice_hint).map(|hint| format!("\n{hint}")).unwrap_or_default();
            NoteItem { tag: NoteTag::Failure, ..NoteItem::error(&format!("{message}{hint}")) }
        }
        E::SessionRepaired { message, .. } => NoteItem::warning(&format!("session: {message}")),
        // The next step differs from that of a mode without a person to ask.
        E::TrustRequired { project, skipped, message: _ } => {
            let skipped = skipped.join(", ");
            let text =
                format!("{project} is not trusted; not used: {skipped}\nrun /trust to review and trust it");
            NoteItem::warning(&text)
        }
        E::GateOff { extension, reason } => {
            let text = format!("continuing without its gates: {reason}");
            NoteItem::warning(&text).with_owner(extension.as_str())
        }
        E::ExtensionError(fault) => {
            let mut text = format!("{} ({})", fault.message, fault.code);
            if failed_to_start(fault) {
                let name = &fault.extension;
                text.push_str(&format!(
                    "\nrun /ext {name} for details; `haft ext remove {name}` uninstalls it"
                ));
            }
            NoteItem::error(&text).with_owner(fault.extension.as_str())
        }
        _ => return None,
    })
}

/// Returns the command for the next step after a failure.
fn advice_hint(advice: Advice) -> Option<&'static str> {
    match advice {
        Advice::ApiKey => Some("run /login to save a key"),
        Advice::Provider | Advice::Model => Some("run /model to select a model, or /login to save a key"),
        Advice::MaxSteps => Some("send a prompt to continue"),
        Advice::ExtensionLog => Some("run /ext for details"),
        Advice::Session => Some("`haft --no-session` runs without a session file"),
        Advice::BaseUrl => None,
        _ => None,
    }
}

/// True if the extension is permanently unavailable, so actions behind its gate are blocked and the person needs the
/// next step. Only the person sees the hint, because the model might follow it.
fn failed_to_start(fault: &ExtensionFault) -> bool {
    match fault.code.as_str() {
        "spawn_failed" | "sandbox_unavailable" | "crash_loop" => true,
        "hello_timeout" | "hello_invalid" | "version_mismatch" => true,
        "exited" => fault.message.starts_with("ended before hello"),
        _ => false,
    }
}
