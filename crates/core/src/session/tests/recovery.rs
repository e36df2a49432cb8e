//! Tests with files that are truncated or changed at any position.

use proptest::prelude::*;

use super::lines::{chain, file, header, samples, tags};
use crate::session::digest::SessionDigest;
use crate::session::entry::*;
use crate::session::{EntryId, RecoveredSession, SessionRepair, fold_tags, recover};

/// Returns the valid lengths of a file that end with a line, with the number of entries.
fn ends(bytes: &[u8]) -> Vec<usize> {
    memchr::memchr_iter(b'\n', bytes).map(|at| at + 1).collect()
}

/// Tests every prefix, and prefixes followed by zeros: exactly the whole lines are recovered.
#[test]
fn recovers_whole_lines_of_every_prefix() {
    let entries = chain(samples());
    let bytes = file(&entries);
    let ends = ends(&bytes);
    let is_near_an_end = |cut: usize| ends.iter().any(|end| end.abs_diff(cut) <= 2);
    for cut in 0..=bytes.len() {
        let tails: &[usize] =
            if is_near_an_end(cut) || cut.is_multiple_of(50) { &[0, 1, 4096] } else { &[0] };
        for &zeros in tails {
            let torn = [&bytes[..cut], &vec![0; zeros]].concat();
            let RecoveredSession { header, entries: found, repairs, whole } = recover(&torn);
            let lines = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(whole, if lines == 0 { 0 } else { ends[lines - 1] }, "{cut}");
            assert_eq!(header.is_some(), lines > 0, "{cut}");
            assert_eq!(found, entries[..lines.saturating_sub(1)], "{cut}");
            let left = (torn.len() - whole) as u64;
            let expect = (left > 0).then_some(SessionRepair::TornTail { bytes: left, saved: None });
            assert_eq!(repairs, Vec::from_iter(expect), "{cut}");
        }
    }
}

/// A damaged line costs only that line: the following entries keep their order, and only one parent changes.
#[test]
fn damaged_line_affects_no_other_line() {
    let entries = chain(samples());
    let lines: Vec<Vec<u8>> =
        file(&entries).split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let harms: [fn(&mut Vec<u8>); 5] = [
        |line| *line = b"\n".to_vec(),
        |line| line.truncate(line.len() / 2),
        |line| line.iter_mut().take(200).for_each(|byte| *byte = 0),
        |line| line[1] = 0xff,
        |line| line[3] = b'{',
    ];
    for at in 1..lines.len() {
        for (number, harm) in harms.iter().enumerate() {
            let mut lines = lines.clone();
            harm(&mut lines[at]);
            if !lines[at].ends_with(b"\n") {
                lines[at].push(b'\n');
            }
            let recovered = recover(&lines.concat());
            let mut expect = entries.clone();
            let gone = expect.remove(at - 1);
            if let Some(orphan) = expect.iter_mut().find(|entry| entry.parent == Some(gone.id)) {
                orphan.parent = gone.parent;
            }
            assert_eq!(recovered.entries, expect, "line {at}, harm {number}");
            let bad = |repair: &&SessionRepair| matches!(repair, SessionRepair::BadLine { line, .. } if *line == at as u64 + 1);
            assert_eq!(recovered.repairs.iter().filter(bad).count(), 1, "line {at}, harm {number}");
        }
    }
}

#[test]
fn orphan_follows_the_predecessor_of_its_parent() {
    let mut entries = chain(samples()[..1].iter().cycle().take(6).cloned().collect());
    // Entry 4 begins a second branch at 1, so that the damaged line of 3 is beside another branch.
    entries[3].parent = Some(EntryId::from(1));
    entries[5].parent = Some(EntryId::from(3));
    let bytes = String::from_utf8(file(&entries)).unwrap();
    let damaged = bytes.replace(
        &format!("\"id\":\"{}\",\"parent\":\"{}\"", EntryId::from(3), EntryId::from(2)),
        &format!("\"id\":\"{}\",,", EntryId::from(3)),
    );
    let recovered = recover(damaged.as_bytes());
    let orphan = recovered.entries.last().unwrap();
    assert_eq!((orphan.id, orphan.parent), (EntryId::from(6), Some(EntryId::from(2))));
}

#[test]
fn order_follows_parents_and_not_times() {
    let mut entries = chain(samples());
    for (at, entry) in entries.iter_mut().enumerate() {
        entry.time.0 = format!("20{:02}-01-01T00:00:00Z", 99 - at);
    }
    assert_eq!(recover(&file(&entries)).entries, entries);
}

#[test]
fn reads_entries_without_a_header() {
    let entries = chain(samples());
    let bytes = file(&entries);
    let without = &bytes[memchr::memchr(b'\n', &bytes).unwrap() + 1..];
    assert_eq!(recover(without).entries, entries);
    let damaged = [b"\0\0\0\n", without].concat();
    let recovered = recover(&damaged);
    assert_eq!(recovered.entries, entries);
    assert!(matches!(recovered.repairs[..], [SessionRepair::NoHeader { .. }]), "{:?}", recovered.repairs);
}

/// Files of format version 1 must stay readable. The fixtures are never edited.
#[test]
fn reads_files_of_version_1() {
    let words: &[u8] = include_bytes!("../../../tests/fixtures/sessions/v1/every-type.jsonl");
    let maps: &[u8] = include_bytes!("../../../tests/fixtures/sessions/v1/tags-and-details.jsonl");
    for (bytes, expect) in [(words, samples_without_values()), (maps, samples())] {
        let recovered = recover(bytes);
        assert_eq!(recovered.repairs, []);
        assert_eq!((recovered.header, recovered.entries), (Some(header()), chain(expect)));
    }
}

/// Returns the samples of the builds whose tags were words and whose custom messages had no details.
fn samples_without_values() -> Vec<EntryBody> {
    let mut samples = samples();
    for body in &mut samples {
        if let EntryBody::Tags(change) = body {
            *change = Tags { replace: true, ..tags([("work", Some(""))]) };
        }
        if let EntryBody::CustomMessage(message) = body {
            message.details = None;
        }
    }
    samples
}

/// Returns the summary of a file for a list.
fn survey_of(bytes: &[u8]) -> SessionDigest {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    SessionDigest::read_from(&std::fs::File::open(file.path()).unwrap()).unwrap()
}

#[test]
fn summary_agrees_with_the_whole_file() {
    let written = file(&chain(samples()));
    // Foreign lines with white space, a line longer than one read, damaged lines, and an incomplete end.
    let spaced = String::from_utf8(written.clone()).unwrap().replace(":", ": ").into_bytes();
    let long = SessionEntry {
        id: EntryId::from(99),
        body: Name { name: "x".repeat(700_000) }.into(),
        ..chain(samples()).remove(0)
    };
    let long = [&*written, &long.to_line().unwrap()].concat();
    let damaged = [&*written, b"\0\0\0\n{\"type\":\"session\"}\n{\"type\":\"message\",\"id"].concat();
    for bytes in [written, spaced, long, damaged] {
        let entries = recover(&bytes).entries;
        let survey = survey_of(&bytes);
        let messages = entries.iter().filter(|entry| entry.body.kind() == "message").count();
        assert_eq!(
            (survey.messages, survey.last),
            (messages, entries.last().map(|entry| entry.time.clone()))
        );
        let name = entries.iter().rev().find_map(|entry| {
            if let EntryBody::Name(name) = &entry.body { Some(name.name.clone()) } else { None }
        });
        assert_eq!(survey.name, name);
        assert_eq!(survey.tags, fold_tags(&entries));
        assert_eq!(survey.tags.len(), 2);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: (ProptestConfig::default().cases / 4).max(1), ..ProptestConfig::default() })]

    /// Recovery ends for any bytes, and its entries form a tree.
    #[test]
    fn recovered_entries_form_a_tree(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = file(&chain(samples()));
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let recovered = recover(&bytes);
        let mut known = std::collections::HashSet::new();
        for entry in &recovered.entries {
            prop_assert!(entry.parent.is_none_or(|parent| known.contains(&parent)));
            prop_assert!(known.insert(entry.id));
        }
        prop_assert_eq!(recovered.whole, memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1));
    }
}
