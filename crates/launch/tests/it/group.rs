//! Tests of process groups: a group ends as a whole.

use std::os::unix::process::ExitStatusExt;

use haft_launch::{GroupChild, SpawnOptions, StdioMode};
use rustix::process::Pid;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use crate::support::{PATIENCE, eventually, is_gone};

/// A shell with a grandchild that would outlive it; the first line of output is the grandchild's id.
const WITH_GRANDCHILD: &str = "sleep 600 & echo $!; wait";

async fn shell(script: &str) -> (GroupChild, BufReader<tokio::process::ChildStdout>) {
    let mut spec = SpawnOptions::new("/bin/sh", "/").args(["-c", script]);
    spec.stdout = StdioMode::Piped;
    let mut child = GroupChild::spawn(spec).unwrap();
    let stdout = child.take_stdout().unwrap();
    assert!(child.take_stdout().is_none());
    (child, BufReader::new(stdout))
}

async fn pid_line(stdout: &mut BufReader<tokio::process::ChildStdout>) -> Pid {
    let mut line = String::new();
    tokio::time::timeout(PATIENCE, stdout.read_line(&mut line)).await.unwrap().unwrap();
    Pid::from_raw(line.trim().parse().unwrap()).unwrap()
}

async fn wait_until_gone(pid: Pid) {
    assert!(eventually(PATIENCE, || is_gone(pid)).await, "the process should be gone");
}

#[tokio::test]
async fn kill_reaches_the_grandchild() {
    let (mut child, mut stdout) = shell(WITH_GRANDCHILD).await;
    let grandchild = pid_line(&mut stdout).await;
    child.kill().unwrap();
    let status = tokio::time::timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
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
    // All writing ends of the pipe are closed.
    let mut rest = Vec::new();
    tokio::time::timeout(PATIENCE, stdout.read_to_end(&mut rest)).await.unwrap().unwrap();
}

#[tokio::test]
async fn terminate_lets_the_program_clean_up() {
    let (mut child, mut stdout) =
        // sleep: a step of a loop that ends by the signal
        shell("trap 'echo bye; exit 7' TERM; echo 1; while :; do sleep 0.05; done").await;
    pid_line(&mut stdout).await;
    child.terminate().unwrap();
    let status = tokio::time::timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(7));
    let mut rest = String::new();
    tokio::time::timeout(PATIENCE, stdout.read_to_string(&mut rest)).await.unwrap().unwrap();
    assert_eq!(rest, "bye\n");
}

#[tokio::test]
async fn kill_reaches_processes_left_by_an_ended_leader() {
    let (mut child, mut stdout) = shell("sleep 600 & echo $!").await;
    let left = pid_line(&mut stdout).await;
    let status = tokio::time::timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
    assert!(status.success());
    assert!(!is_gone(left));
    child.kill().unwrap();
    wait_until_gone(left).await;
}

#[tokio::test]
async fn released_processes_keep_running() {
    let (mut child, mut stdout) = shell("sleep 600 & echo $!").await;
    let left = pid_line(&mut stdout).await;
    child.wait().await.unwrap();
    child.release();
    assert!(!is_gone(left));
    rustix::process::kill_process(left, rustix::process::Signal::KILL).unwrap();
}
