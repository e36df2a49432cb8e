//! Tests of importing files of zot and pi, and invalid files.

use std::collections::HashMap;

use haft_core::session::entry::{EntryBody, SessionEntry};
use haft_core::session::{RecoveredSession, build_context, recover};
use haft_export::{ImportError, ImportLimits, ImportedSession, SessionFormat, import_session};
use haft_protocol::message::Message;

const ZOT: &str = include_str!("../fixtures/tree.zotsession");
const PI_3: &str = include_str!("../fixtures/pi-v3.jsonl");
const PI_1: &str = include_str!("../fixtures/pi-v1.jsonl");

fn import(text: &str) -> ImportedSession {
    import_session(text.as_bytes(), "/here", &ImportLimits::default()).unwrap()
}

/// Lists the entries with numbers instead of ids, then the problems.
fn listing(imported: &ImportedSession) -> String {
    let mut lines = Vec::new();
    let mut numbers = HashMap::new();
    for (at, entry) in imported.entries.iter().enumerate() {
        numbers.insert(entry.id.to_string(), format!("#{}", at + 1));
        lines.push(String::from_utf8(entry.to_line().unwrap()).unwrap().trim_end().to_owned());
    }
    let mut text = lines.join("\n");
    for (id, number) in &numbers {
        text = text.replace(id, number);
    }
    for problem in &imported.problems {
        text.push_str(&format!("\n! {problem}"));
    }
    text
}

/// Checks that the result is a complete session of haft: no repairs are needed, and the transcript is valid.
#[track_caller]
fn check_whole(imported: &ImportedSession) {
    let mut file = imported.header.to_line().unwrap();
    imported.entries.iter().for_each(|entry| file.extend(entry.to_line().unwrap()));
    let RecoveredSession { header, entries, repairs, .. } = recover(&file);
    assert_eq!((header.as_ref(), &entries), (Some(&imported.header), &imported.entries));
    assert_eq!(repairs, []);
    let branch: Vec<_> = entries.into_iter().map(std::sync::Arc::new).collect();
    assert!(!build_context(&branch).messages.is_empty());
}

#[test]
fn imports_zot_session() {
    let imported = import(ZOT);
    assert_eq!(
        (imported.format, imported.header.created.0.as_str()),
        (SessionFormat::Zot, "2026-05-01T08:00:00.123Z")
    );
    check_whole(&imported);
    insta::assert_snapshot!(listing(&imported));
}

#[test]
fn imports_pi_session() {
    let imported = import(PI_3);
    assert_eq!((imported.format, imported.header.cwd.as_str()), (SessionFormat::Pi, "/here"));
    check_whole(&imported);
    insta::assert_snapshot!(listing(&imported));
}

#[test]
fn imports_pi_session_of_version_1() {
    let imported = import(PI_1);
    check_whole(&imported);
    insta::assert_snapshot!(listing(&imported));
}

#[track_caller]
fn check_refused(text: &str, limits: &ImportLimits, expect: &ImportError) {
    assert_eq!(import_session(text.as_bytes(), "/here", limits).as_ref(), Err(expect), "{text}");
}

#[test]
fn rejects_files_that_are_not_sessions() {
    let any = ImportLimits::default();
    for text in ["", "\n\n", "hello", "{}", "[1]", "{\"type\":\"user\",\"text\":\"a\"}\n", "\u{0}\u{1}"] {
        check_refused(text, &any, &ImportError::UnknownFormat);
    }
    let header = r#"{"type":"session","id":"00000000000000000000000000000001","parent":null,"format_version":9,"cwd":"/","created":"t"}"#;
    check_refused(&format!("{header}\n"), &any, &ImportError::Newer { version: 9 });
    check_refused(&format!("{}\n", header.replace(":9,", ":1,")), &any, &ImportError::Empty);
    let small = ImportLimits { bytes: 100, ..any };
    check_refused(ZOT, &small, &ImportError::TooLarge { what: "bytes", most: 100 });
    let few = ImportLimits { lines: 3, ..any };
    check_refused(ZOT, &few, &ImportError::TooLarge { what: "lines", most: 3 });
    let narrow = ImportLimits { line: 50, ..any };
    check_refused(ZOT, &narrow, &ImportError::TooLarge { what: "bytes in one line", most: 50 });
}

/// A damaged byte anywhere in a file leads to an error or to a valid session.
#[test]
fn damaged_files_become_valid_sessions_or_errors() {
    for text in [ZOT, PI_3, PI_1] {
        for cut in (0..text.len()).step_by(7) {
            let mut bytes = text.as_bytes().to_vec();
            bytes[cut] ^= 0x11;
            let Ok(imported) = import_session(&bytes, "/here", &ImportLimits::default()) else { continue };
            let mut seen = std::collections::HashSet::new();
            for SessionEntry { id, parent, .. } in &imported.entries {
                assert!(
                    parent.is_none_or(|parent| seen.contains(&parent)),
                    "the parent is missing or follows its child: {cut}"
                );
                assert!(seen.insert(*id));
            }
        }
    }
}

#[test]
fn deep_nesting_is_reported_as_a_problem() {
    let deep = format!(
        "{}\n{{\"type\":\"custom\",\"id\":\"x\",\"parentId\":null,\"data\":{}{}}}\n",
        PI_1.lines().next().unwrap(),
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let imported = import(&deep);
    assert_eq!(imported.problems.len(), 1, "{:?}", imported.problems);
}

/// Arguments are imported byte for byte.
#[test]
fn tool_arguments_keep_their_digits() {
    let imported = import(ZOT);
    let call = imported.entries.iter().find_map(|entry| {
        let EntryBody::MessageEntry(said) = &entry.body else { return None };
        let Message::Assistant(message) = &said.message else { return None };
        message.tool_calls().next().cloned()
    });
    assert_eq!(call.unwrap().args.as_str(), r#"{"command":"make","n":9007199254740993}"#);
}
