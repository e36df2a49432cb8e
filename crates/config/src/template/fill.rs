//! Placeholders of a template: `$1` … `$9`, `$@`, `$ARGUMENTS`, `${@:2}` and `${@:2:3}`.

/// Replaces the placeholders of a template. Arguments are split at spaces; quotes keep spaces together. If the template
/// has no placeholder, the arguments are appended, so that nothing typed is lost.
pub(super) fn fill_template(template: &str, arguments: &str) -> String {
    let arguments = arguments.trim();
    let words = split_arguments(arguments);
    let mut text = String::with_capacity(template.len() + arguments.len());
    let (mut rest, mut used) = (template, false);
    while let Some((before, behind)) = rest.split_once('$') {
        text.push_str(before);
        // Inserted text is not scanned again: an argument is not a template.
        match placeholder_value(behind, arguments, &words) {
            Some((value, len)) => {
                text.push_str(&value);
                rest = behind.get(len..).unwrap_or_default();
                used = true;
            }
            None => {
                text.push('$');
                rest = behind;
            }
        }
    }
    text.push_str(rest);
    if !used && !arguments.is_empty() {
        text.push_str(&format!("\n\n{arguments}"));
    }
    text
}

/// Returns the value of the placeholder at the beginning of `text`, after its `$`, and the placeholder's length.
fn placeholder_value(text: &str, arguments: &str, words: &[String]) -> Option<(String, usize)> {
    if text.starts_with("ARGUMENTS") {
        return Some((arguments.to_owned(), "ARGUMENTS".len()));
    }
    if let Some(rest) = text.strip_prefix("{@:") {
        let (range, _) = rest.split_once('}')?;
        let (from, count) = range.split_once(':').map_or((range, None), |(from, count)| (from, Some(count)));
        let from: usize = from.parse().ok()?;
        let count: usize = count.map_or(Some(usize::MAX), |count| count.parse().ok())?;
        let chosen: Vec<&str> =
            words.iter().skip(from.saturating_sub(1)).take(count).map(String::as_str).collect();
        return Some((chosen.join(" "), "{@:}".len() + range.len()));
    }
    match text.as_bytes().first()? {
        b'@' => Some((arguments.to_owned(), 1)),
        // `$12` is an amount of money, not the first argument.
        digit @ b'1'..=b'9'
            if !text.get(1..).unwrap_or_default().starts_with(|c: char| c.is_ascii_digit()) =>
        {
            let value = words.get(usize::from(digit - b'1')).cloned().unwrap_or_default();
            Some((value, 1))
        }
        _ => None,
    }
}

/// Splits text at spaces; `"…"` and `'…'` keep spaces together.
fn split_arguments(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if matches!(c, '"' | '\'') && word.as_ref().is_none_or(String::is_empty) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, arguments: &str, expect: &str) {
        assert_eq!(fill_template(template, arguments), expect);
    }

    #[test]
    fn replaces_placeholders() {
        check("Fix $1 in $2.", "bug main.rs", "Fix bug in main.rs.");
        check("Fix $1 in $2.", "'a b'  \"c d\"", "Fix a b in c d.");
        check("[$1] [$3]", "a", "[a] []");
        check("All: $@ / $ARGUMENTS", "a 'b c'", "All: a 'b c' / a 'b c'");
        check("$1: ${@:2}; ${@:2:1}", "a b c", "a: b c; b");
        check("don't $1", "can't", "don't can't");
    }

    #[test]
    fn keeps_other_dollar_signs_and_does_not_expand_arguments() {
        check("$x costs $12, ${HOME} $", "", "$x costs $12, ${HOME} $");
        check("${@:x} ${@:1", "", "${@:x} ${@:1");
        check("[$1]", "$2 $1", "[$2]");
        check("[$@]", "$1", "[$1]");
    }

    #[test]
    fn appends_arguments_without_placeholder() {
        check("Review.", "main.rs only", "Review.\n\nmain.rs only");
        check("Review.", " ", "Review.");
    }
}
