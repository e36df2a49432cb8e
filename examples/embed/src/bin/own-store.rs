//! Sessions in a store of your own: here a table in memory. `cargo run -p haft-example-embed --bin own-store`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::prelude::*;
use haft_example_embed::scripted;

/// A database: the lines of each chat, by its name.
#[derive(Default)]
struct Database(Mutex<HashMap<String, Vec<u8>>>);

/// The lines of one chat.
struct ChatLines {
    database: Arc<Database>,
    chat: String,
}

impl EntryStore for ChatLines {
    fn load_lines(&self) -> io::Result<Vec<u8>> {
        let chats = self.database.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(chats.get(&self.chat).cloned().unwrap_or_default())
    }

    /// Saves an entry. The agent does not act on a message before this returns.
    fn append_lines(&self, lines: &[u8]) -> io::Result<()> {
        let mut chats = self.database.0.lock().unwrap_or_else(PoisonError::into_inner);
        chats.entry(self.chat.clone()).or_default().extend_from_slice(lines);
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = Arc::new(Database::default());
    let lines = |chat: &str| Arc::new(ChatLines { database: Arc::clone(&database), chat: chat.to_owned() });
    let project = Path::new("/srv/app");
    let answer = |text: &str| scripted(&format!(r#"[{{"say": [{{"text": "{text}"}}]}}]"#));

    let session = Session::in_store(lines("ada"), project)?; // new, because the store has no lines
    let agent = Agent::builder(answer("Hello, Ada!")?).session(session).build()?;
    println!("{}", agent.prompt("I am Ada.").await?);

    // Another process opens the chat again.
    let session = Session::in_store(lines("ada"), project)?;
    let agent = Agent::builder(answer("You are Ada.")?).session(session).build()?;
    println!("{}", agent.prompt("Who am I?").await?);

    // A copy of the first message, in a chat of its own.
    let first = agent.session().messages().first().map(|(id, _)| *id);
    let copy = agent.session().fork(first)?;
    copy.save_in(lines("copy"))?;
    copy.flush().await?;
    for chat in ["ada", "copy"] {
        println!("{chat}: {} messages", Session::in_store(lines(chat), project)?.messages().len());
    }
    Ok(())
}
