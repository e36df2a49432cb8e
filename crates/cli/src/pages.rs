//! What is generated from the command line's definition: completions and the manual page.

use crate::args;
use crate::console;
use crate::exit::Exit;

/// Prints the completion script for a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "haft", &mut script);
    console::write(&script)?;
    Ok(Exit::Ok)
}

/// Prints the manual page, in roff.
pub(crate) fn man() -> anyhow::Result<Exit> {
    let mut page = Vec::new();
    clap_mangen::Man::new(args::command()).render(&mut page)?;
    console::write(&page)?;
    Ok(Exit::Ok)
}
