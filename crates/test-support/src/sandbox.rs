//! Tests of a sandbox: a scene to break out of, a program that tries, and what it shall see.
//!
//! [`SandboxScene::new`] builds the scene, `sandbox-probe` is started in it with [`SandboxScene::facts`] as its argument, and
//! [`SandboxScene::judge`] reads what it printed.

mod probes;
mod scene;

pub use probes::{PROBES, ProbeConfinement, ProbeOutcome, SandboxProbe};
pub use scene::{ProbeVerdict, SandboxScene};
