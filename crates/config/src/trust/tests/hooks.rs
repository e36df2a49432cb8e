//! Tests that files of a project that hooks run are covered.

use super::*;

#[test]
fn programs_of_project_hooks_are_covered() {
    #[track_caller]
    fn check(hook: &str, path: &str, expect: &str) {
        let fixture = Fixture::new();
        fixture.write(
            ".haft/config.toml",
            &format!("[hooks.processes.g]\nintercept = ['approve_tool']\n{hook}"),
        );
        fixture.write(path, "1");
        let fixture = fixture.trusted();
        fixture.write(path, "2");
        let (trust, reason) = fixture.decided(&fixture.dir());
        assert_eq!(trust == ProjectTrust::Trusted, expect.is_empty(), "{reason}");
        assert!(reason.contains(expect), "{reason}");
    }
    let changed = "hook g runs tools/gate.py (changed)";
    check("enabled = true\ncommand = ['python3', 'tools/gate.py']", "tools/gate.py", changed);
    check("enabled = true\ncommand = ['tools/gate.py']", "tools/gate.py", changed);
    let changed = "hook g runs gate.py (changed)";
    check("enabled = true\ncommand = ['python3', 'gate.py']\ndir = 'tools'", "tools/gate.py", changed);
    let changed = "hook g runs tools/gate.py (changed)";
    check("enabled = true\ncommand = ['sh', '-c', 'python3 tools/gate.py']", "tools/gate.py", changed);
    let changed = "hook g runs gate.py (changed)";
    check("enabled = true\ncommand = ['python3', '-m', 'gate']\ndir = 'tools'", "tools/gate.py", changed);
    // A bare program name refers to a program of the system.
    check("enabled = true\ncommand = ['gate.py']\ndir = 'tools'", "tools/gate.py", "");
    check("command = ['python3', 'tools/gate.py']", "tools/gate.py", "");
}

#[test]
fn project_files_run_by_user_hooks_are_covered() {
    let fixture = Fixture::new();
    let hook =
        "[hooks.processes.g]\nenabled = true\nobserve = ['*']\ncommand = ['python3', 'tools/gate.py']\n";
    fs::create_dir_all(fixture.home().root()).unwrap();
    fs::write(fixture.home().config_file(), hook).unwrap();
    fixture.write("tools/gate.py", "1");
    let fixture = fixture.trusted();
    fixture.write("tools/gate.py", "2");
    let (trust, reason) = fixture.decided(&fixture.dir());
    assert_eq!(trust, ProjectTrust::Untrusted);
    assert!(reason.contains("your hook g runs tools/gate.py (changed)"), "{reason}");
}
