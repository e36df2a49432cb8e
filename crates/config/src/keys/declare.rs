//! Macros that declare keys and choices.

/// Declares a table of `config.toml` and the [`ConfigKey`](super::ConfigKey)s in it.
///
/// Each key becomes a field of the struct for a file: an `Option` of its type, or in `tables` the type itself. With `as
/// MERGED` a second struct contains the values in effect: keys with a `default` always have a value there, other keys
/// may have none. Without a `reach`, only the user's own file may set a key. The Rust type must match the `kind`; a
/// test compares them.
macro_rules! keys {
    ($(#[$outer:meta])* $name:ident as $merged:ident { $($body:tt)* }) => {
        keys! { $(#[$outer])* $name { $($body)* } }
        keys! { @merged $name $merged { $($body)* } }
    };
    ($(#[$outer:meta])* $name:ident {
        $(
            $(#[doc = $doc:literal])+
            $field:ident: $type:ty = $path:literal $(| $former:literal)? { $($attribute:tt)* }
        )*
        $(tables { $(
            $(#[doc = $table_doc:literal])+
            $table:ident: $table_type:ty = $table_path:literal { $($table_attribute:tt)* }
        )* })?
    }) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Default, PartialEq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $(
                $(#[doc = $doc])+
                $(#[serde(alias = $former)])?
                pub $field: Option<$type>,
            )*
            $($(
                $(#[doc = $table_doc])+
                pub $table: $table_type,
            )*)?
        }

        impl $name {
            /// The keys of this table.
            pub const KEYS: &'static [ConfigKey] = &[
                $(keys!(@key $path, concat!($($doc, "\n"),+), [$($former)?], { $($attribute)* }),)*
                $($(keys!(@key $table_path, concat!($($table_doc, "\n"),+), [], { $($table_attribute)* }),)*)?
            ];

            /// Removes the values that only the user's own file may set. Returns the keys that were removed.
            pub fn remove_user_only(&mut self) -> Vec<&'static str> {
                let mut removed = Vec::new();
                let mut set = Self::default();
                $(if $crate::keys::is_user_only($path) && self.$field != set.$field {
                    std::mem::swap(&mut self.$field, &mut set.$field);
                    removed.push($path);
                })*
                $($(if $crate::keys::is_user_only($table_path) && self.$table != set.$table {
                    std::mem::swap(&mut self.$table, &mut set.$table);
                    removed.push($table_path);
                })*)?
                removed
            }
        }
    };
    (@merged $name:ident $merged:ident {
        $(
            $(#[doc = $doc:literal])+
            $field:ident: $type:ty = $path:literal $(| $former:literal)? { $($attribute:tt)* }
        )*
        $(tables $tables:tt)?
    }) => {
        #[doc = concat!("The values in effect of [`", stringify!($name), "`], each with its origin.")]
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $merged {
            $(
                $(#[doc = $doc])+
                pub $field: keys!(@held $type, { $($attribute)* }),
            )*
        }

        impl $merged {
            /// Takes each value from the first layer that sets it. `name` replaces `NAME` in the paths of the keys.
            pub(crate) fn from_layers<'a>(
                layers: &'a [ConfigLayer],
                name: &str,
                table: impl Fn(&'a ConfigFile) -> Option<&'a $name>,
            ) -> Self {
                Self {
                    $($field: keys!(
                        @or_default
                        first_value(layers, &$path.replace("NAME", name), |file| table(file)?.$field.clone()),
                        { $($attribute)* }
                    ),)*
                }
            }

            /// Returns a row for each key, in the order of the documentation.
            pub(crate) fn rows(&self) -> Vec<ConfigRow> {
                let values = [$(self.$field.row_value()),*];
                $name::KEYS.iter().zip(values).map(|(key, value)| ConfigRow::new(key, key.path, value)).collect()
            }
        }
    };
    (@key $path:literal, $doc:expr, [$($former:literal)?], {
        kind: $kind:expr,
        $(default: $default:expr,)?
        $(unset: $unset:literal,)?
        $(reach: $reach:ident,)?
        $(variables: $variables:expr,)?
        $(flag: $flag:literal,)?
        $(brief: $brief:literal,)?
    }) => {
        ConfigKey {
            path: $path,
            doc: $doc,
            kind: $kind,
            default: keys!(@or $((Some(|| serde_json::to_value($default).unwrap_or_default())))? (None)),
            unset: keys!(@or $($unset)? ("")),
            reach: keys!(@or $((KeyScope::$reach))? (KeyScope::User)),
            variables: keys!(@or $(($variables))? (&[])),
            flag: keys!(@or $((Some($flag)))? (None)),
            former: keys!(@or $((Some($former)))? (None)),
            brief: keys!(@or $((Some($brief)))? (None)),
        }
    };
    (@or $first:tt) => { $first };
    (@or $first:tt $second:tt) => { $first };
    (@held $type:ty, { kind: $kind:expr, default: $($rest:tt)* }) => { SourcedValue<$type> };
    (@held $type:ty, $attributes:tt) => { Option<SourcedValue<$type>> };
    (@or_default $value:expr, { kind: $kind:expr, default: $default:expr, $($rest:tt)* }) => {
        $value.unwrap_or_else(|| SourcedValue { value: $default, origin: SettingOrigin::Default })
    };
    (@or_default $value:expr, $attributes:tt) => { $value };
}

/// Declares an enum whose values are named by words, for [`ValueKind::Choice`](super::ValueKind::Choice).
macro_rules! choices {
    ($(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$inner])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// The words of all values.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// Returns the word of this value.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
    };
}
