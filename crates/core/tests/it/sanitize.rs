//! Tests of the sanitizer against a real parser of terminal sequences.

use haft_core::sanitize::{Sanitizer, is_hidden, sanitize, sanitize_line, strip_hidden_chars};
use haft_test_support::terminal::{ATTACKS, HostileTexts, is_deceptive, survey, terminal_actions};
use proptest::prelude::*;

/// The number of random texts per test run; the survey uses the full number, see `docs/testing.md`.
const TEXTS: u64 = 20_000;

#[track_caller]
fn check(input: &str, expect: &str) {
    assert_eq!(sanitize(input), expect, "{input:?}");
    // The result does not depend on the split into pieces.
    let mut sanitizer = Sanitizer::default();
    let pieces: String = input.chars().map(|c| sanitizer.push(&c.to_string())).collect();
    assert_eq!(pieces, expect, "{input:?} in pieces");
    assert_eq!(sanitize(expect), expect, "{expect:?} again");
}

#[test]
fn keeps_ordinary_text() {
    check("a\tb\nc", "a\tb\nc");
    for text in ["grün 日本 שלום e\u{301}", "[31m is not an escape", "tab\tand\nline", "½ × ≠ → ■ │"]
    {
        check(text, text);
    }
}

#[test]
fn removes_control_sequences() {
    check("\x1b[31mred\x1b[0m", "red");
    check("a\x1b[2J\x1b[1;1Hb", "ab");
    check("a\x1b[?1049hb", "ab");
    check("a\u{9b}31mb", "ab");
    check("a\x1bcb", "ab");
    check("a\x1b(Bb", "ab");
    check("a\x1b#8b", "ab");
    check("a\x1b\x1b[31mb", "ab");
    check("a\x1b[31", "a");
    check("a\x1b", "a");
}

#[test]
fn removes_strings_with_their_content() {
    check("a\x1b]0;title\x07b", "ab");
    check("a\x1b]52;c;aGk=\x1b\\b", "ab");
    check("a\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\b", "alinkb");
    check("a\x1bPq#0\x1b\\b", "ab");
    check("a\x1b_G\x1b\\b", "ab");
    check("a\x1b^pm\u{9c}b", "ab");
    check("a\u{9d}0;x\u{9c}b", "ab");
    check("a\x1b]0;x\x1b[31mb", "ab");
}

#[test]
fn broken_sequence_does_not_hide_the_next_line() {
    check("a\x1b]0;never ended\nb", "a\nb");
    check("a\x1bPnever ended\nb", "a\nb");
    check("a\x1b[3\nb", "a\nb");
    check("a\x1b[3\u{18}b", "ab");
    check("a\x1b[3é1mb", "aé1mb");
    check("a\x1béb", "aéb");
}

#[test]
fn removes_control_characters() {
    check("a\rb\x08c\x07d\0e\x7ff\x0bg\x0ch", "abcdefgh");
    check("a\u{85}b\u{8d}c", "abc");
}

#[test]
fn replaces_hidden_characters_visibly() {
    check("exe\u{202e}gpj.\u{202c}", "exe\u{fffd}gpj.\u{fffd}");
    check("a\u{2066}b\u{2069}c\u{200f}d\u{61c}", "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}");
    check("r\u{200b}m\u{200d} -\u{ad}rf", "r\u{fffd}m\u{fffd} -\u{fffd}rf");
    check("a\u{2028}b\u{3164}c\u{ffa0}d", "a\u{fffd}b\u{fffd}c\u{fffd}d");
    // One replacement per run of hidden characters.
    check("a\u{e0001}\u{e0041}\u{e007f}\u{200b}b", "a\u{fffd}b");
    check("a\u{fffd}\u{200b}\u{fffd}b", "a\u{fffd}\u{fffd}\u{fffd}b");
}

#[test]
fn keeps_joiners_and_selectors_where_needed() {
    for text in
        ["👩\u{200d}🔬", "❤\u{fe0f}", "❤\u{fe0f}\u{200d}🔥", "👍🏽", "1\u{fe0f}\u{20e3}", "می\u{200c}خواهم"]
    {
        check(text, text);
    }
    for text in ["क्\u{200d}ष", "ක්\u{200d}ර", "葛\u{e0100}", "ᠠ\u{180b}"] {
        check(text, text);
    }
    check("a\u{200d}b\u{200c}c", "a\u{fffd}b\u{fffd}c");
    check("a\u{fe0f}b\u{e0100}c\u{180b}d", "a\u{fffd}b\u{fffd}c\u{fffd}d");
    check("می\u{200c}\u{200c}\u{200c}خ", "می\u{200c}\u{fffd}خ");
    check("😀\u{fe0f}\u{fe01}\u{fe02}\u{e0100}", "😀\u{fe0f}\u{fffd}");
    // The flag of England contains tag characters.
    check("🏴\u{e0067}\u{e007f}", "🏴\u{fffd}");
}

#[test]
fn removes_known_attacks() {
    assert!(ATTACKS.len() >= 13);
    for (name, attack) in ATTACKS {
        for safe in [sanitize(attack), sanitize_line(attack), sanitize(&format!("{attack}{attack}"))] {
            assert_eq!(terminal_actions(safe.as_bytes()), Vec::<String>::new(), "{name}: {safe:?}");
            assert!(!is_deceptive(&safe), "{name}: {safe:?}");
        }
    }
}

#[test]
fn random_text_is_safe() {
    let whole = |text: &str| sanitize(text).into_bytes();
    let line = |text: &str| sanitize_line(text).into_bytes();
    let pieces = |text: &str| {
        let mut sanitizer = Sanitizer::default();
        text.chars().flat_map(|c| sanitizer.push(&c.to_string()).into_bytes()).collect()
    };
    let report = survey(TEXTS, 7, &[("whole", &whole), ("line", &line), ("pieces", &pieces)]);
    assert_eq!(report.failures, 0, "{report}");
}

#[test]
fn invalid_utf8_is_safe() {
    // Input from a file or a pipe: 8-bit controls and truncated characters.
    for bytes in
        [&b"a\x9b31mb"[..], b"\x90q\x9c", b"\xc2", b"\xc2\x9b1m", b"\xe2\x80\xaeb", b"\xff\xfe\x1b[0m"]
    {
        let safe = sanitize(&String::from_utf8_lossy(bytes));
        assert_eq!(terminal_actions(safe.as_bytes()), Vec::<String>::new(), "{bytes:?}");
    }
}

#[test]
fn sanitized_line_is_one_line() {
    assert_eq!(sanitize_line("a\nb\tc\x1b[0m"), "a b c");
}

#[track_caller]
fn check_for_model(input: &str, expect: &str, hidden: usize) {
    let read = strip_hidden_chars(input);
    assert_eq!((read.text.as_ref(), read.hidden), (expect, hidden), "{input:?}");
}

#[test]
fn strips_characters_that_only_a_model_reads() {
    check_for_model("16 degrees, \u{200b}fog\x1b[0m", "16 degrees, \u{200b}fog\x1b[0m", 0);
    check_for_model("fog\u{e0001}\u{e0064}\u{e007f}!", "fog!", 3);
    check_for_model("\u{e0041}", "", 1);
    check_for_model("❤\u{fe0f}😀\u{fe0f}\u{fe01}\u{fe02}\u{e0100}!", "❤\u{fe0f}😀\u{fe0f}!", 3);
    check_for_model("a\u{fe00}\u{e0001}\u{fe01}\u{e0001}\u{e0001}\u{fe02}!", "a\u{fe00}!", 5);
}

proptest! {
    #[test]
    fn splitting_the_input_does_not_change_the_output(seed: u64, at in 0..200_usize) {
        let mut text = String::new();
        HostileTexts::new(seed).next_into(&mut text);
        let (before, after) = text.split_at(text.floor_char_boundary(at.min(text.len())));
        let mut sanitizer = Sanitizer::default();
        let pieces = sanitizer.push(before) + &sanitizer.push(after);
        prop_assert_eq!(&pieces, &sanitize(&text));
        prop_assert_eq!(sanitize(&pieces), pieces, "again");
    }

    #[test]
    fn any_sanitized_text_is_safe(text in any::<String>()) {
        let safe = sanitize(&text);
        prop_assert_eq!(terminal_actions(safe.as_bytes()), Vec::<String>::new());
        prop_assert!(!safe.chars().any(is_hidden));
        let read = strip_hidden_chars(&text);
        prop_assert_eq!(read.text.chars().count() + read.hidden, text.chars().count());
    }
}
