//! A meter for JSON from outside: its depth and the number of its values, counted before a parser allocates memory for
//! them.

use std::fmt;

/// The limits of one JSON text. A value equal to a limit is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
// Closed: the two measures of a shape.
pub struct ShapeLimits {
    /// The nesting of arrays and objects.
    pub depth: usize,
    /// The number of strings, keys, arrays, objects and commas.
    pub values: usize,
}

/// The exceeded limit, as the end of a sentence: "is nested more than 100 levels deep".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShapeExcess {
    /// Arrays and objects are nested too deep.
    Depth(usize),
    /// There are too many values.
    Values(usize),
}

impl fmt::Display for ShapeExcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth(most) => write!(f, "is nested more than {most} levels deep"),
            Self::Values(most) => write!(f, "has more than {most} values"),
        }
    }
}

/// Checks the shape of a text, which need not be valid JSON.
///
/// # Errors
/// The first exceeded limit.
pub fn check_shape(json: &[u8], limits: ShapeLimits) -> Result<(), ShapeExcess> {
    let (mut depth, mut values) = (0_usize, 0_usize);
    let mut rest = json;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => {
                values += 1;
                rest = skip_string(rest);
            }
            b'[' | b'{' => {
                values += 1;
                depth += 1;
                if depth > limits.depth {
                    return Err(ShapeExcess::Depth(limits.depth));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
        if values > limits.values {
            return Err(ShapeExcess::Values(limits.values));
        }
    }
    Ok(())
}

/// Returns the text after the end of a string whose first quote was read.
fn skip_string(text: &[u8]) -> &[u8] {
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        if rest.get(at) == Some(&b'"') {
            return rest.get(at + 1..).unwrap_or_default();
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, depth: usize, values: usize) {
        let limits = ShapeLimits { depth, values };
        assert_eq!(check_shape(json.as_bytes(), limits), Ok(()), "{json}");
        let flat = ShapeLimits { depth: depth.saturating_sub(1), ..limits };
        assert_eq!(check_shape(json.as_bytes(), flat).is_err(), depth > 0, "{json}");
        let few = ShapeLimits { values: values.saturating_sub(1), ..limits };
        assert_eq!(check_shape(json.as_bytes(), few).is_err(), values > 0, "{json}");
    }

    #[test]
    fn counts_depth_and_values_outside_of_strings() {
        check("", 0, 0);
        check(r#"{"a":[1,2,{"b":null}]}"#, 3, 7);
        check(r#""[\"[,\\""#, 0, 1);
        check(r#"["a\\",[]"#, 2, 4);
        check(r#"]]["open,\"#, 1, 2);
    }
}
