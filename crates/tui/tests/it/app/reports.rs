//! Pages about the session, and the notification at its end.

use super::fake::Fake;

#[test]
fn status_and_context_are_pages() {
    let mut fake = Fake::new();
    fake.enter("/status");
    insta::assert_snapshot!("status", fake.screen());
    fake.keys("esc");
    fake.enter("/context");
    insta::assert_snapshot!("context", fake.screen());
    fake.keys("esc");
    fake.enter("/usage");
    assert!(fake.screen().contains("$1.20"), "{}", fake.screen());
}

#[test]
fn long_work_ends_with_a_notification() {
    let mut fake = Fake::new();
    let notified = |fake: &mut Fake| fake.take_log().lines().any(|line| line.starts_with("Notify("));
    fake.enter("quick");
    fake.later(29.0);
    fake.answer("done");
    assert!(!notified(&mut fake));
    fake.enter("slow");
    fake.later(31.0);
    fake.answer("done");
    assert!(notified(&mut fake));
}
