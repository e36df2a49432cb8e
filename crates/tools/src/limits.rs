//! The sizes of this crate that bound files and patterns from other people. Limits of results are in the modules of the
//! tools.

/// The bytes of one ignore file: 64 KiB. The longest collections of templates have 50 KiB.
pub(crate) const MAX_IGNORE_FILE: usize = 64 * 1024;

/// The bytes of all ignore files that apply to one file: 256 KiB. A rule needs about 100 times its length in memory.
pub(crate) const MAX_IGNORE_BYTES: usize = 256 * 1024;

/// The rules of all ignore files that apply to one file. A short rule needs about 2 KiB.
pub(crate) const MAX_IGNORE_RULES: usize = 10_000;

/// The bytes of one rule of an ignore file, or of the glob of a tool. The parser needs stack for each brace.
pub(crate) const MAX_GLOB: usize = 1_024;

/// The bytes of a search pattern: 64 KiB.
pub(crate) const MAX_PATTERN: usize = 64 * 1024;

/// The bytes of a compiled search pattern, and of its cache: 10 MiB each, the usual limit of the library for regular
/// expressions. The library for searches allows 1 GiB.
pub(crate) const MAX_COMPILED_PATTERN: usize = 10 * 1024 * 1024;
