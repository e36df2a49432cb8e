//! Group H: process hooks, in PicoClaw's dialect, that misbehave.

pub(super) mod gates;
pub(super) mod pipes;
pub(super) mod replies;

use std::sync::Arc;
use std::time::Duration;

use haft_packages::{Dialect, HookSpec};

use crate::evil::{self, Evil};
use crate::row::{CASE, Case, Faults, Play};
use crate::world::Setup;

/// Where a hook is asked whether a tool may be called, and what its refusal begins with.
const BEFORE: &str = "hook.before_tool";
const APPROVE: &str = "hook.approve_tool";

/// A deadline that must pass.
const SHORT: Duration = Duration::from_millis(500);

/// A hook with this fault at this point.
const fn hook(fault: &'static str, point: &'static str, expect: Faults, play: Play) -> Case {
    Case { evil: Evil::Hook { fault, point }, expect, play, ..CASE }
}

/// The same, which may take half a second to answer.
const fn hurried(fault: &'static str, point: &'static str, expect: Faults, play: Play) -> Case {
    Case { setup: hurry, ..hook(fault, point, expect, play) }
}

fn hurry(setup: &mut Setup) {
    each(setup, |hook| (hook.timeouts.interceptor, hook.timeouts.approval) = (SHORT, SHORT));
}

/// Changes every process hook.
fn each(setup: &mut Setup, change: impl Fn(&mut HookSpec)) {
    for spec in &mut setup.specs {
        if let Dialect::Hook(hook) = &mut spec.dialect {
            change(Arc::make_mut(hook));
        }
    }
}

/// One more variable for every process hook.
fn set(setup: &mut Setup, name: &str, value: &str) {
    each(setup, |hook| hook.env.extend([(name.to_owned(), value.to_owned())]));
}

/// One more hook beside the one that misbehaves, asked after it.
fn beside(setup: &mut Setup, fault: &str, point: &str, name: &str) {
    let spec = evil::hook(setup, fault, point, name);
    setup.add(spec.expect("what it is asked has names"));
}
