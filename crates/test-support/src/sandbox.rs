//! Test tools for sandboxes: a scene, a program that tries to break out, and the expected outcomes.
//!
//! [`SandboxScene::new`] builds the scene. `sandbox-probe` runs in it with [`SandboxScene::facts`] as its argument, and
//! [`SandboxScene::judge_output`] checks what it printed.

mod probes;
mod scene;

pub use probes::{PROBES, ProbeConfinement, ProbeOutcome, SandboxProbe, ToolProbeLevel};
pub use scene::{ProbeVerdict, SandboxScene};
