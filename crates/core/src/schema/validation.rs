//! One check of arguments against a schema, with a limited number of steps.
//!
//! A schema of a few hundred bytes can require an unlimited number of comparisons, through references that branch at
//! every level or form a cycle. The check therefore counts its steps, and evaluates every alternative of a schema even
//! if the first one fits: so the check of an empty object finds most schemas that are too complex.

use serde_json::{Map, Number, Value};

use super::definition::{PatternTable, as_count};
use super::pointer::{ValuePath, resolve_ref};
use super::shorten_fault;
use super::value::{compare_values, is_integer, is_multiple, text_steps, value_steps};

/// The maximum steps of a check, which take less than 50 ms.
const MAX_STEPS: u64 = 200_000;

/// The maximum nesting of schemas, including references.
const MAX_DEPTH: u32 = 256;

/// The steps of an exact division.
const DIVISION_STEPS: usize = 4;

/// The maximum number of errors that are reported to the model at once.
const MAX_FAULTS: usize = 5;

const LOW: &str = "less than or equal to the minimum of";
const HIGH: &str = "greater than or equal to the maximum of";

/// The members of an object.
type ObjectMembers = Map<String, Value>;

/// The error for a check that is too expensive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the check takes more than {MAX_STEPS} steps; use a smaller schema or smaller arguments")]
pub(super) struct WorkLimitError;

type StepResult<T = ()> = Result<T, WorkLimitError>;

/// Returns the mismatches of arguments, at most [`MAX_FAULTS`].
///
/// # Errors
/// [`WorkLimitError`] as soon as a limit is exceeded.
pub(super) fn find_faults(schema: &Value, patterns: &PatternTable, args: &Value) -> StepResult<Vec<String>> {
    let mut validation = ArgsValidation {
        root: schema,
        patterns,
        steps_left: MAX_STEPS,
        depth: 0,
        trials: 0,
        mismatches: 0,
        faults: Vec::new(),
    };
    validation.apply(schema, LocatedValue { value: args, path: &ValuePath::Root("") })?;
    Ok(validation.faults)
}

/// A value of the arguments.
#[derive(Clone, Copy)]
struct LocatedValue<'v> {
    value: &'v Value,
    path: &'v ValuePath<'v>,
}

/// A keyword of a schema.
#[derive(Clone, Copy)]
struct SchemaKeyword<'a> {
    name: &'a str,
    value: &'a Value,
    /// The schema, with the other keywords.
    schema: &'a ObjectMembers,
}

struct ArgsValidation<'a> {
    root: &'a Value,
    patterns: &'a PatternTable,
    steps_left: u64,
    depth: u32,
    /// The number of schemas around the current one that need not fit, such as alternatives. Their mismatches are
    /// counted, but not described.
    trials: u32,
    mismatches: usize,
    faults: Vec<String>,
}

impl<'a> ArgsValidation<'a> {
    fn apply(&mut self, schema: &'a Value, at: LocatedValue<'_>) -> StepResult {
        self.spend_steps(at.value.as_str().map_or(1, text_steps))?;
        let Value::Object(keywords) = schema else {
            if *schema == Value::Bool(false) {
                self.report_fault(at, || format!("False schema does not allow {}", at.value));
            }
            return Ok(());
        };
        self.spend_steps(keywords.len() / 8)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(WorkLimitError);
        }
        for (name, value) in keywords {
            self.apply_keyword(SchemaKeyword { name, value, schema: keywords }, at)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn apply_keyword(&mut self, keyword: SchemaKeyword<'a>, at: LocatedValue<'_>) -> StepResult {
        let SchemaKeyword { name, value, schema } = keyword;
        match name {
            "type" => self.check_type(value, at),
            "enum" | "const" => self.check_equality(keyword, at)?,
            "$ref" | "allOf" | "dependentSchemas" => {
                for schema in self.schemas_in_place(name, schema, at)? {
                    self.apply(schema, at)?;
                }
            }
            "anyOf" | "oneOf" => self.check_alternatives(keyword, at)?,
            "not" if self.is_valid(value, at)? => {
                self.report_fault(at, || format!("{value} is not allowed for {}", at.value));
            }
            "if" => {
                let branch = if self.is_valid(value, at)? { "then" } else { "else" };
                if let Some(schema) = schema.get(branch) {
                    self.apply(schema, at)?;
                }
            }
            _ => match at.value {
                Value::Number(number) => self.check_number(keyword, number, at)?,
                Value::String(text) => self.check_text(keyword, text, at)?,
                Value::Array(elements) => self.check_array(keyword, elements, at)?,
                Value::Object(members) => self.check_object(keyword, members, at)?,
                Value::Null | Value::Bool(_) => {}
            },
        }
        Ok(())
    }

    fn check_type(&mut self, types: &Value, at: LocatedValue<'_>) {
        let names = as_list(types);
        if names.iter().filter_map(Value::as_str).any(|name| has_type(at.value, name)) {
            return;
        }
        let plural = if types.is_array() { "s" } else { "" };
        self.report_fault(at, || {
            let names: Vec<String> = names.iter().map(Value::to_string).collect();
            format!("{} is not of type{plural} {}", at.value, names.join(", "))
        });
    }

    fn check_equality(
        &mut self,
        SchemaKeyword { name, value, .. }: SchemaKeyword<'_>,
        at: LocatedValue<'_>,
    ) -> StepResult {
        let is_const = name == "const";
        let allowed = if is_const { std::slice::from_ref(value) } else { as_list(value) };
        self.spend_steps(allowed.len().saturating_mul(value_steps(at.value)))?;
        if !allowed.iter().any(|allowed| compare_values(allowed, at.value).is_eq()) {
            self.report_fault(at, || match is_const {
                true => format!("{value} was expected"),
                false => format!("{} is not one of {value}", at.value),
            });
        }
        Ok(())
    }

    fn check_alternatives(
        &mut self,
        SchemaKeyword { name, value, .. }: SchemaKeyword<'a>,
        at: LocatedValue<'_>,
    ) -> StepResult {
        let mut valid = 0;
        for schema in as_list(value) {
            valid += u32::from(self.is_valid(schema, at)?);
        }
        let found = match valid {
            0 => "not valid under any",
            2.. if name == "oneOf" => "valid under more than one",
            _ => return Ok(()),
        };
        self.report_fault(at, || {
            format!("{} is {found} of the schemas listed in the '{name}' keyword", at.value)
        });
        Ok(())
    }

    fn check_number(
        &mut self,
        keyword: SchemaKeyword<'_>,
        number: &Number,
        at: LocatedValue<'_>,
    ) -> StepResult {
        // In draft 4, `exclusiveMinimum` is a flag of `minimum`.
        let is_flagged = |flag| keyword.schema.get(flag) == Some(&Value::Bool(true));
        let Value::Number(limit) = keyword.value else { return Ok(()) };
        self.spend_steps(if keyword.name == "multipleOf" { DIVISION_STEPS } else { 0 })?;
        let order = compare_values(at.value, keyword.value);
        let wrong = match keyword.name {
            "minimum" if order.is_lt() => "less than the minimum of",
            "maximum" if order.is_gt() => "greater than the maximum of",
            "minimum" if order.is_eq() && is_flagged("exclusiveMinimum") => LOW,
            "maximum" if order.is_eq() && is_flagged("exclusiveMaximum") => HIGH,
            "exclusiveMinimum" if order.is_le() => LOW,
            "exclusiveMaximum" if order.is_ge() => HIGH,
            "multipleOf" if !is_multiple(number, limit) => "not a multiple of",
            _ => return Ok(()),
        };
        self.report_fault(at, || format!("{number} is {wrong} {limit}"));
        Ok(())
    }

    fn check_text(&mut self, keyword: SchemaKeyword<'_>, text: &str, at: LocatedValue<'_>) -> StepResult {
        match (keyword.name, keyword.value) {
            ("pattern", Value::String(pattern)) if !self.matches_pattern(pattern, text)? => {
                self.report_fault(at, || format!("{} does not match {}", at.value, keyword.value));
            }
            ("minLength" | "maxLength", _) => {
                self.check_count(keyword, text.chars().count(), ("character", "characters"), at);
            }
            _ => {}
        }
        Ok(())
    }

    fn check_array(
        &mut self,
        keyword: SchemaKeyword<'a>,
        elements: &[Value],
        at: LocatedValue<'_>,
    ) -> StepResult {
        let SchemaKeyword { name, value, schema } = keyword;
        // Before `prefixItems` existed, `items` was a list, and `additionalItems` the schema for the rest.
        let is_tuple = |name| schema.get(name).is_some_and(Value::is_array);
        match name {
            "prefixItems" | "items" if is_tuple(name) => {
                for (index, (schema, value)) in as_list(value).iter().zip(elements).enumerate() {
                    self.apply(schema, LocatedValue { value, path: &ValuePath::Index(at.path, index) })?;
                }
            }
            "items" | "additionalItems" if name == "items" || is_tuple("items") => {
                let before = if name == "items" { "prefixItems" } else { "items" };
                for (index, element) in elements.iter().enumerate().skip(listed_len(schema, before)) {
                    self.apply(
                        value,
                        LocatedValue { value: element, path: &ValuePath::Index(at.path, index) },
                    )?;
                }
            }
            "contains" => self.check_contains(keyword, elements, at)?,
            "uniqueItems" if *value == Value::Bool(true) => self.check_unique(elements, at)?,
            "minItems" | "maxItems" => self.check_count(keyword, elements.len(), ("item", "items"), at),
            "unevaluatedItems" => self.apply_to_unevaluated(keyword, "Unevaluated items", at)?,
            _ => {}
        }
        Ok(())
    }

    fn check_contains(
        &mut self,
        keyword: SchemaKeyword<'a>,
        elements: &[Value],
        at: LocatedValue<'_>,
    ) -> StepResult {
        let mut found = 0;
        for value in elements {
            found += u64::from(self.is_valid(keyword.value, LocatedValue { value, ..at })?);
        }
        let limit = |name| keyword.schema.get(name).and_then(as_count);
        let (min, max) = (limit("minContains").unwrap_or(1), limit("maxContains").unwrap_or(u64::MAX));
        if found == 0 && min > 0 {
            self.report_fault(at, || format!("None of {} are valid under the given schema", at.value));
        } else if found < min || found > max {
            let (word, limit) = if found < min { ("least", min) } else { ("most", max) };
            self.report_fault(at, || {
                format!("{} contains {found} valid elements, not at {word} {limit}", at.value)
            });
        }
        Ok(())
    }

    fn check_unique(&mut self, elements: &[Value], at: LocatedValue<'_>) -> StepResult {
        // Most comparisons end at the first element.
        let rounds = 1 + elements.len().checked_ilog2().unwrap_or(0) as usize / 4;
        self.spend_steps(value_steps(at.value).saturating_mul(rounds))?;
        let mut sorted: Vec<&Value> = elements.iter().collect();
        sorted.sort_unstable_by(|a, b| compare_values(a, b));
        if sorted.windows(2).any(|pair| matches!(pair, [a, b] if compare_values(a, b).is_eq())) {
            self.report_fault(at, || format!("{} has non-unique elements", at.value));
        }
        Ok(())
    }

    fn check_object(
        &mut self,
        keyword: SchemaKeyword<'a>,
        members: &ObjectMembers,
        at: LocatedValue<'_>,
    ) -> StepResult {
        let SchemaKeyword { name, value, schema } = keyword;
        match name {
            "properties" => {
                for (name, schema) in entries(value) {
                    self.spend_steps(1)?;
                    if let Some(value) = members.get(name) {
                        self.apply(schema, LocatedValue { value, path: &ValuePath::Name(at.path, name) })?;
                    }
                }
            }
            "patternProperties" => {
                for (pattern, schema) in entries(value) {
                    for (name, value) in members {
                        if self.matches_pattern(pattern, name)? {
                            self.apply(
                                schema,
                                LocatedValue { value, path: &ValuePath::Name(at.path, name) },
                            )?;
                        }
                    }
                }
            }
            "additionalProperties" => {
                let mut rest = Vec::new();
                for (name, member) in members {
                    if !self.is_declared(schema, name)? {
                        rest.push((ValuePath::Name(at.path, name), member));
                    }
                }
                self.apply_to_rest(value, "Additional properties", &rest, at)?;
            }
            "unevaluatedProperties" => self.apply_to_unevaluated(keyword, "Unevaluated properties", at)?,
            "propertyNames" => {
                for name in members.keys() {
                    self.apply(value, LocatedValue { value: &Value::from(name.as_str()), ..at })?;
                }
            }
            "required" => self.check_required(value, members, at)?,
            "dependentRequired" | "dependencies" => {
                for (_, names) in entries(value).filter(|(name, _)| members.contains_key(*name)) {
                    self.check_required(names, members, at)?;
                }
                for schema in self.schemas_in_place(name, schema, at)? {
                    self.apply(schema, at)?;
                }
            }
            "minProperties" | "maxProperties" => {
                self.check_count(keyword, members.len(), ("property", "properties"), at);
            }
            _ => {}
        }
        Ok(())
    }

    fn check_required(&mut self, names: &Value, members: &ObjectMembers, at: LocatedValue<'_>) -> StepResult {
        for name in as_list(names) {
            self.spend_steps(1)?;
            if name.as_str().is_some_and(|name| !members.contains_key(name)) {
                self.report_fault(at, || format!("{name} is a required property"));
            }
        }
        Ok(())
    }

    /// Checks a length against a keyword whose name begins with `min` or `max`.
    fn check_count(
        &mut self,
        keyword: SchemaKeyword<'_>,
        count: usize,
        (one, many): (&str, &str),
        at: LocatedValue<'_>,
    ) {
        let Some(limit) = as_count(keyword.value) else { return };
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let is_minimum = keyword.name.starts_with("min");
        if if is_minimum { count >= limit } else { count <= limit } {
            return;
        }
        let wrong = match (keyword.name, is_minimum) {
            ("minLength", _) => "is shorter than",
            ("maxLength", _) => "is longer than",
            (_, true) => "has less than",
            (_, false) => "has more than",
        };
        self.report_fault(at, || {
            format!("{} {wrong} {limit} {}", at.value, if limit == 1 { one } else { many })
        });
    }

    fn apply_to_unevaluated(
        &mut self,
        keyword: SchemaKeyword<'a>,
        kind: &str,
        at: LocatedValue<'_>,
    ) -> StepResult {
        let children = child_values(at);
        let mut evaluated = vec![false; children.len()];
        self.mark_evaluated(keyword.schema, at, &mut evaluated)?;
        let rest = children.into_iter().zip(evaluated).filter(|(_, evaluated)| !evaluated);
        let rest: Vec<_> = rest.map(|(child, _)| child).collect();
        self.apply_to_rest(keyword.value, kind, &rest, at)
    }

    /// Marks the children of a value that a schema evaluates, by itself or through valid schemas in place.
    fn mark_evaluated(
        &mut self,
        schema: &'a ObjectMembers,
        at: LocatedValue<'_>,
        evaluated: &mut [bool],
    ) -> StepResult {
        self.spend_steps(1)?;
        let prefix = evaluated_prefix(schema);
        for (index, (mark, (path, value))) in evaluated.iter_mut().zip(child_values(at)).enumerate() {
            self.spend_steps(1)?;
            *mark |= match (path, schema.get("contains")) {
                (ValuePath::Name(_, name), _) => {
                    schema.contains_key("additionalProperties") || self.is_declared(schema, name)?
                }
                (_, Some(contains)) if index >= prefix => {
                    self.is_valid(contains, LocatedValue { value, path: &path })?
                }
                _ => index < prefix,
            };
        }
        let rest = if at.value.is_array() { "unevaluatedItems" } else { "unevaluatedProperties" };
        for name in ["$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"] {
            for schema in self.schemas_in_place(name, schema, at)? {
                if let (Value::Object(schema), true) = (schema, self.is_valid(schema, at)?) {
                    if schema.contains_key(rest) {
                        evaluated.fill(true);
                    }
                    self.mark_evaluated(schema, at, evaluated)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the schemas that a keyword applies to the same value.
    fn schemas_in_place(
        &mut self,
        name: &str,
        schema: &'a ObjectMembers,
        at: LocatedValue<'_>,
    ) -> StepResult<Vec<&'a Value>> {
        let Some(value) = schema.get(name) else { return Ok(Vec::new()) };
        let schemas = match (name, at.value) {
            ("$ref", _) => {
                let reference = value.as_str().unwrap_or_default();
                self.spend_steps(1 + reference.len() / 16)?;
                resolve_ref(self.root, reference).into_iter().collect()
            }
            ("if", _) => {
                let branch = if self.is_valid(value, at)? { "then" } else { "else" };
                [Some(value), schema.get(branch)].into_iter().flatten().collect()
            }
            ("dependentSchemas" | "dependencies", Value::Object(members)) => {
                self.spend_steps(entries(value).count())?;
                let present = entries(value).filter(|(name, _)| members.contains_key(*name));
                present.map(|(_, schema)| schema).collect()
            }
            ("allOf" | "anyOf" | "oneOf", _) => as_list(value).iter().collect(),
            _ => Vec::new(),
        };
        Ok(schemas)
    }

    /// Applies a schema to the children of a value that other keywords have left.
    fn apply_to_rest(
        &mut self,
        schema: &'a Value,
        kind: &str,
        rest: &[(ValuePath<'_>, &Value)],
        at: LocatedValue<'_>,
    ) -> StepResult {
        if *schema != Value::Bool(false) {
            return rest
                .iter()
                .try_for_each(|(path, value)| self.apply(schema, LocatedValue { value, path }));
        }
        if !rest.is_empty() {
            self.report_fault(at, || {
                let names: Vec<String> = rest.iter().map(|(path, value)| child_name(path, value)).collect();
                let verb = if names.len() == 1 { "was" } else { "were" };
                format!("{kind} are not allowed ({} {verb} unexpected)", names.join(", "))
            });
        }
        Ok(())
    }

    /// True if `properties` or `patternProperties` has a schema for a name.
    fn is_declared(&mut self, schema: &ObjectMembers, name: &str) -> StepResult<bool> {
        self.spend_steps(1)?;
        let members = |keyword| schema.get(keyword).and_then(Value::as_object);
        if members("properties").is_some_and(|properties| properties.contains_key(name)) {
            return Ok(true);
        }
        for pattern in members("patternProperties").into_iter().flat_map(ObjectMembers::keys) {
            if self.matches_pattern(pattern, name)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn matches_pattern(&mut self, pattern: &str, text: &str) -> StepResult<bool> {
        let Some(pattern) = self.patterns.get(pattern) else { return Ok(false) };
        self.spend_steps(pattern.match_steps(text))?;
        Ok(pattern.regex.is_match(text))
    }

    /// True if a value fits a schema. Mismatches are not reported.
    fn is_valid(&mut self, schema: &'a Value, at: LocatedValue<'_>) -> StepResult<bool> {
        let before = std::mem::take(&mut self.mismatches);
        self.trials += 1;
        self.apply(schema, at)?;
        self.trials -= 1;
        Ok(std::mem::replace(&mut self.mismatches, before) == 0)
    }

    fn report_fault(&mut self, at: LocatedValue<'_>, describe: impl FnOnce() -> String) {
        self.mismatches += 1;
        if self.trials > 0 || self.faults.len() >= MAX_FAULTS {
            return;
        }
        let path = at.path.to_string();
        let separator = if path.is_empty() { "" } else { ": " };
        self.faults.push(shorten_fault(format!("{path}{separator}{}", describe())));
    }

    fn spend_steps(&mut self, steps: usize) -> StepResult {
        let left = self.steps_left.checked_sub(u64::try_from(steps).unwrap_or(u64::MAX));
        self.steps_left = left.ok_or(WorkLimitError)?;
        Ok(())
    }
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Returns the elements of a list, or one value as a list of one.
fn as_list(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

fn listed_len(keywords: &ObjectMembers, keyword: &str) -> usize {
    keywords.get(keyword).and_then(Value::as_array).map_or(0, Vec::len)
}

/// Returns the number of elements that `items` and its relatives evaluate.
fn evaluated_prefix(keywords: &ObjectMembers) -> usize {
    let is_tuple = keywords.get("items").is_some_and(Value::is_array);
    let has_rest = keywords.contains_key(if is_tuple { "additionalItems" } else { "items" });
    if has_rest { usize::MAX } else { listed_len(keywords, "items").max(listed_len(keywords, "prefixItems")) }
}

fn child_values(at: LocatedValue<'_>) -> Vec<(ValuePath<'_>, &Value)> {
    let elements = at.value.as_array().into_iter().flatten().enumerate();
    let members = at.value.as_object().into_iter().flatten();
    elements
        .map(|(index, element)| (ValuePath::Index(at.path, index), element))
        .chain(members.map(|(name, member)| (ValuePath::Name(at.path, name), member)))
        .collect()
}

/// Returns the name of a member, or the text of an element.
fn child_name(path: &ValuePath<'_>, value: &Value) -> String {
    match path {
        ValuePath::Name(_, name) => format!("'{name}'"),
        ValuePath::Root(_) | ValuePath::Index(..) => value.to_string(),
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => name == "number" || name == "integer" && is_integer(number),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}
