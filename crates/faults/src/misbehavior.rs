//! The misbehavior of a case, and the extension that performs it.

use std::fs;

use anyhow::{Context, Result};
use haft_adapter_picoclaw::wire::HookSubscriptions;
use haft_packages::{ExtensionSpec, HookCommand, HookSpec, HookTimeouts};
use haft_protocol::ids::ExtensionName;
use serde_json::json;

use crate::skip::skip;
use crate::world::{EVIL, WorldSetup, sibling_binary};

pub(crate) use crate::world::{extension_spec, misbehaving_spec};

/// The extensions that misbehave in a case, next to the canary.
pub(crate) enum Misbehavior {
    /// No extension, or only those that `setup` adds.
    NoExtension,
    /// `misbehave` with this fault.
    Fault(&'static str),
    /// `misbehave`, which writes bytes at a moment.
    Inject(Injection),
    /// A process hook that subscribes to everything, with a fault at this point (`misbehave hook`).
    Hook { fault: &'static str, point: &'static str },
    /// A script with this fault: the first installed program of the list, and the script's text.
    Script { programs: &'static [&'static str], text: &'static str, fault: &'static str },
}

/// Bytes to write at a moment.
#[derive(Clone, Copy)]
pub(crate) struct Injection {
    pub(crate) at: InjectionMoment,
    /// The bytes to write; `$ID` becomes the id of the question. No newline is added.
    pub(crate) bytes: fn() -> Vec<u8>,
    /// True if the bytes replace the usual answer.
    pub(crate) instead: bool,
    /// The bytes in one write; 0 means all.
    pub(crate) chunk: usize,
    /// The length of the line without its newline; `$PAD` is stretched to it. 0 means no padding.
    pub(crate) length: usize,
    /// The largest number of repetitions.
    pub(crate) times: u32,
}

/// The defaults of injections.
pub(crate) const INJECT: Injection =
    Injection { at: InjectionMoment::Ready, bytes: Vec::new, instead: false, chunk: 0, length: 0, times: 1 };

/// The moment of an injection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum InjectionMoment {
    /// Before `hello`.
    Start,
    /// Between `hello` and the registrations.
    Greeted,
    /// After the host's answer to `hello`.
    Ready,
    /// On a call of the tool.
    Tool,
    /// On an interception of a tool call.
    Gate,
    /// On a call of the command.
    Command,
}

impl InjectionMoment {
    const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Greeted => "greeted",
            Self::Ready => "ready",
            Self::Tool => "tool",
            Self::Gate => "gate",
            Self::Command => "command",
        }
    }
}

/// Writes these bytes before the usual answer.
pub(crate) const fn inject(at: InjectionMoment, bytes: fn() -> Vec<u8>) -> Misbehavior {
    Misbehavior::Inject(Injection { at, bytes, ..INJECT })
}

/// Writes these bytes instead of the usual answer.
pub(crate) const fn inject_instead(at: InjectionMoment, bytes: fn() -> Vec<u8>) -> Misbehavior {
    Misbehavior::Inject(Injection { at, bytes, instead: true, ..INJECT })
}

impl Misbehavior {
    /// Returns the marker that the extension writes when the fault happens.
    pub(crate) fn marker(&self) -> Option<&'static str> {
        match self {
            Self::NoExtension => None,
            Self::Fault(fault) | Self::Hook { fault, .. } | Self::Script { fault, .. } => Some(fault),
            Self::Inject(_) => Some("inject"),
        }
    }

    /// Adds the extensions to a world.
    pub(crate) fn add_to(&self, setup: &mut WorldSetup) -> Result<()> {
        match *self {
            Self::NoExtension => {}
            Self::Fault(fault) => setup.add(misbehaving_spec(setup, fault, EVIL)),
            Self::Hook { fault, point } => setup.add(faulty_hook_spec(setup, fault, point, EVIL)?),
            Self::Inject(inject) => {
                inject.write(&setup.dir.join("inject"))?;
                setup.set_env("HAFT_INJECT", setup.dir.join("inject").display().to_string());
                setup.add(misbehaving_spec(setup, "inject", EVIL));
            }
            Self::Script { programs, text, fault } => {
                let Some(program) = programs.iter().find_map(|name| haft_launch::find_program(name).ok())
                else {
                    return skip(format!("none of {programs:?} is installed"));
                };
                let script = setup.dir.join("script");
                fs::write(&script, text).context("write the script")?;
                let args = vec![script.display().to_string(), fault.to_owned(), EVIL.to_owned()];
                setup.add(extension_spec(setup, EVIL, program, args));
            }
        }
        Ok(())
    }
}

impl Injection {
    fn write(&self, dir: &std::path::Path) -> Result<()> {
        let plan = json!({
            "at": self.at.name(), "instead": self.instead, "chunk": self.chunk, "length": self.length,
            "times": self.times,
        });
        fs::create_dir_all(dir).context("create the directory of the injection")?;
        fs::write(dir.join("plan.json"), plan.to_string()).context("write the plan")?;
        fs::write(dir.join("bytes"), (self.bytes)()).context("write the bytes")
    }
}

/// The calls of a hook that takes part in tool calls.
const WATCHED: (&[&str], &[&str]) = (&["*"], &["before_tool", "approve_tool"]);

/// Describes a process hook with one fault, which is asked about tool calls and gets all events.
pub(crate) fn faulty_hook_spec(
    setup: &WorldSetup,
    fault: &str,
    point: &str,
    name: &str,
) -> Result<ExtensionSpec> {
    let args = ["hook", fault, point, name].map(str::to_owned);
    let command = [sibling_binary("misbehave").display().to_string()].into_iter().chain(args).collect();
    hook_spec(setup, name, command)
}

/// Describes a process hook that this command starts. Its deadlines are long unless the case shortens them.
pub(crate) fn hook_spec(setup: &WorldSetup, name: &str, command: Vec<String>) -> Result<ExtensionSpec> {
    let (observe, intercept) = WATCHED;
    let watch = HookSubscriptions::parse(observe, intercept).map_err(anyhow::Error::msg)?;
    let long = setup.config.timeouts.intercept;
    let hook = HookSpec {
        timeouts: HookTimeouts { interceptor: long, approval: long },
        env: setup.config.env.set.iter().cloned().collect(),
        ..HookSpec::new(watch)
    };
    let command = HookCommand { command, dir: None };
    let mut spec = ExtensionSpec::from_hook(ExtensionName::new(name), hook, &command, &setup.dir);
    spec.lifecycle.hello = Some(setup.config.timeouts.hello);
    Ok(spec)
}
