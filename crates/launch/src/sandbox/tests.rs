//! Tests of the sandbox's text form and of its consistency checks.

use super::*;

#[track_caller]
fn check(text: &str, expect: &str) {
    match serde_json::from_str::<Sandbox>(text) {
        Ok(sandbox) => {
            assert_eq!(
                sandbox.check_consistency().map_or_else(|error| error.to_string(), |()| "valid".into()),
                expect
            )
        }
        Err(error) => assert!(error.to_string().contains(expect), "{error}"),
    }
}

#[test]
fn round_trips_and_rejects_invalid_text() {
    let mut sandbox = Sandbox::new(ConfinementLevel::Standard);
    sandbox.read = vec!["/a b".into()];
    sandbox.max_file_bytes = Some(1 << 30);
    let text = serde_json::to_string(&sandbox).unwrap();
    insta::assert_snapshot!(text, @r#"{"version":1,"level":"standard","read":["/a b"],"write":[],"protect":[],"exec":[],"system_programs":true,"net":"none","max_file_bytes":1073741824}"#);
    assert_eq!(serde_json::from_str::<Sandbox>(&text).unwrap(), sandbox);
    check(r#"{"version":1,"level":"strict","net":"none"}"#, "valid");
    check(r#"{"version":1,"level":"strict","net":"none","udp":false}"#, "unknown field `udp`");
    check(r#"{"version":1,"level":"loose","net":"none"}"#, "unknown variant `loose`");
    check(r#"{"version":1,"level":"strict"}"#, "missing field `net`");
    check(r#"{"level":"strict","net":"none"}"#, "missing field `version`");
    check(
        r#"{"version":0,"level":"strict","net":"none"}"#,
        "sandbox version 0 is not supported, only version 1 is; approve the extension again",
    );
}

#[test]
fn rejects_protected_path_not_below_a_writable_path() {
    let sandbox = |write: &str| {
        format!(r#"{{"version":1,"level":"strict","net":"none","write":["{write}"],"protect":["/w/.git"]}}"#)
    };
    check(&sandbox("/w"), "valid");
    check(&sandbox("/v"), "sandbox path /w/.git is protected but not below a writable path");
}
