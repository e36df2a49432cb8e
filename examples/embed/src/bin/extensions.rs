//! Extensions are programs in any language; this one is in Python. Each chat has an agent and a host of its own.
//! `cargo run -p haft-example-embed --bin extensions`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::path::Path;
use std::sync::Arc;

use haft_core::prelude::*;
use haft_core::protocol::ext::CommandAction;
use haft_example_embed::scripted;
use haft_host::{Host, HostConfig};
use haft_packages::discovery::{Discovery, DiscoveryOptions};

/// Starts the extensions and builds their agent.
async fn open_chat() -> Result<(Agent, Host), Box<dyn std::error::Error>> {
    let model = scripted(
        r#"[{"say": [{"call": {"name": "notes", "args": {}}}]},
            {"say": [{"text": "You noted: {{last_tool_result:notes}}."}]}]"#,
    )?;
    // The extensions: directories with an `extension.json`. Each `host.reload()` searches them again.
    let logbook = Path::new(env!("CARGO_MANIFEST_DIR")).join("logbook");
    let search = DiscoveryOptions {
        explicit: vec![logbook],
        path: std::env::var_os("PATH"),
        ..DiscoveryOptions::default()
    };
    let config = HostConfig::new("1.0.0", model.info(), std::env::current_dir()?);
    let host = Host::builder(config).source(move || Discovery::run(&search).into()).events(Arc::new(show));
    Ok(host.start_agent(Agent::builder(model)).await?)
}

/// Shows the texts and failures of extensions. A failure does not affect the other extensions.
fn show(event: AgentEvent) {
    if let AgentEvent::ExtDisplay { extension, text } = event {
        println!("{extension}: {text}");
    } else if let AgentEvent::ExtensionError(fault) = event {
        println!("{} failed: {}", fault.extension, fault.message);
    }
}

/// Runs what the user typed: a command of an extension, or a prompt.
async fn submit(agent: &Agent, host: &Host, input: &str) -> Result<(), Box<dyn std::error::Error>> {
    let Some(command) = input.strip_prefix('/') else {
        println!("{}", agent.prompt(input).await?);
        return Ok(());
    };
    let (name, args) = command.split_once(' ').unwrap_or((command, ""));
    let outcome = host.run_command(&CancellationToken::new(), name, args).await?;
    if let CommandAction::Prompt(prompt) = outcome.action {
        println!("{}", agent.prompt(prompt).await?);
    } else if let CommandAction::Failed(message) = outcome.action {
        println!("/{name} failed: {message}");
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (first, first_host) = open_chat().await?;
    let (second, second_host) = open_chat().await?;
    for command in first_host.commands() {
        println!("/{}: {}", command.name, command.description);
    }

    for (agent, host, note) in [(&first, &first_host, "buy tea"), (&second, &second_host, "sell tea")] {
        println!("session {}", agent.session().id());
        submit(agent, host, &format!("/note {note}")).await?;
    }
    submit(&first, &first_host, "/recap").await?;
    submit(&second, &second_host, "What did I note?").await?;

    first_host.shutdown().await;
    second_host.shutdown().await;
    Ok(())
}
