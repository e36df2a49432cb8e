//! Process groups that die whole.
