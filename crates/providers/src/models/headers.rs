//! Values of headers, in which `$NAME` and `${NAME}` stand for variables and `$$` for a dollar.

/// A header names a variable that is not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the variable {0} is not set")]
pub struct UnsetVariable(pub String);

/// The value with its variables replaced.
///
/// # Errors
/// [`UnsetVariable`] when one is not set, or empty.
pub(crate) fn expanded(value: &str, var: impl Fn(&str) -> Option<String>) -> Result<String, UnsetVariable> {
    let (mut out, mut rest) = (String::new(), value);
    while let Some((before, behind)) = rest.split_once('$') {
        out.push_str(before);
        let (name, behind) = reference(behind);
        if name.is_empty() {
            out.push('$');
            rest = behind.strip_prefix('$').unwrap_or(behind);
            continue;
        }
        let found = var(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        out.push_str(&found.ok_or_else(|| UnsetVariable(name.to_owned()))?);
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

/// The name behind a `$`, and what follows it; no name where none follows.
fn reference(behind: &str) -> (&str, &str) {
    if let Some((name, rest)) = behind.strip_prefix('{').and_then(|inner| inner.split_once('}'))
        && is_variable(name)
    {
        return (name, rest);
    }
    let end = behind.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(behind.len());
    let (name, rest) = behind.split_at(end);
    if is_variable(name) { (name, rest) } else { ("", behind) }
}

/// Whether it can be the name of a variable.
pub(super) fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expect: Result<&str, &str>) {
        let var = |name: &str| match name {
            "TEAM" => Some(" blue\n".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let got = expanded(value, var);
        assert_eq!(got.as_deref().map_err(|unset| unset.0.as_str()), expect);
    }

    #[test]
    fn variables_are_replaced() {
        check("plain", Ok("plain"));
        check("Bearer $TEAM", Ok("Bearer blue"));
        check("${TEAM}s-$TEAM.", Ok("blues-blue."));
        check("$$TEAM costs 5$ or $5, ${", Ok("$TEAM costs 5$ or $5, ${"));
        check("$MISSING", Err("MISSING"));
        check("x${EMPTY}", Err("EMPTY"));
    }
}
