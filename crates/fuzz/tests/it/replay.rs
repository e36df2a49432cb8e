//! One test for each target: it replays the committed inputs and the matching lines of the protocol fixtures.

use std::any::Any;
use std::panic::catch_unwind;

use xtask::seeds::{FuzzSeed, TARGETS};

/// Smallest number of inputs of a corpus; fewer mean that files are missing.
const FEWEST: usize = 10;

macro_rules! replay {
    ($($name:ident),*) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name), haft_fuzz::$name::check);
            }
        )*

        #[test]
        fn has_test_for_every_target() {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

replay!(chain, envelope, hooks, manifest, rpc, sanitiser);

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
        "a target with schemas must read fixture lines"
    );
    seeds.extend(fixtures);
    let failures: Vec<String> = seeds.iter().filter_map(|seed| failure(oracle, seed)).collect();
    assert!(
        failures.is_empty(),
        "{} of {} inputs fail the checks of `{name}`:\n  {}",
        failures.len(),
        seeds.len(),
        failures.join("\n  ")
    );
}

/// Returns the file of a seed and the panic message of the oracle, if the seed fails.
fn failure(oracle: fn(&[u8]), seed: &Seed) -> Option<String> {
    let panic = catch_unwind(|| oracle(&seed.bytes)).err()?;
    Some(format!("{}: {}", seed.source, message(panic.as_ref())))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}

#[test]
fn failure_names_file_and_message() {
    let seed = Seed { source: "fuzz/corpus/chain/x".into(), bytes: vec![0; 3] };
    let broken = |bytes: &[u8]| panic!("{} bytes", bytes.len());
    assert_eq!(failure(broken, &seed).as_deref(), Some("fuzz/corpus/chain/x: 3 bytes"));
    assert_eq!(failure(|_| (), &seed), None);
}
