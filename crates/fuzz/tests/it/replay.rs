//! One test for each target. The test replays the committed inputs and the protocol fixtures that the target reads.

use std::any::Any;
use std::panic::catch_unwind;

use xtask::seeds::{FuzzSeed, TARGETS};

/// The minimum number of committed inputs; a smaller corpus has lost files.
const FEWEST: usize = 10;

macro_rules! replay {
    ($($test:ident: $target:ident,)*) => {
        $(
            #[test]
            fn $test() {
                check(stringify!($target), haft_fuzz::$target::check);
            }
        )*

        #[test]
        fn every_target_has_a_test() {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($target)),*]);
        }
    };
}

replay! {
    answer_passes_its_seeds: answer,
    chain_passes_its_seeds: chain,
    envelope_passes_its_seeds: envelope,
    hooks_passes_its_seeds: hooks,
    manifest_passes_its_seeds: manifest,
    rpc_passes_its_seeds: rpc,
    sanitizer_passes_its_seeds: sanitizer,
}

/// Replays all seeds of a target and reports every one that fails.
#[track_caller]
fn check(name: &str, oracle: fn(&[u8])) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let mut seeds = target.committed_seeds().unwrap();
    assert!(seeds.len() >= FEWEST, "{} has only {} inputs", target.corpus_dir().display(), seeds.len());
    let fixtures = target.fixture_seeds().unwrap();
    assert_eq!(
        fixtures.is_empty(),
        target.schemas.is_empty(),
        "a target with schemas must have fixtures, and only such a target"
    );
    seeds.extend(fixtures);
    let failures: Vec<String> = seeds.iter().filter_map(|seed| failure(oracle, seed)).collect();
    assert!(
        failures.is_empty(),
        "{} of {} inputs break a promise of `{name}`:\n  {}",
        failures.len(),
        seeds.len(),
        failures.join("\n  ")
    );
}

/// Returns the file of a seed and the message of its failed oracle; `None` if the oracle passes.
fn failure(oracle: fn(&[u8]), seed: &FuzzSeed) -> Option<String> {
    let panic = catch_unwind(|| oracle(&seed.bytes)).err()?;
    Some(format!("{}: {}", seed.source, message(panic.as_ref())))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}

#[test]
fn a_failure_names_the_file_and_the_finding() {
    let seed = FuzzSeed { source: "fuzz/corpus/chain/x".into(), bytes: vec![0; 3] };
    let broken = |bytes: &[u8]| panic!("{} bytes", bytes.len());
    assert_eq!(failure(broken, &seed).as_deref(), Some("fuzz/corpus/chain/x: 3 bytes"));
    assert_eq!(failure(|_| (), &seed), None);
}
