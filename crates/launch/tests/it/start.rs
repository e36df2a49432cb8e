//! Tests of starting programs: streams, environment, errors.

use std::ffi::OsString;
use std::io::{Read, Seek};

use haft_launch::{EnvPolicy, GroupChild, SpawnOptions, StderrMode, StdioMode, find_program};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn sh(script: &str) -> SpawnOptions {
    SpawnOptions::new("/bin/sh", "/").args(["-c", script])
}

async fn output_of(mut spec: SpawnOptions) -> String {
    spec.stdout = StdioMode::Piped;
    let mut child = GroupChild::spawn(spec).unwrap();
    let mut text = String::new();
    child.take_stdout().unwrap().read_to_string(&mut text).await.unwrap();
    child.wait().await.unwrap();
    text
}

#[tokio::test]
async fn merged_output_keeps_the_order_of_writing() {
    let mut spec = sh("echo 1; echo 2 >&2; echo 3; echo 4 >&2");
    spec.stderr = StderrMode::SameAsStdout;
    assert_eq!(output_of(spec).await, "1\n2\n3\n4\n");
}

#[tokio::test]
async fn both_streams_write_to_one_file() {
    let mut file = tempfile::tempfile().unwrap();
    let mut spec = sh("echo 1; echo 2 >&2");
    spec.stdout = StdioMode::File(file.try_clone().unwrap());
    spec.stderr = StderrMode::SameAsStdout;
    GroupChild::spawn(spec).unwrap().wait().await.unwrap();
    let mut text = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "1\n2\n");
}

#[tokio::test]
async fn input_is_piped() {
    let mut spec = SpawnOptions::new("/bin/cat", "/");
    spec.stdin = StdioMode::Piped;
    spec.stdout = StdioMode::Piped;
    let mut child = GroupChild::spawn(spec).unwrap();
    let mut stdin = child.take_stdin().unwrap();
    stdin.write_all(b"hello").await.unwrap();
    drop(stdin);
    let mut text = String::new();
    child.take_stdout().unwrap().read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "hello");
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn environment_policy_is_applied() {
    let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    let mut spec = sh("echo $A; env | grep -c ^HOME=");
    spec.env = EnvPolicy::Only([pair("A", "1"), pair("PATH", "/usr/bin:/bin")].into());
    assert_eq!(output_of(spec).await, "1\n0\n");
    let mut spec = sh("echo ${PATH-none} $A");
    spec.env = EnvPolicy::Inherit { remove: vec!["PATH".into()], set: vec![pair("A", "2")] };
    // A shell without PATH may set its own; the test checks only that it differs from this process's.
    let text = output_of(spec).await;
    assert!(text.ends_with(" 2\n"), "{text}");
    assert!(!text.starts_with(&std::env::var("PATH").unwrap()), "{text}");
}

#[track_caller]
fn check_error(spec: SpawnOptions, parts: &[&str]) {
    let text = GroupChild::spawn(spec).unwrap_err().to_string();
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in {text:?}");
    }
}

#[tokio::test]
async fn errors_name_the_missing_file() {
    check_error(
        SpawnOptions::new("/nowhere/tool", "/"),
        &["/nowhere/tool", "No such file or directory (os error 2)"],
    );
    check_error(
        SpawnOptions::new("/bin/sh", "/nowhere/dir"),
        &["/bin/sh", "directory /nowhere/dir", "os error 2"],
    );
    check_error(SpawnOptions::new("sh", "/"), &["sh", "absolute"]);
    check_error(SpawnOptions::new("/etc/passwd", "/"), &["/etc/passwd", "Permission denied (os error 13)"]);
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script");
    std::fs::write(&script, "#!/nowhere/python\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    check_error(SpawnOptions::new(script, "/"), &["interpreter in its first line"]);
}

#[test]
fn programs_are_found_by_name() {
    assert!(find_program("sh").unwrap().is_absolute());
    assert_eq!(find_program("/nowhere/x").unwrap().to_str(), Some("/nowhere/x"));
    assert!(find_program("no-such-program-here").unwrap_err().to_string().contains("PATH"));
    assert!(find_program("./sh").unwrap_err().to_string().contains("relative"));
}
