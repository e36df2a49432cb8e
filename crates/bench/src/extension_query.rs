//! One question about a tool call, asked through a bare pipe (the base) and through haft's host (the candidate).

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use haft_core::hooks::{HookKind, HookSource, ToolDecision};
use haft_core::model::ModelId;
use haft_host::{Host, HostConfig};
use haft_packages::{ExtensionDialect, ExtensionOrigin, ExtensionSpec, GuardRoles, LaunchPlan, Lifecycle};
use haft_protocol::RawJson;
use haft_protocol::codec;
use haft_protocol::content::ToolCall;
use haft_protocol::ext::{EventIntercept, HostFrame, Intercept, InterceptToolCall};
use haft_protocol::ids::{ExtensionName, RequestId, ToolCallId};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::children::{ChildProgram, PipedChild};
use crate::method::{median, percentile};

/// The tool that the questions are about.
pub(crate) const TOOL: &str = "write";

/// Times of round trips, in seconds.
#[derive(Debug, Default)]
pub(crate) struct RoundTripTimes(Vec<f64>);

impl RoundTripTimes {
    /// Records the times of a block and returns their median.
    fn block(&mut self, times: Vec<f64>) -> [f64; 1] {
        self.0.extend_from_slice(&times);
        [median(times)]
    }

    /// Returns the 99th percentile in seconds.
    pub(crate) fn p99(&self) -> f64 {
        percentile(self.0.clone(), 99)
    }
}

/// The base: blocking IO with the same line every time.
#[derive(Debug)]
pub(crate) struct PipeBase<'a> {
    peer: PipedChild,
    line: &'a [u8],
    /// The number of round trips of a block.
    block: usize,
    pub(crate) trips: RoundTripTimes,
}

impl<'a> PipeBase<'a> {
    pub(crate) fn start(program: &ChildProgram, line: &'a [u8], block: usize) -> Result<Self> {
        Ok(Self::from_ready_peer(PipedChild::start_extension(program)?, line, block))
    }

    /// Like [`Self::start`], with a child that is ready to be asked.
    pub(crate) fn from_ready_peer(peer: PipedChild, line: &'a [u8], block: usize) -> Self {
        Self { peer, line, block, trips: RoundTripTimes::default() }
    }

    pub(crate) fn block(&mut self) -> Result<[f64; 1]> {
        let mut times = Vec::with_capacity(self.block);
        for _ in 0..self.block {
            let start = Instant::now();
            self.peer.round_trip(self.line)?;
            times.push(start.elapsed().as_secs_f64());
        }
        Ok(self.trips.block(times))
    }
}

/// The candidate: a host with one extension, asked through its hook.
pub(crate) struct HostCandidate {
    runtime: Runtime,
    host: Host,
    hooks: Arc<dyn HookSource>,
    call: ToolCall,
    /// The number of round trips of a block.
    block: usize,
    pub(crate) trips: RoundTripTimes,
}

impl HostCandidate {
    pub(crate) fn start(program: &ChildProgram, call: ToolCall, block: usize) -> Result<Self> {
        Self::from_spec(extension_spec("peer", program), call, block)
    }

    /// Like [`Self::start`], with an extension or a process hook that is already described.
    pub(crate) fn from_spec(spec: ExtensionSpec, call: ToolCall, block: usize) -> Result<Self> {
        let runtime = runtime()?;
        let host = runtime.block_on(Host::builder(bench_host_config()).specs(vec![spec]).start());
        let hooks = host.hook_source();
        ensure!(
            hooks.hooks().before_tool_execute.len() == 1,
            "the extension did not start: {:?}",
            host.statuses()
        );
        Ok(Self { runtime, host, hooks, call, block, trips: RoundTripTimes::default() })
    }

    pub(crate) fn block(&mut self) -> Result<[f64; 1]> {
        let (hooks, call, block) = (Arc::clone(&self.hooks), self.call.clone(), self.block);
        // The binary runs its agent as a task, too.
        let asking = async move {
            let cancel = CancellationToken::new();
            let mut times = Vec::with_capacity(block);
            for _ in 0..block {
                let start = Instant::now();
                for hook in hooks.hooks_of(HookKind::BeforeToolExecute).before_tool_execute {
                    let decision = hook.before_tool_execute(&cancel, &call).await;
                    ensure!(
                        decision == ToolDecision::Allow,
                        "the extension did not allow the call: {decision:?}"
                    );
                }
                times.push(start.elapsed().as_secs_f64());
            }
            Ok(times)
        };
        let times = self.runtime.block_on(async { tokio::spawn(asking).await });
        let times: Result<Vec<f64>> = times.context("run the questions as a task")?;
        Ok(self.trips.block(times?))
    }

    pub(crate) fn end(self) {
        self.runtime.block_on(self.host.shutdown());
    }
}

/// Creates a runtime like the binary's.
pub(crate) fn runtime() -> Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("create a runtime")
}

/// Returns the host configuration of the rows. It has no logs, because no row measures the disk.
pub(crate) fn bench_host_config() -> HostConfig {
    let model = ModelId { provider: "bench".into(), model: "none".into() };
    HostConfig::new(env!("CARGO_PKG_VERSION"), model, std::env::temp_dir())
}

/// Describes an extension of this name that runs this program.
pub(crate) fn extension_spec(name: &str, program: &ChildProgram) -> ExtensionSpec {
    ExtensionSpec {
        name: ExtensionName::new(name),
        version: None,
        dir: std::env::temp_dir(),
        launch: LaunchPlan::Process { program: program.path.clone(), args: program.args.clone() },
        dialect: ExtensionDialect::Native,
        origin: ExtensionOrigin::Explicit,
        roles: GuardRoles::default(),
        permissions: None,
        level: None,
        description: None,
        lifecycle: Lifecycle::default(),
        pin: None,
    }
}

/// Describes `count` extensions that run this program.
pub(crate) fn extension_specs(count: usize, program: &ChildProgram) -> Vec<ExtensionSpec> {
    (0..count).map(|number| extension_spec(&format!("peer-{number}"), program)).collect()
}

/// Returns a call to write a file; its frame has about this many bytes.
pub(crate) fn write_call(bytes: usize) -> Result<ToolCall> {
    let filled = |content: String| -> Result<ToolCall> {
        let args = json!({ "path": Path::new("notes.md"), "content": content });
        Ok(ToolCall { id: ToolCallId::new("call_1"), name: TOOL.into(), args: RawJson::from_value(&args)? })
    };
    let bare = query_line(&filled(String::new())?)?.len();
    filled("x".repeat(bytes.saturating_sub(bare)))
}

/// Returns the frame that asks about a call, with an id as long as the host's.
pub(crate) fn query_line(call: &ToolCall) -> Result<Vec<u8>> {
    let question = InterceptToolCall {
        tool_id: call.id.clone(),
        tool_name: call.name.clone(),
        tool_args: call.args.clone(),
        caller: None,
        resolved_paths: Vec::new(),
    };
    let id = RequestId::new(format!("{:032x}-{}", 0, 1000));
    let frame = HostFrame::EventIntercept(EventIntercept { id, intercept: Intercept::ToolCall(question) });
    Ok(codec::encode(&frame)?.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_requested_size() {
        for bytes in [200, 4096, 1 << 20] {
            assert_eq!(query_line(&write_call(bytes).unwrap()).unwrap().len(), bytes);
        }
    }
}
