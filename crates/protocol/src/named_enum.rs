//! Enums whose variants have names on the wire or in files.

/// Defines an enum from its variants and their names. That list generates serde, the schema, `ALL`,
/// `name`, `from_name` and `Display`.
#[doc(hidden)]
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$meta:meta])*
        pub enum $enum:ident { $($(#[$variant_meta:meta])* $variant:ident = $name:literal,)* }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $enum {
            $($(#[$variant_meta])* #[serde(rename = $name)] $variant,)*
        }

        impl $enum {
            /// All variants, in the order of the definition.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the name on the wire and in files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the variant with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|variant| variant.name() == name)
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub use named_enum;
