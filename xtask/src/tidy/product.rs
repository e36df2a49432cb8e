//! Distinguishes product code from items that are compiled only for tests.

use syn::{Attribute, Item, Meta};

/// True for an item below `#[cfg(test)]`, or below a condition that contains `test`.
pub(super) fn is_for_tests(item: &Item) -> bool {
    item_attributes(item).iter().any(is_test)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other items are never compiled for tests alone")]
fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// True for `#[cfg(test)]` and conditions that contain `test`.
pub(super) fn is_test(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    list.path.is_ident("cfg")
        && list.tokens.to_string().split(|char: char| !char.is_alphanumeric()).any(|word| word == "test")
}
