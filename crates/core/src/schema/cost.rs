//! Estimates the work of checking arguments against a schema before the check.
//!
//! A schema of a few hundred bytes can require an unlimited number of comparisons, through references that branch at
//! every level or form a cycle. Schema and arguments are therefore walked together first, without validation. The walk
//! stops when it has taken too many steps.

use serde_json::{Map, Value};

/// The maximum steps of a check, which take less than 50 ms.
pub(super) const MAX_STEPS: u64 = 200_000;

/// The maximum nesting of schemas, including references.
const MAX_DEPTH: u32 = 256;

/// The bytes of a string that are compared or matched in about the time of one step.
const BYTES_A_STEP: usize = 256;

/// Keywords that apply one schema to the same value.
const SAME: [&str; 4] = ["not", "if", "then", "else"];

/// Keywords that apply several schemas to the same value.
const SAME_EACH: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Keywords that apply a schema to each element of an array.
const ELEMENTS: [&str; 4] = ["items", "additionalItems", "contains", "unevaluatedItems"];

/// The reasons why a check is not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum WorkLimitError {
    #[error("the check takes more than {MAX_STEPS} steps; use a smaller schema or smaller arguments")]
    Steps,
    /// A reference that is not a path inside the schema.
    #[error("$ref {0:?} is not a path inside the schema; use a path such as #/$defs/name")]
    Reference(String),
}

/// Counts the steps of one check.
///
/// # Errors
/// [`WorkLimitError`] as soon as a limit is exceeded.
pub(super) fn count_steps(schema: &Value, instance: &Value) -> Result<(), WorkLimitError> {
    StepCounter { root: schema, left: MAX_STEPS, depth: 0 }.apply(schema, instance)
}

struct StepCounter<'a> {
    root: &'a Value,
    left: u64,
    depth: u32,
}

impl<'a> StepCounter<'a> {
    fn apply(&mut self, schema: &'a Value, instance: &Value) -> Result<(), WorkLimitError> {
        let length = instance.as_str().map_or(0, str::len);
        self.spend_steps(1 + length / BYTES_A_STEP)?;
        let Value::Object(keywords) = schema else { return Ok(()) };
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(WorkLimitError::Steps);
        }
        self.apply_in_place(keywords, instance)?;
        // To find unevaluated values, the validator evaluates everything once more.
        if keywords.contains_key("unevaluatedProperties") || keywords.contains_key("unevaluatedItems") {
            self.apply_in_place(keywords, instance)?;
        }
        match instance {
            Value::Object(members) => self.apply_to_members(keywords, members)?,
            Value::Array(elements) => self.apply_to_elements(keywords, elements)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        self.depth -= 1;
        Ok(())
    }

    /// Counts the keywords that apply to the value itself.
    fn apply_in_place(
        &mut self,
        keywords: &'a Map<String, Value>,
        instance: &Value,
    ) -> Result<(), WorkLimitError> {
        if let Some(Value::String(reference)) = keywords.get("$ref") {
            let target = self.resolve_ref(reference)?;
            self.apply(target, instance)?;
        }
        for schema in SAME.iter().filter_map(|keyword| keywords.get(*keyword)) {
            self.apply(schema, instance)?;
        }
        for schemas in SAME_EACH.iter().filter_map(|keyword| keywords.get(*keyword)?.as_array()) {
            schemas.iter().try_for_each(|schema| self.apply(schema, instance))?;
        }
        for schemas in ["dependentSchemas", "dependencies"].iter().filter_map(|key| keywords.get(*key)) {
            let schemas = schemas.as_object().into_iter().flat_map(Map::values);
            schemas.into_iter().try_for_each(|schema| self.apply(schema, instance))?;
        }
        let lists = ["enum", "required"].iter().filter_map(|keyword| keywords.get(*keyword)?.as_array());
        self.spend_steps(lists.map(Vec::len).sum())
    }

    fn apply_to_members(
        &mut self,
        keywords: &'a Map<String, Value>,
        members: &Map<String, Value>,
    ) -> Result<(), WorkLimitError> {
        for (name, schema) in keyword_schemas(keywords, "properties") {
            self.spend_steps(1)?;
            if let Some(member) = members.get(name) {
                self.apply(schema, member)?;
            }
        }
        let each =
            ["additionalProperties", "unevaluatedProperties"].iter().filter_map(|key| keywords.get(*key));
        // Every pattern counts as a match, because matching would be the work itself.
        for schema in each.chain(keyword_schemas(keywords, "patternProperties").map(|(_, schema)| schema)) {
            for (name, member) in members {
                self.spend_steps(name.len() / BYTES_A_STEP)?;
                self.apply(schema, member)?;
            }
        }
        if let Some(schema) = keywords.get("propertyNames") {
            members.keys().try_for_each(|name| self.apply(schema, &Value::from(name.as_str())))?;
        }
        Ok(())
    }

    fn apply_to_elements(
        &mut self,
        keywords: &'a Map<String, Value>,
        elements: &[Value],
    ) -> Result<(), WorkLimitError> {
        self.spend_steps(elements.len())?;
        for schema in ELEMENTS.iter().filter_map(|keyword| keywords.get(*keyword)) {
            elements.iter().try_for_each(|element| self.apply(schema, element))?;
        }
        // `items` was a list of schemas before `prefixItems` existed.
        for schemas in
            ["items", "prefixItems"].iter().filter_map(|keyword| keywords.get(*keyword)?.as_array())
        {
            let pairs = schemas.iter().zip(elements);
            pairs.into_iter().try_for_each(|(schema, element)| self.apply(schema, element))?;
        }
        Ok(())
    }

    fn resolve_ref(&self, reference: &str) -> Result<&'a Value, WorkLimitError> {
        let pointer = reference.strip_prefix('#').map(percent_decoded);
        let target = pointer.and_then(|pointer| self.root.pointer(&pointer));
        target.ok_or_else(|| WorkLimitError::Reference(reference.chars().take(80).collect()))
    }

    fn spend_steps(&mut self, steps: usize) -> Result<(), WorkLimitError> {
        let left = self.left.checked_sub(u64::try_from(steps).unwrap_or(u64::MAX));
        self.left = left.ok_or(WorkLimitError::Steps)?;
        Ok(())
    }
}

fn keyword_schemas<'a>(
    keywords: &'a Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    keywords.get(keyword).and_then(Value::as_object).into_iter().flatten()
}

/// Decodes a reference, which is part of a URL; for example, a space is `%20`.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = match (first, behind.get(..2).map(std::str::from_utf8)) {
            (b'%', Some(Ok(digits))) => u8::from_str_radix(digits, 16).ok(),
            _ => None,
        };
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { behind.get(2..).unwrap_or_default() } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
