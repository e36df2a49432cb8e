//! A run: from the arguments to the last event.

use crate::args::RunArgs;
use crate::exit::Exit;
use crate::setup::Setup;
use crate::{extensions, logging, prompt};

/// Works on one prompt.
pub(crate) fn run(args: RunArgs) -> anyhow::Result<Exit> {
    let setup = Setup::read(&args)?;
    logging::init(&setup.home)?;
    let found = extensions::source(setup.search.clone())();
    let prompt = prompt::read(&args.prompt)?;
    tracing::debug!(
        cwd = %setup.cwd.display(), reasoning = ?setup.reasoning(), settings = ?setup.settings,
        extensions = ?setup.extensions, keys = ?setup.auth, ?found, ?prompt, "set up"
    );
    anyhow::bail!("the agent is not wired up on this branch")
}
