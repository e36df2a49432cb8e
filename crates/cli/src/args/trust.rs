//! The command line of `haft trust`, and the flag `--trust-project`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use haft_config::{ParseDigestError, ProjectDigest, TrustRequest};

/// The value of `--trust-project` without a digest. An empty text is invalid, so an unset shell variable trusts
/// nothing.
const THIS_RUN: &str = "this-run";

/// `--trust-project`.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct TrustProjectArgs {
    /// Trust the project for this run, as it is now
    ///
    /// haft then runs its extensions, uses its settings and reads its context files. With a digest (see `haft trust
    /// --show`), haft trusts the project only if its content matches. `haft trust` asks, and saves the decision.
    #[arg(
        long,
        value_name = "DIGEST",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = THIS_RUN,
        value_parser = parse,
        value_hint = ValueHint::Other,
    )]
    trust_project: Option<TrustRequest>,
}

impl TrustProjectArgs {
    pub(crate) fn trust_request(&self) -> TrustRequest {
        self.trust_project.unwrap_or_default()
    }

    /// Returns the arguments with this request.
    pub(crate) fn with_request(request: TrustRequest) -> Self {
        Self { trust_project: Some(request) }
    }
}

fn parse(text: &str) -> Result<TrustRequest, ParseDigestError> {
    if text == THIS_RUN { Ok(TrustRequest::ThisRun) } else { text.parse().map(TrustRequest::Exactly) }
}

/// `haft trust …`.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Name the project's directory; default: the current one
    ///
    /// The trust does not include directories above or below it.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Trust the project without asking if it has this digest
    #[arg(long, value_name = "DIGEST", value_hint = ValueHint::Other)]
    pub(crate) digest: Option<ProjectDigest>,
    /// Show the project's parts, digest and trust (read-only)
    #[arg(long, conflicts_with_all = ["digest", "revoke", "list"])]
    pub(crate) show: bool,
    /// Print one JSON object, with --show
    #[arg(long, requires = "show")]
    pub(crate) json: bool,
    /// Revoke the trust
    #[arg(long, conflicts_with_all = ["digest", "list"])]
    pub(crate) revoke: bool,
    /// List trusted projects
    #[arg(long, conflicts_with_all = ["digest", "dir"])]
    pub(crate) list: bool,
}
