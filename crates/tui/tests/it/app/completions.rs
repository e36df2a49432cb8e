//! Completions that an extension offers for its command.

use haft_protocol::rpc::{Command, CommandFailure, ErrorCode, RpcRequest};

use super::fake::Fake;

/// Returns the prefix that a completion request asks about.
fn prefix(request: &RpcRequest) -> String {
    let Command::CompleteCommand(complete) = &request.command else { panic!("{request:?}") };
    complete.prefix.clone()
}

/// Returns an interface whose completion requests stay open.
fn asking(text: &str) -> Fake {
    let mut fake = Fake::new();
    fake.hold.push("complete_command");
    fake.type_text(text);
    fake
}

fn items(values: &[&str]) -> String {
    let items: Vec<_> = values.iter().map(|value| serde_json::json!({ "value": value })).collect();
    serde_json::json!({ "items": items }).to_string()
}

#[test]
fn extension_completes_its_command_with_its_name() {
    let mut fake = Fake::new();
    fake.type_text("/note d");
    let screen = fake.screen();
    let offered: Vec<_> = screen.lines().filter(|line| line.ends_with(" todo")).collect();
    insta::assert_snapshot!(offered.join("\n"), @r"
    ▸ done 1 buy milk  is done                                                  todo
      drop 1 buy milk  is of no use                                             todo
    ");
    fake.keys("tab");
    assert!(fake.screen().contains("› /note done 1"), "{}", fake.screen());
}

#[test]
fn enter_sends_typed_text_unless_a_candidate_is_selected() {
    let mut fake = Fake::new();
    fake.type_text("/note d");
    fake.take_log();
    fake.keys("enter");
    assert!(fake.take_log().contains(r#"> run_command args="d" name="note""#));
    fake.type_text("/note d");
    fake.keys("down enter");
    assert!(fake.screen().contains("› /note drop 1"), "{}", fake.screen());
}

#[test]
fn sends_one_completion_request_at_a_time() {
    let mut fake = asking("/note d");
    assert_eq!(fake.held.iter().map(prefix).collect::<Vec<_>>(), [""]);
    let first = fake.held.remove(0);
    fake.reply(&first, &items(&["add", "done 1", "drop 1"]));
    // The items of the shorter prefix are filtered by the longer one.
    let screen = fake.screen();
    assert!(screen.contains("done 1") && screen.contains("drop 1") && !screen.contains("add"), "{screen}");
    fake.type_text("r");
    assert_eq!(fake.held.iter().map(prefix).collect::<Vec<_>>(), ["d"]);
    let second = fake.held.remove(0);
    fake.reply(&second, &items(&["done 1"]));
    assert!(!fake.screen().contains("done 1"), "the reply is for an outdated prefix");
    let third = fake.held.remove(0);
    assert_eq!(prefix(&third), "dr");
    fake.fail(&third, CommandFailure::new(ErrorCode::Aborted, "no"));
    assert!(!fake.screen().contains("drop 1"));
    assert!(!fake.screen().contains("no\n"), "a failed completion is not reported");
    assert!(fake.held.is_empty());
}

#[test]
fn skips_commands_without_completion() {
    let mut fake = asking("/note ");
    fake.keys("ctrl+u");
    let asked = fake.held.remove(0);
    fake.reply(&asked, &items(&["done 1"]));
    assert!(!fake.screen().contains("done 1"));
    fake.type_text("/todo d");
    assert!(fake.held.is_empty());
    fake.keys("ctrl+u");
    fake.type_text("/note ");
    assert_eq!(fake.held.len(), 1, "earlier items may be outdated");
}

#[test]
fn shorter_list_stays_at_the_composer() {
    let mut fake = Fake::new();
    fake.type_text("/");
    fake.type_text("hel");
    let screen = fake.screen();
    let rows: Vec<&str> = screen.lines().collect();
    let composer = rows.iter().position(|row| row.contains("› /hel")).unwrap();
    assert!(rows[composer - 2].contains("▸ /help"), "{screen}");
}
