//! Addresses of repositories: the accepted forms, and the text to use instead of others.

use super::{KINDS, is_archive};

/// Checks an address. Returns `None` for a text that is not an address. The error says what to write instead.
pub(super) fn read(text: &str) -> Option<Result<(), String>> {
    if text.starts_with('-') {
        return None;
    }
    if text.chars().any(char::is_control) {
        return Some(Err("it contains control characters; remove them".into()));
    }
    if let Some((helper, _)) = text.split_once("::").filter(|(helper, _)| is_scheme(helper)) {
        return Some(Err(format!("`{helper}::` names a program that git would run; {KINDS}")));
    }
    match text.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => Some(check_scheme_address(scheme, rest)),
        Some(_) | None => check_scp_address(text),
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

fn check_scheme_address(scheme: &str, rest: &str) -> Result<(), String> {
    match scheme {
        "https" | "ssh" => {}
        "http" | "git" => return Err(format!("{scheme}:// is not encrypted; write https://{rest}")),
        "file" => {
            return Err(format!("write the directory itself: {}", rest.trim_start_matches("localhost")));
        }
        "git+ssh" | "ssh+git" => return Err(format!("write ssh://{rest}")),
        "git+https" => return Err(format!("write https://{rest}")),
        _ => return Err(format!("addresses of this kind are not supported; {KINDS}")),
    }
    check_characters(rest)?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, place) = match authority.rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, authority),
    };
    user.map_or(Ok(()), check_user)?;
    let (name, port) = match place.rsplit_once(':') {
        // The colons in `[::1]` are part of the host.
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        Some(_) | None => (place, None),
    };
    check_host(name)?;
    if port.is_some_and(|port| port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit())) {
        return Err("the text after the colon is not a port; write https://host/path or git@host:path".into());
    }
    check_path(path)
}

/// Checks `git@host:path`, the form that hosting sites show.
fn check_scp_address(text: &str) -> Option<Result<(), String>> {
    let (user, rest) =
        text.split_once('@').filter(|(user, _)| !user.is_empty() && !user.contains(['/', ':', '.']))?;
    let (host, path) = match rest.split_once(':') {
        Some((host, path)) if !host.contains('/') => (host, path),
        // Without a colon it may be the name of a directory, as for git.
        Some(_) | None => return None,
    };
    if user != "git" {
        return Some(Err(format!("write ssh://{user}@{host}/{}", path.trim_start_matches('/'))));
    }
    Some(check_characters(rest).and_then(|()| check_host(host)).and_then(|()| check_path(path)))
}

/// Checks for characters that look like others, or that git treats in another way than haft.
fn check_characters(rest: &str) -> Result<(), String> {
    if rest.chars().any(char::is_whitespace) {
        return Err("it contains spaces; write %20 for each space".into());
    }
    if !rest.is_ascii() {
        return Err(
            "it contains non-ASCII characters; percent-encode them, and write the host in Punycode".into()
        );
    }
    if rest.contains(['\\', '"', '`', '<', '>', '|', '^', '{', '}']) {
        return Err("it contains characters that are not allowed in addresses; percent-encode them".into());
    }
    let encoded_control = rest.split('%').skip(1).any(|encoded| {
        let byte = encoded.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        byte.is_none_or(|byte| byte.is_ascii_control())
    });
    if encoded_control {
        return Err("a % in it does not begin a valid escape; write %25 for a percent sign".into());
    }
    Ok(())
}

fn check_user(user: &str) -> Result<(), String> {
    if user.contains(':') {
        let problem = "it contains a password, which would be stored and shown; use ssh, or put the password into ~/.netrc";
        return Err(problem.into());
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '~');
    if user.is_empty() || looks_like_option(user) || !user.chars().all(fits) {
        return Err(
            "the text before the @ is not a user name; write https://host/path or ssh://user@host/path"
                .into(),
        );
    }
    Ok(())
}

fn check_host(name: &str) -> Result<(), String> {
    let number = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let fits = match number {
        Some(number) => number.parse::<std::net::Ipv6Addr>().is_ok(),
        None => name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')),
    };
    if looks_like_option(name) {
        Err("its host begins with `-`, which ssh would take for an option; write a host name".into())
    } else if name.is_empty() || !fits {
        Err("it has no valid host; write https://host/path, ssh://user@host/path or git@host:path".into())
    } else {
        Ok(())
    }
}

fn check_path(path: &str) -> Result<(), String> {
    if path.trim_matches('/').is_empty() {
        Err("it names a host but no repository; write https://host/path".into())
    } else if path.split(['/', ':']).any(looks_like_option) {
        Err("a part of it begins with `-`, which git could take for an option; write %2D instead".into())
    } else if is_archive(path) {
        Err("haft does not unpack archives; install the repository, or unpack it and install the directory"
            .into())
    } else {
        Ok(())
    }
}

fn looks_like_option(part: &str) -> bool {
    part.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<Result<(), &str>>) {
        match (read(text), expect) {
            (None, None) | (Some(Ok(())), Some(Ok(()))) => {}
            (Some(Err(got)), Some(Err(part))) => assert!(got.contains(part), "{text}: {got}"),
            (got, expect) => panic!("{text:?}: {got:?} instead of {expect:?}"),
        }
    }

    #[test]
    fn accepts_usual_addresses() {
        for text in [
            "https://example.com/a/b",
            "https://example.com/a/b.git/",
            "https://user@example.com:8443/a%20b?x=1#y",
            "https://[::1]/a",
            "ssh://git@example.com/a.git",
            "ssh://git@[fe80::1]:22/~user/a.git",
            "git@example.com:a/b.git",
            "git@example.com:/srv/a-b.git",
        ] {
            check(text, Some(Ok(())));
        }
    }

    #[test]
    fn other_texts_may_be_directories() {
        for text in
            ["", ".", "a/b", "/srv/x.git", "-ccore.sshCommand=touch", "a@b", "./a@b:c", "C:\\x", "git@x/y:z"]
        {
            check(text, None);
        }
    }

    #[test]
    fn rejects_other_addresses_with_a_hint() {
        for (text, part) in [
            ("ext::sh -c touch% /tmp/x", "`ext::` names a program that git would run; use a directory"),
            ("ext::https://example.com/x", "names a program"),
            ("fd::17", "names a program"),
            ("http://example.com/x.git", "not encrypted; write https://example.com/x.git"),
            ("git://example.com/x.git", "not encrypted; write https://example.com/x.git"),
            ("file:///srv/x.git", "write the directory itself: /srv/x.git"),
            ("file://localhost/srv/x", "write the directory itself: /srv/x"),
            ("git+ssh://git@example.com/x", "write ssh://git@example.com/x"),
            ("HTTPS://example.com/x", "not supported; use a directory"),
            ("ftp://example.com/x", "not supported"),
            ("me@example.com:a/b", "write ssh://me@example.com/a/b"),
            ("ssh://-oProxyCommand=touch", "its host begins with `-`"),
            ("ssh://-oProxyCommand=touch/x", "its host begins with `-`"),
            ("ssh://user@-oProxyCommand=touch/x", "its host begins with `-`"),
            ("git@-oProxyCommand=touch:x", "its host begins with `-`"),
            ("ssh://-l@host/x", "not a user name"),
            ("git@example.com:-x", "begins with `-`"),
            ("https://example.com/-x/y", "begins with `-`"),
            ("https://", "no valid host"),
            ("https:///x", "no valid host"),
            ("https://exa$(x)mple.com/x", "no valid host"),
            ("https://example.com/`x`", "not allowed"),
            ("https://example.com", "but no repository"),
            ("git@example.com:", "but no repository"),
            ("https://example.com:x/y", "not a port"),
            ("https://me:secret@example.com/x", "contains a password"),
            ("https://a@b@example.com/x", "not a user name"),
            ("https://us\u{1b}er@example.com/x", "control characters"),
            ("https://us%0aer@example.com/x", "valid escape"),
            ("https://example.com/x%00", "valid escape"),
            ("https://example.com/x%0d%0ay", "valid escape"),
            ("https://example.com/x%", "valid escape"),
            ("https://example.com/x\n", "control characters"),
            ("https://example.com/x\0", "control characters"),
            ("https://exa mple.com/x", "contains spaces"),
            ("https://ex\u{430}mple.com/x", "Punycode"),
            ("https://example.com\\@evil.example/x", "not allowed"),
            ("https://example.com/x.zip", "does not unpack archives"),
            ("https://example.com/x.tar.gz?raw=1", "does not unpack archives"),
            ("https://example.com/x.TGZ", "does not unpack archives"),
        ] {
            check(text, Some(Err(part)));
        }
    }
}
