//! Sessions on disk: a second agent continues the first one's, and a third one a copy of its
//! beginning. `cargo run -p haft-example-embed --bin persist-resume-fork`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::path::{Path, PathBuf};

use haft_core::prelude::*;
use haft_example_embed::scripted;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let answer = |text: &str| scripted(&format!(r#"[{{"say": [{{"text": "{text}"}}]}}]"#));
    let (model, second_model, third_model) =
        (answer("Hello, Ada!")?, answer("You are Ada.")?, answer("Nobody told me.")?);
    let (dir, project) = (temporary_dir(), Path::new("/srv/app"));

    // begin
    let store = SessionStore::new(&dir);
    let agent = Agent::builder(model).session(store.open_latest(project)?).build()?;
    // end
    println!("{}", agent.prompt("I am Ada.").await?);
    drop(agent); // closes the session's file

    // begin
    let agent = Agent::builder(second_model).session(store.open_latest(project)?).build()?;
    // end
    println!("{}", agent.prompt("Who am I?").await?);

    // begin
    let greeting = agent.session().messages().first().map(|(id, _)| *id);
    let fork = Agent::builder(third_model).session(agent.session().fork(greeting)?).build()?;
    // end
    println!("{}", fork.prompt("Which day is it?").await?);
    println!("{} and {} messages", agent.messages().len(), fork.messages().len());
    Ok(std::fs::remove_dir_all(dir)?)
}

fn temporary_dir() -> PathBuf {
    std::env::temp_dir().join(format!("haft-example-{}", std::process::id()))
}
