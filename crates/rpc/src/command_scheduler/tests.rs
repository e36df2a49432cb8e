//! Tests of the scheduler with scripts of commands and results, and with random steps.

mod random;
mod under_way;

use haft_protocol::rpc::{BOUNDS, read_request};
use insta::assert_snapshot;

use super::*;

/// Formats the data of a reply as in its line.
fn spoken(data: &ReplyPayload) -> String {
    let json = data.to_json().unwrap();
    if json.as_str() == "{}" { "done".to_owned() } else { json.as_str().to_owned() }
}

/// Plays a script. A step is a command as `ID TYPE [FIELDS]`, or the name of a method of
/// [`CommandScheduler`] that reports a result.
#[track_caller]
fn played(script: &str) -> String {
    let mut desk = CommandScheduler::default();
    script.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| turn(&mut desk, line)).collect()
}

fn turn(desk: &mut CommandScheduler, line: &str) -> String {
    let words: Vec<&str> = line.splitn(3, ' ').collect();
    let effects = match words.as_slice() {
        ["ended"] => desk.job_ended(),
        ["finish"] => desk.finish(),
        ["shutdown"] => desk.shutdown(),
        ["closed"] => desk.session_closed(),
        ["own"] => {
            desk.begin_own_run();
            Vec::new()
        }
        ["reopen"] => {
            assert!(desk.reopen());
            Vec::new()
        }
        ["done", ticket] => {
            desk.complete(CommandTicket(ticket.parse().unwrap()), Ok(ReplyPayload::from_value(NoData {})))
        }
        ["failed", ticket] => {
            let failure = CommandFailure::new(ErrorCode::Failed, "no disk");
            desk.complete(CommandTicket(ticket.parse().unwrap()), Err(failure))
        }
        ["add", message] => match desk.add_job(prompt(message)) {
            Ok(effects) => effects,
            Err(failure) => return format!("{line}\n  not added: {failure}\n"),
        },
        ["withdraw", id] => desk.withdraw_command(ExtensionCommandId(id.parse().unwrap())),
        ["ext", kind] => {
            desk.command_from(CommandSource::Extension(ExtensionCommandId(1)), command(kind, ""))
        }
        ["ext", kind, fields] => {
            desk.command_from(CommandSource::Extension(ExtensionCommandId(1)), command(kind, fields))
        }
        [id, kind] => desk.command_from(client(id), command(kind, "")),
        [id, kind, fields] => desk.command_from(client(id), command(kind, fields)),
        _ => panic!("unknown step: {line}"),
    };
    let shown: String = effects.iter().map(|effect| format!("  {}\n", shown(effect))).collect();
    format!("{line}\n{shown}")
}

fn prompt(message: &str) -> SessionJob {
    SessionJob::Prompt(PromptCommand { message: message.to_owned(), images: Vec::new(), plain: None })
}

fn client(id: &str) -> CommandSource {
    CommandSource::Client(Some(id.to_owned()))
}

fn command(kind: &str, fields: &str) -> Command {
    let comma = if fields.is_empty() { "" } else { "," };
    let line = format!(r#"{{"type":"{kind}"{comma}{fields}}}"#);
    read_request(line.as_bytes(), BOUNDS).unwrap().command
}

fn shown(effect: &SchedulerEffect) -> String {
    match effect {
        SchedulerEffect::Reply(RpcResponse { id, command, outcome }) => {
            let id = id.as_deref().unwrap_or("-");
            match outcome {
                Ok(data) => format!("{id} {command}: {}", spoken(data)),
                Err(failure) => format!("{id} {command}: {}: {failure}", failure.code),
            }
        }
        SchedulerEffect::ReplyToExtension(ExtensionCommandId(id), outcome) => match outcome {
            Ok(data) => format!("to extension {id}: {}", spoken(data)),
            Err(failure) => format!("to extension {id}: {}: {failure}", failure.code),
        },
        SchedulerEffect::Do(CommandTicket(ticket), command) => format!("do {} as {ticket}", command.kind()),
        SchedulerEffect::Start(SessionJob::Prompt(prompt)) => format!("start {:?}", prompt.message),
        SchedulerEffect::Start(SessionJob::ExtensionPrompt(prompt)) => {
            format!("start for an extension {:?}", prompt.message)
        }
        SchedulerEffect::Start(SessionJob::Message(prompt)) => {
            format!("start as it stands {:?}", prompt.message)
        }
        SchedulerEffect::Start(SessionJob::Resume) => "start a run".to_owned(),
        SchedulerEffect::Start(SessionJob::Compact(_)) => "start compact".to_owned(),
        SchedulerEffect::Stop => "stop".to_owned(),
        SchedulerEffect::Close => "close".to_owned(),
    }
}

#[test]
fn prompts_run_in_order_and_are_answered_at_their_start() {
    let script = r#"
        1 prompt "message":"a"
        2 prompt "message":"b"
        3 compact
        4 prompt "message":"c"
        ended
        ended
        ended
        ended
    "#;
    assert_snapshot!(played(script), @r#"
    1 prompt "message":"a"
      1 prompt: {"started":true}
      start "a"
    2 prompt "message":"b"
    3 compact
    4 prompt "message":"c"
    ended
      2 prompt: {"started":true}
      start "b"
    ended
      3 compact: {"started":true}
      start compact
    ended
      4 prompt: {"started":true}
      start "c"
    ended
    "#);
}

#[test]
fn other_commands_run_at_once() {
    let script = r#"
        1 get_state
        2 prompt "message":"a"
        3 steer "message":"b"
        4 set_model "model":"m"
        failed 3
        done 1
        done 1
        done 4
        done 9
    "#;
    assert_snapshot!(played(script), @r#"
    1 get_state
      do get_state as 1
    2 prompt "message":"a"
      2 prompt: {"started":true}
      start "a"
    3 steer "message":"b"
      do steer as 3
    4 set_model "model":"m"
      do set_model as 4
    failed 3
      3 steer: failed: no disk
    done 1
      1 get_state: done
    done 1
    done 4
      4 set_model: done
    done 9
    "#);
}

#[test]
fn abort_stops_the_job_and_the_next_starts() {
    let script = r#"
        1 abort
        2 prompt "message":"a"
        3 prompt "message":"b"
        4 abort
        ended
        5 prompt "message":"c"
        6 prompt "message":"d"
        add e
        7 abort "queued":true
        ended
    "#;
    assert_snapshot!(played(script), @r#"
    1 abort
      1 abort: done
    2 prompt "message":"a"
      2 prompt: {"started":true}
      start "a"
    3 prompt "message":"b"
    4 abort
      4 abort: done
      stop
    ended
      3 prompt: {"started":true}
      start "b"
    5 prompt "message":"c"
    6 prompt "message":"d"
    add e
    7 abort "queued":true
      7 abort: done
      5 prompt: aborted: cancelled by `abort` before it started
      6 prompt: aborted: cancelled by `abort` before it started
      stop
    ended
    "#);
}

#[test]
fn clear_requires_an_idle_session() {
    let script = r#"
        1 clear
        done 1
        2 prompt "message":"a"
        3 clear
        ended
        4 clear
        failed 3
    "#;
    assert_snapshot!(played(script), @r#"
    1 clear
      do clear as 1
    done 1
      1 clear: done
    2 prompt "message":"a"
      2 prompt: {"started":true}
      start "a"
    3 clear
      3 clear: busy: the session is busy; wait for `done`, or send `abort` first
    ended
    4 clear
      do clear as 3
    failed 3
      4 clear: failed: no disk
    "#);
}

#[test]
fn empty_prompt_is_rejected_unless_it_has_an_image() {
    let script = r#"
        1 prompt "message":" \n"
        2 prompt "message":"","images":[{"mime_type":"image/png","data":"AA=="}]
    "#;
    assert_snapshot!(played(script), @r#"
    1 prompt "message":" \n"
      1 prompt: empty_message: the message is empty; add a text
    2 prompt "message":"","images":[{"mime_type":"image/png","data":"AA=="}]
      2 prompt: {"started":true}
      start ""
    "#);
}

#[test]
fn number_of_waiting_prompts_is_limited() {
    let mut desk = CommandScheduler::default();
    for n in 0..=MOST_WAITING {
        desk.command_from(client("1"), command("prompt", &format!(r#""message":"{n}""#)));
    }
    assert_eq!(desk.waiting_jobs(), MOST_WAITING);
    assert_snapshot!(turn(&mut desk, r#"2 prompt "message":"x""#) + &turn(&mut desk, "add x") + &turn(&mut desk, "3 compact"), @r#"
    2 prompt "message":"x"
      2 prompt: queue_full: 64 prompts wait already; wait for some to begin, or abort them
    add x
      not added: 64 prompts wait already; wait for some to begin, or abort them
    3 compact
      3 compact: queue_full: 64 prompts wait already; wait for some to begin, or abort them
    "#);
}

#[test]
fn prompt_of_a_command_runs_without_a_reply() {
    let script = r#"
        1 run_command "name":"todo"
        add a
        done 1
        2 prompt "message":"b"
        ended
    "#;
    assert_snapshot!(played(script), @r#"
    1 run_command "name":"todo"
      do run_command as 1
    add a
      start "a"
    done 1
      1 run_command: done
    2 prompt "message":"b"
    ended
      2 prompt: {"started":true}
      start "b"
    "#);
}

#[test]
fn end_of_input_finishes_accepted_commands() {
    let script = r#"
        1 prompt "message":"a"
        2 prompt "message":"b"
        3 run_command "name":"todo"
        finish
        ended
        ended
        add c
        done 3
        ended
        closed
    "#;
    assert_snapshot!(played(script), @r#"
    1 prompt "message":"a"
      1 prompt: {"started":true}
      start "a"
    2 prompt "message":"b"
    3 run_command "name":"todo"
      do run_command as 3
    finish
    ended
      2 prompt: {"started":true}
      start "b"
    ended
    add c
      start "c"
    done 3
      3 run_command: done
    ended
      close
    closed
    "#);
    assert_snapshot!(played("finish\nclosed\nfinish\nshutdown"), @r#"
    finish
      close
    closed
    finish
    shutdown
    "#);
}

#[test]
fn session_closes_when_idle() {
    let script = r#"
        1 prompt "message":"a"
        2 prompt "message":"b"
        3 get_state
        4 close_session
        5 prompt "message":"c"
        6 close_session
        done 2
        add d
        ended
        7 get_state
        closed
        closed
    "#;
    assert_snapshot!(played(script), @r#"
    1 prompt "message":"a"
      1 prompt: {"started":true}
      start "a"
    2 prompt "message":"b"
    3 get_state
      do get_state as 3
    4 close_session
      2 prompt: shutdown: command not run: the session is closed or haft is ending; use another session or restart haft
      3 get_state: shutdown: command not run: the session is closed or haft is ending; use another session or restart haft
      stop
    5 prompt "message":"c"
      5 prompt: shutdown: command not run: the session is closed or haft is ending; use another session or restart haft
    6 close_session
      6 close_session: shutdown: command not run: the session is closed or haft is ending; use another session or restart haft
    done 2
    add d
      not added: command not run: the session is closed or haft is ending; use another session or restart haft
    ended
      close
    7 get_state
      7 get_state: shutdown: command not run: the session is closed or haft is ending; use another session or restart haft
    closed
      4 close_session: done
    closed
    "#);
    assert_snapshot!(played("1 close_session\nclosed"), @r#"
    1 close_session
      close
    closed
      1 close_session: done
    "#);
}

#[test]
fn shutdown_answers_all_open_commands() {
    let script = r#"
        1 prompt "message":"a"
        2 compact
        3 run_command "name":"todo"
        shutdown
        shutdown
        finish
        done 3
        ended
        ended
        closed
    "#;
    assert_snapshot!(played(script), @r#"
    1 prompt "message":"a"
      1 prompt: {"started":true}
      start "a"
    2 compact
    3 run_command "name":"todo"
      do run_command as 3
    shutdown
      2 compact: shutdown: command not run: the session is closed or haft is ending; use another session or restart haft
      3 run_command: shutdown: command not run: the session is closed or haft is ending; use another session or restart haft
      stop
    shutdown
    finish
    done 3
    ended
      close
    ended
    closed
    "#);
}

#[test]
fn wait_idle_is_answered_when_no_job_runs_or_waits() {
    let script = r#"
        1 wait_idle
        2 prompt "message":"a"
        3 prompt "message":"b"
        4 wait_idle
        ended
        5 wait_idle
        ended
        6 set_model "model":"m"
        7 wait_idle
        done 5
    "#;
    assert_snapshot!(played(script), @r#"
    1 wait_idle
      1 wait_idle: done
    2 prompt "message":"a"
      2 prompt: {"started":true}
      start "a"
    3 prompt "message":"b"
    4 wait_idle
    ended
      3 prompt: {"started":true}
      start "b"
    5 wait_idle
    ended
      4 wait_idle: done
      5 wait_idle: done
    6 set_model "model":"m"
      do set_model as 5
    7 wait_idle
    done 5
      6 set_model: done
      7 wait_idle: done
    "#);
}

#[test]
fn withdrawn_prompt_of_an_extension_does_not_start() {
    let script = r#"
        1 prompt "message":"a"
        ext prompt "message":"b"
        withdraw 1
        ext wait_idle
        withdraw 1
        ended
        ext get_state
        withdraw 1
        done 4
        ext prompt "message":"c"
        withdraw 1
        withdraw 9
    "#;
    assert_snapshot!(played(script), @r#"
    1 prompt "message":"a"
      1 prompt: {"started":true}
      start "a"
    ext prompt "message":"b"
    withdraw 1
    ext wait_idle
    withdraw 1
    ended
    ext get_state
      do get_state as 4
    withdraw 1
    done 4
      to extension 1: done
    ext prompt "message":"c"
      to extension 1: {"started":true}
      start for an extension "c"
    withdraw 1
    withdraw 9
    "#);
}

#[test]
fn shutdown_answers_extensions() {
    let script = r#"
        1 prompt "message":"a"
        ext wait_idle
        shutdown
    "#;
    assert_snapshot!(played(script), @r#"
    1 prompt "message":"a"
      1 prompt: {"started":true}
      start "a"
    ext wait_idle
    shutdown
      to extension 1: shutdown: command not run: the session is closed or haft is ending; use another session or restart haft
      stop
    "#);
}

#[test]
fn abort_stops_a_move() {
    let script = r#"
        1 move_to
        2 move_to
        3 abort
        failed 1
        4 abort
    "#;
    assert_snapshot!(played(script), @"
    1 move_to
      do move_to as 1
    2 move_to
      2 move_to: busy: the session is busy; wait for `done`, or send `abort` first
    3 abort
      3 abort: done
      stop
    failed 1
      1 move_to: failed: no disk
    4 abort
      4 abort: done
    ");
}
