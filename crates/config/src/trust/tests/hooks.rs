//! What hooks run of a project counts.

use super::*;

#[test]
fn what_the_projects_hooks_run_counts_wherever_it_lies() {
    #[track_caller]
    fn check(hook: &str, path: &str, expect: &str) {
        let ground = Ground::new();
        ground.write(
            ".haft/config.toml",
            &format!("[hooks.processes.g]\nintercept = ['approve_tool']\n{hook}"),
        );
        ground.write(path, "1");
        let ground = ground.trusted();
        ground.write(path, "2");
        let (trust, told) = ground.decided(&ground.dir());
        assert_eq!(trust == ProjectTrust::Trusted, expect.is_empty(), "{told}");
        assert!(told.contains(expect), "{told}");
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
    // A program's name alone is one of the system's.
    check("enabled = true\ncommand = ['gate.py']\ndir = 'tools'", "tools/gate.py", "");
    check("command = ['python3', 'tools/gate.py']", "tools/gate.py", "");
}

#[test]
fn what_of_the_project_the_users_hooks_run_counts() {
    let ground = Ground::new();
    let hook =
        "[hooks.processes.g]\nenabled = true\nobserve = ['*']\ncommand = ['python3', 'tools/gate.py']\n";
    fs::create_dir_all(ground.home().root()).unwrap();
    fs::write(ground.home().config_file(), hook).unwrap();
    ground.write("tools/gate.py", "1");
    let ground = ground.trusted();
    ground.write("tools/gate.py", "2");
    let (trust, told) = ground.decided(&ground.dir());
    assert_eq!(trust, ProjectTrust::Untrusted);
    assert!(told.contains("your hook g runs tools/gate.py (changed)"), "{told}");
}
