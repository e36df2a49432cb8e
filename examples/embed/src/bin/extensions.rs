//! Extensions are programs in any language; this one is in Python. `cargo run -p haft-example-embed
//! --bin extensions`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::path::Path;
use std::sync::Arc;

use haft_core::Agent;
use haft_core::model::Model as _;
use haft_core::protocol::content::joined_text;
use haft_core::protocol::event::AgentEvent;
use haft_example_embed::scripted;
use haft_host::{Host, HostConfig};
use haft_packages::discovery::{Discovery, DiscoveryOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = scripted(
        r#"[{"say": [{"call": {"name": "glossary", "args": {"term": "step"}}}]},
            {"say": [{"text": "A step? {{last_tool_result:glossary}}"}]}]"#,
    )?;
    // The extensions: directories with an `extension.json`. Every `host.reload()` searches them
    // again.
    let py_guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../extensions/py-guide");
    let search = DiscoveryOptions {
        explicit: vec![py_guide],
        path: std::env::var_os("PATH"),
        ..DiscoveryOptions::default()
    };
    // The failure of an extension arrives as an event and does not affect the others.
    let config = HostConfig::new("1.0.0", model.info(), std::env::current_dir()?);
    let tell = Arc::new(|event: AgentEvent| println!("{event:?}"));

    // Two more lines: start the extensions, and give the agent their hooks and tools.
    let host =
        Host::builder(config).source(move || Discovery::run(&search).into()).events(tell).start().await;
    let agent = Agent::builder(model).hook_source(host.hook_source()).tools(host.tools()).build()?;

    let mut run = agent.prompt("What is a step?");
    while let Some(event) = run.next().await {
        if let AgentEvent::ToolResult { extension: Some(extension), content, .. } = &event {
            println!("{extension} says: {}", joined_text(content));
        } else if let AgentEvent::TextDelta { delta } = &event {
            println!("{delta}");
        }
    }
    let outcome = run.finish().await;
    host.shutdown().await;
    Ok(outcome?)
}
