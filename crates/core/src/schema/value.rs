//! JSON values compared as JSON Schema requires: numbers by value, objects without an order.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

/// The bytes of a text that are compared or matched in about the time of one step.
const BYTES_A_STEP: usize = 256;

/// The maximum difference of two exponents for an exact division in the decimal system.
const MAX_SHIFT: u32 = 38;

/// Returns the steps to read a text once.
pub(super) const fn text_steps(text: &str) -> usize {
    1 + text.len() / BYTES_A_STEP
}

/// Returns the steps to read a value once.
pub(super) fn value_steps(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => text_steps(text),
        Value::Array(elements) => 1 + elements.iter().map(value_steps).sum::<usize>(),
        Value::Object(members) => {
            1 + members.iter().map(|(name, member)| text_steps(name) + value_steps(member)).sum::<usize>()
        }
    }
}

/// Compares two values in a total order, in which `1` and `1.0` are equal.
pub(super) fn compare_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let pairs = || a.iter().zip(b).map(|(a, b)| compare_values(a, b)).find(|order| order.is_ne());
            a.len().cmp(&b.len()).then_with(|| pairs().unwrap_or(Ordering::Equal))
        }
        (Value::Object(a), Value::Object(b)) => a.len().cmp(&b.len()).then_with(|| compare_members(a, b)),
        _ => type_rank(a).cmp(&type_rank(b)),
    }
}

fn compare_members(a: &Map<String, Value>, b: &Map<String, Value>) -> Ordering {
    let sorted = |members: &Map<String, Value>| {
        let mut names: Vec<String> = members.keys().cloned().collect();
        names.sort_unstable();
        names
    };
    let names = sorted(a);
    let values = || names.iter().filter_map(|name| Some(compare_values(a.get(name)?, b.get(name)?)));
    names.cmp(&sorted(b)).then_with(|| values().find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
}

const fn type_rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    match (as_whole(a), as_whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        // One has a fraction, or is larger than every integer that has digits of its own.
        _ => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
    }
}

/// True if a number has no fraction: `1.0` is an integer.
pub(super) fn is_integer(number: &Number) -> bool {
    number.as_i128().is_some() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// Returns a number without a fraction, unless it is extremely large.
fn as_whole(number: &Number) -> Option<i128> {
    let float = || number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e38);
    number.as_i128().or_else(|| float().map(|float| float as i128))
}

/// True if a number is a multiple of a positive number. Fractions are compared as they are written: 0.3 is a multiple of
/// 0.1.
pub(super) fn is_multiple(number: &Number, of: &Number) -> bool {
    let (Some((a, a_exponent)), Some((b, b_exponent))) = (decimal_parts(number), decimal_parts(of)) else {
        return false;
    };
    if b == 0 || a == 0 {
        return a == 0;
    }
    let shift = a_exponent - b_exponent;
    if shift.unsigned_abs() > MAX_SHIFT {
        return matches!((number.as_f64(), of.as_f64()), (Some(a), Some(b)) if a % b == 0.0);
    }
    if shift >= 0 {
        return (0..shift).fold(a % b, |rest, _| rest * 10 % b) == 0;
    }
    // A product of more digits than an `i128` has is larger than `a`.
    let scale = 10_i128.checked_pow(shift.unsigned_abs());
    scale.and_then(|scale| b.checked_mul(scale)).is_some_and(|b| a % b == 0)
}

/// Returns the digits of a number and the exponent of its last digit, to the base 10.
fn decimal_parts(number: &Number) -> Option<(i128, i32)> {
    if let Some(integer) = number.as_i128() {
        return Some((integer, 0));
    }
    let text = format!("{:e}", number.as_f64()?);
    let (digits, exponent) = text.split_once('e')?;
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let exponent = exponent.parse::<i32>().ok()? - i32::try_from(decimals).ok()?;
    Some((digits.replace('.', "").parse().ok()?, exponent))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn compares_numbers_by_value() {
        let check = |a: Value, b: Value, expect| assert_eq!(compare_values(&a, &b), expect, "{a} and {b}");
        check(json!(1), json!(1.0), Ordering::Equal);
        check(json!(0), json!(-0.0), Ordering::Equal);
        check(json!(-1), json!(u64::MAX), Ordering::Less);
        check(json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992.0), Ordering::Greater);
        check(json!(u64::MAX), json!(18_446_744_073_709_551_616.0), Ordering::Less);
        check(json!(1e300), json!(u64::MAX), Ordering::Greater);
        check(json!(2), json!(1.5), Ordering::Greater);
    }

    #[test]
    fn compares_objects_without_order() {
        let equal = |a: Value, b: Value| compare_values(&a, &b).is_eq() && compare_values(&b, &a).is_eq();
        assert!(equal(json!({"a": 1, "b": [2]}), json!({"b": [2.0], "a": 1})));
        assert!(!equal(json!({"a": 1}), json!({"b": 1})));
        assert!(!equal(json!({"a": 1}), json!({"a": true})));
        assert!(!equal(json!([1, 2]), json!([2, 1])));
        assert!(!equal(json!("1"), json!(1)));
    }

    #[test]
    fn divides_fractions_as_they_are_written() {
        let check = |a: Value, b: Value, expect| {
            let (Value::Number(a), Value::Number(b)) = (&a, &b) else { panic!("not numbers") };
            assert_eq!(is_multiple(a, b), expect, "{a} and {b}");
        };
        check(json!(0.3), json!(0.1), true);
        check(json!(4.35), json!(0.01), true);
        check(json!(0.35), json!(0.1), false);
        check(json!(-6), json!(3), true);
        check(json!(7.5), json!(2.5), true);
        check(json!(7), json!(2), false);
        check(json!(0), json!(0.7), true);
        check(json!(u64::MAX), json!(5), true);
        check(json!(u64::MAX), json!(2), false);
        check(json!(1e300), json!(0.5), true);
        check(json!(1e-300), json!(0.5), false);
        check(json!(5), json!(1e-30), true);
    }
}
