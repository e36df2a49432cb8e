//! The token that a client of `haft rpc` must send.

use std::ffi::OsString;

use anyhow::Context as _;
use haft_protocol::rpc::AuthToken;

use crate::exit::{Exit, OrExit as _};

/// The environment variables with the token; the first one that is set is used. The second name is for programs written
/// for zot. Tools, extensions and hooks never receive them, because a program with the token can drive haft.
pub(crate) const VARIABLES: [&str; 2] = ["HAFT_RPC_TOKEN", "ZOTCORE_RPC_TOKEN"];

/// Returns the token of the environment; `None` if the variables are absent or empty.
///
/// # Errors
/// A value is not UTF-8 text, so that no client could send it.
pub(crate) fn token_from_env(var: impl Fn(&str) -> Option<OsString>) -> anyhow::Result<Option<AuthToken>> {
    let set =
        VARIABLES.into_iter().filter_map(|name| Some((name, var(name).filter(|value| !value.is_empty())?)));
    let Some((name, value)) = set.into_iter().next() else { return Ok(None) };
    let token = value
        .into_string()
        .ok()
        .with_context(|| format!("{name} is not UTF-8 text"))
        .or_exit(Exit::Configuration)?;
    Ok(Some(AuthToken(token)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(haft: Option<&str>, zot: Option<&str>, expect: Option<&str>) {
        let var = |name: &str| if name == "HAFT_RPC_TOKEN" { haft } else { zot }.map(OsString::from);
        assert_eq!(token_from_env(var).unwrap().map(|AuthToken(token)| token).as_deref(), expect);
    }

    #[test]
    fn prefers_own_variable() {
        check(None, None, None);
        check(Some(""), Some(""), None);
        check(Some("h"), None, Some("h"));
        check(None, Some("z"), Some("z"));
        check(Some(""), Some("z"), Some("z"));
        check(Some("h"), Some("z"), Some("h"));
    }

    #[cfg(unix)]
    #[test]
    fn rejects_non_utf8_token() {
        use std::os::unix::ffi::OsStringExt as _;
        let error = token_from_env(|_| Some(OsString::from_vec(vec![0xff]))).unwrap_err();
        assert_eq!(Exit::from_error(&error), Exit::Configuration);
        assert!(error.to_string().contains("HAFT_RPC_TOKEN"), "{error:#}");
    }
}
