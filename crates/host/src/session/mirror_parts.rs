//! The parts of the session that an extension mirrors.

use haft_protocol::ext::MirrorPart;

/// A set of mirrored parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct MirrorParts(u16);

impl MirrorParts {
    /// Returns the parts with these names. Names of later versions are ignored.
    pub(crate) fn from_names(names: &[String]) -> Self {
        names.iter().filter_map(|name| MirrorPart::from_name(name)).fold(Self::default(), Self::with_part)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn contains(self, part: MirrorPart) -> bool {
        self.0 & 1 << part as u16 != 0
    }

    pub(crate) fn union_with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn with_part(self, part: MirrorPart) -> Self {
        Self(self.0 | 1 << part as u16)
    }
}
