//! A command with completions.

use haft_sdk::{Completion, Extension, Response};

pub(crate) fn build() -> Extension {
    Extension::new("completion", "1.0.0")
        .command("deploy", "Deploy to an environment.", |target, _host| async move {
            Response::display(format!("Deploying: {target}"))
        })
        .complete("deploy", |prefix, _host| async move {
            let targets = ["dev", "staging", "prod"].into_iter().filter(|target| target.starts_with(&prefix));
            targets.map(Completion::new).collect::<Vec<_>>()
        })
}
