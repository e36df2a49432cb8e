//! A gate that ends haft after a fatal call.

use haft_sdk::{Extension, GateDecision, Host};

pub(crate) fn build() -> Extension {
    Extension::new("shutdown", "1.0.0").gate("bash", |call, host: Host| async move {
        if !call.tool_args.as_str().contains("FATAL") {
            return GateDecision::allow();
        }
        tokio::spawn(async move { host.session().shut_down().await });
        GateDecision::block("haft ends")
    })
}
