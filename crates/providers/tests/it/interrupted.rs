//! Tests of a long session with many interruptions. Every transcript is valid for the provider (the model server
//! rejects any other), and no tool runs twice for one call.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use haft_core::error::TurnErrorKind;
use haft_core::session::Session;
use haft_core::tool::{Tool, ToolConcurrency, ToolContext, ToolOutput, ToolSpec};
use haft_core::{Agent, Run};
use haft_protocol::content::ToolCall;
use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};

use super::support::{DIALECTS, model};

/// The minimum number of turns per session.
const TURNS: usize = 30;

/// The number of interruptions per session; a full run of the checks sets a higher number.
fn interruptions() -> usize {
    std::env::var("HAFT_INTERRUPTIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(25)
}

#[tokio::test]
async fn interrupted_session_stays_valid_for_providers() {
    for (wire, _) in DIALECTS {
        let dir = TempDir::new(wire);
        let server = ModelServer::start(wire, Vec::new()).await;
        let mut world = World { wire, server, dice: Dice(0x9e37_79b9), runs: Arc::default(), path: None };
        let (mut turns, mut interrupted) = (0, 0);
        let mut agent = world.agent(&dir.0);
        while turns < TURNS || interrupted < interruptions() {
            turns += 1;
            match world.turn(&agent, turns).await {
                Turn::Ended => {}
                Turn::Interrupted => interrupted += 1,
                Turn::Crashed(left) => {
                    interrupted += 1;
                    drop(agent);
                    world.leave(&left);
                    agent = world.agent(&dir.0);
                }
            }
            assert_eq!(world.server.violations(), Vec::<String>::new(), "{wire:?}");
        }
        let runs = world.runs.lock().unwrap();
        assert!(runs.len() >= 10 && runs.values().all(|times| *times == 1), "{wire:?}: {runs:?}");
        assert_eq!(*agent.messages(), agent.session().context().messages);
    }
}

/// A deterministic random number generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A directory that is removed after the test.
struct TempDir(PathBuf);

impl TempDir {
    fn new(wire: WireFormat) -> Self {
        let name = format!("haft-interrupted-{}-{wire:?}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The outcome of a turn.
enum Turn {
    /// The turn ended normally.
    Ended,
    /// The turn was aborted, or its run was dropped.
    Interrupted,
    /// The program was killed and left these bytes.
    Crashed(Vec<u8>),
}

struct World {
    wire: WireFormat,
    server: ModelServer,
    dice: Dice,
    /// The number of runs of each call.
    runs: Arc<Mutex<HashMap<String, usize>>>,
    /// The session's file; `None` before it exists.
    path: Option<PathBuf>,
}

impl World {
    /// Builds an agent for the session as it was left.
    fn agent(&mut self, dir: &Path) -> Agent {
        let session = match self.path.as_ref().filter(|path| path.exists()) {
            Some(path) => Session::open(path).unwrap(),
            None => Session::create(dir, Path::new("/work")),
        };
        self.path = session.path();
        let tool = Counted(self.runs.clone());
        Agent::builder(model(&self.server, self.wire)).session(session).tool(tool).build().unwrap()
    }

    /// Restores the file, because a killed program cannot write the end of a run.
    fn leave(&mut self, left: &[u8]) {
        let Some(path) = self.path.take_if(|_| !left.is_empty()) else { return };
        std::fs::write(&path, left).unwrap();
        self.path = Some(path);
    }

    /// Runs one turn, with a new prompt or the rest of the last turn; interrupts it in most cases.
    async fn turn(&mut self, agent: &Agent, number: usize) -> Turn {
        self.prepare();
        let mut run = match self.dice.below(3) {
            0 => agent.resume(),
            _ => agent.prompt(format!("prompt {number}")),
        };
        if self.dice.below(3) == 0 {
            return self.to_the_end(run).await;
        }
        for _ in 0..self.dice.below(60) {
            if run.next().await.is_none() {
                return self.to_the_end(run).await;
            }
            match self.dice.below(40) {
                0 => drop(agent.steer("no, so")),
                1 => drop(agent.follow_up("and then")),
                _ => {}
            }
        }
        // Interrupts between two events, too.
        for _ in 0..self.dice.below(4) {
            let _ = futures::poll!(run.next());
        }
        match self.dice.below(3) {
            0 => {
                run.cancellation_token().cancel();
                match run.finish().await {
                    Ok(()) => Turn::Ended,
                    Err(error) if error.kind == TurnErrorKind::Aborted => Turn::Interrupted,
                    Err(error) => panic!("{:?}: {error}", self.wire),
                }
            }
            1 => Turn::Interrupted,
            _ => self.crash(),
        }
    }

    async fn to_the_end(&self, run: Run) -> Turn {
        match run.finish().await {
            Ok(()) => Turn::Ended,
            Err(error) if error.kind == TurnErrorKind::NothingToDo => Turn::Interrupted,
            Err(error) => panic!("{:?}: {error}", self.wire),
        }
    }

    /// Returns the bytes of the file, sometimes with half of the line that was being written.
    fn crash(&mut self) -> Turn {
        let mut left = self.path.as_ref().and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
        if self.dice.below(2) == 0 && !left.is_empty() {
            left.extend(br#"{"type":"message","id":"0123"#);
        }
        Turn::Crashed(left)
    }

    /// Prepares enough answers for a turn: thinking, text and calls, each call with its own id.
    fn prepare(&mut self) {
        while self.server.scenarios_left() < 100 {
            let mut answer = Scenario::new().think("Let me see.", "c2ln").cut_every(997);
            let calls = self.dice.below(2) * self.dice.below(4);
            if calls == 0 || self.dice.below(2) == 0 {
                answer = answer.say("It is like this: so.");
            }
            for _ in 0..calls {
                let id = format!("call_{}", self.dice.below(u64::MAX));
                answer = answer.tool(&id, "count", r#"{"what":"sheep"}"#);
            }
            self.server.push(answer);
        }
    }
}

/// Counts the runs of each of its calls, and yields several times.
struct Counted(Arc<Mutex<HashMap<String, usize>>>);

#[async_trait]
impl Tool for Counted {
    fn spec(&self) -> Arc<ToolSpec> {
        let schema = serde_json::json!({"type": "object", "properties": {"what": {"type": "string"}}});
        let concurrency = ToolConcurrency::Parallel;
        Arc::new(ToolSpec::new("count", "Counts.").with_schema(schema.into()).with_concurrency(concurrency))
    }

    async fn execute(&self, context: ToolContext, call: ToolCall) -> ToolOutput {
        *self.0.lock().unwrap().entry(call.id.as_str().to_owned()).or_default() += 1;
        for _ in 0..3 {
            context.progress("…");
            tokio::task::yield_now().await;
        }
        ToolOutput::text("1, 2, 3")
    }
}
