//! The front end of a run without a screen: what a command would put on one is printed once.

use haft_host::Frontend;
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::Panel;
use haft_protocol::ids::ExtensionName;

use super::queue::Sender;

/// Turns panels and insertions into text that the extension shows.
pub(crate) struct Printed {
    events: Sender,
}

impl Printed {
    /// Sends to `events`, as the extensions' notes do.
    pub(crate) fn new(events: Sender) -> Self {
        Self { events }
    }

    fn show(&self, extension: &ExtensionName, text: String) {
        self.events.send(AgentEvent::ExtDisplay { extension: extension.clone(), text });
    }
}

impl Frontend for Printed {
    fn open_panel(&self, extension: &ExtensionName, panel: &Panel) {
        let title = if panel.title.is_empty() { extension.as_str() } else { &panel.title };
        let rows = std::iter::once(title).chain(panel.lines.iter().map(String::as_str));
        self.show(extension, rows.collect::<Vec<_>>().join("\n"));
    }

    fn insert(&self, extension: &ExtensionName, text: &str) {
        self.show(extension, text.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::ids::PanelId;

    use super::*;
    use crate::run::queue::queue;

    #[test]
    fn a_panel_is_its_title_and_its_rows() {
        let (sender, mut events) = queue();
        let todo = ExtensionName::new("todo");
        let panel = Panel {
            id: PanelId::new("p"),
            title: String::new(),
            lines: vec!["one".into(), "two".into()],
            footer: "esc close".into(),
        };
        Printed::new(sender).open_panel(&todo, &panel);
        let text = "todo\none\ntwo".to_owned();
        assert_eq!(events.try_recv(), Some(AgentEvent::ExtDisplay { extension: todo, text }));
    }
}
