//! Hooks that are told what happens.

use std::sync::Arc;

use haft_core::hooks::Observer;
use haft_packages::{EventForm, HookSpec};
use haft_protocol::event::AgentEvent;
use haft_protocol::hook::{Kind, LegacyKind, Meta, Occurrence, Payload};
use tokio::time::Instant;

use super::names::told_of;
use super::turns::Turns;
use crate::agent::entry::Entry;
use crate::agent::hook_context::HookContext;
use crate::session::dialect::Words;
use crate::wire::fault::FaultCode;

/// All hooks of a host as one, so that which turn it is, is known before any of them is asked.
pub(crate) struct HookAudience {
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) turns: Arc<Turns>,
    pub(crate) workspace: String,
    pub(crate) context: Arc<HookContext>,
}

impl Observer for HookAudience {
    fn observe(&self, event: &AgentEvent) {
        let (meta, payloads) = self.turns.on(event, &self.workspace, Instant::now().into_std());
        for payload in payloads {
            self.tell(&meta, payload);
        }
        if matches!(event, AgentEvent::Done) {
            self.count_reports();
        }
    }
}

impl HookAudience {
    /// Says how often more in this turn a hook did what was reported once.
    fn count_reports(&self) {
        for (hook, report, more) in self.turns.repeated() {
            let text = format!("{report} ({more} more in this turn)");
            self.context.reporter(&hook).fault(FaultCode::HookError, text);
        }
    }

    /// Never waits: for one that does not read, what is too much is dropped.
    fn tell(&self, meta: &Meta, payload: Payload) {
        let kind = payload.kind();
        let mut listeners = self.entries.iter().filter_map(|entry| listens(entry, kind)).peekable();
        if listeners.peek().is_none() {
            return;
        }
        let occurrence = Occurrence {
            time: jiff::Timestamp::now().to_string(),
            meta: meta.clone(),
            context: self.turns.context(),
            payload,
        };
        let number = self.turns.next_event();
        for (entry, hook) in listeners {
            if let Some(extension) = entry.extension() {
                extension
                    .observe_words(|| words(&told_of(hook.tool_names, &occurrence), hook.event_form, number));
            }
        }
    }
}

fn listens(entry: &Arc<Entry>, kind: Kind) -> Option<(&Arc<Entry>, &HookSpec)> {
    let hook = entry.spec.as_hook().filter(|hook| hook.watch.observed.wants(kind))?;
    Some((entry, hook))
}

fn words(occurrence: &Occurrence, form: EventForm, number: u64) -> Option<Words> {
    let words = match form {
        EventForm::Runtime => occurrence.runtime(number).map(Words::event),
        EventForm::Name => occurrence.legacy(LegacyKind::Name).map(Words::event),
        EventForm::Number => occurrence.legacy(LegacyKind::Number).map(Words::event),
    };
    // What this program builds has a form.
    words.ok()?.ok()
}
