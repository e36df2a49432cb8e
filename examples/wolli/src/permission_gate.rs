//! A gate that asks the person, and blocks without a person.

use std::error::Error;

use haft_sdk::{Extension, GateDecision, Host};
use serde_json::Value;

pub(crate) fn build() -> Extension {
    Extension::new("permission_gate", "1.0.0").gate("bash", |call, host: Host| async move {
        let args: Value = call.tool_args.read()?;
        let command = args["command"].as_str().unwrap_or_default();
        if !command.contains("rm -rf") {
            return Ok(GateDecision::allow());
        }
        // Without a person, for example in `haft -p`, the answer is no.
        let confirmed = host.ui().confirm("Dangerous command", format!("Run: {command}?")).await?;
        Ok::<_, Box<dyn Error + Send + Sync>>(match confirmed {
            true => GateDecision::allow(),
            false => GateDecision::block("Blocked rm -rf"),
        })
    })
}
