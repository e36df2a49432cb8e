//! Comparison of two JSON texts by their values.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// True if two compact texts are the same value; see
/// [`RawJson::same_value`](super::RawJson::same_value). An unreadable text equals only itself.
pub(super) fn equal_json(one: &str, other: &str) -> bool {
    one == other
        || match (one.as_bytes().first(), other.as_bytes().first()) {
            (Some(b'{'), Some(b'{')) => equal_objects(one, other),
            (Some(b'['), Some(b'[')) => equal_arrays(one, other),
            (Some(b'"'), Some(b'"')) => read::<String>(one).is_some_and(|text| Some(text) == read(other)),
            _ => false,
        }
}

fn equal_objects(one: &str, other: &str) -> bool {
    let (Some(one), Some(other)) =
        (read::<BTreeMap<String, &RawValue>>(one), read::<BTreeMap<String, &RawValue>>(other))
    else {
        return false;
    };
    one.len() == other.len()
        && one.iter().zip(&other).all(|((name, value), (other_name, other_value))| {
            name == other_name && equal_json(value.get(), other_value.get())
        })
}

fn equal_arrays(one: &str, other: &str) -> bool {
    let (Some(one), Some(other)) = (read::<Vec<&RawValue>>(one), read::<Vec<&RawValue>>(other)) else {
        return false;
    };
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal_json(one.get(), other.get()))
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use crate::json::RawJson;

    #[track_caller]
    fn check(one: &str, other: &str, expect: bool) {
        let (one, other) = (RawJson::parse(one).unwrap(), RawJson::parse(other).unwrap());
        assert_eq!(one.same_value(&other), expect, "{one} {other}");
        assert_eq!(other.same_value(&one), expect, "{other} {one}");
    }

    #[test]
    fn ignores_key_order_and_escapes() {
        check(r#"{"a":1,"b":{"c":[],"d":null}}"#, r#"{ "b": {"d":null,"c":[]}, "a": 1 }"#, true);
        check(r#"{"ä":"a&b\n/\t"}"#, r#"{"\u00e4":"a\u0026b\u000a\/\u0009"}"#, true);
        check(r#"["\ud83d\ude00"]"#, r#"["😀"]"#, true);
        check("[true,[]]", "[ true, [ ] ]", true);
    }

    #[test]
    fn distinguishes_different_values() {
        check(r#"{"a":1}"#, r#"{"a":1,"b":1}"#, false);
        check(r#"{"a":1}"#, r#"{"b":1}"#, false);
        check("[1,2]", "[2,1]", false);
        check("[1]", "[1,1]", false);
        check(r#"{"a":"1"}"#, r#"{"a":1}"#, false);
        check("[]", "{}", false);
        check("null", "false", false);
    }

    #[test]
    fn compares_numbers_by_their_text() {
        check("1", "1.0", false);
        check("10", "1e1", false);
        check("9007199254740993", "9007199254740992", false);
        check("9007199254740993", "9007199254740993", true);
    }
}
