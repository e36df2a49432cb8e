//! Events of a host and its agent, in order.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use haft_host::EventSink;
use haft_protocol::event::{AgentEvent, ExtensionFault};
use serde_json::Value;

/// The largest number of kept events; a flood of events must not look like a leak of the host.
const KEPT: usize = 20_000;

/// Collects events.
#[derive(Clone, Default)]
pub(crate) struct EventLog(Arc<Mutex<Vec<AgentEvent>>>);

impl EventLog {
    /// Returns a sink for the events of a host.
    pub(crate) fn sink(&self) -> EventSink {
        let events = self.clone();
        Arc::new(move |event| events.push(event))
    }

    pub(crate) fn push(&self, event: AgentEvent) {
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() < KEPT {
            events.push(event);
        }
    }

    pub(crate) fn all(&self) -> Vec<AgentEvent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns every fault, in order.
    pub(crate) fn faults(&self) -> Vec<ExtensionFault> {
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let faults = events.iter().filter_map(|event| {
            if let AgentEvent::ExtensionError(fault) = event { Some(fault.clone()) } else { None }
        });
        faults.collect()
    }

    /// Returns the events of one type, in the JSON form of the front ends.
    pub(crate) fn of_type(&self, kind: &str) -> Vec<Value> {
        let events = self.all().into_iter().filter_map(|event| serde_json::to_value(event).ok());
        events.filter(|event| event["type"] == kind).collect()
    }

    /// Discards all events except faults, to limit the memory of long rows.
    pub(crate) fn forget_turns(&self) {
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events.retain(|event| matches!(event, AgentEvent::ExtensionError(_)));
    }

    /// Writes the events to the row's directory.
    pub(crate) fn save(&self, dir: &Path) -> Result<()> {
        let lines: Result<Vec<String>, _> =
            self.all().iter().map(|event| serde_json::to_string(event).map(|line| line + "\n")).collect();
        let lines = lines.context("write events as JSON")?;
        std::fs::write(dir.join("events.jsonl"), lines.concat()).context("write the events")
    }
}
