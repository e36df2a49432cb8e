//! Tests of the table and of the problem lines below it.

use std::time::{Duration, SystemTime};

use haft_host::LastFailure;
use haft_packages::ExtensionOrigin;
use haft_packages::install::{InstallStatus, InstalledExtension};
use haft_packages::manifest::ExecCommand;

use super::super::list::problem_lines;
use super::*;
use crate::hooks::GateRelaxation;

fn row(name: &str, origin: ExtensionOrigin, state: InstallStatus, dir: &str) -> ListedExtension {
    let exec = Some(ExecCommand { program: "./run".into(), args: Vec::new() });
    let row = InstalledExtension {
        origin,
        name: name.into(),
        version: Some("1.0.0".into()),
        language: None,
        description: None,
        exec,
        dir: dir.into(),
        runs_in: dir.into(),
        level: None,
        entry: None,
        state,
    };
    ListedExtension {
        row,
        failure: None,
        is_slow: false,
        shadowed_by: None,
        relaxation: GateRelaxation::default(),
        hook: None,
        trusted: false,
        sandbox: Some(SandboxLevel::None),
    }
}

/// Adds a failure five minutes after the epoch.
fn failed(listed: ListedExtension, code: &str) -> ListedExtension {
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(300);
    let message = "exited with status 1: Name\x1b[31mError: x";
    ListedExtension { failure: Some(LastFailure::new(at, code, message)), ..listed }
}

fn places() -> PathShortener {
    PathShortener { cwd: "/w".into(), home: Some("/u".into()) }
}

#[test]
fn aligns_columns_and_sanitizes_text() {
    let mut todo = row("todo-panel", ExtensionOrigin::Global, InstallStatus::Enabled, "/u/ext/todo");
    todo.row.version = Some("1\x1b[31m.0\n".into());
    todo.sandbox = Some(SandboxLevel::Standard);
    let mut unread = row("unread", ExtensionOrigin::Global, InstallStatus::Enabled, "/srv/off");
    unread.sandbox = None;
    let rows = [
        todo,
        unread,
        row("off", ExtensionOrigin::Global, InstallStatus::Disabled, "/srv/off"),
        row("p", ExtensionOrigin::Project, InstallStatus::Enabled, "/w/.haft/extensions/p"),
        row("b", ExtensionOrigin::Global, InstallStatus::Broken("why".into()), "/u/ext/b"),
        row("c", ExtensionOrigin::Global, InstallStatus::Changed("run (changed)\x1b[2J".into()), "/u/ext/c"),
        row("n", ExtensionOrigin::Global, InstallStatus::NotApproved, "/u/ext/n"),
        failed(row("crash", ExtensionOrigin::Global, InstallStatus::Enabled, "/u/ext/crash"), "exited"),
        failed(row("q", ExtensionOrigin::Project, InstallStatus::Enabled, "/w/q"), "exited"),
        failed(
            row("pinned", ExtensionOrigin::Global, InstallStatus::Enabled, "/u/ext/pinned"),
            "pin_mismatch",
        ),
    ];
    insta::assert_snapshot!(render_table(&rows, &places(), 80), @"
    NAME        VERSION  SCOPE    STATE       SANDBOX   FROM
    todo-panel  1.0      global   enabled     standard  ~/ext/todo
    unread      1.0.0    global   enabled     ?         /srv/off
    off         1.0.0    global   disabled    -         /srv/off
    p           1.0.0    project  untrusted   -         ./.haft/extensions/p
    b           1.0.0    global   broken      -         ~/ext/b
    c           1.0.0    global   changed     -         ~/ext/c
    n           1.0.0    global   unapproved  -         ~/ext/n
    crash       1.0.0    global   failed      none      ~/ext/crash
    q           1.0.0    project  untrusted   -         ./q
    pinned      1.0.0    global   failed      none      ~/ext/pinned
    ");
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(3 * 3600);
    insta::assert_snapshot!(rows.iter().flat_map(|row| problem_lines(row, now)).collect::<Vec<_>>().join("\n"), @"
    p: does not run, because the project is not trusted; `haft trust` reviews and trusts it
    b: why
    c: run (changed)
    n: does not run, because it is not approved; `haft ext trust n` shows it and asks
    crash: failed 2 h ago (exited): exited with status 1: NameError: x. The next run starts it again; `haft ext logs crash` shows its output
    q: does not run, because the project is not trusted; `haft trust` reviews and trusts it
    pinned: failed 2 h ago (pin_mismatch): exited with status 1: NameError: x; `haft ext trust pinned` shows the changes and asks
    ");
}

#[test]
fn fits_every_line_into_terminal() {
    let mut long = row(
        &"n".repeat(64),
        ExtensionOrigin::Project,
        InstallStatus::NotApproved,
        "/w/.haft/extensions/long",
    );
    long.row.version = Some("1.0.0-alpha.20261122".into());
    let deep = row(
        "deep",
        ExtensionOrigin::Global,
        InstallStatus::Enabled,
        "/very/deep/directory/somewhere/on/this/machine/src/deep",
    );
    insta::assert_snapshot!(render_table(&[long, deep], &places(), 80), @"
    NAME  VERSION         SCOPE    STATE       SANDBOX  FROM
    nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn
          1.0.0-alpha.2…  project  unapproved  -        ./.haft/extensions/long
    deep  1.0.0           global   enabled     none     …/on/this/machine/src/deep
    ");
}

#[track_caller]
fn check(text: &str, room: usize, expect: (&str, &str)) {
    assert_eq!((truncate_end(text, room).as_str(), truncate_start(text, room).as_str()), expect);
}

#[test]
fn truncates_texts_at_start_and_end() {
    check("abc", 3, ("abc", "abc"));
    check("abcd", 3, ("ab…", "…cd"));
    check("/srv/me/src", 9, ("/srv/me/…", "…/me/src"));
    check("日本語", 5, ("日本…", "…本語"));
    check("日本語", 4, ("日…", "…語"));
}
