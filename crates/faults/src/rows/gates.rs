//! Group T, gates: decisions about tool calls, and failures of the deciding extensions.

pub(super) mod chains;
pub(super) mod failures;
pub(super) mod passing;

use serde_json::{Value, json};

use crate::misbehavior::misbehaving_spec;
use crate::world::{WorldSetup, last_word};

/// Adds a guard that blocks calls with DENIED and is asked first.
fn with_guard(setup: &mut WorldSetup) {
    let guard = misbehaving_spec(setup, "guard", "guard");
    setup.specs.insert(1, guard);
}

fn without_guard(setup: &mut WorldSetup) {
    setup.specs.retain(|spec| spec.name.as_str() != "guard");
}

/// Returns the steps in which a model makes these calls one after the other: tool and arguments.
pub(crate) fn call_steps(calls: &[(&str, Value)]) -> Value {
    let steps = calls.iter().map(|(name, args)| json!({"say": [{"call": {"name": name, "args": args}}]}));
    steps.chain([last_word()]).collect()
}
