//! Compares the quick scan with the careful one, and the quick reader with serde_json.

use std::fmt::Debug;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{PlainSpan, ScanLimits, ScanOverview, scan, scan_overview, scan_overview_with_plain_span};
use crate::compact::{compact, is_compact};
use crate::content::Image;
use crate::ext::{
    EventIntercept, EventInterceptResponse, Hello, HelloAck, LifecycleEvent, Notify, RegisterTool,
    ResultBlock, Subscribe, ToolCallFrame, ToolResultFrame,
};
use crate::json::RawJson;
use crate::reader::{CheckedJson, JsonForm, JsonReader};
use crate::surrogate::replace_lone_surrogates;

/// Returns the overview of the careful scan; `None` if the text is wrong or repaired.
fn careful(text: &str, limits: ScanLimits) -> Option<ScanOverview<'_>> {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(rename = "type", borrow)]
        kind: Option<&'a RawValue>,
        #[serde(borrow)]
        id: Option<&'a RawValue>,
    }
    scan(text, limits).ok().filter(|()| replace_lone_surrogates(text) == text)?;
    let head = match text.trim_start().starts_with('{') {
        true => serde_json::from_str(text).unwrap(),
        false => Head { kind: None, id: None },
    };
    let one_line = text.replace(['\u{85}', '\u{2028}', '\u{2029}'], "");
    let tight = compact(&one_line) == one_line;
    Some(ScanOverview {
        kind: head.kind.map(RawValue::get),
        id: head.id.map(RawValue::get),
        tight,
        longest: PlainSpan::default(),
    })
}

/// Removes `null` values, which the careful scan does not report.
fn plain(mut seen: ScanOverview<'_>) -> ScanOverview<'_> {
    seen.kind = seen.kind.filter(|kind| *kind != "null");
    seen.id = seen.id.filter(|id| *id != "null");
    // The span is checked where it is used.
    seen.longest = PlainSpan::default();
    seen
}

/// Generates JSON with all kinds of mistakes, and with valid text that resembles mistakes.
fn almost_json() -> impl Strategy<Value = String> {
    let number =
        r"-?(0|[1-9][0-9]{0,2}|[0-9]{1,3}|1[0-9]{198,201}|9{300,310})(\.[0-9]{0,3})?([eE][+-]?[0-9]{0,3})?";
    let string = "\"([a-z \u{e9}\u{2028}\u{1f600}]|[a-z]{60,70}|\\\\[\"\\\\/bfnrtux]|\\\\u(d83d\\\\uDE0[0-9a-f]|[dD89a0-9f]{4})){0,8}\"";
    let leaf = prop_oneof![
        3 => string, 2 => number, 2 => "true|false|null", 1 => "tru|nul|NaN|-|\"|[\u{0}-\u{20}]",
    ];
    let space = || "|||||[ \t\r\n]";
    let value = leaf.prop_recursive(6, 40, 6, move |inner| {
        let key = "\"(type|id|event|tool_args|content|text|a|b|c|d|e\u{e9}|\\\\u0061|\\\\ud800)\"";
        let member = (space(), key, space(), inner.clone())
            .prop_map(|(before, key, space, value)| format!("{before}{key}{space}:{space}{value}{before}"));
        prop_oneof![
            prop::collection::vec((space(), inner).prop_map(|(space, value)| space + &value), 0..6)
                .prop_map(|values| format!("[{}]", values.join(","))),
            prop::collection::vec(member, 0..8).prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    });
    (value, 0..4_u8, any::<prop::sample::Index>(), "[ -~\u{0}\u{7f}]").prop_map(
        |(mut text, break_it, at, with)| {
            let at = at.index(text.chars().count().max(1));
            let at = text.char_indices().nth(at).map_or(0, |(at, _)| at);
            if break_it == 0 {
                text.insert_str(at, &with);
            } else if break_it == 1 && at < text.len() {
                text.remove(at);
            }
            text
        },
    )
}

/// Generates text like a frame, with fields that many frames have.
fn almost_frame() -> impl Strategy<Value = String> {
    let field = prop_oneof![
        "\"(type|event|text|data|mime_type|name|description|message|level|stop|reason|role|cwd)\": ?(\"(text|image|video|tool_call|turn_start|warn|end|a\\\\n\\\\u0041|\u{85})\"|5|null|\\{\\})",
        "\"(id|tool_id|tool_name|name|event|label|snippet)\":\"(1|x|tool_call|turn_start|\\\\u0007|\u{9b})\"",
        "\"(args|tool_args|modified_args|schema|limits|protocol_version|details|label|terminate)\":(\\{\\}|\\{\"a\": 1,\"b\":\\[\"\u{2028}\"\\]\\}|null|1|\\[\\])",
        "\"(step|block|is_error|terminate|exclusive|replaces|timeout_ms|tool_id)\":(true|false|null|1|1\\.0|4294967296|-1)",
        "\"(content|events|intercept|guidelines|capabilities|lines)\":(null|\"a\"|\\[\\]|\\[\"a\",\"b\"\\]|\\[\\{\"type\":\"text\",\"text\":\"a\\\\n\"\\}(,\\{\"text\":\"b\" ?,\"type\":\"text\"\\})?\\]|\\[\\{\"event\":\"tool_call\",\"tools\":\\[\"a\"\\]\\}\\])",
    ];
    let first = prop_oneof![
        "\"type\":\"x\",\"id\":\"1\",\"event\":\"(tool_call|turn_start|assistant_message|before_agent_start|before_compact|tool_result|input|before_settle|context|message_end|before_provider_request|user_bash|before_switch|before_fork|before_tree|resources|approve|project_trust)\",",
        Just(String::new())
    ];
    (first, prop::collection::vec(field, 1..7))
        .prop_map(|(first, fields)| format!("{{{first}{}}}", fields.join(",")))
}

#[track_caller]
fn same<'a, T: Deserialize<'a> + PartialEq + Debug>(text: &'a str) -> TestCaseResult {
    let library = serde_json::from_str::<T>(text);
    let longest =
        scan_overview(text, ScanLimits::default()).map_or(PlainSpan::default(), |seen| seen.longest);
    let tight = scan_overview(text, ScanLimits::default()).is_some_and(|seen| seen.tight);
    let mut forms = vec![(JsonForm::Any, PlainSpan::default())];
    forms.extend(tight.then_some((JsonForm::Tight, longest)));
    forms.extend(is_compact(text).then_some((JsonForm::Compact, longest)));
    for (form, longest) in forms {
        let quick = T::deserialize(&mut JsonReader::new(CheckedJson { text, form, longest }));
        match (quick, &library) {
            (Ok(quick), Ok(library)) => prop_assert_eq!(&quick, library, "{}", text),
            (Ok(quick), Err(error)) => prop_assert!(false, "{text} was read as {quick:?}: {error}"),
            // The careful reader decides in this case.
            (Err(_), _) => {}
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn quick_scan_agrees_with_careful_scan(text in almost_json(), depth in 1..6_usize, nodes in 1..60_usize) {
        for limits in [ScanLimits::default(), ScanLimits { depth, nodes }] {
            if let Some(seen) = scan_overview(&text, limits) {
                prop_assert_eq!(Some(plain(seen)), careful(&text, limits), "{}", text);
            }
        }
    }

    #[test]
    fn known_span_does_not_change_the_result(text in almost_json(), at in 0..200_usize) {
        let mut known = PlainSpan::default();
        known.grow(text.as_bytes(), at.min(text.len()));
        let limits = ScanLimits::default();
        prop_assert_eq!(scan_overview_with_plain_span(&text, limits, known), scan_overview(&text, limits), "{} {:?}", text, known);
    }

    /// Checks that the quick scan accepts common text; otherwise it would be useless.
    #[test]
    fn quick_scan_accepts_common_text(text in almost_json()) {
        let has_escaped_key = text.split(':').any(|before| {
            let key = before.trim_end().strip_suffix('"').and_then(|key| key.rsplit('"').next());
            key.is_some_and(|key| key.contains('\\'))
        });
        let rare = text.contains("\\ud") || has_escaped_key || text.contains(['e', 'E']) || text.split(|char: char| !char.is_ascii_digit()).any(|digits| digits.len() > 198);
        if !rare && careful(&text, ScanLimits::default()).is_some() {
            prop_assert!(scan_overview(&text, ScanLimits::default()).is_some(), "{}", text);
        }
    }

    #[test]
    fn quick_reader_agrees_with_serde_json(text in almost_frame()) {
        // The reader never gets an object with a duplicate key.
        if scan(&text, ScanLimits::default()).is_err() {
            return Ok(());
        }
        same::<EventIntercept>(&text)?;
        same::<EventInterceptResponse>(&text)?;
        same::<ToolCallFrame>(&text)?;
        same::<ToolResultFrame>(&text)?;
        same::<ResultBlock>(&text)?;
        same::<Image>(&text)?;
        same::<LifecycleEvent>(&text)?;
        same::<Hello>(&text)?;
        same::<HelloAck>(&text)?;
        same::<Notify>(&text)?;
        same::<Subscribe>(&text)?;
        same::<RegisterTool>(&text)?;
    }

    #[test]
    fn quick_reader_never_panics(text in almost_json()) {
        if scan(&text, ScanLimits::default()).is_ok() {
            same::<RawJson>(&text)?;
        }
        drop(ToolResultFrame::deserialize(&mut JsonReader::new(CheckedJson { text: &text, form: JsonForm::Compact, longest: PlainSpan { from: 1, end: 3 } })));
        drop(serde_json::Value::deserialize(&mut JsonReader::new(CheckedJson { text: &text, form: JsonForm::Any, longest: PlainSpan::default() })));
    }
}

#[test]
fn depth_is_limited_by_the_parser() {
    let limits = ScanLimits { depth: usize::MAX, nodes: usize::MAX };
    for depth in [126, 127, 128, 129, 100_000] {
        let text = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(scan_overview(&text, limits).is_some(), scan(&text, limits).is_ok(), "{depth}");
        let quick = serde_json::Value::deserialize(&mut JsonReader::new(CheckedJson {
            text: &text,
            form: JsonForm::Compact,
            longest: PlainSpan { from: 1, end: 3 },
        }));
        assert_eq!(quick.is_ok(), scan(&text, limits).is_ok(), "{depth}");
    }
}

#[test]
fn duplicate_keys_are_found_among_many() {
    for count in 1..40 {
        let keys: Vec<String> = (0..count).map(|key| format!("\"{key}\":{{\"0\":0}}")).collect();
        let text = format!("{{{}}}", keys.join(","));
        assert!(scan_overview(&text, ScanLimits::default()).is_some(), "{text}");
        for again in 0..count {
            let text = format!("{{{},\"{again}\":1}}", keys.join(","));
            assert_eq!(scan_overview(&text, ScanLimits::default()), None, "{text}");
        }
    }
}
