//! The lines of the protocol's registries.

use std::collections::BTreeSet;
use std::fmt;

use haft_protocol::codec::FrameSet;
use haft_protocol::event::AgentEventKind;
use haft_protocol::ext::{
    BusMessage, ExtensionFrame, HostCallKind, InterceptKind, LifecycleEvent, MirrorPart, RegistrationKind,
};

/// One table of the page.
pub(super) struct RegistryPart {
    /// The word for its lines in the records of the tests.
    pub(super) kind: &'static str,
    pub(super) title: &'static str,
    pub(super) column: &'static str,
    pub(super) intro: &'static str,
    names: fn() -> Vec<&'static str>,
}

/// One line of a registry.
pub(super) struct RegistryLine {
    pub(super) kind: &'static str,
    pub(super) name: &'static str,
}

impl RegistryPart {
    /// All tables, in the order of the page.
    pub(super) const ALL: &'static [Self] = &[
        Self {
            kind: "call",
            title: "Calls",
            column: "`call` of `host_call`",
            intro: "An extension asks something of the host with [`host_call`](protocol.md).",
            names: || HostCallKind::ALL.iter().map(|call| call.name()).collect(),
        },
        Self {
            kind: "hook",
            title: "Hooks",
            column: "`event` of `event_intercept`",
            intro: "The host asks an extension and waits for the answer.",
            names: || InterceptKind::ALL.iter().map(|hook| hook.name()).collect(),
        },
        Self {
            kind: "event",
            title: "Events",
            column: "`event`",
            intro: "The host tells an extension what happened.",
            names: event_names,
        },
        Self {
            kind: "mirror",
            title: "Mirror",
            column: "Part of `hello.mirror`",
            intro: "The host keeps a copy of the session in an extension.",
            names: || MirrorPart::ALL.iter().map(|part| part.name()).collect(),
        },
        Self {
            kind: "registration",
            title: "Registrations",
            column: "Frame, or kind of `register`",
            intro: "An extension offers something that the person or the model uses.",
            names: || {
                let frames = ExtensionFrame::KINDS.iter().copied();
                let frames = frames.filter(|kind| kind.starts_with("register_"));
                frames.chain([RegistrationKind::Shortcut.name(), "unregister"]).collect()
            },
        },
    ];

    /// Returns the lines of the table.
    pub(super) fn lines(&self) -> impl Iterator<Item = RegistryLine> {
        (self.names)().into_iter().map(|name| RegistryLine { kind: self.kind, name })
    }

    /// True if a registry has this line.
    pub(super) fn has_line(kind: &str, name: &str) -> bool {
        Self::ALL.iter().any(|part| part.kind == kind && part.lines().any(|line| line.name == name))
    }
}

/// Returns the names of zot's events, of those that every client gets, and of the message of another extension.
fn event_names() -> Vec<&'static str> {
    let names = LifecycleEvent::NAMES.iter().copied().chain(AgentEventKind::names_for_extensions());
    names.chain([BusMessage::EVENT]).collect::<BTreeSet<_>>().into_iter().collect()
}

impl fmt::Display for RegistryLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}
