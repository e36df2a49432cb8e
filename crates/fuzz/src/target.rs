//! The list of all targets.

use crate::{chain, envelope, hooks, manifest, rpc, sanitiser};

/// A fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of the target's corpus, oracle and binary.
    pub name: &'static str,
    /// The longest generated input, in bytes: enough for everything that the target distinguishes.
    pub max_len: u32,
    /// The oracle, which panics when the input breaks a promise.
    pub check: fn(&[u8]),
    /// Schemas whose names and constants are worth inserting into an input, as paths below the repository.
    pub schemas: &'static [&'static str],
    /// True for a file of protocol fixtures whose lines are inputs of this target.
    pub(crate) reads_fixture: fn(&str) -> bool,
}

/// All targets, by name.
pub const TARGETS: &[Target] = &[
    Target { name: "chain", max_len: 64, check: chain::check, schemas: &[], reads_fixture: |_| false },
    Target {
        name: "envelope",
        max_len: 1024,
        check: envelope::check,
        schemas: &["docs/schema/extension_frame.schema.json", "docs/schema/host_frame.schema.json"],
        reads_fixture: |path| !path.contains("/hook/") && !path.contains("/rpc/"),
    },
    Target {
        name: "hooks",
        max_len: 1024,
        check: hooks::check,
        schemas: &["docs/schema/hook_call.schema.json", "docs/schema/hook_result.schema.json"],
        reads_fixture: |path| path.contains("/hook/"),
    },
    Target { name: "manifest", max_len: 512, check: manifest::check, schemas: &[], reads_fixture: |_| false },
    Target {
        name: "rpc",
        max_len: 512,
        check: rpc::check,
        schemas: &["docs/schema/rpc_request.schema.json"],
        reads_fixture: |path| path.contains("/rpc/"),
    },
    Target {
        name: "sanitiser",
        max_len: 128,
        check: sanitiser::check,
        schemas: &[],
        reads_fixture: |_| false,
    },
];
