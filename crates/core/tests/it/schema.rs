//! The verdicts of the schema validator, against the library `jsonschema` and the special cases of each draft.

use haft_core::protocol::RawJson;
use haft_core::schema::SchemaValidator;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

fn any_value() -> BoxedStrategy<Value> {
    let texts = ["", "a", "b", "ab", "a1", "äöü"].map(Value::from);
    let numbers = [json!(-1), json!(0), json!(1), json!(1.0), json!(2), json!(3), json!(0.5), json!(1.5)];
    let leaf = select([texts.to_vec(), numbers.to_vec(), vec![json!(null), json!(true)]].concat());
    leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![vec(inner.clone(), 0..4).prop_map(Value::from), any_object(inner)]
    })
    .boxed()
}

fn any_object(member: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    let members = vec((select(vec!["a", "b", "c", "a1"]), member), 0..4);
    members
        .prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
        .boxed()
}

/// Creates a keyword without a schema in it.
fn plain_keyword() -> BoxedStrategy<(&'static str, Value)> {
    let types = ["array", "boolean", "integer", "null", "number", "object", "string"];
    let names = || {
        vec(select(vec!["a", "b", "c"]), 0..3).prop_map(|mut names| {
            names.sort_unstable();
            names.dedup();
            json!(names)
        })
    };
    let count =
        |keywords: &[&'static str]| (select(keywords.to_vec()), (0_u32..4).prop_map(|count| json!(count)));
    let number = select(vec![json!(-1), json!(0), json!(1), json!(1.0), json!(1.5), json!(2)]);
    let positive = select(vec![json!(1), json!(2), json!(0.5), json!(1.5), json!(0.1)]);
    let kind = prop_oneof![
        select(types.to_vec()).prop_map(Value::from),
        proptest::sample::subsequence(types.to_vec(), 1..3).prop_map(|types| json!(types)),
    ];
    prop_oneof![
        kind.prop_map(|kind| ("type", kind)),
        vec(any_value(), 1..4).prop_map(|mut allowed| {
            // The library refuses a list with equal values.
            allowed.dedup_by_key(|value| value.to_string());
            ("enum", json!(allowed))
        }),
        any_value().prop_map(|value| ("const", value)),
        names().prop_map(|names| ("required", names)),
        names().prop_map(|names| ("dependentRequired", json!({"a": names}))),
        count(&["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]),
        count(&["minContains", "maxContains"]),
        (select(vec!["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]), number),
        positive.prop_map(|of| ("multipleOf", of)),
        any::<bool>().prop_map(|is_unique| ("uniqueItems", json!(is_unique))),
        select(vec!["^a", "b$", "[0-9]", "^\\w*$", "^(a|b)+$"])
            .prop_map(|pattern| ("pattern", json!(pattern))),
        Just(("$ref", json!("#/$defs/x~1%20"))),
        Just(("format", json!("date"))),
        Just(("unheard-of", json!(7))),
    ]
    .boxed()
}

fn any_schema() -> BoxedStrategy<Value> {
    let plain = vec(plain_keyword(), 0..3).prop_map(to_schema);
    let leaf = prop_oneof![1 => any::<bool>().prop_map(Value::from), 6 => plain];
    leaf.prop_recursive(3, 24, 3, |inner| {
        let one = select(vec![
            "additionalProperties",
            "contains",
            "else",
            "if",
            "items",
            "not",
            "propertyNames",
            "then",
            "unevaluatedItems",
            "unevaluatedProperties",
        ]);
        let list = select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]);
        let keyword = prop_oneof![
            4 => (one, inner.clone()),
            3 => (list, vec(inner.clone(), 1..3).prop_map(Value::from)),
            2 => any_object(inner.clone()).prop_map(|schemas| ("properties", schemas)),
            1 => any_object(inner.clone()).prop_map(|schemas| ("dependentSchemas", schemas)),
            1 => inner.clone().prop_map(|schema| ("patternProperties", json!({"^a": schema}))),
            1 => inner.prop_map(|schema| ("dependencies", json!({"a": schema, "b": ["c"]}))),
            4 => plain_keyword(),
        ];
        vec(keyword, 1..5).prop_map(to_schema)
    })
    .boxed()
}

fn to_schema(keywords: Vec<(&'static str, Value)>) -> Value {
    keywords.into_iter().map(|(keyword, value)| (keyword.to_owned(), value)).collect::<Map<_, _>>().into()
}

fn is_valid(schema: &Value, args: &Value) -> Result<bool, String> {
    let compiled =
        SchemaValidator::compile(&RawJson::from(schema.clone())).map_err(|error| error.to_string())?;
    Ok(compiled.check(&RawJson::from(args.clone())).is_ok())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn verdict_is_that_of_the_library(inner in any_schema(), target in plain_keyword(), values in vec(any_value(), 8)) {
        let (keyword, target) = target;
        let target = if keyword == "$ref" { json!({}) } else { json!({keyword: target}) };
        let schema = json!({"properties": {"value": inner}, "$defs": {"x/ ": target}});
        let library = jsonschema::draft202012::new(&schema).unwrap();
        for value in values {
            let args = json!({ "value": value });
            let expected = Ok(library.is_valid(&args));
            prop_assert_eq!(is_valid(&schema, &args), expected, "schema {} for {}", schema, args);
        }
    }
}

#[track_caller]
fn check(schema: Value, valid: &[Value], invalid: &[Value]) {
    let schema = json!({"properties": {"v": schema}});
    for (values, expect) in [(valid, true), (invalid, false)] {
        for value in values {
            assert_eq!(is_valid(&schema, &json!({"v": value})), Ok(expect), "{schema} for {value}");
        }
    }
}

#[test]
fn checks_keywords_of_older_drafts() {
    check(json!({"minimum": 1, "exclusiveMinimum": true}), &[json!(1.5)], &[json!(1), json!(0)]);
    check(json!({"maximum": 1, "exclusiveMaximum": true}), &[json!(0)], &[json!(1.0), json!(2)]);
    check(json!({"maximum": 1, "exclusiveMaximum": false}), &[json!(1)], &[json!(2)]);
    let items = json!([{"type": "string"}, {"type": "null"}]);
    check(json!({ "items": items }), &[json!(["a"]), json!(["a", null, 7])], &[json!([1]), json!(["a", 1])]);
    let rest = json!({"items": items, "additionalItems": {"type": "integer"}});
    check(rest, &[json!(["a", null, 7])], &[json!(["a", null, "b"])]);
    check(json!({"items": items, "additionalItems": false}), &[json!(["a"])], &[json!(["a", null, 7])]);
    check(json!({"items": {}, "additionalItems": false}), &[json!([1, 2])], &[]);
    let needs = json!({"dependencies": {"a": ["b"], "c": {"required": ["d"]}, "e": true}});
    check(
        needs,
        &[json!({"e": 1}), json!({"a": 1, "b": 1}), json!({"c": 1, "d": 1})],
        &[json!({"a": 1}), json!({"c": 1})],
    );
    let named = json!({"$schema": "http://json-schema.org/draft-07/schema#", "id": "x", "type": "integer"});
    check(named, &[json!(1.0), json!(u64::MAX)], &[json!(1.5), json!("1")]);
}

#[test]
fn follows_paths_inside_the_schema() {
    let schema = |to: &str| json!({"definitions": {"a/b": {"c d": [{"type": "string"}, {"type": "null"}]}, "~é": {"type": "null"}}, "properties": {"v": {"$ref": to}}});
    for (to, valid) in [
        ("#/definitions/a~1b/c%20d/0", json!("x")),
        ("#/definitions/a%7E1b/c d/1", json!(null)),
        ("#/definitions/~0%C3%A9", json!(null)),
        ("#", json!({"v": {}})),
    ] {
        assert_eq!(is_valid(&schema(to), &json!({ "v": valid })), Ok(true), "{to}");
        assert_eq!(is_valid(&schema(to), &json!({"v": 7})), Ok(to == "#"), "{to}");
    }
}

#[test]
fn finds_unevaluated_children() {
    let base = json!({"properties": {"a": true}, "patternProperties": {"^p": true}});
    let schema = json!({"allOf": [base], "anyOf": [{"properties": {"b": {"const": 1}}}, true], "unevaluatedProperties": false});
    check(schema, &[json!({"a": 1, "b": 1, "p1": 2})], &[json!({"b": 2}), json!({"c": 1})]);
    let branch = json!({"if": {"required": ["a"]}, "then": {"properties": {"b": true}}, "unevaluatedProperties": {"type": "null"}});
    check(branch, &[json!({"a": null, "b": 1})], &[json!({"b": 1}), json!({"a": 1})]);
    let items =
        json!({"allOf": [{"prefixItems": [true]}], "contains": {"const": 1}, "unevaluatedItems": false});
    check(items, &[json!(["x", 1, 1])], &[json!(["x", 1, 2])]);
    // `dependencies` is older than `unevaluatedProperties` and does not count, as in the library.
    let older = json!({"dependencies": {"a": {"properties": {"a": true}}}, "unevaluatedProperties": false});
    check(older, &[json!({})], &[json!({"a": 1})]);
    let inner = json!({"allOf": [{"unevaluatedProperties": true}], "unevaluatedProperties": false});
    check(inner, &[json!({"a": 1})], &[]);
}

#[test]
fn counts_characters_and_compares_by_value() {
    check(
        json!({"minLength": 3.0, "maxLength": 3}),
        &[json!("äöü"), json!(7)],
        &[json!("äö"), json!("äöüß")],
    );
    check(json!({"const": {"a": [1]}}), &[json!({"a": [1.0]})], &[json!({"a": [true]})]);
    check(json!({"enum": [1, "x"]}), &[json!(1.0), json!("x")], &[json!("1"), json!(true)]);
    let distinct = json!({"uniqueItems": true});
    let equal = [json!([1, 1.0]), json!([{"a": 1, "b": 2}, {"b": 2, "a": 1}])];
    check(
        distinct,
        &[json!([1, true, "1"]), json!([9_007_199_254_740_993_u64, 9_007_199_254_740_992_u64])],
        &equal,
    );
    check(json!({"pattern": "^\\d+\\W\\D$"}), &[json!("12-x")], &[json!("١-x"), json!("12xx")]);
}

#[test]
fn describes_each_mismatch() {
    let texts = |schema: Value, value: Value| {
        let schema = SchemaValidator::compile(&RawJson::from(json!({"properties": {"v": schema}}))).unwrap();
        schema.check(&RawJson::from(json!({ "v": value }))).unwrap_err().to_string()
    };
    let cases = [
        (json!({"type": ["string", "null"]}), json!(7), r#"/v: 7 is not of types "string", "null""#),
        (json!({"enum": ["a", "b"]}), json!("c"), r#"/v: "c" is not one of ["a","b"]"#),
        (json!({"const": "a"}), json!("c"), r#"/v: "a" was expected"#),
        (json!({"minimum": 2}), json!(1), "/v: 1 is less than the minimum of 2"),
        (json!({"exclusiveMaximum": 2}), json!(2), "/v: 2 is greater than or equal to the maximum of 2"),
        (json!({"multipleOf": 2}), json!(1), "/v: 1 is not a multiple of 2"),
        (json!({"maxLength": 1}), json!("ab"), r#"/v: "ab" is longer than 1 character"#),
        (json!({"minItems": 2}), json!([]), "/v: [] has less than 2 items"),
        (json!({"minProperties": 1}), json!({}), "/v: {} has less than 1 property"),
        (json!({"uniqueItems": true}), json!([1, 1]), "/v: [1,1] has non-unique elements"),
        (json!({"pattern": "^a"}), json!("b"), r#"/v: "b" does not match "^a""#),
        (json!({"not": {"type": "null"}}), json!(null), r#"/v: {"type":"null"} is not allowed for null"#),
        (json!(false), json!(1), "/v: False schema does not allow 1"),
        (json!({"contains": {"const": 1}}), json!([2]), "/v: None of [2] are valid under the given schema"),
        (
            json!({"contains": true, "maxContains": 1}),
            json!([2, 3]),
            "/v: [2,3] contains 2 valid elements, not at most 1",
        ),
        (
            json!({"properties": {"a~/": {"type": "null"}}, "additionalProperties": false}),
            json!({"a~/": 1, "b": 2, "c": 3}),
            r#"/v/a~0~1: 1 is not of type "null"; /v: Additional properties are not allowed ('b', 'c' were unexpected)"#,
        ),
        (
            json!({"prefixItems": [true], "unevaluatedItems": false}),
            json!([1, "x"]),
            r#"/v: Unevaluated items are not allowed ("x" was unexpected)"#,
        ),
        (
            json!({"anyOf": [{"type": "null"}, {"type": "string"}]}),
            json!(7),
            "/v: 7 is not valid under any of the schemas listed in the 'anyOf' keyword",
        ),
        (
            json!({"oneOf": [true, true]}),
            json!(7),
            "/v: 7 is valid under more than one of the schemas listed in the 'oneOf' keyword",
        ),
        (
            json!({"items": {"type": "null"}}),
            json!(vec![1; 9]),
            &(0..5).map(|at| format!(r#"/v/{at}: 1 is not of type "null""#)).collect::<Vec<_>>().join("; "),
        ),
    ];
    for (schema, value, expect) in cases {
        assert_eq!(texts(schema.clone(), value), expect, "{schema}");
    }
}

#[test]
fn refuses_keyword_with_wrong_value() {
    let cases = [
        (json!({"type": "text"}), r#"/type: "text" is not a type or a list of types"#),
        (json!({"type": []}), "/type: [] is not a type or a list of types"),
        (json!({"required": 7}), "/required: 7 is not a list of names"),
        (json!({"required": [7]}), "/required: [7] is not a list of names"),
        (
            json!({"properties": {"a": {"required": true}}}),
            "/properties/a/required: true is not a list of names",
        ),
        (json!({"properties": {"a": "x"}}), r#"/properties/a: "x" is not of types "object", "boolean""#),
        (json!({"properties": []}), r#"/properties: [] is not of type "object""#),
        (json!({"items": 7}), r#"/items: 7 is not of types "object", "boolean""#),
        (json!({"anyOf": []}), "/anyOf: [] is not a list of schemas"),
        (json!({"allOf": [true, 7]}), r#"/allOf/1: 7 is not of types "object", "boolean""#),
        (json!({"enum": "a"}), r#"/enum: "a" is not of type "array""#),
        (json!({"minimum": "1"}), r#"/minimum: "1" is not of type "number""#),
        (json!({"exclusiveMinimum": "1"}), r#"/exclusiveMinimum: "1" is not of types "number", "boolean""#),
        (json!({"multipleOf": 0}), "/multipleOf: 0 is not a number above 0"),
        (json!({"maxLength": -1}), "/maxLength: -1 is not an integer of 0 or more"),
        (json!({"uniqueItems": 1}), r#"/uniqueItems: 1 is not of type "boolean""#),
        (json!({"pattern": 7}), r#"/pattern: 7 is not of type "string""#),
        (json!({"pattern": "("}), r#"/pattern: the pattern "(" cannot be used: unclosed group"#),
        (json!({"dependentRequired": {"a": 7}}), "/dependentRequired/a: 7 is not a list of names"),
        (json!({"$ref": 7}), r#"/$ref: 7 is not of type "string""#),
        (json!({"$ref": "#/x/y", "x": {"y": {"type": 7}}}), "/x/y/type: 7 is not a type or a list of types"),
        (
            json!({"properties": {"a": {"$recursiveRef": "#"}}}),
            "/properties/a/$recursiveRef: $recursiveRef is not supported; use $ref",
        ),
    ];
    for (schema, expect) in cases {
        assert_eq!(is_valid(&schema, &json!({})), Err(format!("unusable schema: {expect}")));
    }
}
