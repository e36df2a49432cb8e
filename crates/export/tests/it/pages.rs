//! Tests of HTML pages, including that content of a session is never active.

use haft_core::session::{EntryId, recover};
use haft_export::{EntrySelection, NoSuchEntry, render_page};

use crate::portable::SESSION;

const RICH: &str = include_str!("../fixtures/rich.jsonl");

fn all(session: &str) -> String {
    render_page(&recover(session.as_bytes()), &EntrySelection { at: None, all: true }).unwrap()
}

/// Returns the page without its style.
fn shown(page: &str) -> String {
    let (head, rest) = page.split_once("<style>").unwrap();
    let (_, body) = rest.split_once("</style>").unwrap();
    // Puts each element on a line of its own, which is easier to compare.
    format!("{head}{body}").replace("><", ">\n<")
}

#[test]
fn renders_small_session() {
    insta::assert_snapshot!(shown(&all(SESSION)));
}

#[test]
fn renders_session_with_all_entry_types() {
    insta::assert_snapshot!(shown(&all(RICH)));
}

#[test]
fn names_extensions_that_intervened() {
    let line = |id: u128, parent: u128, data: &str| {
        format!(
            "{{\"type\":\"custom\",\"id\":\"{id:032x}\",\"parent\":\"{parent:032x}\",\"time\":\"2026-03-14T09:44:00Z\",\
             \"owner\":\"haft\",\"kind\":\"intervention\",\"data\":{data}}}\n"
        )
    };
    let lines = [
        line(0x2f, 0x2e, r#"{"action":"replaced","by":["censor"]}"#),
        line(0x30, 0x2f, r#"{"action":"turn_ended","by":["<budget>"]}"#),
    ];
    let edited = RICH.replace(r#""action":"rewritten""#, r#""action":"edited""#);
    let page = all(&format!("{edited}{}", lines.concat()));
    for mark in [
        "result changed by limits</span>",
        "limits changed the result: the model did not receive the original result.",
        "censor changed the text that was shown to the user.",
        "turn ended by &lt;budget&gt;</span> &lt;budget&gt; ended the turn before the model request.",
    ] {
        assert!(page.contains(mark), "{mark}: {page}");
    }
}

#[test]
fn mentions_branches_that_are_not_included() {
    let page = render_page(&recover(SESSION.as_bytes()), &EntrySelection::default()).unwrap();
    assert!(page.contains("Another branch begins here; it is not included in this page."), "{page}");
    assert!(!page.contains("aside"));
}

#[test]
fn folds_long_list_of_prompts() {
    let page_with = |prompts: u128| {
        let header = SESSION.lines().next().unwrap();
        let prompt = |id: u128| {
            let parent = if id == 1 { "null".to_owned() } else { format!("\"{:032x}\"", id - 1) };
            format!(
                "\n{{\"type\":\"message\",\"id\":\"{id:032x}\",\"parent\":{parent},\"time\":\"2026-03-14T09:44:00Z\",\
                 \"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"prompt {id}\"}}],\
                 \"time\":\"2026-03-14T09:44:00Z\"}}}}"
            )
        };
        let prompts: String = (1..=prompts).map(prompt).collect();
        all(&format!("{header}{prompts}\n"))
    };
    let page = page_with(30);
    assert!(page.contains("<details open><summary>Prompts</summary><ol><li>"), "{page}");
    let page = page_with(31);
    assert!(page.contains("<details class=\"long\"><summary>Prompts (31)</summary><ol><li>"), "{page}");
    assert!(page.contains("nav .long::details-content { content-visibility: visible;"), "{page}");
}

#[test]
fn renders_session_without_entries() {
    let empty = all(SESSION.lines().next().unwrap());
    assert!(empty.contains("has no messages"));
    let missing = EntrySelection { at: Some(EntryId::from(1)), all: false };
    assert_eq!(render_page(&recover(b""), &missing), Err(NoSuchEntry(EntryId::from(1))));
}

/// Inserts an attack at every place of a session that can contain text, and checks that only the page's own tags occur.
#[test]
fn escapes_attacks_at_every_place() {
    let attacks = [
        "</script><script>alert(1)</script>",
        "</pre></details><img src=x onerror=alert(1)>",
        "\\\" onmouseover=\\\"alert(1)",
        "' onfocus='alert(1)' autofocus='",
        "[x](javascript:alert(1)) ![x](https://t.example/x.png)",
        "<svg/onload=alert(1)>",
        "</style><style>*{background:url(https://t.example/x)}",
        "<!--<meta http-equiv=refresh content=0;url=https://t.example>",
        "```x\\\" onload=\\\"alert(1)\\na\\n```",
    ];
    for attack in attacks {
        for place in places() {
            let page = all(&RICH.replace(place, &format!("{place}{attack}")));
            check_inactive(&page, attack, place);
        }
    }
}

/// Texts of the session with all entry types, one for each place.
fn places() -> [&'static str; 16] {
    [
        "Tile cache: evict by size",
        "\"cache\",\"atlas",
        "\"ticket",
        "\"ticket\":\"ATLAS-7",
        "\"model\":\"gpt-5.2",
        "\"provider\":\"openai",
        "The tile cache grows",
        "I will look",
        "The cache counts entries",
        "TileCache::",
        "edited src/cache.rs",
        "@@ -1,11 +1,19",
        "\"owner\":\"todo",
        "\"label\":\"works",
        "image/png",
        "\"files_read\":[\"src/cache.rs",
    ]
}

/// The elements that a page consists of.
const OWN: &str = "!doctype html head meta title style body nav details summary ol ul li a main header p h1 \
                   h2 h3 h4 dl div dt dd time section svg g text line rect polygon polyline article span code \
                   pre img b br footer strong em table thead tbody tr th td blockquote";

#[track_caller]
fn check_inactive(page: &str, attack: &str, place: &str) {
    let own: Vec<&str> = OWN.split_whitespace().collect();
    let (_, body) = page.split_once("</style>").unwrap();
    for tag in body.split('<').skip(1) {
        let (inside, _) = tag.split_once('>').unwrap_or((tag, ""));
        let name = inside.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap_or_default();
        assert!(own.contains(&name), "<{inside}> of {attack} at {place}");
        // Attribute values are in double quotes and contain none; the rest are the page's own names.
        let outside: String = inside.split('"').step_by(2).collect();
        assert!(!outside.contains(" on"), "<{inside}> of {attack} at {place}");
        for value in inside.split('"').skip(1).step_by(2) {
            let leads = value.starts_with("javascript:") || value.starts_with("data:text");
            assert!(!leads, "<{inside}> of {attack} at {place}");
        }
        assert!(name != "img" || inside.contains("src=\"data:image/"), "<{inside}> of {attack} at {place}");
    }
    assert_eq!(page.matches("<style>").count(), 1, "{attack} at {place}");
    assert!(page.contains("default-src 'none'"));
}
