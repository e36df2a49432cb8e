//! The world of one case: a fresh home directory, a host, a canary and the extensions that misbehave, with methods to
//! ask and check them.

mod ask;
mod events;
mod home;
mod program;
mod rpc;
mod setup;

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use haft_core::AgentBuilder;
use haft_core::tool::ToolContext;
use haft_host::{DiscoveredExtensions, ExtensionState, Frontend, HeadlessFrontend, Host, HostConfig};
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::ids::ToolCallId;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::canary::{CanaryControl, CanaryMonitor, RoundTrip};
use crate::oracle::HeapGrowth;
use crate::timeouts::{LITTLE_PATIENCE, LOOK, PATIENCE};
use ask::{GatedCall, PromptOutcome, ToolAnswer};
pub(crate) use ask::{QuestionTally, last_word};
pub(crate) use events::EventLog;
pub(crate) use home::{HaftHome, TerminalOutput};
pub(crate) use program::HaftProgram;
pub(crate) use rpc::{RpcEnd, RpcProcess};
pub(crate) use setup::{
    FATAL_TITLE, RecordingFrontend, RunMode, WorldSetup, extension_spec, misbehaving_spec,
};

/// The name of the extension that misbehaves.
pub(crate) const EVIL: &str = "evil";

/// Extensions and codes of `extension_error` events.
pub(crate) type ExpectedFaults = &'static [(&'static str, &'static str)];

/// The number of the canary's round trips in which a forbidden event would have happened.
const SURPLUS: usize = 12;

/// The world of one case.
pub(crate) struct World {
    pub(crate) host: Host,
    pub(crate) mode: RunMode,
    /// The directory of the case's frames, events and logs.
    pub(crate) dir: PathBuf,
    pub(crate) tag: String,
    pub(crate) events: EventLog,
    /// The extensions that the next reload finds.
    found: Arc<Mutex<DiscoveredExtensions>>,
    pub(crate) screen: Arc<RecordingFrontend>,
    pub(crate) canary: CanaryMonitor,
    pub(crate) tally: QuestionTally,
    /// Expected faults in addition to those of the case, whose number is known only at run time.
    pub(crate) also: Vec<(String, &'static str)>,
    /// The duration of the host's start.
    pub(crate) started_in: Duration,
    control: Arc<CanaryControl>,
    /// The configuration of the host.
    config: HostConfig,
    expect: ExpectedFaults,
}

impl World {
    /// Starts the host and all extensions.
    pub(crate) async fn start(
        setup: WorldSetup,
        expect: ExpectedFaults,
        control: Arc<CanaryControl>,
    ) -> Self {
        let (events, start) = (EventLog::default(), Instant::now());
        let WorldSetup { config, specs, mode, dir, tag, screen, headless } = setup;
        let frontend: Arc<dyn Frontend> = if headless { Arc::new(HeadlessFrontend) } else { screen.clone() };
        let host = Host::builder(config.clone()).events(events.sink()).frontend(frontend);
        let found = Arc::new(Mutex::new(DiscoveredExtensions::from(specs)));
        let source = Arc::clone(&found);
        let host = host.source(move || source.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let host = host.start().await;
        let started_in = start.elapsed();
        let canary = CanaryMonitor::watch(host.clone());
        Self {
            host,
            mode,
            dir,
            tag,
            events,
            found,
            screen,
            canary,
            tally: QuestionTally::default(),
            started_in,
            control,
            config,
            expect,
            also: Vec::new(),
        }
    }

    /// Starts a second host with the same home, the same extensions and this change, ends it, and returns the duration
    /// of the start.
    pub(crate) async fn start_again(&self, change: impl FnOnce(&mut HostConfig)) -> Duration {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut config = self.config.clone();
        change(&mut config);
        let start = Instant::now();
        let host = Host::builder(config).source(move || found.clone()).start().await;
        let took = start.elapsed();
        host.shutdown().await;
        took
    }

    /// Changes the extensions that the next reload finds.
    pub(crate) fn find(&self, change: impl FnOnce(&mut DiscoveredExtensions)) {
        change(&mut self.found.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns the reduced or the full amount.
    pub(crate) fn amount<T>(&self, reduced: T, full: T) -> T {
        if self.mode.full { full } else { reduced }
    }

    /// Waits until all expected faults are reported or, if none is expected, until the fault has happened. Then waits a
    /// little longer for unexpected faults.
    pub(crate) async fn wait_for_expected(&self) -> Result<()> {
        if self.expect.is_empty() {
            self.wait_until("the fault happens", || !self.marks().is_empty()).await?;
        } else {
            let all = self.expect.len();
            self.wait_until("every expected fault is reported", || self.events.faults().len() >= all).await?;
        }
        self.wait_for_trips(SURPLUS).await
    }

    /// Waits until the canary has been called `more` more times.
    pub(crate) async fn wait_for_trips(&self, more: usize) -> Result<()> {
        let enough = self.canary.count() + more;
        self.wait_until("the canary is called again", || self.canary.count() >= enough).await
    }

    /// Waits until a fault with this code is reported, and returns its message.
    pub(crate) async fn wait_for_fault(&self, code: &str) -> Result<String> {
        let find = || self.events.faults().into_iter().find(|fault| fault.code == code);
        self.wait_until(&format!("{code} is reported"), || find().is_some()).await?;
        Ok(find().map(|fault| fault.message).unwrap_or_default())
    }

    /// Waits until a condition holds.
    pub(crate) async fn wait_until(&self, what: &str, holds: impl Fn() -> bool) -> Result<()> {
        let start = Instant::now();
        let patience = self.patience();
        while !holds() {
            if start.elapsed() > patience {
                bail!("waited {} s, but not until {what}", patience.as_secs());
            }
            // sleep: between two checks
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Returns the longest wait for an event that must happen.
    pub(crate) fn patience(&self) -> Duration {
        if self.mode.undefended { LITTLE_PATIENCE } else { PATIENCE }
    }

    /// Waits for work that must end.
    pub(crate) async fn in_time<T>(&self, what: &str, work: impl Future<Output = T>) -> Result<T> {
        let patience = self.patience();
        let done = tokio::time::timeout(patience, work).await;
        done.with_context(|| format!("{what} takes longer than {} s", patience.as_secs()))
    }

    /// Fails if something took as long as a deadline.
    pub(crate) fn at_once(&self, what: &str, took: Duration) -> Result<()> {
        ensure!(took < self.patience(), "{what} took {took:?}");
        Ok(())
    }

    /// Waits until `rounds` more rounds have added less than `each` bytes per round to the heap. Other threads may need
    /// time to free memory.
    pub(crate) async fn wait_until_freed(&self, growth: &HeapGrowth, rounds: u64, each: u64) -> Result<()> {
        let is_freed = || growth.check(rounds, each).is_ok();
        match self.wait_until("the memory is freed", is_freed).await {
            Ok(()) => Ok(()),
            Err(_) => growth.check(rounds, each),
        }
    }

    /// Releases extensions that wait for it (`ExtensionPeer::wait_until_released`).
    pub(crate) fn release(&self) -> Result<()> {
        fs::write(self.dir.join("release"), "").context("release the extensions that wait")
    }

    /// Returns the marks of extensions in order, without those of the canary.
    pub(crate) fn marks(&self) -> Vec<String> {
        let text = fs::read_to_string(self.dir.join("marker")).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.starts_with("event "));
        lines.map(str::to_owned).collect()
    }

    /// Marks that a fault happened, for faults that the case itself causes.
    pub(crate) fn mark(&self, what: &str) -> Result<()> {
        use std::io::Write;
        let path = self.dir.join("marker");
        let mut file =
            fs::OpenOptions::new().create(true).append(true).open(path).context("open the marker")?;
        writeln!(file, "{what}").context("write the marker")
    }

    /// Prints a finding, which is shown if the row passes.
    pub(crate) fn report_finding(&self, what: &str) {
        println!("{}{what}", crate::runner::FOUND);
    }

    /// Returns the log of an extension.
    pub(crate) fn log_of(&self, name: &str) -> String {
        let path = haft_host::log_path(&self.dir.join("logs"), &haft_protocol::ids::ExtensionName::new(name));
        fs::read_to_string(path).unwrap_or_default()
    }

    /// Returns a statistic of the canary's round trips so far, and of the control's in the same period.
    pub(crate) fn medians(&self, of: fn(&[RoundTrip]) -> Duration) -> Result<(Duration, Duration)> {
        let trips = self.canary.round_trips();
        Ok((of(&trips), of(&self.control.concurrent_trips(&trips)?)))
    }

    /// Returns the state of an extension.
    pub(crate) fn state(&self, name: &str) -> Result<ExtensionState> {
        let mut states = self.host.statuses().into_iter();
        let found = states.find(|status| status.name.as_str() == name);
        Ok(found.with_context(|| format!("the host has no extension {name}"))?.state)
    }

    /// Calls the tool of the extension that misbehaves.
    pub(crate) async fn call(&self, args: Value) -> Result<ToolAnswer> {
        self.call_tool("evil_tool", args).await
    }

    /// Calls a tool of an extension, without the gates.
    pub(crate) async fn call_tool(&self, name: &str, args: Value) -> Result<ToolAnswer> {
        let context = ToolContext::new(CancellationToken::new(), |_| {});
        self.call_tool_with(context, name, args).await
    }

    /// Calls a tool like [`call_tool`](Self::call_tool) in this context.
    pub(crate) async fn call_tool_with(
        &self,
        context: ToolContext,
        name: &str,
        args: Value,
    ) -> Result<ToolAnswer> {
        let found = self.host.tools().into_iter().find(|tool| tool.spec().name == name);
        let tool = found.with_context(|| format!("unknown tool {name}"))?;
        let args = RawJson::from_value(&args).context("encode the arguments")?;
        let call = ToolCall { id: ToolCallId::new("t1"), name: name.into(), args };
        let start = Instant::now();
        self.tally.count_asked();
        let output = tool.execute(context, call).await;
        self.tally.count_ended();
        Ok(ToolAnswer {
            text: joined_text(&output.content),
            is_error: output.is_error,
            took: start.elapsed(),
        })
    }

    /// Runs a command.
    pub(crate) async fn command(&self, name: &str, args: &str) -> Result<String, String> {
        self.tally.count_asked();
        let outcome = self.host.run_command(&CancellationToken::new(), name, args).await;
        self.tally.count_ended();
        outcome.map(|outcome| format!("{:?}", outcome.action)).map_err(|error| error.to_string())
    }

    /// Makes the model call the agent's own tool `probe`, which every gate is asked about.
    pub(crate) async fn call_gated_tool(&self, args: Value) -> Result<GatedCall> {
        let start = Instant::now();
        let run =
            self.prompt(&json!([{"say": [{"call": {"name": "probe", "args": args}}]}, last_word()])).await?;
        let result = run.results.first().cloned().unwrap_or_default();
        let blocked = run.blocked.into_iter().next();
        Ok(GatedCall { ran_with: run.ran.into_iter().next(), blocked, result, took: start.elapsed() })
    }

    /// Runs a prompt with a model that plays these steps and has the tools of the host and of the agent.
    pub(crate) async fn prompt(&self, steps: &Value) -> Result<PromptOutcome> {
        PromptOutcome::run_prompt(self, steps, |agent| agent, || false).await
    }

    /// Like [`prompt`](Self::prompt), but cancelled as soon as `stop` holds.
    pub(crate) async fn prompt_until(&self, steps: &Value, stop: impl Fn() -> bool) -> Result<PromptOutcome> {
        PromptOutcome::run_prompt(self, steps, |agent| agent, stop).await
    }

    /// Like [`prompt`](Self::prompt), with changes to the agent.
    pub(crate) async fn prompt_with(
        &self,
        steps: &Value,
        with: impl FnOnce(AgentBuilder) -> AgentBuilder,
    ) -> Result<PromptOutcome> {
        PromptOutcome::run_prompt(self, steps, with, || false).await
    }

    /// Checks that the misbehaving gate blocks a call with this text in its reason.
    pub(crate) async fn expect_block(&self, reason: &str) -> Result<()> {
        let gated = self.call_gated_tool(json!({})).await?;
        ensure!(gated.ran_with.is_none(), "the tool ran with {:?}", gated.ran_with);
        let Some((by, why)) = gated.blocked else { bail!("no gate blocked the call: {}", gated.result) };
        ensure!(by == EVIL, "{by} blocked the call: {why}");
        ensure!(why.contains(reason), "blocked for another reason than {reason:?}: {why}");
        self.settle().await
    }

    /// Like [`expect_block`](Self::expect_block), without waiting for any deadline.
    pub(crate) async fn expect_block_at_once(&self, reason: &str) -> Result<()> {
        let start = Instant::now();
        self.expect_block(reason).await?;
        self.at_once("the decision", start.elapsed())
    }

    /// Checks that the misbehaving gate allows a call.
    pub(crate) async fn expect_allow(&self) -> Result<()> {
        let gated = self.call_gated_tool(json!({})).await?;
        ensure!(gated.ran_with.is_some(), "the tool did not run: {:?} {}", gated.blocked, gated.result);
        self.settle().await
    }

    /// Checks that the misbehaving extension's tool answers with this text.
    pub(crate) async fn expect_answer(&self, text: &str) -> Result<()> {
        let asked = self.call(json!({})).await?;
        ensure!(!asked.is_error, "the tool failed: {}", asked.text);
        ensure!(asked.text.contains(text), "the tool answered {:?}", asked.text);
        self.settle().await
    }

    /// Checks that the misbehaving extension's tool fails at once with this text.
    pub(crate) async fn expect_failure(&self, text: &str) -> Result<()> {
        let asked = self.call(json!({})).await?;
        ensure!(asked.is_error, "the tool did not fail: {}", asked.text);
        ensure!(asked.text.contains(text), "the tool failed with {:?}", asked.text);
        self.at_once("the failure", asked.took)?;
        self.settle().await
    }

    /// Checks that the extension works normally after all reports.
    pub(crate) async fn expect_working(&self) -> Result<()> {
        self.wait_for_expected().await?;
        self.expect_answer("ok").await?;
        self.expect_allow().await
    }

    /// Checks that a fault with this code is reported with this text in its message.
    pub(crate) async fn expect_report(&self, code: &str, text: &str) -> Result<()> {
        let message = self.wait_for_fault(code).await?;
        ensure!(message.contains(text), "{code} was reported with {message:?}");
        self.settle().await
    }

    /// Waits long enough for a forbidden event to happen.
    pub(crate) async fn settle(&self) -> Result<()> {
        self.wait_for_expected().await
    }
}

/// Returns the path of a program next to this one; `cargo xtask faults` builds them all.
pub(crate) fn sibling_binary(name: &str) -> PathBuf {
    let binary = std::env::current_exe().unwrap_or_default();
    binary.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}
