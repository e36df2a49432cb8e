//! One interception of a tool call: from the agent's question to the extension's decision.
//!
//! Base: this process writes a frame into a pipe, the least extension answers, this process reads; all of it
//! blocking and without JSON. Candidates put haft's host on one side, or an SDK extension on the other, or both.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use haft_core::hooks::{HookSource, ToolDecision};
use haft_host::{ExtensionSpec, Host, Launch, Origin, Roles};
use haft_protocol::RawJson;
use haft_protocol::codec;
use haft_protocol::content::ToolCall;
use haft_protocol::ext::{EventIntercept, HostFrame, Intercept, InterceptToolCall};
use haft_protocol::ids::{ExtensionName, RequestId, ToolCallId};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::children::{Piped, Program};
use crate::method::{Plan, compare, median};
use crate::peers;
use crate::report::{Goal, Report, Unit};

const PLAN: Plan = Plan { repetitions: 5, pairs: 100 };

/// Round trips of a block: less than a millisecond, so that most blocks run between two preemptions.
const TRIPS: usize = 20;

const HOST: Goal = Goal { goal: 1.5, gate: 1.8 };
const SDK: Goal = Goal { goal: 1.2, gate: 1.4 };

/// An extension as somebody writes it in ten minutes.
const PYTHON: &str = r#"
import json, sys
def emit(frame):
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()
emit({"type": "hello", "name": "plain", "version": "1.0.0", "capabilities": ["events"]})
emit({"type": "subscribe", "intercept": ["tool_call"]})
emit({"type": "ready"})
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        emit({"type": "event_intercept_response", "id": frame["id"], "block": False})
    elif frame["type"] == "shutdown":
        emit({"type": "shutdown_ack"})
        break
"#;

pub(super) fn measure(report: &mut Report) -> Result<()> {
    let (least, guard) = (Program::own(peers::LEAST)?, Program::own(peers::GUARD)?);
    let python = haft_launch::find_program("python3").ok().map(|path| Program::python(path, PYTHON));
    if python.is_none() {
        report.skip("python3 is not there");
    }
    for (size, bytes) in [("200 B", 200), ("4 KB", 4096)] {
        let call = call(bytes)?;
        let line = line(&call)?;
        let mut base = Raw::start(&least, &line)?;
        let mut twin = Raw::start(&least, &line)?;
        let [found] = compare(PLAN, || base.block(), || twin.block())?;
        let sound = report.control(&format!("control, {size}"), Unit::Seconds, found);

        let mut hosts = vec![("Rust peer", &least, Some(HOST)), ("SDK guard", &guard, None)];
        hosts.extend(python.as_ref().map(|python| ("python3", python, None)));
        for (name, program, goal) in hosts {
            let mut asked = Asked::start(program, call.clone())?;
            let [found] = compare(PLAN, || base.block(), || asked.block())?;
            report.line(&format!("host, {name}, {size}"), Unit::Seconds, found, goal, sound);
            asked.end();
        }
        let mut bare = vec![("SDK guard", &guard, Some(SDK))];
        bare.extend(python.as_ref().map(|python| ("python3", python, None)));
        for (name, program, goal) in bare {
            let mut raw = Raw::start(program, &line)?;
            let [found] = compare(PLAN, || base.block(), || raw.block())?;
            report.line(&format!("raw, {name}, {size}"), Unit::Seconds, found, goal, sound);
        }
    }
    Ok(())
}

/// The base's side: blocking, the same line every time.
struct Raw<'a> {
    peer: Piped,
    line: &'a [u8],
}

impl<'a> Raw<'a> {
    fn start(program: &Program, line: &'a [u8]) -> Result<Self> {
        Ok(Self { peer: Piped::extension(program)?, line })
    }

    fn block(&mut self) -> Result<[f64; 1]> {
        let mut times = Vec::with_capacity(TRIPS);
        for _ in 0..TRIPS {
            let start = Instant::now();
            self.peer.round_trip(self.line)?;
            times.push(start.elapsed().as_secs_f64());
        }
        Ok([median(times)])
    }
}

/// The candidate's side: a host with one extension, asked as the agent asks it.
struct Asked {
    runtime: Runtime,
    host: Host,
    hooks: Arc<dyn HookSource>,
    call: ToolCall,
}

impl Asked {
    fn start(program: &Program, call: ToolCall) -> Result<Self> {
        let runtime = runtime()?;
        let host =
            runtime.block_on(Host::builder(peers::config()).specs(vec![spec("peer", program)]).start());
        let hooks = host.hook_source();
        ensure!(
            hooks.hooks().before_tool_execute.len() == 1,
            "the extension did not start: {:?}",
            host.states()
        );
        Ok(Self { runtime, host, hooks, call })
    }

    fn block(&mut self) -> Result<[f64; 1]> {
        let cancel = CancellationToken::new();
        let times: Result<Vec<f64>> = self.runtime.block_on(async {
            let mut times = Vec::with_capacity(TRIPS);
            for _ in 0..TRIPS {
                let start = Instant::now();
                for hook in self.hooks.hooks().before_tool_execute {
                    let decision = hook.before_tool_execute(&cancel, &self.call).await;
                    ensure!(decision == ToolDecision::Allow, "not allowed: {decision:?}");
                }
                times.push(start.elapsed().as_secs_f64());
            }
            Ok(times)
        });
        Ok([median(times?)])
    }

    fn end(self) {
        self.runtime.block_on(self.host.shutdown());
    }
}

/// As the binary's own.
pub(super) fn runtime() -> Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("make a runtime")
}

/// An extension of this name that is this program.
pub(super) fn spec(name: &str, program: &Program) -> ExtensionSpec {
    ExtensionSpec {
        name: ExtensionName::new(name),
        version: None,
        dir: std::env::temp_dir(),
        launch: Launch::Process { program: program.path.clone(), args: program.args.clone() },
        origin: Origin::Explicit,
        roles: Roles::default(),
        description: None,
        lifecycle: haft_host::Lifecycle::default(),
    }
}

/// A call to write a file whose frame has about this many bytes.
fn call(bytes: usize) -> Result<ToolCall> {
    let filled = |content: String| -> Result<ToolCall> {
        let args = json!({ "path": Path::new("notes.md"), "content": content });
        Ok(ToolCall {
            id: ToolCallId::new("call_1"),
            name: "write".into(),
            args: RawJson::from_value(&args)?,
        })
    };
    let bare = line(&filled(String::new())?)?.len();
    filled("x".repeat(bytes.saturating_sub(bare)))
}

/// The frame that asks about a call, with an id like the host's.
fn line(call: &ToolCall) -> Result<Vec<u8>> {
    let question = InterceptToolCall {
        tool_id: call.id.clone(),
        tool_name: call.name.clone(),
        tool_args: call.args.clone(),
    };
    let id = RequestId::new(format!("{:032x}-{}", 0, 1000));
    let frame = HostFrame::EventIntercept(EventIntercept { id, intercept: Intercept::ToolCall(question) });
    Ok(codec::encode(&frame)?.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_the_size_that_is_asked_for() {
        for bytes in [200, 4096] {
            assert_eq!(line(&call(bytes).unwrap()).unwrap().len(), bytes);
        }
    }
}
