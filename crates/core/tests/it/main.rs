//! Behaviour of the agent seen from outside.
