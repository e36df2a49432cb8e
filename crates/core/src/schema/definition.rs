//! The check of a schema itself: each keyword has a value of its kind, and references stay inside.

use std::collections::{HashMap, HashSet};
use std::ptr;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::pointer::{ValuePath, resolve_ref};
use super::{shorten_fault, text_excerpt};

/// The maximum number of patterns of a schema.
pub(super) const MAX_PATTERNS: usize = 32;

/// The sizes of compiled patterns in bytes, up to the maximum.
const PATTERN_SIZES: [usize; 5] = [1 << 10, 1 << 12, 1 << 14, 1 << 16, MAX_PATTERN];

const MAX_PATTERN: usize = 256 * 1024;

/// The product of a pattern's size and a text's length that is one step. In the worst case, all states of a pattern are
/// visited for each byte.
const MATCHED_A_STEP: usize = 8 * 1024;

const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// The supported values of `$schema`, without the scheme.
const DRAFTS: [&str; 5] = [
    "json-schema.org/draft-04/schema",
    "json-schema.org/draft-06/schema",
    "json-schema.org/draft-07/schema",
    "json-schema.org/draft/2019-09/schema",
    "json-schema.org/draft/2020-12/schema",
];

/// The compiled patterns of a schema by their text.
pub(super) type PatternTable = HashMap<String, CompiledPattern>;

pub(super) struct CompiledPattern {
    pub(super) regex: Regex,
    /// The smallest of [`PATTERN_SIZES`] that is sufficient.
    size: usize,
}

impl CompiledPattern {
    fn from_text(pattern: &str) -> Result<Self, regex::Error> {
        let pattern = as_ascii(pattern);
        let build = |size| Ok(Self { regex: RegexBuilder::new(&pattern).size_limit(size).build()?, size });
        let mut tries = PATTERN_SIZES.into_iter().map(build);
        let is_final = |result: &Result<_, _>| !matches!(result, Err(regex::Error::CompiledTooBig(_)));
        tries.find(is_final).unwrap_or(Err(regex::Error::CompiledTooBig(MAX_PATTERN)))
    }

    /// Returns the steps to match a text.
    pub(super) const fn match_steps(&self, text: &str) -> usize {
        1 + text.len().saturating_mul(self.size) / MATCHED_A_STEP
    }
}

/// Checks all schemas that arguments could reach, and compiles their patterns.
///
/// # Errors
/// A message with the path of the invalid keyword.
pub(super) fn check_definition(root: &Value) -> Result<PatternTable, String> {
    let mut check = DefinitionCheck::default();
    check.check_schema(root, &ValuePath::Root(""))?;
    while let Some(reference) = check.references.pop() {
        let target = resolve_ref(root, reference).ok_or_else(|| not_inside(reference))?;
        check.check_schema(target, &ValuePath::Root(reference.trim_start_matches('#')))?;
    }
    Ok(check.patterns)
}

#[derive(Default)]
struct DefinitionCheck<'a> {
    /// The addresses of the checked schemas, because a reference may lead to any of them.
    checked: HashSet<*const Value>,
    references: Vec<&'a str>,
    patterns: PatternTable,
    pattern_count: usize,
}

impl<'a> DefinitionCheck<'a> {
    fn check_schema(&mut self, schema: &'a Value, path: &ValuePath<'_>) -> Result<(), String> {
        expect_kind(
            schema.is_object() || schema.is_boolean(),
            schema,
            path,
            r#"of types "object", "boolean""#,
        )?;
        if !self.checked.insert(ptr::from_ref(schema)) {
            return Ok(());
        }
        let keywords = schema.as_object().into_iter().flatten();
        keywords.into_iter().try_for_each(|(keyword, value)| {
            self.check_keyword(keyword, value, &ValuePath::Name(path, keyword))
        })
    }

    fn check_keyword(&mut self, keyword: &str, value: &'a Value, path: &ValuePath<'_>) -> Result<(), String> {
        match keyword {
            "additionalItems"
            | "additionalProperties"
            | "contains"
            | "else"
            | "if"
            | "not"
            | "propertyNames"
            | "then"
            | "unevaluatedItems"
            | "unevaluatedProperties" => self.check_schema(value, path),
            "items" if value.is_array() => self.check_list(value, path),
            "items" => self.check_schema(value, path),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => self.check_list(value, path),
            "$defs" | "definitions" | "dependentSchemas" | "properties" => self.check_map(value, path),
            "patternProperties" => {
                as_map(value, path)?.keys().try_for_each(|pattern| self.compile_pattern(pattern, path))?;
                self.check_map(value, path)
            }
            "dependencies" => as_map(value, path)?.iter().try_for_each(|(name, dependency)| {
                let path = ValuePath::Name(path, name);
                match dependency.is_array() {
                    true => check_names(dependency, &path),
                    false => self.check_schema(dependency, &path),
                }
            }),
            "pattern" => self.compile_pattern(as_text(value, path)?, path),
            "$ref" => match as_text(value, path)? {
                to if to == "#" || to.starts_with("#/") => {
                    self.references.push(to);
                    Ok(())
                }
                to => Err(not_inside(to)),
            },
            _ => check_plain_keyword(keyword, value, path),
        }
    }

    fn check_list(&mut self, value: &'a Value, path: &ValuePath<'_>) -> Result<(), String> {
        let schemas = value.as_array().filter(|schemas| !schemas.is_empty());
        expect_kind(schemas.is_some(), value, path, "a list of schemas")?;
        let mut schemas = schemas.into_iter().flatten().enumerate();
        schemas.try_for_each(|(index, schema)| self.check_schema(schema, &ValuePath::Index(path, index)))
    }

    fn check_map(&mut self, value: &'a Value, path: &ValuePath<'_>) -> Result<(), String> {
        let mut schemas = as_map(value, path)?.iter();
        schemas.try_for_each(|(name, schema)| self.check_schema(schema, &ValuePath::Name(path, name)))
    }

    fn compile_pattern(&mut self, pattern: &str, path: &ValuePath<'_>) -> Result<(), String> {
        self.pattern_count += 1;
        if self.pattern_count > MAX_PATTERNS {
            return Err(format!("the schema has more than {MAX_PATTERNS} patterns"));
        }
        let compiled = CompiledPattern::from_text(pattern).map_err(|error| {
            // The last line has the reason; the lines before it repeat the pattern.
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default();
            let reason = reason.strip_prefix("error: ").unwrap_or(reason);
            format!("{path}: the pattern {:?} cannot be used: {reason}", text_excerpt(pattern))
        })?;
        self.patterns.insert(pattern.to_owned(), compiled);
        Ok(())
    }
}

/// Limits `\d` and `\w` to ASCII, as in JavaScript. With all of Unicode, `\w{1,64}` would exceed [`MAX_PATTERN`].
fn as_ascii(pattern: &str) -> String {
    let mut ascii = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        match (char, if char == '\\' { chars.next() } else { None }) {
            ('\\', Some('d')) => ascii.push_str("[0-9]"),
            ('\\', Some('D')) => ascii.push_str("[^0-9]"),
            ('\\', Some('w')) => ascii.push_str("[0-9A-Za-z_]"),
            ('\\', Some('W')) => ascii.push_str("[^0-9A-Za-z_]"),
            (char, escaped) => ascii.extend([Some(char), escaped].into_iter().flatten()),
        }
    }
    ascii
}

/// Checks a keyword that contains no schema.
fn check_plain_keyword(keyword: &str, value: &Value, path: &ValuePath<'_>) -> Result<(), String> {
    let is_type = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    let (is_valid, kind) = match keyword {
        "type" => {
            let is_list = |names: &Vec<Value>| !names.is_empty() && names.iter().all(is_type);
            (is_type(value) || value.as_array().is_some_and(is_list), "a type or a list of types")
        }
        "required" => return check_names(value, path),
        "dependentRequired" => {
            let mut dependencies = as_map(value, path)?.iter();
            return dependencies
                .try_for_each(|(name, names)| check_names(names, &ValuePath::Name(path, name)));
        }
        "enum" => (value.is_array(), r#"of type "array""#),
        "minimum" | "maximum" => (value.is_number(), r#"of type "number""#),
        "exclusiveMinimum" | "exclusiveMaximum" => {
            (value.is_number() || value.is_boolean(), r#"of types "number", "boolean""#)
        }
        "multipleOf" => (value.as_f64().is_some_and(|number| number > 0.0), "a number above 0"),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => (as_count(value).is_some(), "an integer of 0 or more"),
        "uniqueItems" => (value.is_boolean(), r#"of type "boolean""#),
        "$dynamicRef" | "$recursiveRef" => {
            return Err(format!("{path}: {keyword} is not supported; use $ref"));
        }
        "$schema" => (
            value.as_str().is_some_and(is_draft),
            "a known meta-schema; use https://json-schema.org/draft/2020-12/schema",
        ),
        _ => return Ok(()),
    };
    expect_kind(is_valid, value, path, kind)
}

fn is_draft(url: &str) -> bool {
    let url = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    url.is_some_and(|url| DRAFTS.contains(&url.trim_end_matches('#')))
}

fn check_names(value: &Value, path: &ValuePath<'_>) -> Result<(), String> {
    let is_valid = value.as_array().is_some_and(|names| names.iter().all(Value::is_string));
    expect_kind(is_valid, value, path, "a list of names")
}

fn as_map<'a>(value: &'a Value, path: &ValuePath<'_>) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| describe_mismatch(value, path, r#"of type "object""#))
}

fn as_text<'a>(value: &'a Value, path: &ValuePath<'_>) -> Result<&'a str, String> {
    value.as_str().ok_or_else(|| describe_mismatch(value, path, r#"of type "string""#))
}

/// Returns the value of a keyword such as `maxLength`: `3.0` is 3.
pub(super) fn as_count(value: &Value) -> Option<u64> {
    let float = || value.as_f64().filter(|float| float.fract() == 0.0 && *float >= 0.0);
    value.as_u64().or_else(|| float().map(|float| float as u64))
}

fn expect_kind(is_valid: bool, value: &Value, path: &ValuePath<'_>, kind: &str) -> Result<(), String> {
    if is_valid { Ok(()) } else { Err(describe_mismatch(value, path, kind)) }
}

fn describe_mismatch(value: &Value, path: &ValuePath<'_>, kind: &str) -> String {
    shorten_fault(format!("{path}: {value} is not {kind}"))
}

fn not_inside(reference: &str) -> String {
    format!(
        "$ref {:?} is not a path inside the schema; use a path such as #/$defs/name",
        text_excerpt(reference)
    )
}
