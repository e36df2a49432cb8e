//! Parts of a registration as they are written down.

/// Tools, which many share.
pub(super) mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer, T: Serialize>(
        values: &[Arc<T>],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(AsRef::as_ref))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
        deserializer: D,
    ) -> Result<Vec<Arc<T>>, D::Error> {
        Ok(Vec::<T>::deserialize(deserializer)?.into_iter().map(Arc::new).collect())
    }
}

/// Hooks, by their names.
pub(super) mod hooks {
    use std::borrow::Cow;
    use std::collections::BTreeSet;

    use haft_protocol::ext::InterceptKind;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        hooks: &BTreeSet<InterceptKind>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(hooks.iter().map(|hook| hook.name()))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeSet<InterceptKind>, D::Error> {
        let names = Vec::<Cow<'de, str>>::deserialize(deserializer)?;
        let hook = |name: &Cow<'de, str>| {
            InterceptKind::from_name(name).ok_or_else(|| D::Error::custom("no such hook"))
        };
        names.iter().map(hook).collect()
    }
}
