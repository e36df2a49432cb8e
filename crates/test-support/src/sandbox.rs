//! Tests of a sandbox: a scene to break out of, a program that tries, and what it shall see.
//!
//! [`Scene::new`] builds the scene, `sandbox-probe` is started in it with [`Scene::facts`] as its argument, and
//! [`Scene::judge`] reads what it printed.

mod probes;
mod scene;

pub use probes::{ProbeConfinement, ProbeOutcome, PROBES, SandboxProbe};
pub use scene::{SandboxScene, ProbeVerdict};
