//! Panels of several extensions, and panels that are reopened.

use haft_protocol::RawJson;
use haft_protocol::event::{AgentEvent, ExtensionFault};
use haft_protocol::ids::{PanelId, ToolCallId};
use haft_protocol::rpc::{PanelContent, RpcEvent};

use super::fake::{Fake, extension};

fn opens(fake: &mut Fake, owner: &str, id: &str) {
    let panel = PanelContent {
        panel_id: PanelId::new(id),
        title: String::new(),
        lines: vec![format!("panel {id} of {owner}")],
        footer: String::new(),
    };
    fake.rpc(RpcEvent::PanelOpen { extension: extension(owner), panel });
    fake.later(1.0);
}

#[test]
fn panel_that_opens_on_its_own_gets_no_key_before_a_pause() {
    let mut fake = Fake::new();
    fake.type_text("my dra");
    let (panel_id, lines) = (PanelId::new("clock"), vec!["12:00".to_owned()]);
    let panel = PanelContent { panel_id, title: String::new(), lines, footer: String::new() };
    fake.rpc(RpcEvent::PanelOpen { extension: extension("clock"), panel });
    fake.take_log();
    fake.keys("f t");
    assert_eq!(fake.take_log(), "");
    fake.later(1.0);
    fake.keys("x");
    assert!(fake.take_log().contains(r#"> panel_key extension="clock" key="rune""#));
}

#[test]
fn reports_recovered_extension_once() {
    let mut fake = Fake::new();
    fake.hold = vec!["list_extensions"];
    let fault = ExtensionFault::new(extension("todo"), "exited".to_owned(), "ended with status 1".to_owned());
    fake.event(AgentEvent::ExtensionError(fault));
    let is = |fake: &mut Fake, state: &str| {
        let request = fake.held.remove(0);
        let data = format!(
            r#"{{"extensions":[{{"name":"todo","state":"{state}","origin":"global","dir":"/ext/todo","required":false,
            "gates_off":false,"commands":[],"tools":[]}}]}}"#
        );
        fake.reply(&request, &data);
    };
    is(&mut fake, "restarting");
    fake.later(1.1);
    assert!(!fake.screen().contains("is running again"));
    is(&mut fake, "ready");
    assert!(fake.screen().contains("[todo] is running again"));
    // The recovery is reported once.
    fake.enter("/ext todo");
    is(&mut fake, "ready");
    fake.keys("esc");
    assert_eq!(fake.screen().matches("is running again").count(), 1);
}

/// Returns the panels that the interface closed.
fn closed(fake: &mut Fake) -> Vec<String> {
    let log = fake.take_log();
    log.lines().filter_map(|line| line.strip_prefix("> panel_close ").map(str::to_owned)).collect()
}

#[test]
fn closes_panel_replaced_by_another_extension() {
    let mut fake = Fake::new();
    opens(&mut fake, "todo", "list");
    opens(&mut fake, "clock", "time");
    assert_eq!(closed(&mut fake), [r#"extension="todo" panel_id="list""#]);
    // An extension that replaces its own panel needs no close command.
    opens(&mut fake, "clock", "date");
    assert!(closed(&mut fake).is_empty());
    assert!(fake.screen().contains("panel date of clock"));
}

#[test]
fn panel_closed_by_user_stays_closed() {
    let mut fake = Fake::new();
    opens(&mut fake, "todo", "list");
    fake.keys("esc");
    fake.take_log();
    for _ in 0..3 {
        opens(&mut fake, "todo", "again");
        assert_eq!(closed(&mut fake), [r#"extension="todo" panel_id="again""#]);
    }
    let screen = fake.screen();
    assert_eq!(screen.matches("[todo] tried to open its panel again").count(), 1, "{screen}");
    // The panel of another extension is not blocked.
    opens(&mut fake, "clock", "time");
    assert!(fake.screen().contains("panel time of clock"));
    fake.rpc(RpcEvent::PanelClose { extension: extension("clock"), panel_id: PanelId::new("time") });
    fake.enter("/todo");
    opens(&mut fake, "todo", "wanted");
    assert!(closed(&mut fake).is_empty());
    assert!(fake.screen().contains("panel wanted of todo"));
}

#[test]
fn tool_call_lets_extension_reopen_its_panel() {
    for (tool, expect) in [("bash", false), ("todo_add", true)] {
        let mut fake = Fake::new();
        fake.enter("go");
        opens(&mut fake, "todo", "list");
        fake.keys("esc");
        let start = AgentEvent::ToolStart {
            id: ToolCallId::new("c1"),
            name: tool.to_owned(),
            args: RawJson::empty_object(),
            label: None,
        };
        fake.event(start);
        opens(&mut fake, "todo", "again");
        assert_eq!(fake.screen().contains("panel again of todo"), expect, "{tool}");
    }
}
