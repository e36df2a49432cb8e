//! The work of checking arguments against a schema, counted before any of it is done.
//!
//! A schema of a few hundred bytes can ask for more comparisons than there is time for, by references that branch at
//! every level or lead back to themselves. So schema and arguments are walked together first, without judging
//! anything, and the walk ends when it has taken too many steps.

use serde_json::{Map, Value};

/// Steps that one check may take: less than 50 ms.
pub(super) const MAX_STEPS: u64 = 200_000;

/// Schemas inside schemas, references followed.
const MAX_DEPTH: u32 = 256;

/// Bytes of a string that are compared or matched in about the time of one step.
const BYTES_A_STEP: usize = 256;

/// Keywords that apply one schema to the same value.
const SAME: [&str; 4] = ["not", "if", "then", "else"];

/// Keywords that apply several schemas to the same value.
const SAME_EACH: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Keywords that apply a schema to each element of an array.
const ELEMENTS: [&str; 4] = ["items", "additionalItems", "contains", "unevaluatedItems"];

/// Why a check is not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum TooMuch {
    #[error("it takes more than {MAX_STEPS} steps to check; make schema or arguments smaller")]
    Steps,
    /// A reference that is not a path inside the schema.
    #[error("$ref {0:?} is not a path inside the schema, as #/$defs/name is")]
    Reference(String),
}

/// Counts the steps of one check.
///
/// # Errors
/// [`TooMuch`] as soon as that is clear.
pub(super) fn measure(schema: &Value, instance: &Value) -> Result<(), TooMuch> {
    Walk { root: schema, left: MAX_STEPS, depth: 0 }.apply(schema, instance)
}

struct Walk<'a> {
    root: &'a Value,
    left: u64,
    depth: u32,
}

impl<'a> Walk<'a> {
    fn apply(&mut self, schema: &'a Value, instance: &Value) -> Result<(), TooMuch> {
        let length = instance.as_str().map_or(0, str::len);
        self.spend(1 + length / BYTES_A_STEP)?;
        let Value::Object(keywords) = schema else { return Ok(()) };
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(TooMuch::Steps);
        }
        self.same(keywords, instance)?;
        // To know what was not evaluated, everything is evaluated once more.
        if keywords.contains_key("unevaluatedProperties") || keywords.contains_key("unevaluatedItems") {
            self.same(keywords, instance)?;
        }
        match instance {
            Value::Object(members) => self.members(keywords, members)?,
            Value::Array(elements) => self.elements(keywords, elements)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        self.depth -= 1;
        Ok(())
    }

    /// Counts the keywords that look at the value itself once more.
    fn same(&mut self, keywords: &'a Map<String, Value>, instance: &Value) -> Result<(), TooMuch> {
        if let Some(Value::String(reference)) = keywords.get("$ref") {
            let target = self.target(reference)?;
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
        self.spend(lists.map(Vec::len).sum())
    }

    fn members(
        &mut self,
        keywords: &'a Map<String, Value>,
        members: &Map<String, Value>,
    ) -> Result<(), TooMuch> {
        for (name, schema) in objects(keywords, "properties") {
            self.spend(1)?;
            if let Some(member) = members.get(name) {
                self.apply(schema, member)?;
            }
        }
        let each =
            ["additionalProperties", "unevaluatedProperties"].iter().filter_map(|key| keywords.get(*key));
        // Whether a pattern matches is not asked: that would be the work itself.
        for schema in each.chain(objects(keywords, "patternProperties").map(|(_, schema)| schema)) {
            for (name, member) in members {
                self.spend(name.len() / BYTES_A_STEP)?;
                self.apply(schema, member)?;
            }
        }
        if let Some(schema) = keywords.get("propertyNames") {
            members.keys().try_for_each(|name| self.apply(schema, &Value::from(name.as_str())))?;
        }
        Ok(())
    }

    fn elements(&mut self, keywords: &'a Map<String, Value>, elements: &[Value]) -> Result<(), TooMuch> {
        self.spend(elements.len())?;
        for schema in ELEMENTS.iter().filter_map(|keyword| keywords.get(*keyword)) {
            elements.iter().try_for_each(|element| self.apply(schema, element))?;
        }
        // `items` was a list of schemas before there was `prefixItems`.
        for schemas in
            ["items", "prefixItems"].iter().filter_map(|keyword| keywords.get(*keyword)?.as_array())
        {
            let pairs = schemas.iter().zip(elements);
            pairs.into_iter().try_for_each(|(schema, element)| self.apply(schema, element))?;
        }
        Ok(())
    }

    fn target(&self, reference: &str) -> Result<&'a Value, TooMuch> {
        let pointer = reference.strip_prefix('#').map(percent_decoded);
        let target = pointer.and_then(|pointer| self.root.pointer(&pointer));
        target.ok_or_else(|| TooMuch::Reference(reference.chars().take(80).collect()))
    }

    fn spend(&mut self, steps: usize) -> Result<(), TooMuch> {
        let left = self.left.checked_sub(u64::try_from(steps).unwrap_or(u64::MAX));
        self.left = left.ok_or(TooMuch::Steps)?;
        Ok(())
    }
}

fn objects<'a>(
    keywords: &'a Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    keywords.get(keyword).and_then(Value::as_object).into_iter().flatten()
}

/// References are parts of URLs, in which a blank is `%20`.
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
