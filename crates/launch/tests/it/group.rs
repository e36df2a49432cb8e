//! A group dies whole.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use haft_launch::{GroupChild, Spawn, Stream};
use rustix::process::{Pid, test_kill_process};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

/// Generous: only a hang reaches it.
const LIMIT: Duration = Duration::from_secs(20);

/// A shell with a grandchild that would outlive it; the grandchild's id is the first line of output.
const WITH_GRANDCHILD: &str = "sleep 600 & echo $!; wait";

async fn shell(script: &str) -> (GroupChild, BufReader<tokio::process::ChildStdout>) {
    let mut spec = Spawn::new("/bin/sh", "/").args(["-c", script]);
    spec.stdout = Stream::Piped;
    let mut child = GroupChild::spawn(spec).unwrap();
    let stdout = child.take_stdout().unwrap();
    assert!(child.take_stdout().is_none());
    (child, BufReader::new(stdout))
}

async fn pid_line(stdout: &mut BufReader<tokio::process::ChildStdout>) -> Pid {
    let mut line = String::new();
    tokio::time::timeout(LIMIT, stdout.read_line(&mut line)).await.unwrap().unwrap();
    Pid::from_raw(line.trim().parse().unwrap()).unwrap()
}

/// Dead, or a zombie that nobody has reaped: an orphan's new parent may take its time.
fn is_gone(pid: Pid) -> bool {
    if test_kill_process(pid).is_err() {
        return true;
    }
    let stat = Path::new("/proc").join(pid.as_raw_nonzero().to_string()).join("stat");
    std::fs::read_to_string(stat).is_ok_and(|text| text.contains(") Z "))
}

async fn wait_until_gone(pid: Pid) {
    let poll = async {
        while !is_gone(pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, poll).await.expect("the process should be gone");
}

#[tokio::test]
async fn kill_reaches_the_grandchild() {
    let (mut child, mut stdout) = shell(WITH_GRANDCHILD).await;
    let grandchild = pid_line(&mut stdout).await;
    child.kill().unwrap();
    let status = tokio::time::timeout(LIMIT, child.wait()).await.unwrap().unwrap();
    assert_eq!(status.signal(), Some(9));
    wait_until_gone(grandchild).await;
    child.kill().unwrap();
}

#[tokio::test]
async fn drop_reaches_the_grandchild() {
    let (child, mut stdout) = shell(WITH_GRANDCHILD).await;
    let grandchild = pid_line(&mut stdout).await;
    drop(child);
    wait_until_gone(grandchild).await;
    // Nobody holds the pipe any more.
    let mut rest = Vec::new();
    tokio::time::timeout(LIMIT, stdout.read_to_end(&mut rest)).await.unwrap().unwrap();
}

#[tokio::test]
async fn terminate_lets_the_program_say_its_last_word() {
    let (mut child, mut stdout) =
        shell("trap 'echo bye; exit 7' TERM; echo 1; while :; do sleep 0.05; done").await;
    pid_line(&mut stdout).await;
    child.terminate().unwrap();
    let status = tokio::time::timeout(LIMIT, child.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(7));
    let mut rest = String::new();
    tokio::time::timeout(LIMIT, stdout.read_to_string(&mut rest)).await.unwrap().unwrap();
    assert_eq!(rest, "bye\n");
}

#[tokio::test]
async fn what_the_leader_left_behind_is_killed_after_its_end() {
    let (mut child, mut stdout) = shell("sleep 600 & echo $!").await;
    let left = pid_line(&mut stdout).await;
    let status = tokio::time::timeout(LIMIT, child.wait()).await.unwrap().unwrap();
    assert!(status.success());
    assert!(!is_gone(left));
    child.kill().unwrap();
    wait_until_gone(left).await;
}

#[tokio::test]
async fn released_processes_live_on() {
    let (mut child, mut stdout) = shell("sleep 600 & echo $!").await;
    let left = pid_line(&mut stdout).await;
    child.wait().await.unwrap();
    child.release();
    assert!(!is_gone(left));
    rustix::process::kill_process(left, rustix::process::Signal::KILL).unwrap();
}
