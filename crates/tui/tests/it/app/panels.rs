//! Panels of several extensions, and of one that does not let go.

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
}

#[test]
fn an_extension_that_came_back_is_told() {
    let mut fake = Fake::new();
    fake.hold = vec!["list_extensions"];
    let fault = ExtensionFault {
        extension: extension("todo"),
        code: "exited".to_owned(),
        message: "ended with status 1".to_owned(),
    };
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
    assert!(!fake.screen().contains("runs again"));
    is(&mut fake, "ready");
    assert!(fake.screen().contains("[todo] runs again"));
    // Once.
    fake.enter("/ext todo");
    is(&mut fake, "ready");
    fake.keys("esc");
    assert_eq!(fake.screen().matches("runs again").count(), 1);
}

/// The panels that were closed from here.
fn closed(fake: &mut Fake) -> Vec<String> {
    let log = fake.take_log();
    log.lines().filter_map(|line| line.strip_prefix("> panel_close ").map(str::to_owned)).collect()
}

#[test]
fn an_extension_is_told_that_another_one_has_taken_its_place() {
    let mut fake = Fake::new();
    opens(&mut fake, "todo", "list");
    opens(&mut fake, "clock", "time");
    assert_eq!(closed(&mut fake), [r#"extension="todo" panel_id="list""#]);
    // One of its own it knows of.
    opens(&mut fake, "clock", "date");
    assert!(closed(&mut fake).is_empty());
    assert!(fake.screen().contains("panel date of clock"));
}

#[test]
fn a_panel_that_the_person_closed_stays_closed() {
    let mut fake = Fake::new();
    opens(&mut fake, "todo", "list");
    fake.keys("esc");
    fake.take_log();
    for _ in 0..3 {
        opens(&mut fake, "todo", "again");
        assert_eq!(closed(&mut fake), [r#"extension="todo" panel_id="again""#]);
    }
    let screen = fake.screen();
    assert_eq!(screen.matches("[todo] wants its panel open again").count(), 1, "{screen}");
    // That of another one is no answer to that.
    opens(&mut fake, "clock", "time");
    assert!(fake.screen().contains("panel time of clock"));
    fake.rpc(RpcEvent::PanelClose { extension: extension("clock"), panel_id: PanelId::new("time") });
    fake.enter("/todo");
    opens(&mut fake, "todo", "wanted");
    assert!(closed(&mut fake).is_empty());
    assert!(fake.screen().contains("panel wanted of todo"));
}

#[test]
fn a_call_of_its_tool_lets_a_panel_open_again() {
    for (tool, expect) in [("bash", false), ("todo_add", true)] {
        let mut fake = Fake::new();
        fake.enter("go");
        opens(&mut fake, "todo", "list");
        fake.keys("esc");
        let start = AgentEvent::ToolStart {
            id: ToolCallId::new("c1"),
            name: tool.to_owned(),
            args: RawJson::empty_object(),
        };
        fake.event(start);
        opens(&mut fake, "todo", "again");
        assert_eq!(fake.screen().contains("panel again of todo"), expect, "{tool}");
    }
}
