//! Behaviour of the protocol seen from outside: fixtures, snapshots, schema.
