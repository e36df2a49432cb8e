//! Work before the registrations: a file names the commands.

use std::collections::BTreeMap;

use haft_sdk::{Extension, Response};

pub(crate) fn build() -> Extension {
    let text = std::fs::read_to_string("commands.json").unwrap_or_default();
    let commands: BTreeMap<String, String> = serde_json::from_str(&text).unwrap_or_default();
    let extension = Extension::new("startup_work", "1.0.0");
    commands.into_iter().fold(extension, |extension, (name, answer)| {
        extension.command(name, "From commands.json.", move |_, _host| {
            let answer = answer.clone();
            async move { Response::display(answer) }
        })
    })
}
