//! Addresses of repositories: which are cloned from, and what to write instead of the others.

use super::{KINDS, is_archive};

/// Reads an address; the outer `None` is a text that is not one. The error says what to write.
pub(super) fn read(text: &str) -> Option<Result<(), String>> {
    if text.starts_with('-') {
        return None;
    }
    if text.chars().any(char::is_control) {
        return Some(Err("it holds control characters; write it without them".into()));
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
        _ => return Err(format!("this kind of address is not cloned from; {KINDS}")),
    }
    check_characters(rest)?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, place) = match authority.rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, authority),
    };
    user.map_or(Ok(()), check_user)?;
    let (name, port) = match place.rsplit_once(':') {
        // The colons of `[::1]` are its own.
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        Some(_) | None => (place, None),
    };
    check_host(name)?;
    if port.is_some_and(|port| port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit())) {
        return Err("what follows the colon is no port; write https://host/path or git@host:path".into());
    }
    check_path(path)
}

/// `git@host:path`, as sites show it.
fn check_scp_address(text: &str) -> Option<Result<(), String>> {
    let (user, rest) =
        text.split_once('@').filter(|(user, _)| !user.is_empty() && !user.contains(['/', ':', '.']))?;
    let (host, path) = match rest.split_once(':') {
        Some((host, path)) if !host.contains('/') => (host, path),
        // Without a colon it may be the name of a directory, as it is for git.
        Some(_) | None => return None,
    };
    if user != "git" {
        return Some(Err(format!("write ssh://{user}@{host}/{}", path.trim_start_matches('/'))));
    }
    Some(check_characters(rest).and_then(|()| check_host(host)).and_then(|()| check_path(path)))
}

/// Letters that are what they look like, and are for git what they are for haft.
fn check_characters(rest: &str) -> Result<(), String> {
    if rest.chars().any(char::is_whitespace) {
        return Err("it holds spaces; write %20 for a space that is meant".into());
    }
    if !rest.is_ascii() {
        return Err(
            "it holds letters other than ASCII; write them percent-encoded, and a host in Punycode".into()
        );
    }
    if rest.contains(['\\', '"', '`', '<', '>', '|', '^', '{', '}']) {
        return Err("it holds characters that addresses have no use for; write them percent-encoded".into());
    }
    let encoded_control = rest.split('%').skip(1).any(|encoded| {
        let byte = encoded.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        byte.is_none_or(|byte| byte.is_ascii_control())
    });
    if encoded_control {
        return Err("what follows a % in it is no character; write %25 for a percent sign".into());
    }
    Ok(())
}

fn check_user(user: &str) -> Result<(), String> {
    if user.contains(':') {
        let problem =
            "it holds a password, which would be kept and shown; use ssh, or put the password into ~/.netrc";
        return Err(problem.into());
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '~');
    if user.is_empty() || looks_like_option(user) || !user.chars().all(fits) {
        return Err(
            "what precedes the @ is no user name; write https://host/path or ssh://user@host/path".into()
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
        Err("its host begins with `-`, which ssh would take for an option; write the name of a host".into())
    } else if name.is_empty() || !fits {
        Err("it has no usable host; write https://host/path, ssh://user@host/path or git@host:path".into())
    } else {
        Ok(())
    }
}

fn check_path(path: &str) -> Result<(), String> {
    if path.trim_matches('/').is_empty() {
        Err("it names a host and no repository; write https://host/path".into())
    } else if path.split(['/', ':']).any(looks_like_option) {
        Err("a part of it begins with `-`, which git could take for an option; write %2D for it".into())
    } else if is_archive(path) {
        Err("archives are not unpacked; install the repository, or unpack it and install the directory"
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
    fn usual_addresses_are_cloned_from() {
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
    fn what_is_no_address_may_be_a_directory() {
        for text in
            ["", ".", "a/b", "/srv/x.git", "-ccore.sshCommand=touch", "a@b", "./a@b:c", "C:\\x", "git@x/y:z"]
        {
            check(text, None);
        }
    }

    #[test]
    fn every_other_address_says_what_to_write_instead() {
        for (text, part) in [
            ("ext::sh -c touch% /tmp/x", "`ext::` names a program that git would run; use a directory"),
            ("ext::https://example.com/x", "names a program"),
            ("fd::17", "names a program"),
            ("http://example.com/x.git", "not encrypted; write https://example.com/x.git"),
            ("git://example.com/x.git", "not encrypted; write https://example.com/x.git"),
            ("file:///srv/x.git", "write the directory itself: /srv/x.git"),
            ("file://localhost/srv/x", "write the directory itself: /srv/x"),
            ("git+ssh://git@example.com/x", "write ssh://git@example.com/x"),
            ("HTTPS://example.com/x", "not cloned from; use a directory"),
            ("ftp://example.com/x", "not cloned from"),
            ("me@example.com:a/b", "write ssh://me@example.com/a/b"),
            ("ssh://-oProxyCommand=touch", "its host begins with `-`"),
            ("ssh://-oProxyCommand=touch/x", "its host begins with `-`"),
            ("ssh://user@-oProxyCommand=touch/x", "its host begins with `-`"),
            ("git@-oProxyCommand=touch:x", "its host begins with `-`"),
            ("ssh://-l@host/x", "no user name"),
            ("git@example.com:-x", "begins with `-`"),
            ("https://example.com/-x/y", "begins with `-`"),
            ("https://", "no usable host"),
            ("https:///x", "no usable host"),
            ("https://exa$(x)mple.com/x", "no usable host"),
            ("https://example.com/`x`", "no use for"),
            ("https://example.com", "no repository"),
            ("git@example.com:", "no repository"),
            ("https://example.com:x/y", "no port"),
            ("https://me:secret@example.com/x", "holds a password"),
            ("https://a@b@example.com/x", "no user name"),
            ("https://us\u{1b}er@example.com/x", "control characters"),
            ("https://us%0aer@example.com/x", "is no character"),
            ("https://example.com/x%00", "is no character"),
            ("https://example.com/x%0d%0ay", "is no character"),
            ("https://example.com/x%", "is no character"),
            ("https://example.com/x\n", "control characters"),
            ("https://example.com/x\0", "control characters"),
            ("https://exa mple.com/x", "holds spaces"),
            ("https://ex\u{430}mple.com/x", "Punycode"),
            ("https://example.com\\@evil.example/x", "no use for"),
            ("https://example.com/x.zip", "archives are not unpacked"),
            ("https://example.com/x.tar.gz?raw=1", "archives are not unpacked"),
            ("https://example.com/x.TGZ", "archives are not unpacked"),
        ] {
            check(text, Some(Err(part)));
        }
    }
}
