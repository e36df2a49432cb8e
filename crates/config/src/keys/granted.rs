//! The choices in `[grant.NAME]`, as types.

use serde::{Deserialize, Serialize};

choices! {
    /// The meaning of a gate's silence. Only the user can choose; an extension cannot.
    OnTimeout {
        /// The action does not happen; haft's default for gates.
        Block = "block",
        /// The action happens, and the failure is reported.
        Allow = "allow",
    }
}

choices! {
    /// The sandbox that an extension runs in.
    SandboxLevel {
        /// None: the extension runs with the user's rights.
        None = "none",
        /// The kernel's access control and a filter of system calls.
        Standard = "standard",
        /// As standard, in namespaces of its own.
        Strict = "strict",
    }
}

choices! {
    /// The peers that an extension may talk to from its sandbox.
    SandboxNet {
        /// Nobody.
        None = "none",
        /// Its own processes.
        Loopback = "loopback",
        /// Everybody.
        All = "all",
    }
}
