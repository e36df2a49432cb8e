//! Tests of the registry.

use proptest::prelude::*;

use super::*;

fn question(kind: UiKind) -> UserQuestion {
    let (options, default) = match kind {
        UiKind::Confirm | UiKind::Approve => (vec![], UiAnswer::Confirmed(false)),
        UiKind::Input | UiKind::Editor => (vec![], UiAnswer::Cancelled),
        UiKind::Select => (vec!["main", "dev"], UiAnswer::Cancelled),
        UiKind::GateFailing => (vec!["restart", "stop"], UiAnswer::Value("stop".into())),
    };
    let options = options.into_iter().map(str::to_owned).collect();
    UserQuestion { options, ..UserQuestion::new(kind, "Now?", default) }
}

/// Creates a registry with one open question of this kind.
fn asked(kind: UiKind) -> DialogRegistry {
    let mut dialogs = DialogRegistry::default();
    dialogs.set_answers(true);
    let request = dialogs.open_question(question(kind)).unwrap();
    assert_eq!((request.id.as_str(), request.kind, request.timeout_ms), ("ui-1", kind, None));
    dialogs
}

fn response(answer: UiAnswer) -> UiResponse {
    UiResponse { request: "ui-1".into(), answer }
}

fn value(text: &str) -> UiAnswer {
    UiAnswer::Value(text.into())
}

/// Checks the accepted answer, or the error for an answer that does not fit.
#[track_caller]
fn check(kind: UiKind, answer: UiAnswer, expect: Result<(UiAnswer, UiEnd), &str>) {
    let mut dialogs = asked(kind);
    match (dialogs.answer(response(answer)), expect) {
        (Ok(over), Ok(expect)) => {
            assert_eq!((over.answer, over.why), expect);
            assert!(dialogs.open.is_empty());
        }
        (Err(failure), Err(expect)) => {
            assert_eq!((failure.code, failure.error.as_str()), (ErrorCode::BadRequest, expect));
            assert_eq!(dialogs.open.len(), 1, "the question stays open");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn answer_must_fit_its_question() {
    use UiAnswer::{Cancelled, Confirmed};
    use UiKind::{Approve, Confirm, GateFailing, Input, Select};
    check(Confirm, Confirmed(true), Ok((Confirmed(true), UiEnd::Answered)));
    check(Confirm, Cancelled, Ok((Confirmed(false), UiEnd::Cancelled)));
    check(Confirm, value("yes"), Err("ui-1 is answered with `confirmed`"));
    check(Approve, Confirmed(true), Ok((Confirmed(true), UiEnd::Answered)));
    check(Approve, Cancelled, Ok((Confirmed(false), UiEnd::Cancelled)));
    check(Approve, value("yes"), Err("ui-1 is answered with `confirmed`"));
    check(Input, value("x"), Ok((value("x"), UiEnd::Answered)));
    check(Input, Confirmed(true), Err("ui-1 is answered with a `value`"));
    check(Select, value("dev"), Ok((value("dev"), UiEnd::Answered)));
    check(Select, Cancelled, Ok((Cancelled, UiEnd::Cancelled)));
    check(Select, value("x"), Err("ui-1 is answered with one of these as `value`: main, dev"));
    check(GateFailing, value("restart"), Ok((value("restart"), UiEnd::Answered)));
    check(GateFailing, Cancelled, Ok((value("stop"), UiEnd::Cancelled)));
    check(GateFailing, Confirmed(true), Err("ui-1 is answered with one of these as `value`: restart, stop"));
}

#[test]
fn question_ends_once() {
    let not_open = |dialogs: &mut DialogRegistry| {
        let failure = dialogs.answer(response(UiAnswer::Confirmed(true))).unwrap_err();
        assert_eq!(failure.code, ErrorCode::NotOpen, "{failure}");
    };
    let mut dialogs = asked(UiKind::Confirm);
    dialogs.answer(response(UiAnswer::Confirmed(true))).unwrap();
    not_open(&mut dialogs);
    assert_eq!(dialogs.close("ui-1", UiEnd::Cancelled), None);

    let mut dialogs = asked(UiKind::Confirm);
    assert_eq!(dialogs.close("ui-1", UiEnd::Cancelled).map(|over| over.why), Some(UiEnd::Cancelled));
    not_open(&mut dialogs);
}

#[test]
fn default_applies_without_an_answering_client() {
    let mut dialogs = DialogRegistry::default();
    assert_eq!(dialogs.open_question(question(UiKind::GateFailing)), None);
    let mut dialogs = asked(UiKind::Confirm);
    assert_eq!(dialogs.end().into_iter().map(|over| over.why).collect::<Vec<_>>(), [UiEnd::Shutdown]);
    assert_eq!(dialogs.open_question(question(UiKind::GateFailing)), None);
}

/// A step of the test.
#[derive(Debug, Clone)]
enum Step {
    Ask(UiKind),
    Answer(u64, UiAnswer),
    Cancel(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        Just(UiKind::Confirm),
        Just(UiKind::Approve),
        Just(UiKind::Select),
        Just(UiKind::Input),
        Just(UiKind::GateFailing),
    ];
    let answer = prop_oneof![
        any::<bool>().prop_map(UiAnswer::Confirmed),
        Just(value("main")),
        Just(value("stop")),
        Just(UiAnswer::Cancelled),
    ];
    prop_oneof![
        kind.prop_map(Step::Ask),
        (0..12u64, answer).prop_map(|(number, answer)| Step::Answer(number, answer)),
        (0..12u64).prop_map(Step::Cancel),
    ]
}

proptest! {
    #[test]
    fn every_question_ends_exactly_once(steps in prop::collection::vec(step(), 0..60)) {
        let mut dialogs = DialogRegistry::default();
        dialogs.set_answers(true);
        let (mut sent, mut ended) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Ask(kind) => sent.push(dialogs.open_question(question(kind)).unwrap().id),
                Step::Answer(number, answer) => {
                    ended.extend(dialogs.answer(UiResponse { request: dialog_id(number), answer }).ok().map(|over| over.id));
                }
                Step::Cancel(number) => ended.extend(dialogs.close(&dialog_id(number), UiEnd::Cancelled).map(|over| over.id)),
            }
        }
        ended.extend(dialogs.end().into_iter().map(|over| over.id));
        sent.sort();
        ended.sort();
        prop_assert_eq!(sent, ended);
        prop_assert!(dialogs.open.is_empty());
    }
}
