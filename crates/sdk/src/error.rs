//! The reasons why serving ended, other than `shutdown` or the end of input.

use std::io;

use haft_protocol::error::DecodeError;

/// The reason why an extension was not served or had to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A pipe to the host failed.
    #[error("connection to the host failed")]
    Io(#[from] io::Error),
    /// The host sent an invalid line.
    #[error("line from the host cannot be read")]
    Protocol(#[from] DecodeError),
    /// The host has another version of the protocol.
    #[error("host speaks protocol version {host}, this SDK speaks {sdk}; update the older of the two")]
    Incompatible {
        /// The host's version.
        host: u32,
        /// This SDK's version.
        sdk: u32,
    },
    /// The system provided no runtime or thread for a handler.
    #[error("no thread for a handler: raise the limits on processes and open files")]
    NoThread(#[source] io::Error),
    /// The extension registers something that the host would reject.
    #[error("registration is wrong: {detail}")]
    Registration {
        /// The mistake.
        detail: String,
    },
}
