//! `haft demo`.

use crate::exit::Exit;

/// Shows a whole turn.
pub(crate) fn run() -> anyhow::Result<Exit> {
    anyhow::bail!("the demo is not wired up on this branch")
}

/// Serves one of the demo's extensions on standard input and output.
pub(crate) fn serve_extension(name: &str) -> anyhow::Result<Exit> {
    anyhow::bail!("the demo has no extension {name:?} on this branch")
}
