//! Group H: process hooks in PicoClaw's dialect that misbehave.

pub(super) mod gates;
pub(super) mod pipes;
pub(super) mod replies;

use std::sync::Arc;
use std::time::Duration;

use haft_packages::{ExtensionDialect, HookSpec};

use crate::misbehavior::{self, Misbehavior};
use crate::row::{CASE, CaseScript, ExpectedFaults, FaultCase};
use crate::world::WorldSetup;

/// The questions before a tool call.
const BEFORE: &str = "hook.before_tool";
const APPROVE: &str = "hook.approve_tool";

/// A deadline that must pass.
const SHORT: Duration = Duration::from_millis(500);

/// Returns the case of a hook with this fault at this point.
const fn hook_case(
    fault: &'static str,
    point: &'static str,
    expect: ExpectedFaults,
    play: CaseScript,
) -> FaultCase {
    FaultCase { evil: Misbehavior::Hook { fault, point }, expect, play, ..CASE }
}

/// Returns the same case with a deadline of half a second.
const fn hurried_case(
    fault: &'static str,
    point: &'static str,
    expect: ExpectedFaults,
    play: CaseScript,
) -> FaultCase {
    FaultCase { setup: shorten_deadlines, ..hook_case(fault, point, expect, play) }
}

fn shorten_deadlines(setup: &mut WorldSetup) {
    change_hooks(setup, |hook| (hook.timeouts.interceptor, hook.timeouts.approval) = (SHORT, SHORT));
}

/// Changes every process hook.
fn change_hooks(setup: &mut WorldSetup, change: impl Fn(&mut HookSpec)) {
    for spec in &mut setup.specs {
        if let ExtensionDialect::Hook(hook) = &mut spec.dialect {
            change(Arc::make_mut(hook));
        }
    }
}

/// Sets a variable for every process hook.
fn set(setup: &mut WorldSetup, name: &str, value: &str) {
    change_hooks(setup, |hook| hook.env.extend([(name.to_owned(), value.to_owned())]));
}

/// Adds another hook, which is asked after the one that misbehaves.
fn add_hook(setup: &mut WorldSetup, fault: &str, point: &str, name: &str) {
    let spec = misbehavior::faulty_hook_spec(setup, fault, point, name);
    setup.add(spec.expect("the hook's questions are known"));
}
