//! Commands that run beside the current job, and their effect on it.

use insta::assert_snapshot;

use super::super::*;
use super::{client, command, played, turn};

#[test]
fn prompt_waits_for_a_change_of_the_model() {
    let script = r#"
        1 set_model "model":"m"
        2 prompt "message":"a"
        3 clear
        4 get_state
        done 3
        done 1
        ended
        5 reload_ext
        6 abort "queued":true
        7 prompt "message":"b"
        finish
        failed 4
        ended
    "#;
    assert_snapshot!(played(script));
}

#[test]
fn number_of_open_commands_is_limited() {
    let mut desk = CommandScheduler::default();
    for id in 0..MOST_OPEN {
        let effects = desk.command_from(client(&id.to_string()), command("tree", ""));
        assert!(matches!(effects.as_slice(), [SchedulerEffect::Do(..)]));
    }
    let full = "256 commands are under way already; wait for some of their replies";
    assert_eq!(turn(&mut desk, "x tree"), format!("x tree\n  x tree: queue_full: {full}\n"));
    assert_eq!(turn(&mut desk, "y abort"), "y abort\n  y abort: done\n");
    assert_eq!(turn(&mut desk, "done 1"), "done 1\n  0 tree: done\n");
    assert_eq!(turn(&mut desk, "x tree"), "x tree\n  do tree as 257\n");
}

#[test]
fn move_blocks_jobs_and_other_moves() {
    let script = r#"
        1 move_to "entry":"3f2a"
        2 prompt "message":"a"
        3 move_to
        4 abort "queued":true
        5 clear
        done 1
        6 prompt "message":"b"
        7 move_to
    "#;
    assert_snapshot!(played(script));
}

#[test]
fn run_of_an_extension_waits_for_the_programs_own() {
    let script = r#"
        own
        finish
        ext prompt "message":"a"
        ended
        ended
    "#;
    assert_snapshot!(played(script));
}

#[test]
fn closed_process_carries_out_commands_of_extensions() {
    let script = r#"
        finish
        reopen
        ext get_models
        finish
        done 1
        reopen
        ext wait_idle
        finish
    "#;
    assert_snapshot!(played(script));
}
