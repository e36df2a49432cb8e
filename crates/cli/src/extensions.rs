//! Which extensions a run starts, and what the user is told about the others.

use haft_host::discovery::{Discovery, Search, SkipReason};
use haft_host::{ExtensionSpec, FaultCode, Found};
use haft_protocol::event::ExtensionFault;
use haft_protocol::ids::ExtensionName;

use crate::console::note;
use crate::exit::{Exit, OrExit as _};

/// Looks for extensions and says on standard error which cannot run, or may not. One that the user disabled is
/// passed over in silence.
///
/// # Errors
/// When an extension whose manifest says `required` cannot run: what it guards must not happen.
pub(crate) fn discover(search: &Search) -> anyhow::Result<Vec<ExtensionSpec>> {
    let found = Discovery::run(search);
    for skipped in found.skipped.iter().filter(|skipped| skipped.reason != SkipReason::Disabled) {
        note(&format!("haft: {skipped}"));
    }
    for error in found.errors {
        if error.required {
            return Err(anyhow::Error::new(error).context("a required extension is missing"))
                .or_exit(Exit::RequiredExtension);
        }
        note(&format!("haft: {:#}", anyhow::Error::new(error)));
    }
    Ok(found.specs)
}

/// What a host starts: what was found just now, or what is there when it looks again.
pub(crate) fn found(search: &Search, now: Option<Vec<ExtensionSpec>>) -> Found {
    if let Some(specs) = now {
        return specs.into();
    }
    let found = Discovery::run(search);
    let faults = found.errors.into_iter().map(|error| ExtensionFault {
        extension: ExtensionName::new(error.name.clone()),
        code: FaultCode::SpawnFailed.as_str().to_owned(),
        message: format!("{:#}", anyhow::Error::new(error)),
    });
    Found { specs: found.specs, faults: faults.collect() }
}
