//! Random commands: each is answered once, one job runs at a time, and no job is lost.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A step of the test.
#[derive(Debug, Clone, Copy)]
enum Step {
    Command(usize),
    /// Finishes one of the commands that run beside the job, by index; true for success.
    Done(usize, bool),
    Add,
    Ended,
    Finish,
    Shutdown,
}

/// Commands of every kind that the scheduler treats differently.
const COMMANDS: [(&str, &str); 13] = [
    ("prompt", r#""message":"x""#),
    ("prompt", r#""message":"""#),
    ("compact", ""),
    ("abort", ""),
    ("abort", r#""queued":true"#),
    ("clear", ""),
    ("move_to", ""),
    ("get_state", ""),
    ("wait_idle", ""),
    ("run_command", r#""name":"x""#),
    ("set_model", r#""model":"m""#),
    ("reload_ext", ""),
    ("close_session", ""),
];

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        // Closing a session ends nearly everything, so it is rare.
        24 => (0..COMMANDS.len() - 1).prop_map(Step::Command),
        1 => Just(Step::Command(COMMANDS.len() - 1)),
        8 => (any::<usize>(), any::<bool>()).prop_map(|(at, fails)| Step::Done(at, fails)),
        2 => Just(Step::Add),
        12 => Just(Step::Ended),
        1 => Just(Step::Finish),
        1 => Just(Step::Shutdown),
    ]
}

/// A model of the caller that applies the effects and checks the guarantees.
#[derive(Default)]
struct Shell {
    desk: CommandScheduler,
    /// The number of replies to each command, by id.
    answers: BTreeMap<String, usize>,
    /// The commands that run beside the job; true if no job may start before they are done.
    doing: Vec<(CommandTicket, bool)>,
    works: bool,
    closed: bool,
    finished: bool,
    /// Accepted jobs that have not started, by the id of their command if they have one.
    waiting: VecDeque<Option<String>>,
    /// The command whose job starts next.
    begins: Option<String>,
}

impl Shell {
    fn step(&mut self, n: usize, step: Step) {
        match step {
            Step::Command(at) => self.command(n.to_string(), COMMANDS[at]),
            Step::Done(at, fails) if !self.doing.is_empty() => {
                let (ticket, _) = self.doing.remove(at % self.doing.len());
                let failure = || CommandFailure::new(ErrorCode::Failed, "x");
                let outcome = if fails { Err(failure()) } else { Ok(ReplyPayload::from_value(NoData {})) };
                let effects = self.desk.complete(ticket, outcome);
                self.carry_out(effects);
            }
            Step::Add if !self.finished => {
                if let Ok(effects) = self.desk.add_job(prompt("x")) {
                    self.waiting.push_back(None);
                    self.carry_out(effects);
                }
            }
            Step::Ended if self.works => {
                self.works = false;
                let effects = self.desk.job_ended();
                self.carry_out(effects);
            }
            Step::Finish => {
                self.finished = true;
                let effects = self.desk.finish();
                self.carry_out(effects);
            }
            Step::Shutdown => {
                self.finished = true;
                let effects = self.desk.shutdown();
                self.waiting.clear();
                self.carry_out(effects);
            }
            Step::Done(..) | Step::Add | Step::Ended => {}
        }
        assert_eq!(self.desk.is_working(), self.works);
        assert_eq!(self.desk.waiting_jobs(), self.waiting.len());
        let held = self.doing.iter().any(|(_, holds)| *holds);
        assert!(self.works || held || self.waiting.is_empty(), "a job waits but none runs");
    }

    fn command(&mut self, id: String, (kind, fields): (&str, &str)) {
        if self.finished {
            return;
        }
        self.answers.insert(id.clone(), 0);
        let effects = self.desk.command_from(client(&id), command(kind, fields));
        let refused = |effect: &SchedulerEffect| matches!(effect, SchedulerEffect::Reply(reply) if reply.id.as_deref() == Some(&id) && reply.outcome.is_err());
        let is_job = matches!(kind, "prompt" | "compact") && !effects.iter().any(refused);
        if is_job {
            self.waiting.push_back(Some(id.clone()));
        }
        if kind == "close_session" || fields.contains("queued") {
            self.waiting.clear();
        }
        self.carry_out(effects);
    }

    fn carry_out(&mut self, effects: Vec<SchedulerEffect>) {
        for effect in effects {
            assert!(!self.closed || matches!(effect, SchedulerEffect::Reply(_)), "{effect:?} behind the end");
            match effect {
                SchedulerEffect::Reply(RpcResponse { id, outcome, command }) => {
                    let id = id.unwrap();
                    let begins = matches!(command.as_str(), "prompt" | "compact") && outcome.is_ok();
                    self.begins = begins.then(|| id.clone());
                    *self.answers.get_mut(&id).unwrap() += 1;
                    assert_eq!(self.answers[&id], 1, "{command} {id} is answered twice");
                }
                SchedulerEffect::ReplyToExtension(..) => panic!("no extension sent a command"),
                SchedulerEffect::Do(ticket, command) => {
                    let leaves = matches!(command, Command::Clear(_) | Command::MoveTo(_));
                    assert!(!leaves || !self.works, "a job still runs");
                    let moves = matches!(command, Command::MoveTo(_));
                    let holds = moves || matches!(command, Command::SetModel(_) | Command::ReloadExt(_));
                    self.doing.push((ticket, holds));
                }
                SchedulerEffect::Start(_) => {
                    assert!(!self.works, "two jobs run at a time");
                    assert!(
                        self.doing.iter().all(|(_, holds)| !holds),
                        "started before a setup change was done"
                    );
                    self.works = true;
                    assert_eq!(self.waiting.pop_front(), Some(self.begins.take()), "jobs out of order");
                }
                SchedulerEffect::Stop => {
                    let moves = self.doing.iter().any(|(_, holds)| *holds);
                    assert!(self.works || moves, "nothing to stop");
                }
                SchedulerEffect::Close => {
                    assert!(!self.works, "closed while a job runs");
                    self.closed = true;
                    let last = self.desk.session_closed();
                    self.carry_out(last);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn every_command_is_answered_once(steps in prop::collection::vec(step(), 0..120), at_once in any::<bool>()) {
        let mut shell = Shell::default();
        let count = steps.len();
        for (n, step) in steps.into_iter().enumerate() {
            shell.step(n, step);
        }
        // Ends the session, either after the current jobs or at once.
        shell.step(count, if at_once { Step::Shutdown } else { Step::Finish });
        for _ in 0..2 * count + 2 {
            shell.step(count, Step::Done(0, false));
            shell.step(count, Step::Ended);
        }
        prop_assert!(shell.closed && shell.desk.is_closed());
        prop_assert!(shell.answers.values().all(|times| *times == 1), "{:?}", shell.answers);
    }
}
