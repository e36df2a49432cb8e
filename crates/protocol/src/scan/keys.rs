//! The keys of the open objects of a scan.

use std::collections::HashSet;

/// The maximum number of keys of one object that are compared one by one.
const FEW: usize = 16;

/// The keys seen so far; those of inner objects come after those of outer ones.
#[derive(Debug)]
pub(super) struct SeenKeys<'a> {
    all: Vec<&'a [u8]>,
}

#[derive(Debug)]
pub(super) struct ObjectKeys<'a> {
    from: usize,
    /// The same keys in a hash set, used when there are many.
    many: Option<HashSet<&'a [u8]>>,
}

impl<'a> SeenKeys<'a> {
    pub(super) fn new() -> Self {
        // Most frames have no more keys, so they need no second allocation.
        Self { all: Vec::with_capacity(FEW) }
    }

    pub(super) fn open(&self) -> ObjectKeys<'a> {
        ObjectKeys { from: self.all.len(), many: None }
    }

    /// Adds a key to the innermost object. Returns `None` if the object already has it.
    pub(super) fn add(&mut self, object: &mut ObjectKeys<'a>, key: &'a [u8]) -> Option<()> {
        let own = self.all.get(object.from..)?;
        let new = match own.len() < FEW {
            true => !own.contains(&key),
            false => object.many.get_or_insert_with(|| own.iter().copied().collect()).insert(key),
        };
        new.then(|| self.all.push(key))
    }

    pub(super) fn close(&mut self, object: &ObjectKeys<'a>) {
        self.all.truncate(object.from);
    }
}
