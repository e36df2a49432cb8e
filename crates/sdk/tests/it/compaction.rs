//! An extension that writes the summary of a conversation itself.

use haft_sdk::protocol::event::CompactReason;
use haft_sdk::protocol::ext::{CompactEntry, InterceptBeforeCompact};
use haft_sdk::testing::Harness;
use haft_sdk::{BeforeCompactDecision, Extension};

fn question(instructions: Option<&str>) -> InterceptBeforeCompact {
    let entry = |id: &str, text: &str| CompactEntry { id: id.into(), text: text.into(), may_begin: true };
    InterceptBeforeCompact {
        reason: CompactReason::Manual,
        instructions: instructions.map(str::to_owned),
        tokens_before: 7000,
        window: None,
        previous_summary: None,
        files_read: Vec::new(),
        files_modified: Vec::new(),
        first_kept: Some("2".into()),
        entries: vec![entry("1", "[user]\nfix it"), entry("2", "[user]\ngo on")],
    }
}

#[tokio::test]
async fn compaction_can_be_cancelled_replaced_or_left() {
    let notes = Extension::new("notes", "1").before_compact(|asked, _host| async move {
        match asked.instructions.as_deref() {
            Some("no") => Ok(BeforeCompactDecision::cancel("not now")),
            Some("mine") => Ok(BeforeCompactDecision::replace(asked.entries[0].text.clone())),
            Some(_) => Err("no disk"),
            None => Ok(BeforeCompactDecision::Default),
        }
    });
    let harness = Harness::start(notes).await;
    assert_eq!(harness.before_compact(question(None)).await, BeforeCompactDecision::Default);
    assert_eq!(harness.before_compact(question(Some("no"))).await, BeforeCompactDecision::cancel("not now"));
    let replaced = harness.before_compact(question(Some("mine"))).await;
    assert_eq!(replaced, BeforeCompactDecision::replace("[user]\nfix it"));
}
