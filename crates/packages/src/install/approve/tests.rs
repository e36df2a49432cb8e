//! Tests of proposals and approvals.

use super::*;

#[test]
fn records_new_commit_and_asks_about_another_repository() {
    let root = tempfile::tempdir().unwrap();
    let (store, source) =
        (ExtensionStore::for_home(&root.path().join("home"), None), root.path().join("source"));
    std::fs::create_dir(&source).unwrap();
    std::fs::write(source.join(MANIFEST_FILE), r#"{"name":"x"}"#).unwrap();
    std::fs::write(source.join("theme.json"), "{}").unwrap();
    let git_origin =
        |url: &str, commit: &str| InstallOrigin::Git { url: url.into(), commit: Some(commit.into()) };
    let propose = |origin: &InstallOrigin| {
        store
            .propose_tree(
                store.open_staging_area().unwrap().create_staging_dir().unwrap(),
                &source,
                origin.clone(),
                None,
            )
            .unwrap()
    };
    let recorded = || store.approved.load().unwrap().extensions.into_values().next().unwrap().source;
    let (one, two) =
        (git_origin("https://example.invalid/x", "1"), git_origin("https://example.invalid/x", "2"));
    propose(&one).accept(ApprovalMethod::Yes, "1").unwrap();
    assert!(propose(&one).is_approved() && !propose(&one).record_origin().unwrap());
    assert!(propose(&two).is_approved() && propose(&two).record_origin().unwrap());
    assert_eq!(recorded(), two);
    let other = git_origin("https://example.invalid/y", "2");
    assert!(!propose(&other).is_approved());
    propose(&other).accept(ApprovalMethod::Yes, "1").unwrap();
    assert_eq!(recorded(), other);
}

#[test]
fn version_that_is_no_longer_required_is_marked() {
    let root = tempfile::tempdir().unwrap();
    let (store, source) =
        (ExtensionStore::for_home(&root.path().join("home"), None), root.path().join("source"));
    std::fs::create_dir(&source).unwrap();
    let propose = |required: bool| {
        let manifest = format!(r#"{{"name":"gate","exec":"/bin/sh","required":{required}}}"#);
        std::fs::write(source.join(MANIFEST_FILE), manifest).unwrap();
        store.propose(&InstallSource::Directory(source.clone())).unwrap()
    };
    let is_marked = |lines: &[ApprovalLine]| {
        lines.iter().any(|line| line.red && line.text.contains("NO LONGER required"))
    };
    let first = propose(true);
    assert!(!is_marked(&first.lines()));
    let first = first.accept(ApprovalMethod::Yes, "1").unwrap().entry;
    let second = propose(false);
    assert!(is_marked(&second.lines()));
    assert!(is_marked(&second.entry().excess_rights(&first)));
    let second = second.accept(ApprovalMethod::Yes, "1").unwrap().entry;
    assert!(!is_marked(&propose(true).lines()) && !is_marked(&first.excess_rights(&second)));
}
