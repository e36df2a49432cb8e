//! What may follow an extension's command, as the extension says.

use haft_protocol::rpc::{Command, CommandFailure, ErrorCode, RpcRequest};

use super::fake::Fake;

/// What was typed behind the command that an extension is asked about.
fn prefix(request: &RpcRequest) -> String {
    let Command::CompleteCommand(wish) = &request.command else { panic!("{request:?}") };
    wish.prefix.clone()
}

/// An interface whose extension has not answered yet.
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
fn an_extension_completes_its_command_and_says_whose_it_is() {
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
fn enter_sends_what_is_typed_unless_somebody_has_chosen() {
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
fn one_question_is_open_and_the_latest_text_is_asked_after_it() {
    let mut fake = asking("/note d");
    assert_eq!(fake.held.iter().map(prefix).collect::<Vec<_>>(), [""]);
    let first = fake.held.remove(0);
    fake.reply(&first, &items(&["add", "done 1", "drop 1"]));
    // What was said of less is shown as far as it still fits.
    let screen = fake.screen();
    assert!(screen.contains("done 1") && screen.contains("drop 1") && !screen.contains("add"), "{screen}");
    fake.type_text("r");
    assert_eq!(fake.held.iter().map(prefix).collect::<Vec<_>>(), ["d"]);
    let second = fake.held.remove(0);
    fake.reply(&second, &items(&["done 1"]));
    assert!(!fake.screen().contains("done 1"), "it is about a text that is not there any more");
    let third = fake.held.remove(0);
    assert_eq!(prefix(&third), "dr");
    fake.fail(&third, CommandFailure::new(ErrorCode::Aborted, "no"));
    assert!(!fake.screen().contains("drop 1"));
    assert!(!fake.screen().contains("no\n"), "whoever types need not know why there is nothing");
    assert!(fake.held.is_empty());
}

#[test]
fn a_command_that_is_gone_or_does_not_complete_is_not_asked_about() {
    let mut fake = asking("/note ");
    fake.keys("ctrl+u");
    let asked = fake.held.remove(0);
    fake.reply(&asked, &items(&["done 1"]));
    assert!(!fake.screen().contains("done 1"));
    fake.type_text("/todo d");
    assert!(fake.held.is_empty());
    fake.keys("ctrl+u");
    fake.type_text("/note ");
    assert_eq!(fake.held.len(), 1, "what was said before may not hold any more");
}
