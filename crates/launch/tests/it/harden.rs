//! Tests of hardening, in the test process itself.

use rustix::process::{Resource, getrlimit};

#[test]
fn hardening_succeeds_when_repeated() {
    for _ in 0..2 {
        let failed = haft_launch::harden_self();
        assert!(failed.is_empty(), "{failed:?}");
    }
    assert_eq!(getrlimit(Resource::Core).current, Some(0));
    if cfg!(target_os = "linux") {
        let files = getrlimit(Resource::Nofile);
        assert_eq!(files.current, files.maximum);
    }
}
