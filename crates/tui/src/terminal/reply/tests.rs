//! Tests of replies: whole, in pieces, late, and input that only resembles a reply.

use proptest::prelude::*;

use super::*;

fn key(code: KeyCode, modifiers: KeyModifiers) -> Event {
    Event::Key(KeyEvent::new(code, modifiers))
}

fn char(c: char) -> Event {
    key(KeyCode::Char(c), KeyModifiers::NONE)
}

fn alt(c: char) -> Event {
    key(KeyCode::Char(c), KeyModifiers::ALT)
}

fn esc() -> Event {
    key(KeyCode::Esc, KeyModifiers::NONE)
}

/// Makes the keys of a reply.
fn answer(color: &str, end: Event) -> Vec<Event> {
    [vec![alt(']')], format!("11;{color}").chars().map(char).collect(), vec![end]].concat()
}

fn heard(replies: &mut BackgroundReplyParser, events: Vec<Event>) -> (Vec<Event>, Vec<Appearance>) {
    let now = Instant::now();
    let mut all = (Vec::new(), Vec::new());
    for event in events {
        let ReplyOutcome { events, appearance } = replies.feed_event(now, event);
        all.0.extend(events);
        all.1.extend(appearance);
    }
    all
}

fn asked() -> BackgroundReplyParser {
    let mut replies = BackgroundReplyParser::default();
    replies.expect_reply(Instant::now());
    replies
}

#[test]
fn parses_color_notations() {
    let check = |color, expect| assert_eq!(parse_appearance(color), expect, "{color}");
    check("rgb:ffff/ffff/ffff", Some(Appearance::Light));
    check("rgb:1e1e/1e1e/2e2e", Some(Appearance::Dark));
    check("rgb:f/f/f", Some(Appearance::Light));
    check("rgb:00/2b/36", Some(Appearance::Dark));
    check("rgba:fdfd/f6f6/e3e3/ffff", Some(Appearance::Light));
    check("#fdf6e3", Some(Appearance::Light));
    check("#000", Some(Appearance::Dark));
    for none in ["", "rgb:", "rgb:1/2", "rgb:12345/0/0", "rgb:+1/0/0", "#12", "#éa", "white", "rgb:g/g/g"] {
        check(none, None);
    }
}

#[test]
fn removes_reply_from_keys() {
    for end in
        [vec![alt('\\')], vec![key(KeyCode::Char('g'), KeyModifiers::CONTROL)], vec![esc(), char('\\')]]
    {
        let mut all = answer("rgb:ffff/ffff/ffff", char('x'));
        all.pop();
        let all = [vec![char('h')], all, end, vec![char('i')]].concat();
        assert_eq!(heard(&mut asked(), all), (vec![char('h'), char('i')], vec![Appearance::Light]));
    }
}

#[test]
fn reply_may_be_split_after_escape() {
    let mut all = answer("rgb:0/0/0", alt('\\'));
    all.splice(0..1, [esc(), char(']')]);
    assert_eq!(heard(&mut asked(), all), (Vec::new(), vec![Appearance::Dark]));
}

#[test]
fn resize_may_interrupt_reply() {
    let mut all = answer("rgb:0/0/0", alt('\\'));
    all.insert(4, Event::Resize(80, 24));
    assert_eq!(heard(&mut asked(), all), (vec![Event::Resize(80, 24)], vec![Appearance::Dark]));
}

#[test]
fn incomplete_match_stays_keys() {
    let all = vec![alt(']'), char('1'), char('2'), esc(), esc(), char('a')];
    assert_eq!(heard(&mut asked(), all.clone()), (all, Vec::new()));
    let (mut replies, start) = (asked(), Instant::now());
    assert_eq!(replies.feed_event(start, esc()), ReplyOutcome::default());
    assert_eq!(replies.gives_up_at(), Some(start + timeouts::REPLY_BEGIN));
    assert_eq!(replies.give_up(), [esc()]);
    assert_eq!(replies.gives_up_at(), None);
}

#[test]
fn partial_reply_is_not_text() {
    let mut replies = asked();
    let half = answer("rgb:ff", char('f'));
    assert_eq!(heard(&mut replies, half), (Vec::new(), Vec::new()));
    assert_eq!(replies.give_up(), Vec::<Event>::new());
}

#[test]
fn reply_without_query_is_ignored() {
    let all = answer("rgb:ffff/ffff/ffff", alt('\\'));
    assert_eq!(heard(&mut BackgroundReplyParser::default(), all.clone()), (all, Vec::new()));
    let mut replies = asked();
    heard(&mut replies, answer("rgb:0/0/0", alt('\\')));
    assert_eq!(heard(&mut replies, vec![esc()]), (vec![esc()], Vec::new()));
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => proptest::char::any().prop_map(char),
        4 => proptest::sample::select("]1;rgb:/f0#\\".chars().collect::<Vec<_>>()).prop_map(char),
        2 => Just(alt(']')),
        1 => Just(alt('\\')),
        2 => Just(esc()),
        1 => Just(key(KeyCode::Char('g'), KeyModifiers::CONTROL)),
        1 => Just(key(KeyCode::Up, KeyModifiers::NONE)),
        1 => Just(Event::Resize(1, 1)),
    ]
}

/// True if all events of `part` are in `whole`, in this order.
fn in_order(part: &[Event], whole: &[Event]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|event| whole.any(|other| other == event))
}

proptest! {
    #[test]
    fn never_invents_or_reorders_keys(events in proptest::collection::vec(any_event(), 0..200)) {
        let mut replies = asked();
        let (mut out, _) = heard(&mut replies, events.clone());
        prop_assert!(replies.text.len() <= MOST + 2);
        out.extend(replies.give_up());
        let keys = |events: &[Event]| events.iter().filter(|event| matches!(event, Event::Key(_))).cloned().collect::<Vec<_>>();
        prop_assert!(in_order(&keys(&out), &keys(&events)));
        // Only input that began as a reply can be lost.
        let begins = events.iter().any(|event| *event == alt(']') || *event == esc());
        prop_assert!(begins || out == events);
    }

    #[test]
    fn finds_reply_at_any_position(
        before in "[a-z0-9;]{0,20}",
        after in "[a-z0-9;]{0,20}",
        color in "[0-9a-f]{4}",
    ) {
        let text = |text: &str| text.chars().map(char).collect::<Vec<_>>();
        let all = [text(&before), answer(&format!("rgb:{color}/{color}/{color}"), alt('\\')), text(&after)].concat();
        let (keys, seen) = heard(&mut asked(), all);
        prop_assert_eq!(keys, [text(&before), text(&after)].concat());
        prop_assert_eq!(seen.len(), 1);
    }

    #[test]
    fn parses_any_color_without_panic(color in any::<String>()) {
        let _ = parse_appearance(&color);
        let _ = parse_appearance(&format!("rgb:{color}"));
        let _ = parse_appearance(&format!("#{color}"));
    }
}
