//! What the scopes of grammars are to a theme.

use std::sync::LazyLock;

use syntect::parsing::Scope;

use crate::theme::Role;

/// The longest one that a scope begins with decides.
const ROLES: &[(&str, Role)] = &[
    ("comment", Role::CodeComment),
    ("constant", Role::CodeNumber),
    ("constant.character.escape", Role::CodeEscape),
    ("constant.other.placeholder", Role::CodeEscape),
    ("entity.name", Role::CodeType),
    ("entity.name.function", Role::CodeFunction),
    ("entity.name.label", Role::CodeAttribute),
    ("entity.name.section", Role::Heading),
    ("entity.name.tag", Role::CodeKeyword),
    ("entity.other.attribute-name", Role::CodeAttribute),
    ("entity.other.inherited-class", Role::CodeType),
    ("invalid", Role::Error),
    ("keyword", Role::CodeKeyword),
    ("keyword.operator", Role::CodeOperator),
    ("keyword.operator.word", Role::CodeKeyword),
    ("markup.deleted", Role::DiffRemoved),
    ("markup.inserted", Role::DiffAdded),
    ("markup.heading", Role::Heading),
    ("markup.raw", Role::CodeString),
    ("meta.annotation", Role::CodeAttribute),
    ("meta.attribute", Role::CodeAttribute),
    ("meta.diff.header", Role::DiffHeader),
    ("meta.diff.range", Role::DiffHeader),
    ("punctuation", Role::CodePunctuation),
    ("punctuation.definition.comment", Role::CodeComment),
    ("punctuation.definition.string", Role::CodeString),
    ("punctuation.definition.inserted", Role::DiffAdded),
    ("punctuation.definition.deleted", Role::DiffRemoved),
    ("storage", Role::CodeKeyword),
    ("storage.type", Role::CodeKeyword),
    ("string", Role::CodeString),
    ("string.regexp", Role::CodeEscape),
    ("support.class", Role::CodeType),
    ("support.constant", Role::CodeNumber),
    ("support.function", Role::CodeFunction),
    ("support.macro", Role::CodeAttribute),
    ("support.type", Role::CodeType),
    ("variable.annotation", Role::CodeAttribute),
    ("variable.function", Role::CodeFunction),
    ("variable.language", Role::CodeKeyword),
];

/// The longest first.
static BY_LENGTH: LazyLock<Vec<(Scope, Role)>> = LazyLock::new(|| {
    let read = |(name, role): &(&str, Role)| Scope::new(name).ok().map(|scope| (scope, *role));
    let mut scopes: Vec<(Scope, Role)> = ROLES.iter().filter_map(read).collect();
    scopes.sort_by_key(|(scope, _)| std::cmp::Reverse(scope.len()));
    scopes
});

pub(super) fn role(scope: Scope) -> Option<Role> {
    BY_LENGTH.iter().find(|(prefix, _)| prefix.is_prefix_of(scope)).map(|(_, role)| *role)
}
