//! The front matter of a Markdown file: YAML between two lines of `---`.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle};

/// The maximum nesting depth.
const MAX_DEPTH: usize = 8;

pub(crate) type FrontMatter = BTreeMap<String, YamlValue>;

/// The value of a key. Numbers and booleans are kept as text, because no caller needs them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum YamlValue {
    Text(String),
    List(Vec<Self>),
    Table(FrontMatter),
}

/// Splits a file into front matter and body. The front matter is `None` if the opening or the closing `---` is missing.
pub(crate) fn split(text: &str) -> (Option<&str>, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) =
        text.strip_prefix("---").and_then(|rest| rest.strip_prefix("\r\n").or(rest.strip_prefix('\n')))
    else {
        return (None, text);
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let (yaml, body) = rest.split_at(at);
            return (
                Some(yaml),
                body.strip_prefix(line).unwrap_or_default().trim_start_matches(['\r', '\n']),
            );
        }
        at += line.len();
    }
    (None, text)
}

/// Parses the YAML. Anchors are rejected, because a short text could expand without limit.
pub(crate) fn parse(yaml: &str) -> Result<FrontMatter, String> {
    let mut events = Parser::new_from_str(yaml);
    loop {
        match next_event(&mut events)? {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::MappingStart(..) => return read_table(&mut events, 0),
            Event::StreamEnd | Event::DocumentEnd => return Ok(FrontMatter::new()),
            Event::Alias(_)
            | Event::Scalar(..)
            | Event::SequenceStart(..)
            | Event::SequenceEnd
            | Event::MappingEnd => {
                return Err("the front matter is not a list of `key: value` lines".to_owned());
            }
        }
    }
}

type YamlEvents<'a> = Parser<'a, saphyr_parser::StrInput<'a>>;

fn next_event<'a>(events: &mut YamlEvents<'a>) -> Result<Event<'a>, String> {
    match events.next() {
        Some(Ok((event, _))) => Ok(event),
        Some(Err(error)) => {
            // Line 1 is the opening `---`.
            Err(format!("line {}: {}{}", error.marker().line() + 1, error.info(), HINT))
        }
        None => Err("the front matter ends unexpectedly".to_owned()),
    }
}

/// The hint for the most common mistake.
const HINT: &str = " (quote texts that contain `: ` or `#`)";

fn read_table(events: &mut YamlEvents<'_>, depth: usize) -> Result<FrontMatter, String> {
    let mut fields = FrontMatter::new();
    loop {
        let event = next_event(events)?;
        if event == Event::MappingEnd {
            return Ok(fields);
        }
        let Event::Scalar(key, ..) = event else { return Err("a key is not plain text".to_owned()) };
        let key = key.into_owned();
        let first = next_event(events)?;
        let value = read_value(events, first, depth)?;
        if fields.insert(key.clone(), value).is_some() {
            return Err(format!("the key `{key}` occurs twice"));
        }
    }
}

fn read_value(events: &mut YamlEvents<'_>, first: Event<'_>, depth: usize) -> Result<YamlValue, String> {
    if depth == MAX_DEPTH {
        return Err(format!("the front matter is nested deeper than {MAX_DEPTH} levels"));
    }
    match first {
        Event::Scalar(text, ScalarStyle::Plain, ..) if matches!(&*text, "~" | "null" | "") => {
            Ok(YamlValue::Text(String::new()))
        }
        Event::Scalar(text, ..) => Ok(YamlValue::Text(text.into_owned())),
        Event::MappingStart(..) => read_table(events, depth + 1).map(YamlValue::Table),
        Event::SequenceStart(..) => {
            let mut list = Vec::new();
            loop {
                let first = next_event(events)?;
                if first == Event::SequenceEnd {
                    return Ok(YamlValue::List(list));
                }
                list.push(read_value(events, first, depth + 1)?);
            }
        }
        Event::Alias(_) => Err("anchors (`*name`) are not supported".to_owned()),
        Event::Nothing
        | Event::StreamStart
        | Event::StreamEnd
        | Event::DocumentStart(_)
        | Event::DocumentEnd
        | Event::SequenceEnd
        | Event::MappingEnd => Err("a value is missing".to_owned()),
    }
}

pub(crate) fn text_field(fields: &FrontMatter, key: &str) -> Result<Option<String>, String> {
    match fields.get(key) {
        None => Ok(None),
        Some(YamlValue::Text(text)) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Some(YamlValue::List(_) | YamlValue::Table(_)) => Err(format!("`{key}` must be a text")),
    }
}

/// Returns a field that is a list of words, or a text with words separated by spaces or commas.
pub(crate) fn words_field(fields: &FrontMatter, key: &str) -> Result<Vec<String>, String> {
    let separated = |text: &str| {
        let words = text.split([' ', ',', '\n']).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    match fields.get(key) {
        None => Ok(Vec::new()),
        Some(YamlValue::Text(text)) => Ok(separated(text)),
        Some(YamlValue::List(list)) => list
            .iter()
            .map(|value| match value {
                YamlValue::Text(text) => Ok(text.clone()),
                YamlValue::List(_) | YamlValue::Table(_) => Err(format!("`{key}` must be a list of texts")),
            })
            .collect(),
        Some(YamlValue::Table(_)) => Err(format!("`{key}` must be a list of texts")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_front_matter_from_body() {
        assert_eq!(split("---\na: 1\n---\n\nbody\n"), (Some("a: 1\n"), "body\n"));
        assert_eq!(split("\u{feff}---\r\na: 1\r\n---\r\nbody"), (Some("a: 1\r\n"), "body"));
        assert_eq!(split("---\n---"), (Some(""), ""));
        assert_eq!(split("body\n---\n"), (None, "body\n---\n"));
        assert_eq!(split("---\nnever ends"), (None, "---\nnever ends"));
        assert_eq!(split("----\na\n---\n"), (None, "----\na\n---\n"));
    }

    #[test]
    fn reads_texts_lists_and_tables() {
        let yaml = "# c\nname: x\ndescription: >\n  two\n  lines\nallowed-tools: Read, Bash\nlist: [a, 'b c']\n\
                    metadata:\n  version: \"1.0\"\nempty:\nyes: true\n";
        let fields = parse(yaml).unwrap();
        assert_eq!(text_field(&fields, "description").unwrap().as_deref(), Some("two lines"));
        assert_eq!(text_field(&fields, "yes").unwrap().as_deref(), Some("true"));
        assert_eq!(text_field(&fields, "empty").unwrap(), None);
        assert_eq!(words_field(&fields, "allowed-tools").unwrap(), ["Read", "Bash"]);
        assert_eq!(words_field(&fields, "list").unwrap(), ["a", "b c"]);
        assert!(matches!(&fields["metadata"], YamlValue::Table(table) if table.len() == 1));
        assert_eq!(text_field(&fields, "list").unwrap_err(), "`list` must be a text");
        assert_eq!(parse("").unwrap(), FrontMatter::new());
    }

    #[track_caller]
    fn check(yaml: &str, expect: &str) {
        let error = parse(yaml).unwrap_err();
        assert!(error.contains(expect), "{error} should contain {expect}");
    }

    #[test]
    fn rejects_invalid_front_matter() {
        check("a: 1\nb: c: d\n", "line 3: ");
        check("a: [", "line ");
        check("a: &x 1\nb: *x\n", "anchors");
        check("- a\n", "not a list of `key: value` lines");
        check("a: 1\na: 2\n", "twice");
        check(&format!("a: {}{}", "[".repeat(20), "]".repeat(20)), "nested");
        check("? [a]\n: b\n", "not plain text");
    }
}
