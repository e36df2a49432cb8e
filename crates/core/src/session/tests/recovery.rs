//! Files that were cut or changed anywhere.

use proptest::prelude::*;

use super::lines::{chain, file, header, samples};
use crate::session::entry::*;
use crate::session::{EntryId, Index, Recovered, Repair, line, recover};

/// The lengths that a file may have at the end of a line, and how many entries it has then.
fn ends(bytes: &[u8]) -> Vec<usize> {
    memchr::memchr_iter(b'\n', bytes).map(|at| at + 1).collect()
}

/// Every prefix, and zeros behind those that end near the end of a line and behind some others: all whole lines are there,
/// and only they.
#[test]
fn a_file_may_end_anywhere() {
    let entries = chain(samples());
    let bytes = file(&entries);
    let ends = ends(&bytes);
    let is_near_an_end = |cut: usize| ends.iter().any(|end| end.abs_diff(cut) <= 2);
    for cut in 0..=bytes.len() {
        let tails: &[usize] =
            if is_near_an_end(cut) || cut.is_multiple_of(50) { &[0, 1, 4096] } else { &[0] };
        for &zeros in tails {
            let torn = [&bytes[..cut], &vec![0; zeros]].concat();
            let Recovered { header, entries: found, repairs, whole } = recover(&torn);
            let lines = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(whole, if lines == 0 { 0 } else { ends[lines - 1] }, "{cut}");
            assert_eq!(header.is_some(), lines > 0, "{cut}");
            assert_eq!(found, entries[..lines.saturating_sub(1)], "{cut}");
            let left = (torn.len() - whole) as u64;
            let expect = (left > 0).then_some(Repair::TornTail { bytes: left, saved: None });
            assert_eq!(repairs, Vec::from_iter(expect), "{cut}");
        }
    }
}

/// A line that is damaged costs that line: what follows keeps its order, and its parents but one.
#[test]
fn a_damaged_line_costs_no_other() {
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
            let bad =
                |repair: &&Repair| matches!(repair, Repair::BadLine { line, .. } if *line == at as u64 + 1);
            assert_eq!(recovered.repairs.iter().filter(bad).count(), 1, "line {at}, harm {number}");
        }
    }
}

#[test]
fn an_orphan_follows_what_its_lost_parent_followed() {
    let mut entries = chain(samples()[..1].iter().cycle().take(6).cloned().collect());
    // 4 begins a second branch at 1, so that 3's line is damaged beside another branch.
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
fn order_is_that_of_parents_whatever_the_clock_said() {
    let mut entries = chain(samples());
    for (at, entry) in entries.iter_mut().enumerate() {
        entry.time.0 = format!("20{:02}-01-01T00:00:00Z", 99 - at);
    }
    assert_eq!(recover(&file(&entries)).entries, entries);
}

#[test]
fn a_file_without_its_header_still_has_its_entries() {
    let entries = chain(samples());
    let bytes = file(&entries);
    let without = &bytes[memchr::memchr(b'\n', &bytes).unwrap() + 1..];
    assert_eq!(recover(without).entries, entries);
    let damaged = [b"\0\0\0\n", without].concat();
    let recovered = recover(&damaged);
    assert_eq!(recovered.entries, entries);
    assert!(matches!(recovered.repairs[..], [Repair::NoHeader { .. }]), "{:?}", recovered.repairs);
}

/// What this version wrote once must be read for ever. The file is never edited.
#[test]
fn files_of_version_1_are_read_for_ever() {
    let bytes = include_bytes!("../../../tests/fixtures/sessions/v1/every-type.jsonl");
    let recovered = recover(bytes);
    assert_eq!(recovered.repairs, []);
    assert_eq!((recovered.header, recovered.entries), (Some(header()), chain(samples())));
}

fn index_of(bytes: &[u8]) -> Vec<(EntryId, Option<EntryId>, Option<&'static str>)> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let index = Index::of(file.path()).unwrap();
    let id = |at: usize| index.rows()[at].id();
    index
        .rows()
        .iter()
        .enumerate()
        .map(|(at, row)| (row.id(), index.parent(at).map(id), row.kind()))
        .collect()
}

#[test]
fn the_index_says_what_the_whole_file_says() {
    let mut entries = chain(samples());
    entries[4].parent = Some(EntryId::from(1));
    entries[7].parent = None;
    let kind = |entry: &Entry| EntryBody::KINDS.iter().copied().find(|kind| *kind == entry.body.kind());
    let expect: Vec<_> = entries.iter().map(|entry| (entry.id, entry.parent, kind(entry))).collect();
    assert_eq!(index_of(&file(&entries)), expect);
    // Lines of others, with white space, and one longer than what is read at a time.
    let mut spaced =
        String::from_utf8(file(&entries)).unwrap().replace("\"parent\":", "\"parent\": ").into_bytes();
    let long = Name { name: "x".repeat(700_000) };
    let last = Entry {
        id: EntryId::from(99),
        parent: Some(EntryId::from(2)),
        body: long.into(),
        ..entries[0].clone()
    };
    spaced.extend(line::of_entry(&last).unwrap());
    let expect = [expect, vec![(last.id, last.parent, Some("name"))]].concat();
    assert_eq!(index_of(&spaced), expect);
    // A damaged parent that goes on behind the end of its line.
    for parent in ["\n".repeat(32), "\0".repeat(32), "0\n".repeat(16)] {
        let damaged = format!("{{\"type\":\"name\",\"id\":\"{:032x}\",\"parent\":\"{parent}\",}}\n", 98);
        assert_eq!(index_of(damaged.as_bytes()), []);
        assert_eq!(index_of(&[damaged.as_bytes(), &spaced].concat()), expect);
    }
}

/// What the index says, read line by line: the parent is the entry before, or the first one of its name.
fn read_one_by_one(bytes: &[u8]) -> Vec<(EntryId, Option<EntryId>, Option<&'static str>)> {
    let (mut rows, mut last) = (Vec::new(), None);
    for text in bytes.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n")) {
        let usual = line::Prefix::read(text).and_then(|prefix| {
            let parent = prefix.parent.map(EntryId::from_digits);
            let kind = String::from_utf8_lossy(prefix.kind).into_owned();
            (parent != Some(None)).then_some((EntryId::from_digits(prefix.id)?, parent.flatten(), kind))
        });
        let odd = || {
            let head = line::Head::read(std::str::from_utf8(text).ok()?).ok()?;
            Some((head.id, head.parent, head.kind))
        };
        let is_usual = usual.is_some();
        let Some((id, parent, kind)) = usual.or_else(odd).filter(|(_, _, kind)| kind != line::HEADER) else {
            continue;
        };
        let known = rows.iter().any(|(id, _, _)| Some(*id) == parent);
        let parent = parent.filter(|parent| last == Some(*parent) || known);
        rows.push((id, parent, EntryBody::KINDS.iter().copied().find(|known| *known == kind)));
        last = is_usual.then_some(id);
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig { cases: (ProptestConfig::default().cases / 4).max(1), ..ProptestConfig::default() })]

    /// Whatever the bytes are, recovery ends, and what it finds is a tree.
    #[test]
    fn any_damage_leaves_a_tree(
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

    /// Most lines of the index are read by comparing them with the one before.
    #[test]
    fn the_index_is_what_its_lines_say(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), "[0-9a-fA-F\"\n{]"), 0..60),
        cut in any::<prop::sample::Index>(),
    ) {
        let bodies = samples();
        let twice = [bodies.clone(), bodies.clone(), bodies[..2].to_vec()].concat();
        let mut bytes = file(&chain(twice.into_iter().flat_map(|body| [body.clone(), body]).collect()));
        for (at, text) in changes {
            let at = at.index(bytes.len());
            bytes[at] = text.as_bytes()[0];
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        prop_assert_eq!(index_of(&bytes), read_one_by_one(&bytes));
    }
}
