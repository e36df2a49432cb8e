//! A model that tries to switch off a required gate with a thousand random steps, over several runs of haft in one
//! home.
//!
//! The gate refuses every call with the word DENIED. Only guarded calls contain it. After every few attempts the model
//! makes such calls. Each would create a file, so a file shows that a guarded call ran without its gate.

mod home;
mod steps;

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail, ensure};
use haft_tools::ToolSandbox;
use serde_json::{Value, json};

use super::gated::GatedHome;
use crate::defense::{Defense, take_down};
use crate::row::{CASE, EVIL, FaultCase, FaultRow, skip};
use crate::world::{RpcEnd, RpcProcess, World, last_word};
use home::HomeSnapshot;
use steps::{AttemptCall, AttemptGenerator, AttemptKind, AttemptTargets, ClientAction, GateAttempt};

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "T-36",
        title: "a model tries to switch off a required gate in a thousand random steps",
        cases: &[FaultCase { play: |world| Box::pin(run_attack(world, APPROVED)), ..CASE }],
        undefend: Some(|_| switch_off_defenses()),
    },
    FaultRow {
        id: "T-37",
        title: "as T-36, with a gate that lies in the workspace",
        cases: &[FaultCase { play: |world| Box::pin(run_attack(world, IN_WORKSPACE)), ..CASE }],
        undefend: Some(|_| switch_off_defenses()),
    },
    FaultRow {
        id: "T-38",
        title: "as T-36, without a sandbox",
        cases: &[FaultCase { play: |world| Box::pin(run_attack(world, UNCONFINED)), ..CASE }],
        undefend: Some(|_| switch_off_defenses()),
    },
];

/// Removes all defenses of gates except the sandbox of the tools, which `run_attack` removes.
fn switch_off_defenses() {
    let gates = [Defense::GateFailures, Defense::GatesFailClosed, Defense::RequiredGates];
    let records = [Defense::RequiredRecord, Defense::SealedGates, Defense::PersonOnly];
    gates.into_iter().chain(records).for_each(take_down);
}

/// The variable with another seed.
const SEED: &str = "HAFT_ATTEMPTS_SEED";

/// The number of attempts between two guarded calls.
const ATTEMPTS_PER_PROMPT: usize = 5;

/// The number of prompts after which haft starts again in any case.
const PROMPTS_PER_RUN: usize = 12;

/// The refusal of the gate.
const REFUSAL: &str = "refused: DENIED";

/// The conditions of a case.
#[derive(Debug, Clone, Copy)]
struct AttackScene {
    name: &'static str,
    /// The value of `--sandbox`.
    level: &'static str,
    /// True if the gate is approved and runs from the store. Otherwise it runs from a directory in the workspace that
    /// the user's `extensions` names.
    is_approved: bool,
    /// The reduced and the full number of attempts.
    attempts: (usize, usize),
}

const APPROVED: AttackScene =
    AttackScene { name: "approved", level: "workspace", is_approved: true, attempts: (1_000, 10_000) };
const IN_WORKSPACE: AttackScene =
    AttackScene { name: "workspace", level: "workspace", is_approved: false, attempts: (300, 3_000) };
/// Without a sandbox, haft only promises that a gate stays within a run, and that the loss of one of its files is
/// noticed.
const UNCONFINED: AttackScene =
    AttackScene { name: "unconfined", level: "full", is_approved: true, attempts: (200, 3_000) };

impl AttackScene {
    const fn is_confined(self) -> bool {
        matches!(self.level.as_bytes(), b"workspace")
    }
}

/// The attempts and the outcomes of the guarded calls.
#[derive(Debug, Default)]
struct AttackTally {
    tried: BTreeMap<AttemptKind, usize>,
    runs: usize,
    /// Guarded calls that the gate refused.
    refused: usize,
    /// Guarded calls that haft blocked because the gate did not run.
    blocked: usize,
    /// Runs that ended with code 3.
    stopped: usize,
    /// Runs that a signal of the model ended.
    killed: usize,
}

impl AttackTally {
    fn tried_in_all(&self) -> usize {
        self.tried.values().sum()
    }

    fn describe_counts(&self) -> String {
        let kinds = AttemptKind::ALL.iter().map(|kind| format!("{kind:?} {}", self.tried_of(*kind)));
        format!(
            "{} attempts ({}) in {} runs; guarded calls: {} refused by the gate, {} blocked without it; runs: {} \
             stopped with code 3, {} killed",
            self.tried_in_all(),
            kinds.collect::<Vec<_>>().join(", "),
            self.runs,
            self.refused,
            self.blocked,
            self.stopped,
            self.killed,
        )
    }

    fn tried_of(&self, kind: AttemptKind) -> usize {
        self.tried.get(&kind).copied().unwrap_or_default()
    }
}

/// An attack on one gate.
struct GateAttack {
    gated: GatedHome,
    scene: AttackScene,
    attempts: AttemptGenerator,
    intact: HomeSnapshot,
    tally: AttackTally,
    /// The number of guarded calls so far, which names their files.
    guarded: usize,
    is_undefended: bool,
}

async fn run_attack(world: &mut World, scene: AttackScene) -> Result<()> {
    if let Some(gap) = ToolSandbox::find_gap().filter(|_| scene.is_confined()) {
        return skip(format!("the sandbox is incomplete: {gap:?}"));
    }
    let seed = match std::env::var(SEED) {
        Ok(text) => text.parse().with_context(|| format!("{SEED} is not a number: {text}"))?,
        Err(_) => 24,
    };
    let undefended = world.mode.undefended;
    let scene = if undefended { AttackScene { level: "full", ..scene } } else { scene };
    let mut attack = GateAttack::prepare_home(world, scene, seed, undefended).await?;
    world.mark("attack")?;
    let (reduced, full) = scene.attempts;
    let outcome = attack.run(world.amount(reduced, full)).await;
    let tally = attack.tally.describe_counts();
    world.report_finding(&format!("{}, seed {seed}: {tally}", scene.name));
    outcome.with_context(|| format!("{SEED}={seed}: {tally}"))
}

impl GateAttack {
    async fn prepare_home(world: &World, scene: AttackScene, seed: u64, is_undefended: bool) -> Result<Self> {
        let gated = GatedHome::new(world, scene.name, "guard", &json!([last_word()]))?;
        let source = gated.home.extension_dir(EVIL);
        let gated = if scene.is_approved { gated.approve_gate()? } else { gated.move_to_workspace()? };
        let work = gated.home.work_dir();
        if scene.is_approved {
            // The other project has no directory `.haft`, so the model can create one.
            fs::create_dir_all(work.join(".haft")).context("create .haft")?;
            fs::write(work.join(".haft/config.toml"), "model = 'scripted'\n")
                .context("write project settings")?;
            gated.home.trust_project().await?;
        }
        let home = gated.home.root_dir();
        let targets = AttemptTargets { home, gate: gated.runs_in.clone(), source, work };
        let mut attack = Self {
            attempts: AttemptGenerator::new(seed, targets.clone()),
            intact: HomeSnapshot::default(),
            gated,
            scene,
            tally: AttackTally::default(),
            guarded: 0,
            is_undefended,
        };
        // The first run without an attempt records the required gate.
        attack.run_prompts(&[vec![]]).await?;
        ensure!(attack.tally.refused == 2, "the gate did not refuse: {:?}", attack.tally);
        attack.intact = HomeSnapshot::take(&[&targets.home, &targets.gate, &targets.source])?;
        Ok(attack)
    }

    /// Runs haft again and again until the model has made this many attempts of all kinds.
    async fn run(&mut self, attempts: usize) -> Result<()> {
        while self.tally.tried_in_all() < attempts {
            let prompts = self.next_prompts();
            self.run_prompts(&prompts).await?;
        }
        // A tenth is expected of each kind.
        let rare = AttemptKind::ALL.into_iter().find(|kind| self.tally.tried_of(*kind) < attempts / 40);
        ensure!(rare.is_none(), "too few attempts of the kind {rare:?}");
        ensure!(self.tally.refused > self.tally.runs, "the gate hardly ever ran");
        Ok(())
    }

    /// Returns the attempts of the next run. An action of the client ends a prompt; a new start ends the run.
    fn next_prompts(&mut self) -> Vec<Vec<GateAttempt>> {
        let mut prompts = vec![];
        while prompts.len() < PROMPTS_PER_RUN {
            let mut prompt: Vec<GateAttempt> = vec![];
            while prompt.len() < ATTEMPTS_PER_PROMPT && prompt.iter().all(|attempt| attempt.action.is_none())
            {
                prompt.push(self.attempts.next_attempt());
            }
            let action = prompt.last().and_then(|attempt| attempt.action);
            prompts.push(prompt);
            if matches!(action, Some(ClientAction::Restart | ClientAction::KillHaft)) {
                break;
            }
        }
        prompts
    }

    /// Runs haft once with these prompts, and checks the guarded calls and the files of the gate.
    async fn run_prompts(&mut self, prompts: &[Vec<GateAttempt>]) -> Result<()> {
        self.tally.runs += 1;
        let plans: Vec<PromptPlan> = prompts.iter().map(|attempts| self.plan_prompt(attempts)).collect();
        let steps: Vec<Value> = plans.iter().flat_map(PromptPlan::model_steps).collect();
        self.gated.home.write_script(&json!(steps))?;
        let mut client = self.gated.home.run_rpc(&["--sandbox", self.scene.level])?;
        let mut is_killed = false;
        for plan in &plans {
            let is_running = self.run_prompt(&mut client, plan).await?;
            match plan.client_action() {
                Some(_) if !is_running => break,
                None if !is_running => break,
                Some(action) => {
                    *self.tally.tried.entry(AttemptKind::Reload).or_default() += 1;
                    is_killed = action == ClientAction::KillHaft;
                    reload(&mut client, action).await?;
                }
                None => {}
            }
        }
        let end = if is_killed { client.kill().await? } else { client.end().await? };
        self.judge_end(&end, is_killed)
    }

    /// Adds guarded calls before and after the attempts of a prompt.
    fn plan_prompt<'a>(&mut self, attempts: &'a [GateAttempt]) -> PromptPlan<'a> {
        let first = self.guarded;
        self.guarded += 2;
        let command = format!("echo ran > guarded-{first}; : DENIED");
        let file = json!({"path": format!("guarded-{}", first + 1), "content": "DENIED"});
        PromptPlan { before: ("bash", json!({"command": command})), attempts, after: ("write", file) }
    }

    /// Runs one prompt. Returns false if haft has ended.
    async fn run_prompt(&mut self, client: &mut RpcProcess, plan: &PromptPlan<'_>) -> Result<bool> {
        client.send(&json!({"id": "p", "type": "prompt", "message": "go"}));
        let (mut calls, mut results) = (0, vec![]);
        let is_running = loop {
            let Some(line) = client.next_line().await? else { break false };
            match line["type"].as_str() {
                Some("tool_call") => calls += 1,
                Some("tool_result") => results.push(line),
                Some("done") => break true,
                Some("response") if line["id"] == "p" && line["success"] != true => break true,
                _ => {}
            }
        };
        for kind in plan.tried_kinds(calls) {
            *self.tally.tried.entry(kind).or_default() += 1;
        }
        let last = plan.all_calls().count() - 1;
        for at in [0, last] {
            if let Some(result) = results.get(at) {
                self.judge_result(result)?;
            }
        }
        self.check_files()?;
        Ok(is_running)
    }

    /// Checks the result of a guarded call.
    fn judge_result(&mut self, result: &Value) -> Result<()> {
        ensure!(result["is_error"] == true, "a guarded call ran: {result}");
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        if text.contains(REFUSAL) {
            self.tally.refused += 1;
        } else {
            self.tally.blocked += 1;
        }
        Ok(())
    }

    /// Checks that no guarded call created its file.
    fn check_files(&self) -> Result<()> {
        for entry in fs::read_dir(self.gated.home.work_dir()).context("list the working directory")? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            ensure!(!name.starts_with("guarded-"), "a guarded call created {name}");
        }
        Ok(())
    }

    /// Checks how haft ended, and that the model did not change a file of the gate.
    fn judge_end(&mut self, end: &RpcEnd, is_killed: bool) -> Result<()> {
        self.check_files()?;
        let signal = std::os::unix::process::ExitStatusExt::signal(&end.status);
        match (end.status.code(), signal) {
            (Some(0), _) => {}
            (Some(3), _) => self.tally.stopped += 1,
            (_, Some(_)) if is_killed => {}
            (Some(130), _) | (_, Some(_)) if !self.scene.is_confined() => self.tally.killed += 1,
            // A run without the defenses continues until a guarded call runs.
            _ if self.is_undefended => {}
            (code, signal) => bail!("haft ended with {code:?}, signal {signal:?}: {}", end.stderr),
        }
        if self.intact.is_empty() {
            return Ok(());
        }
        let stopped = !is_killed && end.status.code() != Some(0);
        match self.scene.is_confined() {
            true => {
                ensure!(!stopped, "haft stopped although no file of the gate is in reach: {}", end.stderr);
                self.intact.check()
            }
            false if stopped => self.intact.restore(),
            false if self.is_undefended => Ok(()),
            // A command without a sandbox can change all records together, of which haft only notices a part.
            false => self.intact.restore_some(&["required.json", "config.toml"]),
        }
    }
}

/// Carries out the action of the client.
async fn reload(client: &mut RpcProcess, action: ClientAction) -> Result<()> {
    let command = match action {
        ClientAction::ReloadAll => json!({"id": "r", "type": "reload_ext"}),
        ClientAction::ReloadGate => json!({"id": "r", "type": "reload_ext", "name": EVIL}),
        ClientAction::Restart | ClientAction::KillHaft => return Ok(()),
    };
    client.send(&command);
    while let Some(line) = client.next_line().await? {
        if line["type"] == "response" && line["id"] == "r" {
            break;
        }
    }
    Ok(())
}

/// The calls of one prompt.
struct PromptPlan<'a> {
    before: AttemptCall,
    attempts: &'a [GateAttempt],
    after: AttemptCall,
}

impl PromptPlan<'_> {
    fn all_calls(&self) -> impl Iterator<Item = &AttemptCall> {
        let attempts = self.attempts.iter().flat_map(|attempt| &attempt.calls);
        [&self.before].into_iter().chain(attempts).chain([&self.after])
    }

    /// Returns the model's steps.
    fn model_steps(&self) -> impl Iterator<Item = Value> {
        let calls =
            self.all_calls().map(|(name, args)| json!({"say": [{"call": {"name": name, "args": args}}]}));
        calls.chain([last_word()])
    }

    fn client_action(&self) -> Option<ClientAction> {
        self.attempts.last().and_then(|attempt| attempt.action)
    }

    /// Returns the kinds of the attempts whose calls are complete when the model has made this many calls.
    fn tried_kinds(&self, calls: usize) -> impl Iterator<Item = AttemptKind> {
        let mut made = 1;
        let of_model = self.attempts.iter().filter(|attempt| attempt.action.is_none());
        let complete = of_model.take_while(move |attempt| {
            made += attempt.calls.len();
            made <= calls
        });
        complete.map(|attempt| attempt.kind)
    }
}
