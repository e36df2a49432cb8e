//! `tagged_enum!`: enums with their kind in the field `type`, read without a loss.
//!
//! serde reads an internally tagged enum through a copy of its fields, in which large numbers lose digits and the text of
//! a [`RawJson`](crate::RawJson) is gone. The macro derives a second, private form whose variants are read straight from
//! the text of the object, after its `type` is known.

use std::borrow::Cow;
use std::cell::Cell;

use serde::de::value::CowStrDeserializer;
use serde::de::{DeserializeSeed, EnumAccess, Error as _, IntoDeserializer, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Defines an enum that is written and read with its kind in the field `type`. The literal repeats the name.
macro_rules! tagged_enum {
    ($(#[$meta:meta])* pub enum $name:ident = $literal:literal { $($body:tt)* }) => {
        $(#[$meta])*
        #[derive(serde::Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "type", rename_all = "snake_case")]
        pub enum $name { $($body)* }

        const _: () = {
            #[derive(serde::Deserialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            #[serde(remote = $literal, rename_all = "snake_case")]
            enum Untagged { $($body)* }

            impl $crate::tagged::TaggedEnum for $name {
                fn read_variant<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    Untagged::deserialize(deserializer)
                }
            }

            impl<'de> serde::Deserialize<'de> for $name {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    $crate::tagged::read_known(deserializer)
                }
            }
        };
    };
}

pub(crate) use tagged_enum;

/// An enum of [`tagged_enum!`].
pub(crate) trait TaggedEnum: Sized {
    /// Reads a variant whose name the deserializer knows.
    fn read_variant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// The kind of an object.
#[derive(Deserialize)]
pub(crate) struct TypeField<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
}

impl<'a> TypeField<'a> {
    /// Reads the `type` of an object.
    pub(crate) fn read(object: &'a str) -> Result<Cow<'a, str>, serde_json::Error> {
        serde_json::from_str(object).map(|Self { kind }| kind)
    }
}

/// Reads an object of one of the kinds.
pub(crate) fn read_known<'de, E: TaggedEnum, D: Deserializer<'de>>(deserializer: D) -> Result<E, D::Error> {
    let object = crate::RawJson::deserialize(deserializer)?;
    let kind = TypeField::read(object.as_str()).map_err(D::Error::custom)?;
    match read_tagged(&kind, object.as_str()).map_err(D::Error::custom)? {
        Some(event) => Ok(event),
        None => Err(D::Error::custom(format_args!("unknown type {kind:?}"))),
    }
}

/// Reads the text of an object of this kind; returns `None` if the enum has no such kind.
pub(crate) fn read_tagged<E: TaggedEnum>(kind: &str, object: &str) -> Result<Option<E>, serde_json::Error> {
    let known = Cell::new(true);
    match E::read_variant(TaggedObject { kind, object, known: &known }) {
        Ok(event) => Ok(Some(event)),
        Err(_) if !known.get() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The text of an object as the variant that its `type` names.
struct TaggedObject<'a> {
    kind: &'a str,
    object: &'a str,
    /// Becomes false if the enum has no such variant.
    known: &'a Cell<bool>,
}

impl<'de> Deserializer<'de> for TaggedObject<'de> {
    type Error = serde_json::Error;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.known.set(variants.contains(&self.kind));
        visitor.visit_enum(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("expected an enum"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for TaggedObject<'de> {
    type Error = serde_json::Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Self::Error> {
        let name: CowStrDeserializer<'_, Self::Error> = Cow::Borrowed(self.kind).into_deserializer();
        seed.deserialize(name).map(|variant| (variant, self))
    }
}

impl<'de> VariantAccess<'de> for TaggedObject<'de> {
    type Error = serde_json::Error;

    fn unit_variant(self) -> Result<(), Self::Error> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Self::Error> {
        seed.deserialize(&mut serde_json::Deserializer::from_str(self.object))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("an object is no tuple"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        serde_json::Deserializer::from_str(self.object).deserialize_map(visitor)
    }
}
