//! Tests of exporting a session and importing it again.

use haft_core::session::entry::{EntryBody, ForkOrigin};
use haft_core::session::{EntryId, recover};
use haft_export::{
    EntrySelection, ImportLimits, NoSuchEntry, PortableError, SenderDirectories, SessionFormat,
    export_portable, import_session,
};

/// A branch of entries 1, 2, 3 and a side branch of 1, 4, with paths and with provider-specific data.
pub(crate) const SESSION: &str = concat!(
    r#"{"type":"session","id":"000000000000000000000000000000ff","parent":null,"format_version":1,"cwd":"/u/ann/code","created":"2026-01-02T03:04:05.678Z"}"#,
    "\n",
    r#"{"type":"message","id":"00000000000000000000000000000001","parent":null,"time":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":[{"type":"text","text":"See /u/ann/code/a.rs and /u/ann/.ssh, not /u/anna."}],"time":"2026-01-02T03:04:06.000Z"}}"#,
    "\n",
    r#"{"type":"message","id":"00000000000000000000000000000004","parent":"00000000000000000000000000000001","time":"2026-01-02T03:04:07.000Z","message":{"role":"user","content":[{"type":"text","text":"aside"}],"time":"2026-01-02T03:04:07.000Z"}}"#,
    "\n",
    r#"{"type":"message","id":"00000000000000000000000000000002","parent":"00000000000000000000000000000001","time":"2026-01-02T03:04:08.000Z","message":{"role":"assistant","content":[{"type":"tool_call","id":"c1","name":"read","args":{"path":"/u/ann/code/a.rs","n":9007199254740993}}],"time":"2026-01-02T03:04:08.000Z","native":{"origin":"anthropic/m","data":["opaque /u/ann"]}},"answer":{"provider":"anthropic","model":"m","stop":"tool_use","usage":{"input":1,"output":2,"cache_read":0,"cache_write":0,"cost_usd":0.5}}}"#,
    "\n",
    r#"{"type":"vote","id":"00000000000000000000000000000003","parent":"00000000000000000000000000000002","time":"2026-01-02T03:04:09.000Z","x":[1 ,2.50],"at":"/u/ann"}"#,
    "\n",
);

fn exported(selection: &EntrySelection) -> String {
    let places = SenderDirectories { home: Some("/u/ann".to_owned()) };
    let file = export_portable(&recover(SESSION.as_bytes()), selection, &places).unwrap();
    String::from_utf8(file).unwrap()
}

#[test]
fn removes_paths_and_provider_data() {
    insta::assert_snapshot!(exported(&EntrySelection::default()));
    for all in [false, true] {
        let file = exported(&EntrySelection { at: None, all });
        assert!(!file.contains("/u/ann/") && !file.contains("opaque"), "{file}");
        assert_eq!(file.contains("aside"), all);
    }
}

#[test]
fn exports_branch_up_to_the_selected_entry() {
    let at = |id: u128| EntrySelection { at: Some(EntryId::from(id)), all: false };
    let ids = |file: &str| -> Vec<u8> {
        recover(file.as_bytes())
            .entries
            .iter()
            .map(|entry| entry.id.to_string().pop().unwrap() as u8 - b'0')
            .collect()
    };
    assert_eq!(ids(&exported(&at(4))), [1, 4]);
    assert_eq!(ids(&exported(&at(2))), [1, 2]);
    assert_eq!(ids(&exported(&EntrySelection { at: None, all: true })), [1, 4, 2, 3]);
    let session = recover(SESSION.as_bytes());
    let missing = export_portable(&session, &at(9), &SenderDirectories::default());
    assert!(matches!(missing, Err(PortableError::NoEntry(NoSuchEntry(id))) if id == EntryId::from(9)));
}

#[test]
fn exported_session_imports_into_another_directory() {
    let file = exported(&EntrySelection { at: None, all: true });
    let imported = import_session(file.as_bytes(), "/there", &ImportLimits::default()).unwrap();
    let session = recover(SESSION.as_bytes());
    let origin = ForkOrigin { session: session.header.unwrap().id, entry: Some(EntryId::from(3)) };
    assert_eq!((imported.format, imported.header.cwd.as_str()), (SessionFormat::Haft, "/there"));
    assert_eq!(imported.header.forked_from, Some(origin));
    assert_ne!(imported.header.id, origin.session);
    let shape = |entries: &[haft_core::session::entry::SessionEntry]| -> Vec<_> {
        entries.iter().map(|entry| (entry.id, entry.parent)).collect()
    };
    assert_eq!(shape(&imported.entries), shape(&session.entries));
    let problems: Vec<String> = imported.problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems, ["an entry of type \"vote\" was not recognized and is kept unchanged"]);
}

/// The line of the unknown entry contains its parent after the repair.
#[test]
fn damage_is_reported_and_repaired() {
    let damaged = exported(&EntrySelection { at: None, all: true })
        .replace(r#""role":"assistant""#, r#""role":"assistant"#);
    let imported = import_session(damaged.as_bytes(), "/there", &ImportLimits::default()).unwrap();
    let problems: Vec<String> = imported.problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(problems[0].starts_with("line 4: "), "{problems:?}");
    let EntryBody::Unknown(vote) = &imported.entries.last().unwrap().body else { panic!() };
    assert!(vote.line.contains(r#""parent":"00000000000000000000000000000004""#), "{}", vote.line);
}

/// Data of extensions stays, and the sender's paths are removed from it as from everything else.
#[test]
fn keeps_tags_and_details() {
    let lines = [
        r#"{"type":"custom_message","id":"00000000000000000000000000000005","parent":"00000000000000000000000000000003","time":"2026-01-02T03:04:10.000Z","owner":"todo","kind":"note","content":[],"display":true,"details":{"file":"/u/ann/code/a.rs","n":[1,null]}}"#,
        r#"{"type":"tags","id":"00000000000000000000000000000006","parent":"00000000000000000000000000000005","time":"2026-01-02T03:04:11.000Z","tags":{"repository":"/u/ann/code/x","work":null}}"#,
        r#"{"type":"tags","id":"00000000000000000000000000000007","parent":"00000000000000000000000000000006","time":"2026-01-02T03:04:12.000Z","tags":["word"]}"#,
    ];
    let session = format!("{SESSION}{}\n", lines.join("\n"));
    let places = SenderDirectories { home: Some("/u/ann".to_owned()) };
    let selection = EntrySelection::default();
    let file = export_portable(&recover(session.as_bytes()), &selection, &places).unwrap();
    let imported = import_session(&file, "/there", &ImportLimits::default()).unwrap();
    let written: Vec<String> = imported.entries[imported.entries.len() - 3..]
        .iter()
        .map(|entry| String::from_utf8(entry.to_line().unwrap()).unwrap())
        .collect();
    assert!(written[0].contains(r#""details":{"file":"./a.rs","n":[1,null]}"#), "{written:?}");
    assert!(written[1].contains(r#""tags":{"repository":"./x","work":null}"#), "{written:?}");
    assert!(written[2].contains(r#""tags":{"word":""},"replace":true"#), "{written:?}");
}

#[test]
fn set_name_appends_a_name_entry() {
    let mut imported = import_session(SESSION.as_bytes(), "/there", &ImportLimits::default()).unwrap();
    imported.set_name("mine");
    let last = imported.entries.last().unwrap();
    assert_eq!((last.parent, last.body.kind()), (Some(EntryId::from(3)), "name"));
}
